//! Cells as an SVG, for the guide: the tests draw it from the same cells as the terminal's.

use ratatui::{
    buffer::Buffer,
    style::{Color, Modifier},
};

/// Units of a cell: a monospaced font of 14 is about as wide as this.
const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 10.0;

/// A picture of these cells.
pub fn svg(buffer: &Buffer) -> String {
    let area = buffer.area;
    let width = f32::from(area.width) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(area.height) * CELL.1 + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1b1d23\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\" xml:space=\"preserve\">\n"
    );
    for y in 0..area.height {
        row(buffer, y, &mut out);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// One row: a piece for each run of cells that look the same.
fn row(buffer: &Buffer, y: u16, out: &mut String) {
    let mut x = 0;
    while x < buffer.area.width {
        let first = &buffer[(x, y)];
        let look = (first.fg, first.modifier);
        let mut text = String::new();
        let from = x;
        while x < buffer.area.width {
            let cell = &buffer[(x, y)];
            if (cell.fg, cell.modifier) != look {
                break;
            }
            text.push_str(cell.symbol());
            x += 1;
        }
        piece(&text, from, y, x - from, look, out);
    }
}

fn piece(text: &str, x: u16, y: u16, cells: u16, look: (Color, Modifier), out: &mut String) {
    let (colour, modifier) = look;
    let reversed = modifier.contains(Modifier::REVERSED);
    let (left, top) = (
        f32::from(x) * CELL.0 + MARGIN,
        f32::from(y) * CELL.1 + MARGIN,
    );
    let width = f32::from(cells) * CELL.0;
    if reversed {
        out.push_str(&format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"#3a3f4b\"/>\n",
            CELL.1
        ));
    }
    if text.trim().is_empty() {
        return;
    }
    let weight = if modifier.contains(Modifier::BOLD) {
        " font-weight=\"bold\""
    } else {
        ""
    };
    let fade = if modifier.contains(Modifier::DIM) {
        " opacity=\"0.6\""
    } else {
        ""
    };
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    out.push_str(&format!(
        "<text x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" fill=\"{}\"{weight}{fade}>{text}</text>\n",
        top + 13.5,
        fill(colour)
    ));
}

fn fill(colour: Color) -> &'static str {
    match colour {
        Color::Green => "#98c379",
        Color::Yellow => "#e5c07b",
        Color::Red => "#e06c75",
        Color::Cyan => "#56b6c2",
        _ => "#d7dae0",
    }
}
