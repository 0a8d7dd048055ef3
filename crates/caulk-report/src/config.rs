//! Every bound of reporting, in one place.

#[derive(Clone, Debug)]
pub struct ReportConfig {
    /// Characters of a condition quoted from the source; longer ones are cut, with an ellipsis.
    pub max_condition: usize,
    /// Steps of one path kept in a finding; conditions far from the loss go first. Code scanning services show no more than a thousand.
    pub max_steps: usize,
    /// Functions climbed through from a system header up to the user's own call.
    pub max_climb: usize,
    /// Bytes of one source file read for its words; what is larger is generated, and not read by people.
    pub max_source: u64,
    /// Folders whose files are not the user's: what happens in them is shown at the user's own call.
    pub system_folders: Vec<String>,
}

impl Default for ReportConfig {
    fn default() -> Self {
        let folders = ["/usr/include/", "/usr/lib/", "/usr/lib64/", "/usr/local/include/", "/usr/local/lib/"];
        Self {
            max_condition: 80,
            max_steps: 400,
            max_climb: 12,
            max_source: 64 << 20,
            system_folders: folders.map(str::to_owned).to_vec(),
        }
    }
}

impl ReportConfig {
    /// Whether a file is not the user's.
    pub fn is_system(&self, file: &str) -> bool {
        self.system_folders.iter().any(|folder| file.starts_with(folder))
    }
}
