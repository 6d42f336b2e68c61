//! How the screen looks: from what is known to cells. Only [`canvas`] writes cells, and it
//! makes every text harmless.
//!
//! | module | what |
//! |---|---|
//! | `canvas` | lines of text in cells |
//! | `frame` | the bars at the top and at the bottom |
//! | `servers` | the view of servers |
//! | `tables` | the other views |
//! | `pages` | pages, as lines |
//! | `server_page` | one server |
//! | `call_page` | calls and their results |
//! | `help` | which keys do what |

mod call_page;
mod canvas;
mod frame;
mod help;
mod pages;
mod server_page;
mod servers;
mod tables;

use crate::model::{Model, View};
use canvas::{Canvas, Line, Look};
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
        canvas.line(0, &Line::of("too small", Look::Plain));
        return None;
    }
    frame::top(model, &mut canvas);
    let cursor = match model.page() {
        Some(page) => pages::draw(model, page, &mut canvas),
        None => {
            view(model, &mut canvas);
            None
        }
    };
    frame::bottom(model, &mut canvas).or(cursor)
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
        pages::lines(model, page, usize::from(model.size.0)).len()
    });
    (lines, height.max(1))
}
