//! The date of a report, in UTC. `SOURCE_DATE_EPOCH` stands for the clock where two runs must give the same bytes.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 86_400;

pub(crate) fn now() -> String {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    text(given.unwrap_or_else(clock))
}

fn text(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / SECONDS_A_DAY);
    let (hour, minute) = (seconds % SECONDS_A_DAY / 3600, seconds % 3600 / 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Year, month and day of a number of days since 1970. Years begin in March here, so that the leap day is the last of a year.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    #[test]
    fn days_and_hours() {
        assert_eq!(super::text(0), "1970-01-01 00:00 UTC");
        assert_eq!(super::text(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(super::text(1_767_225_599), "2025-12-31 23:59 UTC");
    }
}
