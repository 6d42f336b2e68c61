//! A line of a cassette as text, and back. Messages stand in it as they were, but for
//! line ends between tokens.

use super::{Answer, Between, Call, Header, Hello, LineFault, Notice, Question, VERSION};
use bytes::Bytes;
use std::{fmt::Write, sync::Arc};
use switchboard_wire::{
    Era,
    json::{self, Span},
};

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The first one.
    Header(Header, Vec<Hello>),
    /// A server that was met since.
    Hello(Hello),
    /// A call.
    Call(Call),
    /// What a server said outside of any call.
    Notice(Arc<str>, Notice),
}

impl Line {
    /// The text of it, with its line end.
    pub(super) fn text(&self) -> String {
        let mut out = String::from("{");
        match self {
            Self::Header(header, hellos) => {
                put(&mut out, "cassette", &VERSION.to_string());
                put(&mut out, "recorded", &json::quote(&header.recorded));
                put(&mut out, "by", &json::quote(&header.by));
                let each: Vec<String> = hellos.iter().map(hello).collect();
                put(&mut out, "servers", &format!("[{}]", each.join(",")));
            }
            Self::Hello(one) => put(&mut out, "hello", &hello(one)),
            Self::Notice(server, one) => {
                put(&mut out, "server", &json::quote(server));
                notice(&mut out, one);
            }
            Self::Call(one) => call(&mut out, one),
        }
        out.push_str("}\n");
        out
    }

    /// Reads a line, which is JSON.
    pub(super) fn read(raw: &Bytes) -> Result<Self, LineFault> {
        if let Some(version) = number(raw, "cassette")? {
            if version != VERSION {
                return Err(LineFault::Version(version));
            }
            let list = field(raw, "servers")?.unwrap_or_default();
            let hellos = json::elements(&list)
                .map(|span| read_hello(&list.slice(span.start..span.end)))
                .collect::<Result<_, _>>()?;
            let header = Header {
                recorded: text(raw, "recorded")?.unwrap_or_default(),
                by: text(raw, "by")?.unwrap_or_default(),
            };
            return Ok(Self::Header(header, hellos));
        }
        if let Some(hello) = field(raw, "hello")? {
            return Ok(Self::Hello(read_hello(&hello)?));
        }
        if text(raw, "notice")?.is_some() {
            let server = wanted(text(raw, "server")?, "server")?;
            return Ok(Self::Notice(server.into(), read_notice(raw)?));
        }
        read_call(raw).map(Self::Call)
    }
}

fn put(out: &mut String, key: &str, value: &str) {
    if !out.ends_with(['{', '[']) {
        out.push(',');
    }
    let _ = write!(out, "\"{key}\":{value}");
}

/// Adds the text of a message's part. Line ends stand between tokens alone.
fn put_raw(out: &mut String, key: &str, raw: Option<&Bytes>) {
    if let Some(raw) = raw {
        let flat = String::from_utf8_lossy(raw).replace(['\n', '\r'], " ");
        put(out, key, &flat);
    }
}

fn put_answer(out: &mut String, answer: &Answer) {
    match answer {
        Answer::Result(raw) => put_raw(out, "result", Some(raw)),
        Answer::Error(raw) => put_raw(out, "error", Some(raw)),
    }
}

fn hello(hello: &Hello) -> String {
    let mut out = String::from("{");
    put(&mut out, "server", &json::quote(&hello.server));
    put(&mut out, "era", &json::quote(&hello.era.to_string()));
    put_raw(&mut out, "params", hello.params.as_ref());
    put_raw(&mut out, "result", Some(&hello.result));
    out.push('}');
    out
}

fn call(out: &mut String, call: &Call) {
    put(out, "server", &json::quote(&call.server));
    put(out, "era", &json::quote(&call.era.to_string()));
    put(out, "at", &call.at.to_string());
    put(out, "took", &call.took.to_string());
    put(out, "method", &json::quote(&call.method));
    put_raw(out, "params", call.params.as_ref());
    if !call.between.is_empty() {
        put(out, "between", "[");
        for between in &call.between {
            out.push_str(if out.ends_with('[') { "{" } else { ",{" });
            match between {
                Between::Notice(one) => notice(out, one),
                Between::Question(one) => question(out, one),
            }
            out.push('}');
        }
        out.push(']');
    }
    put_answer(out, &call.answer);
}

fn notice(out: &mut String, notice: &Notice) {
    put(out, "at", &notice.at.to_string());
    put(out, "notice", &json::quote(&notice.method));
    put_raw(out, "params", notice.params.as_ref());
}

fn question(out: &mut String, question: &Question) {
    put(out, "at", &question.at.to_string());
    put(out, "question", &json::quote(&question.method));
    put_raw(out, "params", question.params.as_ref());
    if let Some((at, answer)) = &question.answered {
        put(out, "answered", &at.to_string());
        put_answer(out, answer);
    }
}

/// The text of a member.
fn field(raw: &Bytes, key: &'static str) -> Result<Option<Bytes>, LineFault> {
    let span = json::field(raw, key)?;
    Ok(span.map(|span: Span| raw.slice(span.start..span.end)))
}

fn text(raw: &Bytes, key: &'static str) -> Result<Option<String>, LineFault> {
    let Some(token) = field(raw, key)? else {
        return Ok(None);
    };
    match json::text(&token) {
        Some(text) => Ok(Some(text.into_owned())),
        None => Err(must_be(key, "a string")),
    }
}

fn number(raw: &Bytes, key: &'static str) -> Result<Option<u64>, LineFault> {
    let Some(token) = field(raw, key)? else {
        return Ok(None);
    };
    match switchboard_wire::own_number(&token) {
        Some(number) => Ok(Some(number)),
        None => Err(must_be(key, "a whole number")),
    }
}

fn must_be(member: &'static str, wanted: &'static str) -> LineFault {
    LineFault::Type { member, wanted }
}

fn wanted<T>(found: Option<T>, key: &'static str) -> Result<T, LineFault> {
    found.ok_or(LineFault::Missing(key))
}

fn whose(raw: &Bytes) -> Result<(Arc<str>, Era), LineFault> {
    let server = wanted(text(raw, "server")?, "server")?;
    let era = match wanted(text(raw, "era")?, "era")?.as_str() {
        "legacy" => Era::Legacy,
        "modern" => Era::Modern,
        _ => return Err(must_be("era", "\"legacy\" or \"modern\"")),
    };
    Ok((server.into(), era))
}

fn read_answer(raw: &Bytes) -> Result<Option<Answer>, LineFault> {
    match (field(raw, "result")?, field(raw, "error")?) {
        (Some(result), None) => Ok(Some(Answer::Result(result))),
        (None, Some(error)) => Ok(Some(Answer::Error(error))),
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(LineFault::TwoAnswers),
    }
}

fn read_hello(raw: &Bytes) -> Result<Hello, LineFault> {
    let (server, era) = whose(raw)?;
    Ok(Hello {
        server,
        era,
        params: field(raw, "params")?,
        result: wanted(field(raw, "result")?, "result")?,
    })
}

fn read_notice(raw: &Bytes) -> Result<Notice, LineFault> {
    Ok(Notice {
        at: number(raw, "at")?.unwrap_or_default(),
        method: wanted(text(raw, "notice")?, "notice")?,
        params: field(raw, "params")?,
    })
}

fn read_between(raw: &Bytes) -> Result<Between, LineFault> {
    if text(raw, "notice")?.is_some() {
        return read_notice(raw).map(Between::Notice);
    }
    let answer = read_answer(raw)?;
    let at = number(raw, "at")?.unwrap_or_default();
    let answered = number(raw, "answered")?.unwrap_or(at);
    Ok(Between::Question(Question {
        at,
        method: wanted(text(raw, "question")?, "question")?,
        params: field(raw, "params")?,
        answered: answer.map(|answer| (answered, answer)),
    }))
}

fn read_call(raw: &Bytes) -> Result<Call, LineFault> {
    let method = wanted(text(raw, "method")?, "method")?;
    let (server, era) = whose(raw)?;
    let list = field(raw, "between")?.unwrap_or_default();
    let between = json::elements(&list)
        .map(|span| read_between(&list.slice(span.start..span.end)))
        .collect::<Result<_, _>>()?;
    Ok(Call {
        server,
        era,
        at: number(raw, "at")?.unwrap_or_default(),
        took: number(raw, "took")?.unwrap_or_default(),
        method,
        params: field(raw, "params")?,
        between,
        answer: wanted(read_answer(raw)?, "result")?,
    })
}
