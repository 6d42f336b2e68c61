//! How the screen looks: from what is known to cells. Only [`canvas`] writes cells, and it
//! makes every text harmless.
//!
//! | module | what |
//! |---|---|
//! | `line` | lines of text, as they are written |
//! | `canvas` | lines of text in cells |
//! | `frame` | the bars at the top and at the bottom |
//! | `servers` | the view of servers |
//! | `tables` | the other views |
//! | `pages` | pages, as lines |
//! | `question_page`, `entry` | questions, and entries that they are about |
//! | `form_page` | forms |
//! | `server_page` | one server |
//! | `call_page` | calls and their results |
//! | `help` | which keys do what |

mod call_page;
mod canvas;
mod entry;
mod form_page;
mod frame;
mod help;
mod line;
mod pages;
mod question_page;
mod server_page;
mod servers;
mod tables;

use crate::{
    limits,
    model::{Model, View},
    page::{Kind, Page},
};
use canvas::Canvas;
use line::{Line, Look};
use ratatui::buffer::Buffer;

/// Where the cursor is, in columns and rows.
pub type Cursor = Option<(u16, u16)>;

/// Columns and rows below which nothing can be shown.
const LEAST: (u16, u16) = (20, 6);

/// Draws everything, and says where the cursor is.
pub fn draw(model: &Model, buffer: &mut Buffer) -> Cursor {
    let (width, height) = (buffer.area.width, buffer.area.height);
    let mut canvas = Canvas::new(buffer, model.colour);
    if width < LEAST.0 || height < LEAST.1 {
        let mut line = Line::default();
        canvas.line(0, line.and("too small", Look::Plain));
        return None;
    }
    frame::top(model, &mut canvas);
    let (cursor, rest) = match model.page() {
        Some(page) => pages::draw(model, page, &mut canvas),
        None => {
            view(model, &mut canvas);
            (None, Rest::default())
        }
    };
    frame::bottom(model, &mut canvas, rest).or(cursor)
}

/// What of a page is not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Lines of a form above what is seen, to which one can go.
    pub above: usize,
    /// Lines below what is seen.
    pub below: usize,
    /// Whether its end is seen, and nothing of it was left out for its length.
    pub is_whole: bool,
}

impl Rest {
    fn of(page: &Page, lines: usize, height: usize) -> Self {
        let first = page.scroll.min(lines.saturating_sub(height));
        let below = lines.saturating_sub(first + height);
        Self {
            above: 0,
            below,
            is_whole: below == 0 && lines < limits::TEXT_LINES,
        }
    }
}

/// What of the page in front is not seen at this size. Where nothing can be shown, nothing is.
pub fn rest(model: &Model) -> Rest {
    let (lines, height) = extent(model);
    let Some(page) = model.page() else {
        return Rest::default();
    };
    let mut rest = Rest::of(page, lines, height);
    rest.is_whole &= model.size.0 >= LEAST.0 && model.size.1 >= LEAST.1;
    rest
}

/// How many lines of a form lie above what is seen when one is on a field of it.
pub fn above(model: &Model) -> usize {
    let (columns, rows) = model.size;
    match model.page().map(|page| &page.kind) {
        Some(Kind::Form(form)) => form_page::hidden(
            form,
            usize::from(columns).saturating_sub(2),
            usize::from(rows.saturating_sub(frame::AROUND + 1)),
        ),
        _ => 0,
    }
}

fn view(model: &Model, canvas: &mut Canvas<'_>) {
    match model.view {
        View::Servers => servers::draw(model, canvas),
        View::Tools => tables::tools(model, canvas),
        View::Traffic => tables::traffic(model, canvas),
        View::Inbox => tables::inbox(model, canvas),
        View::Clients => tables::clients(model, canvas),
        View::Doctor => tables::doctor(model, canvas),
    }
}

/// How many lines the page in front has, and how many of them are seen at once.
pub fn extent(model: &Model) -> (usize, usize) {
    let height = usize::from(model.size.1).saturating_sub(usize::from(frame::AROUND) + 1);
    let lines = model.page().map_or(0, |page| {
        pages::lines(model, page, usize::from(model.size.0)).0.len()
    });
    (lines, height.max(1))
}
