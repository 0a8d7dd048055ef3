//! Numbers as they are written in prose.

/// 1658 as "1,658".
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// The least and the most, as "1.10 to 1.56".
pub(crate) fn range(numbers: impl Iterator<Item = f64>) -> Option<String> {
    let (least, most) = numbers.fold(None, |range: Option<(f64, f64)>, number| {
        let (least, most) = range.unwrap_or((number, number));
        Some((least.min(number), most.max(number)))
    })?;
    let (least, most) = (format!("{least:.2}"), format!("{most:.2}"));
    Some(if least == most { least } else { format!("{least} to {most}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_distinguished() {
        assert_eq!([7, 1658, 1_020_671, 100].map(grouped), ["7", "1,658", "1,020,671", "100"]);
    }

    #[test]
    fn a_range_of_one_is_one() {
        assert_eq!(range([1.1, 1.564, 1.2].into_iter()).as_deref(), Some("1.10 to 1.56"));
        assert_eq!(range([1.1].into_iter()).as_deref(), Some("1.10"));
        assert_eq!(range(std::iter::empty()), None);
    }
}
