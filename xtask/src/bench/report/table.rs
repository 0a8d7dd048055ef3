//! Tables as aligned text or as Markdown.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Markdown,
}

/// The first column is words, the others are figures.
#[derive(Debug)]
pub(crate) struct Table {
    /// The first is the heading.
    rows: Vec<Vec<String>>,
    is_all_words: bool,
}

impl Table {
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self { rows: vec![columns.iter().map(|&column| column.to_owned()).collect()], is_all_words: false }
    }

    /// Every column is words.
    pub(crate) fn with_words(mut self) -> Self {
        self.is_all_words = true;
        self
    }

    /// Whether there is nothing but the heading.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    pub(crate) fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.rows[0].len());
        self.rows.push(row);
    }

    pub(crate) fn print(&self, form: Form) -> String {
        let columns = self.rows[0].len();
        let width = |at: usize| self.rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut lines = self.rows.iter().map(|row| self.line(row, &widths, form));
        let mut text = lines.next().unwrap_or_default();
        if form == Form::Markdown {
            let rule = |&width: &usize| match self.is_all_words {
                true => format!(" {} |", "-".repeat(width)),
                false => format!(" {}: |", "-".repeat(width.saturating_sub(1))),
            };
            let right = widths[1..].iter().map(rule);
            text.push_str(&format!("| {} |{}\n", "-".repeat(widths[0]), right.collect::<String>()));
        }
        text.extend(lines);
        text
    }

    fn line(&self, row: &[String], widths: &[usize], form: Form) -> String {
        let mut cells = vec![format!("{:<width$}", row[0], width = widths[0])];
        cells.extend(row.iter().zip(widths).skip(1).map(|(cell, &width)| match self.is_all_words {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        }));
        match form {
            Form::Text => format!("{}\n", cells.join("  ").trim_end()),
            Form::Markdown => format!("| {} |\n", cells.join(" | ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&["tool", "× clang"]);
        table.push(vec!["caulk, warm".into(), "0.05".into()]);
        table
    }

    #[test]
    fn figures_are_aligned_at_the_right() {
        assert_eq!(sample().print(Form::Text), "tool         × clang\ncaulk, warm     0.05\n");
    }

    #[test]
    fn markdown_has_a_rule_under_the_heading() {
        let expected = "\
| tool        | × clang |
| ----------- | ------: |
| caulk, warm |    0.05 |
";
        assert_eq!(sample().print(Form::Markdown), expected);
    }
}
