//! Every view and page, as text, in three sizes.

use crate::{
    samples::{Bench, call},
    snapshots::Snapshots,
};
use ratatui::{buffer::Buffer, layout::Rect};
use std::path::Path;
use switchboard_api::events::Event;
use switchboard_screen::{Key, Link, Message, Model, page, picture, view};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 12)];

pub fn cells(model: &Model) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, model.size.0, model.size.1));
    view::draw(model, &mut buffer);
    buffer
}

/// Rows as a person reads them.
pub fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut row = String::new();
        let mut skip = 0;
        for x in 0..buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            // A wide character takes the cell behind it, too.
            if skip == 0 {
                row.push_str(symbol);
                skip = switchboard_screen::text::columns(symbol).max(1);
            }
            skip -= 1;
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}

/// What is typed to get there.
const WALKS: [(&str, &str); 24] = [
    ("servers", ""),
    ("servers_void_sign_in", "jjj"),
    ("servers_filtered", "/git\n"),
    ("tools", "2"),
    ("traffic", "3"),
    ("inbox", "4"),
    ("clients", "5"),
    ("doctor", "6"),
    ("server_overview", "jjjjj\n"),
    ("server_tools", "jjt"),
    ("server_resources", "jjt\t"),
    ("server_stderr", "jjl"),
    ("server_explain", "jjw"),
    ("form", "2\nhello\n"),
    ("result", "2\nhello\n\n\n"),
    ("call", "3\n"),
    ("question_permission", "4\n"),
    ("question_form", "4j\n"),
    ("question_changed", "4jj\n"),
    ("approve", "jA"),
    ("sign_in", "jja"),
    ("confirm_all", "D"),
    ("command_line", ":l\t"),
    ("keys", "?"),
];

#[test]
fn every_view_in_three_sizes() {
    let mut snapshots = Snapshots::of("views");
    for (columns, rows) in SIZES {
        for (name, typed) in WALKS {
            let mut bench = Bench::new(columns, rows);
            bench.doctor();
            bench.types(typed);
            let text = text(&cells(&bench.model));
            snapshots.check(&format!("{name}_{columns}x{rows}.txt"), &text);
        }
        let mut empty = Model {
            size: (columns, rows),
            known: true,
            link: Link::Inside,
            ..Model::default()
        };
        let name = format!("nothing_configured_{columns}x{rows}.txt");
        snapshots.check(&name, &text(&cells(&empty)));
        empty.link = Link::Lost {
            why: "connection refused".into(),
        };
        let name = format!("gateway_gone_{columns}x{rows}.txt");
        snapshots.check(&name, &text(&cells(&empty)));
    }
    snapshots.finish();
}

/// Without colours nothing but bold and reversed cells is left.
#[test]
fn without_colours_there_are_none() {
    let mut bench = Bench::new(80, 24);
    bench.doctor();
    bench.model.colour = false;
    for view in ["1", "2", "3", "4", "5", "6"] {
        bench.types(view);
        for cell in &cells(&bench.model).content {
            assert_eq!(cell.fg, ratatui::style::Color::Reset);
            assert_eq!(cell.bg, ratatui::style::Color::Reset);
        }
    }
}

/// Where a sign-in is void, nothing says that the server is connected.
#[test]
fn a_void_sign_in_is_never_called_connected() {
    for (columns, rows) in SIZES {
        let mut bench = Bench::new(columns, rows);
        for word in ["wanted", "expired", "refused"] {
            for server in &mut bench.model.state.servers {
                server.sign_in.word = word.into();
            }
            for keys in ["1", "g\n"] {
                bench.types(keys);
                let text = text(&cells(&bench.model));
                assert!(!text.contains("connected"), "{text}");
            }
            bench.key(Key::Esc);
        }
    }
}

/// The keys that are shown are those of what one looks at.
#[test]
fn keys_of_a_page_are_shown_on_a_page() {
    let mut bench = Bench::new(80, 40);
    bench.types("2\nhello\n\n\n?");
    let on_result = text(&cells(&bench.model));
    assert!(on_result.contains("copy as command"), "{on_result}");
    assert!(!on_result.contains("permission"), "{on_result}");
    let mut bench = Bench::new(80, 40);
    bench.types("jjt?");
    let on_server = text(&cells(&bench.model));
    assert!(on_server.contains("next tab"), "{on_server}");
    assert!(!on_server.contains("enable all"), "{on_server}");
    let mut bench = Bench::new(80, 40);
    bench.types("?");
    assert!(text(&cells(&bench.model)).contains("enable all"));
}

/// What to do first is there to its end, however narrow it is.
#[test]
fn first_steps_are_never_cut() {
    let model = Model {
        size: (40, 12),
        known: true,
        link: Link::Inside,
        ..Model::default()
    };
    let text = text(&cells(&model));
    assert!(!text.contains('…'), "{text}");
    for end in ["address", "clients have", "comes along"] {
        assert!(text.contains(end), "{end}: {text}");
    }
    // Keys about a line are for where there is one.
    assert!(!text.contains("reconnect"), "{text}");
}

/// Of a gateway that is gone nothing is known; a form that was asked for meanwhile comes when
/// there is one again.
#[test]
fn what_a_lost_gateway_said_is_not_shown_as_if_it_held() {
    let lost = || {
        let why = "connection refused".to_owned();
        Message::Linked(Link::Lost { why })
    };
    let mut bench = Bench::new(80, 24);
    bench.happens(lost());
    let shown = text(&cells(&bench.model));
    let row = shown.lines().find(|line| line.contains("github"));
    let row = row.unwrap_or_else(|| panic!("{shown}"));
    assert!(!row.contains("connected") && !row.contains("yes"), "{row}");
    for (columns, rows) in SIZES {
        let mut bench = Bench::new(columns, rows);
        bench.happens(lost());
        let shown = text(&cells(&bench.model));
        assert!(shown.contains("switchboard up"), "{shown}");
    }

    let mut bench = Bench::new(80, 24);
    bench.types("2\n");
    let Some(page::Kind::Form(form)) = bench.model.pages.last_mut().map(|page| &mut page.kind)
    else {
        panic!("no form")
    };
    form.form = None;
    let waiting = text(&cells(&bench.model));
    assert!(waiting.contains('…'), "{waiting}");
    bench.happens(Message::Linked(Link::Attached {
        address: "127.0.0.1:3700".into(),
    }));
    let shown = text(&cells(&bench.model));
    assert!(shown.contains("message*"), "{shown}");
}

/// A call that has ended counts at its tool at once.
#[test]
fn calls_are_counted_as_they_end() {
    let mut bench = Bench::new(80, 24);
    bench.types("2");
    let before = bench.model.tools[0].calls;
    let (server, name) = (
        bench.model.tools[0].server.clone(),
        bench.model.tools[0].name.clone(),
    );
    for outcome in ["running", "ok", "ok"] {
        let mut call = call(77, &name, outcome);
        call.server = Some(server.clone());
        bench.event(Event::Call {
            call: Box::new(call),
        });
    }
    assert_eq!(bench.model.tools[0].calls, before + 1);
}

/// The pictures of the guide are drawn from the same cells.
#[test]
fn pictures_are_of_this_screen() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    for (name, typed) in [
        ("screen-servers", "jjj"),
        ("screen-inbox", "4jj\n"),
        ("screen-result", "2\nhello\n\n\n"),
    ] {
        let mut bench = Bench::new(96, 22);
        bench.types(typed);
        bench.happens(Message::Resized(96, 22));
        let drawn = picture::svg(&cells(&bench.model));
        let file = folder.join(format!("{name}.svg"));
        if std::env::var_os("SWITCHBOARD_WRITE_SNAPSHOTS").is_some() {
            std::fs::write(&file, &drawn).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            drawn == kept,
            "{name}: SWITCHBOARD_WRITE_SNAPSHOTS=1 draws it anew"
        );
    }
}
