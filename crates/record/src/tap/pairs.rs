//! The messages of one call: what each is, which was made of which, and what we changed
//! in it.

use super::{
    difference::{self, Differs, How, differences},
    ring::Crossing,
    rows::{Within, row_of},
};
use crate::limits;
use switchboard_api::calls::{Crossed, Edit};
use switchboard_host::observe::Edge;
use switchboard_local::visible;
use switchboard_wire::json::{self, Span};

/// What a message is, by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shape {
    method: Option<String>,
    has_id: bool,
    is_error: bool,
}

impl Shape {
    fn of(text: &[u8]) -> Self {
        let fields = json::fields(text, ["method", "id", "error"]);
        let [method, id, error] = fields.unwrap_or_default();
        Self {
            method: method.and_then(|span| json::text(span.of(text)).map(String::from)),
            has_id: id.is_some(),
            is_error: error.is_some(),
        }
    }

    fn word(&self) -> &'static str {
        match (&self.method, self.has_id) {
            (Some(_), true) => "request",
            (Some(_), false) => "notification",
            _ if self.is_error => "error",
            _ => "response",
        }
    }
}

/// What a call was answered last, on this edge.
pub(super) fn answer(messages: &[Crossing], edge: Edge) -> Option<Vec<u8>> {
    let told = |one: &&Crossing| one.edge == edge;
    messages.iter().rev().filter(told).find_map(|one| {
        let text = one.text.as_ref()?.to_vec();
        Shape::of(&text).method.is_none().then_some(text)
    })
}

/// Says of each message what it is, what it was made of and what was changed in it.
pub(super) fn put_in_pairs(messages: &mut [Crossed], bridged: bool, edited: bool) {
    let shapes: Vec<Shape> = messages
        .iter()
        .map(|one| Shape::of(one.text.as_deref().unwrap_or_default().as_bytes()))
        .collect();
    let mut asked = [false; 2];
    for (one, shape) in messages.iter_mut().zip(&shapes) {
        one.kind = kind(one, shape, &mut asked).to_owned();
        one.method.clone_from(&shape.method);
    }
    let mut used = vec![false; messages.len()];
    let request = shapes.first().and_then(|shape| shape.method.clone());
    for at in 0..messages.len() {
        let Some(source) = made_of(messages, &shapes, &used, at) else {
            continue;
        };
        // A request may be sent again; all else crosses once.
        let is_same = shapes[source].method.is_some() == shapes[at].method.is_some();
        let is_request = shapes[source].word() == "request" && messages[source].kind != "question";
        used[source] = is_same && !is_request;
        let within = Within {
            shape: shapes[at].word(),
            method: shapes[at]
                .method
                .as_deref()
                .or(request.as_deref())
                .unwrap_or_default(),
            bridged,
            edited,
        };
        let (Some(before), Some(after)) = (&messages[source].text, &messages[at].text) else {
            continue;
        };
        let edits = edits(before, after, within);
        messages[at].edits = edits;
        messages[at].made_of = Some(source);
    }
}

/// What a message is in its call.
fn kind(one: &Crossed, shape: &Shape, asked: &mut [bool; 2]) -> &'static str {
    let from_us_to_server = one.edge == "to-server";
    let is_inward = from_us_to_server || one.edge == "from-client";
    match (shape.word(), is_inward) {
        ("request", true) => {
            let again = std::mem::replace(&mut asked[usize::from(from_us_to_server)], true);
            if again { "retry" } else { "request" }
        }
        ("request", false) => "question",
        ("notification", _) => "notice",
        (_, true) => "answer",
        ("error", false) => "error",
        _ => "result",
    }
}

/// The message that this one was made of: the one on the other side that is of its kind
/// and was not passed on yet.
fn made_of(messages: &[Crossed], shapes: &[Shape], used: &[bool], at: usize) -> Option<usize> {
    let one = &messages[at];
    let from = match one.edge.as_str() {
        "to-server" => "from-client",
        "to-client" => "from-server",
        _ => return None,
    };
    let before = (0..at).filter(|other| messages[*other].edge == from && !used[*other]);
    let same_method = |other: &usize| shapes[*other].method == shapes[at].method;
    let of_kind = |kinds: &[&str], other: &usize| kinds.contains(&messages[*other].kind.as_str());
    match one.kind.as_str() {
        // The last one: it may have come back with answers.
        "request" | "retry" => before
            .filter(|other| of_kind(&["request", "retry"], other))
            .rfind(same_method),
        "result" | "error" => {
            let mut before: Vec<usize> = before.collect();
            before.reverse();
            let answered = before
                .iter()
                .find(|other| of_kind(&["result", "error"], other));
            // Across eras a question is a result that asks for input.
            let asked = || before.iter().find(|other| of_kind(&["question"], other));
            answered.or_else(asked).copied()
        }
        "answer" => {
            let mut before: Vec<usize> = before.collect();
            let answered = before.iter().find(|other| of_kind(&["answer"], other));
            let answered = answered.copied();
            before.reverse();
            let retried = || before.into_iter().find(|other| of_kind(&["retry"], other));
            answered.or_else(retried)
        }
        kind => {
            let before: Vec<usize> = before.collect();
            let same = |other: &&usize| of_kind(&[kind], other) && same_method(other);
            let same = before.iter().find(same).copied();
            // Across eras a result that asks for input is a question.
            let is_question = kind == "question";
            let asks = |other: &&usize| is_question && of_kind(&["result"], other);
            same.or_else(|| before.iter().rev().find(asks).copied())
        }
    }
}

/// What is not as it was, with the rows that allow it.
fn edits(before: &str, after: &str, within: Within<'_>) -> Vec<Edit> {
    let found = differences(before.as_bytes(), after.as_bytes());
    let of = |text: &str, span: Option<Span>| {
        let said = String::from_utf8_lossy(span?.of(text.as_bytes())).into_owned();
        Some(visible::cut(&said, limits::TAP_EXCERPT))
    };
    let edit = |one: &Differs| Edit {
        path: difference::pointer(&one.path),
        what: one.how.word().to_owned(),
        span: one.after.map(|span| (span.start, span.end)),
        before: match one.how {
            How::WhiteSpace => None,
            _ => of(before, one.before),
        },
        after: match one.how {
            How::WhiteSpace => None,
            _ => of(after, one.after),
        },
        row: row_of(&one.path, one.how, within).map(str::to_owned),
    };
    found.iter().map(edit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crossed(edge: &str, text: &str) -> Crossed {
        Crossed {
            edge: edge.to_owned(),
            text: Some(text.to_owned()),
            ..Crossed::default()
        }
    }

    #[test]
    fn messages_are_put_in_pairs() {
        let mut all = [
            crossed(
                "from-client",
                r#"{"id":7,"method":"tools/call","params":{"name":"a__x","_meta":{"progressToken":"p"}}}"#,
            ),
            crossed(
                "to-server",
                r#"{"id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}"#,
            ),
            crossed(
                "from-server",
                r#"{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
            ),
            crossed(
                "to-client",
                r#"{"method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#,
            ),
            crossed(
                "from-server",
                r#"{"id":"q","method":"elicitation/create","params":{"message":"m"}}"#,
            ),
            crossed(
                "to-client",
                r#"{"id":3,"method":"elicitation/create","params":{"message":"[a] m"}}"#,
            ),
            crossed("from-client", r#"{"id":3,"result":{"action":"accept"}}"#),
            crossed("to-server", r#"{"id":"q","result":{"action":"accept"}}"#),
            crossed("from-server", r#"{"id":1,"result":{"content":[]}}"#),
            crossed("to-client", r#"{"id":7,"result":{"content":[]}}"#),
        ];
        put_in_pairs(&mut all, false, false);
        let kinds: Vec<&str> = all.iter().map(|one| one.kind.as_str()).collect();
        let (notice, question) = ("notice", "question");
        assert_eq!(
            kinds,
            [
                "request", "request", notice, notice, question, question, "answer", "answer",
                "result", "result"
            ]
        );
        let made: Vec<Option<usize>> = all.iter().map(|one| one.made_of).collect();
        let none = None;
        assert_eq!(
            made,
            [
                none,
                Some(0),
                none,
                Some(2),
                none,
                Some(4),
                none,
                Some(6),
                none,
                Some(8)
            ]
        );
        let rows: Vec<&str> = all
            .iter()
            .flat_map(|one| &one.edits)
            .map(|edit| edit.row.as_deref().unwrap_or("none"))
            .collect();
        assert_eq!(rows, ["S1", "A1", "S2", "S3", "S1", "A10", "S1", "S1"]);
        let name = &all[1].edits[1];
        let (from, to) = name.span.unwrap();
        assert_eq!(&all[1].text.as_deref().unwrap()[from..to], "\"x\"");
        assert_eq!(name.before.as_deref(), Some("\"a__x\""));
    }
}
