//! The machine, and how busy others keep it.

use std::fs;
use std::process::Command;

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// "2 cores, Name of the Processor, 24 GB".
pub(crate) fn describe() -> String {
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
pub(crate) fn first_line(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(|line| line.trim().to_owned())
}

/// Seconds that all processors together were busy since the machine started.
pub(crate) fn busy_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    busy_ticks(stat.lines().next()?).map(|ticks| ticks as f64 / ticks_per_second())
}

fn ticks_per_second() -> f64 {
    // SAFETY: asks for a constant of the system.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) as f64 }
}

/// Seconds that the processes of a group have used, with children they have waited for.
pub(crate) fn group_cpu_seconds(group: u32) -> f64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter_map(|stat| ticks_in_group(&stat, group)).sum::<u64>() as f64 / ticks_per_second()
}

/// From `PID (NAME) STATE PARENT GROUP ...`, in which utime, stime, cutime and cstime are fields 14 to 17. A name may hold
/// blanks and parentheses.
fn ticks_in_group(stat: &str, group: u32) -> Option<u64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let is_in_group = fields.get(2)?.parse() == Ok(group);
    let times = fields.get(11..15).filter(|_| is_in_group)?;
    Some(times.iter().filter_map(|field| field.parse::<u64>().ok()).sum())
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
    fn a_process_counts_for_its_own_group() {
        let stat = "12 (a) b) R 1 77 77 0 -1 4194304 1 0 0 0 5 6 7 8 20 0 1 0 99 0 0";
        assert_eq!((ticks_in_group(stat, 77), ticks_in_group(stat, 1)), (Some(26), None));
        assert_eq!(ticks_in_group("12 (a", 77), None);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 85\nmodel name\t: Some CPU @ 2.0GHz\n";
        assert_eq!(field(text, "model name"), Some("Some CPU @ 2.0GHz"));
        assert_eq!(field(text, "flags"), None);
    }
}
