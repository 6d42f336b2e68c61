//! Tables that read well in a terminal and are Markdown at the same time.

/// Rows under a header; columns after the first are aligned to the right.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column names.
    pub fn new<const N: usize>(header: [&str; N]) -> Self {
        Self {
            rows: vec![header.map(str::to_owned).to_vec()],
        }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    /// The table as text, one line a row.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
                    .max(3)
            })
            .collect();
        let mut out = String::new();
        for (line, row) in self.rows.iter().enumerate() {
            for (column, width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                out += &match column {
                    0 => format!("| {cell:<width$} |"),
                    _ => format!(" {cell:>width$} |"),
                };
            }
            out.push('\n');
            if line == 0 {
                for (column, width) in widths.iter().enumerate() {
                    out += &match column {
                        0 => format!("|{}|", "-".repeat(width + 2)),
                        _ => format!("{}:|", "-".repeat(width + 1)),
                    };
                }
                out.push('\n');
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["step", "s"]);
        table.row(["fmt".into(), "1.5".into()]);
        assert_eq!(
            table.render(),
            "| step |   s |\n|------|----:|\n| fmt  | 1.5 |\n"
        );
    }
}
