//! Random keys on random states: no panic, and no cell that a terminal would obey.
//! `cargo xtask soak screen` makes a million steps.

use crate::{
    samples::{Bench, call, question, server, tool},
    views::cells,
};
use serde_json::{Value, json};
use switchboard_api::{Refused, events::Event, questions::Kind};
use switchboard_screen::{Effect, Key, Link, Message, text, update};
use unicode_width::UnicodeWidthStr;

/// Numbers that look random, and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.roll(all.len())]
    }
}

/// Texts as hostile servers send them.
const TEXTS: [&str; 16] = [
    "",
    "plain",
    "\u{1b}[2J\u{1b}[1;1Hgone",
    "\u{9b}31m",
    "\u{1b}]0;title\u{7}",
    "a\r\nb\tc\0d",
    "\u{202e}txt.exe",
    "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
    "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
    "\u{301}\u{302} begins with marks",
    "👨\u{200d}👩\u{200d}👧 🇩🇪🇫🇷 👍🏽 ❤\u{fe0f}",
    "שלום עולם",
    "مرحبا \u{61c}",
    "\u{feff}\u{200b}\u{2066}\u{e0041}",
    "a very long text that goes on and on and does not end where anybody would expect it to end, however wide it is",
    "ก็ำ နမူနာ नमस्ते ﷽ 𒐫",
];

const WORDS: [&str; 12] = [
    "connected",
    "connecting",
    "failed",
    "needs-auth",
    "asleep",
    "disabled",
    "denied",
    "pending",
    "shadowed",
    "expired",
    "yes",
    "",
];

fn happening(dice: &mut Dice) -> Message {
    match dice.roll(100) {
        0..45 => Message::Key(Key::Char(*dice.of(&[
            '1', '2', '3', '4', '5', '6', ':', '/', '?', 'q', 'r', 'e', 'a', 'x', 'A', 'l', 't',
            'w', 'n', 'R', 'E', 'D', 'j', 'k', 'g', 'G', 'y', 'N', 'o', 'v', 'd', 'p', 's', 'h',
            'c', ' ', '+', '漢', '\u{301}', '"', '\'', '!',
        ]))),
        45..75 => Message::Key(*dice.of(&Key::NAMED)),
        75..80 => Message::Key(Key::Ctrl(*dice.of(&['a', 'd', 'e', 'k', 'l', 's', 'u', 'w', 'x', 'y']))),
        80..83 => Message::Pasted((*dice.of(&TEXTS)).to_owned()),
        83..86 => {
            let (columns, rows) = *dice.of(&[(80, 24), (120, 40), (40, 12), (20, 6), (19, 5), (1, 1), (0, 0), (200, 3), (21, 60)]);
            Message::Resized(columns, rows)
        }
        86..94 => Message::Changed(Box::new(event(dice))),
        94..96 => Message::Wrote {
            run: dice.roll(40) as u64,
            lines: vec![(*dice.of(&TEXTS)).to_owned(); dice.roll(4)],
        },
        96 => Message::Ended {
            run: dice.roll(40) as u64,
            code: *dice.of(&[None, Some(0), Some(3)]),
        },
        97 => Message::Linked(dice.of(&[
            Link::Looking,
            Link::Inside,
            Link::Lost { why: "\u{1b}c".into() },
            Link::Attached { address: "127.0.0.1:3700".into() },
        ]).clone()),
        98 => dice.of(&[
            Message::Examined { found: json!([{"area": "a", "level": "problem", "what": "\u{1b}c", "found": "x\ny", "advice": "switchboard login \u{202e}a"}]).to_string().into_bytes(), at: u64::MAX },
            Message::Examined { found: b"null".to_vec(), at: 0 },
            Message::NotExamined { why: "\u{9b}2J".to_owned() },
        ]).clone(),
        _ => Message::Told((*dice.of(&TEXTS)).to_owned()),
    }
}

fn event(dice: &mut Dice) -> Event {
    let text = (*dice.of(&TEXTS)).to_owned();
    match dice.roll(8) {
        0..3 => {
            let scope = *dice.of(&["user", "local", "project", "x"]);
            let word = *dice.of(&WORDS);
            let mut server = server(&text, scope, word);
            server.sign_in.word = (*dice.of(&WORDS)).to_owned();
            server.state.reason = Some((*dice.of(&TEXTS)).to_owned());
            server.target = (*dice.of(&TEXTS)).to_owned();
            server.clients = dice.roll(2) * usize::MAX;
            server.memory = Some(*dice.of(&[0, 1, u64::MAX]));
            Event::Server {
                server: Box::new(server),
            }
        }
        3 => Event::ServerGone {
            name: text,
            file: Some("/home/ada/.claude.json".into()),
        },
        4 => {
            let outcome = *dice.of(&["running", "ok", "error"]);
            let mut call = call(dice.roll(50) as u64, &text, outcome);
            call.origin = "own".into();
            call.took = Some(*dice.of(&[0, 999, u64::MAX]));
            call.at = *dice.of(&[0, u64::MAX]);
            Event::Call {
                call: Box::new(call),
            }
        }
        5 => {
            let kind = *dice.of(&[
                Kind::Permission,
                Kind::Form,
                Kind::Page,
                Kind::Sampling,
                Kind::SignIn,
                Kind::Approval,
                Kind::Changed,
                Kind::Proposal,
            ]);
            let answers = ["allow", "deny", "accept", "decline", "approve"];
            let mut question = question(
                &format!("q{}", dice.roll(6)),
                kind,
                &answers[dice.roll(5)..],
            );
            question.title = text.clone();
            question.text = Some(text);
            question.url = Some("https://example.com/\u{202e}".into());
            question.call = Some(dice.roll(50) as u64);
            question.about = Some(
                json!({"runs": [*dice.of(&TEXTS)], "connects": null, "variables": [[*dice.of(&TEXTS), *dice.of(&TEXTS)], 7], *dice.of(&TEXTS): {"x": TEXTS}}),
            );
            question.status = (*dice.of(&["open", "open", "answered"])).to_owned();
            Event::Question {
                question: Box::new(question),
                waiting: dice.roll(3),
            }
        }
        6 => Event::Listed {
            name: text,
            list: "tools".into(),
        },
        _ => Event::Reset,
    }
}

fn text(dice: &mut Dice) -> &'static str {
    let text: &&str = dice.of(&TEXTS);
    text
}

/// What a gateway could answer, also one that makes no sense.
fn reply(dice: &mut Dice, ask: &switchboard_screen::Ask) -> Result<Value, Refused> {
    match dice.roll(10) {
        0 => Err(Refused {
            error: (*dice.of(&TEXTS)).to_owned(),
            code: "invalid".into(),
            ..Refused::default()
        }),
        1 => Ok(json!({})),
        2 => Ok(json!("nothing that anybody understands")),
        3 => Ok(json!({
            "tools": [tool(text(dice), text(dice), "ask")],
            "lines": TEXTS,
            "items": [{"name": *dice.of(&TEXTS)}, 7, null],
            "root": {"kind": "object", "fields": [
                {"key": *dice.of(&TEXTS), "kind": *dice.of(&["string", "integer", "array", "choice", "enum", "boolean", "json", "null", "?"]), "required": true, "label": *dice.of(&TEXTS)},
                {"key": "n", "kind": "array", "item": {"kind": "object", "fields": [{"key": "d", "kind": "choice", "options": [{"kind": "string"}, {"kind": "integer"}]}]}},
            ]},
            "faults": [],
            "result": {"content": [{"type": "text", "text": *dice.of(&TEXTS)}], "x": TEXTS},
        })),
        _ => crate::samples::answer(ask).ok_or_else(Refused::default),
    }
}

fn walk(seed: u64, steps: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut bench = Bench::new(80, 24);
    for step in 0..steps {
        let message = happening(&mut dice);
        let told = format!("seed {seed}, step {step}: {message:?}");
        let mut open = update(&mut bench.model, message);
        let mut asked = 0;
        while let Some(effect) = open.pop() {
            let (Effect::Ask(ask) | Effect::Later(_, ask)) = effect else {
                continue;
            };
            asked += 1;
            if asked > 20 {
                break;
            }
            let answer = reply(&mut dice, &ask).map(|said| said.to_string().into_bytes());
            let ask = Box::new(ask);
            open.extend(update(&mut bench.model, Message::Answered { ask, answer }));
        }
        look(&bench, &told);
    }
}

/// No cell holds what a terminal would obey, or takes more columns than it has.
fn look(bench: &Bench, told: &str) {
    let buffer = cells(&bench.model);
    for cell in &buffer.content {
        let symbol = cell.symbol();
        if matches!(symbol.as_bytes(), [b' '..=b'~']) {
            continue;
        }
        assert!(symbol.width() <= 2, "{told}: {symbol:?}");
        for c in symbol.chars() {
            assert!(
                !switchboard_local::visible::is_hostile(c),
                "{told}: {symbol:?}"
            );
        }
        assert_eq!(text::clean(symbol), symbol, "{told}");
    }
}

/// A sample; the soak says where to begin and how far to go.
#[test]
fn random_keys_on_random_states() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let first: u64 = number("SWITCHBOARD_SOAK_SEED").unwrap_or(1);
    let (rounds, steps) = match number("SWITCHBOARD_SOAK_ROUNDS") {
        Some(rounds) => (rounds, 10_000),
        None => (4, 500),
    };
    println!("seeds {first} to {}", first + rounds);
    for seed in first..first + rounds {
        walk(seed, steps);
    }
}
