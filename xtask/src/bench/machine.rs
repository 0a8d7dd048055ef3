//! The machine, and how busy others keep it.

use std::fs;
use std::process::Command;

pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// "2 cores, Name of the Processor, 24 GB".
pub fn describe() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let model = field(&cpu, "model name").unwrap_or("unknown processor");
    let kilobytes: f64 = field(&memory, "MemTotal").and_then(|v| v.split(' ').next()?.parse().ok()).unwrap_or(0.0);
    format!("{} cores, {model}, {:.0} GB", cores(), kilobytes / 1e6)
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let values = text.lines().filter_map(|line| line.split_once(':'));
    values.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim()).next()
}

/// The first line a program prints, such as its version; nothing if it is not there.
pub fn first_line(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(|line| line.trim().to_owned())
}

/// Seconds that all processors together were busy since the machine started.
pub fn busy_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    // SAFETY: asks for a constant of the system.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    busy_ticks(stat.lines().next()?).map(|ticks| ticks as f64 / per_second)
}

/// user, nice, system, idle, iowait, irq, softirq, steal; what guests use is in user already.
fn busy_ticks(line: &str) -> Option<u64> {
    let mut numbers = line.strip_prefix("cpu ")?.split_whitespace().map(|word| word.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    let (user, nice, system, _idle, _iowait) = (next()?, next()?, next()?, next()?, next()?);
    let rest = [next(), next(), next()].into_iter().flatten().sum::<u64>();
    Some(user + nice + system + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_not_busy() {
        assert_eq!(busy_ticks("cpu  10 2 30 1000 500 1 2 3 7 7"), Some(48));
        assert_eq!(busy_ticks("cpu0 10 2 30 1000 500"), None);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 85\nmodel name\t: Some CPU @ 2.0GHz\n";
        assert_eq!(field(text, "model name"), Some("Some CPU @ 2.0GHz"));
        assert_eq!(field(text, "flags"), None);
    }
}
