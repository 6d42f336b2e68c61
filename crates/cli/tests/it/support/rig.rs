//! A client, a gateway and a recorder, and a case of the corpus on its way
//! through all three.

use crate::support::{
    crossing::{Came, Face, Recorder, Side, contains, face},
    mask::{self, Listed, assert_same, one_line, replaced},
};
use serde_json::{Value, json};
use switchboard_testkit::corpus::{self, Case, Direction, META};
use switchboard_testkit::json::{self as raw, Message};
use switchboard_testkit::world::{self, servers};

/// The progress token of our requests: its spelling must come back, too.
const TOKEN: &str = r#""tok\u0065n""#;
const ANSWERED: &str = r#"{"resultType":"complete","content":[],"messages":[],"contents":[],"completion":{"values":[]}}"#;

/// A client, a gateway, a recorder.
pub struct Rig {
    pub modern: bool,
    listed: Listed,
    pub face: Face,
    pub recorder: Recorder,
    /// Whether the server's side frames by lines.
    lines: bool,
    /// On `/mcp`: under which name the recorder is known there.
    server: Option<&'static str>,
    _others: (Option<world::Gateway>, Option<Recorder>),
}

/// What the recorder answers, for all cases at once.
fn script(cases: &[Case], modern: bool) -> Vec<Value> {
    let mut script = Vec::new();
    for case in cases {
        let text = String::from_utf8(case.text(modern)).expect("legal text");
        let message = || String::from_utf8(case.message(modern, r#""ask-1""#)).expect("legal text");
        let (method, mark) = (&case.method, format!("\"want {}\"", case.name));
        let before = |message: String| json!({"method": "tools/call", "match": mark, "before": [message], "reply": ANSWERED});
        let ask = format!(
            r#"{{"jsonrpc":"2.0","id":"ask-1","method":"{method}","params":{{"message":"?","messages":[],"maxTokens":1}}}}"#
        );
        script.push(match case.direction {
            Direction::Request | Direction::Notification => continue,
            _ if ["initialize", "server/discover"].contains(&method.as_str()) => continue,
            Direction::Result | Direction::Error if case.whole => {
                json!({"method": method, "match": mark, "message": text})
            }
            Direction::Result => json!({"method": method, "match": mark, "reply": text}),
            Direction::Error => {
                json!({"method": method, "match": mark, "reply": text, "kind": "error"})
            }
            Direction::ServerNotification | Direction::ServerRequest => before(message()),
            Direction::Answer => before(ask),
        });
    }
    let any = [
        "tools/call",
        "prompts/get",
        "resources/read",
        "completion/complete",
    ];
    for method in any
        .into_iter()
        .chain(["com.example/odd", "com.example/positional"])
    {
        script.push(json!({"method": method, "reply": ANSWERED}));
    }
    script
}

impl Rig {
    /// One server, alone.
    pub async fn one(down: Side, up: Side, modern: bool) -> Self {
        let cases = corpus::cases();
        let mut recorder = Recorder::new(up, &script(&cases, modern), modern).await;
        if !modern {
            // Its client's roots are a server's business only if it is that client's own.
            recorder.entry["isolation"] = "session".into();
        }
        let all = servers([("odd", recorder.entry.clone())]);
        let (mut face, gateway) = face(down, &all, "/mcp/odd").await;
        if !modern {
            face.initialize().await;
        }
        Self {
            modern,
            listed: mask::one_server(),
            face,
            recorder,
            lines: up == Side::Stdio,
            server: None,
            _others: (gateway, None),
        }
    }

    /// Two servers as one.
    pub async fn two(down: Side, up: Side, modern: bool) -> Self {
        let cases = corpus::cases();
        let mut script = script(&cases, modern);
        script.extend([
            json!({"method": "prompts/list", "reply": r#"{"prompts":[{"name":"odd"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#}),
            json!({"method": "resources/list", "reply": r#"{"resources":[{"uri":"odd://1","name":"1"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#}),
        ]);
        let mut recorder = Recorder::new(up, &script, modern).await;
        let mut second = Recorder::new(Side::Stdio, &script, modern).await;
        if !modern {
            recorder.entry["isolation"] = "session".into();
            second.entry["isolation"] = "session".into();
        }
        let all = servers([
            ("left", recorder.entry.clone()),
            ("right", second.entry.clone()),
        ]);
        let (mut face, gateway) = face(down, &all, "/mcp").await;
        if !modern {
            face.initialize().await;
        }
        Self {
            modern,
            listed: mask::aggregate(),
            face,
            recorder,
            lines: up == Side::Stdio,
            server: Some("left"),
            _others: (gateway, Some(second)),
        }
    }

    /// A request by which the client asks the recorder for a case.
    fn wanting(&self, case: &Case) -> Vec<u8> {
        let meta = if self.modern { META } else { "" };
        let meta = format!(
            r#""_meta":{{{meta}"want":"want {}","progressToken":{TOKEN}}}"#,
            case.name
        );
        let method = match case.direction {
            Direction::Result | Direction::Error => case.method.as_str(),
            _ => "tools/call",
        };
        let own = match method {
            "tools/call" | "prompts/get" => r#""name":"odd","#,
            "resources/read" => r#""uri":"odd://1","#,
            "completion/complete" => {
                r#""ref":{"type":"ref/prompt","name":"odd"},"argument":{"name":"a","value":""},"#
            }
            _ => "",
        };
        format!(
            r#"{{"jsonrpc":"2.0","id":"w\u0061nt","method":"{method}","params":{{{own}{meta}}}}}"#
        )
        .into_bytes()
    }

    /// The message as a client of `/mcp` would write it: with names and URIs as it knows them.
    fn addressed(&self, message: Vec<u8>) -> Vec<u8> {
        let Some(server) = self.server else {
            return message;
        };
        let method = Message::read(&message).and_then(|read| read.method.map(|m| m.into_owned()));
        match method.as_deref() {
            Some("tools/call" | "prompts/get") => replaced(
                &message,
                &["params", "name"],
                format!("\"{server}__odd\"").as_bytes(),
            ),
            Some("completion/complete") => {
                let name = format!("\"{server}__odd\"");
                replaced(&message, &["params", "ref", "name"], name.as_bytes())
            }
            Some("resources/read") => {
                let uri = raw::path(&message, &["params", "uri"]).expect("legal text");
                let uri = json!(format!(
                    "{server}+{}",
                    raw::string(uri).expect("legal text")
                ));
                replaced(&message, &["params", "uri"], uri.to_string().as_bytes())
            }
            _ => message,
        }
    }

    fn assert_crossed(&self, case: &Case, method: &str, lines: bool, sent: &[u8], arrived: &[u8]) {
        let mut sent = self.listed.mask(sent, method);
        let mut arrived = self.listed.mask(arrived, method);
        if lines {
            (sent, arrived) = (one_line(&sent), one_line(&arrived));
        }
        assert_same(&case.name, &sent, &arrived);
    }

    pub async fn run(&mut self, case: &Case) {
        match case.direction {
            Direction::Request => self.request(case).await,
            Direction::Notification => self.notification(case).await,
            Direction::Result | Direction::Error => self.reply(case).await,
            Direction::ServerNotification => self.server_notification(case).await,
            Direction::ServerRequest => self.server_request(case).await,
            Direction::Answer => self.answer(case).await,
        }
    }

    async fn request(&mut self, case: &Case) {
        let id = case.id.clone().unwrap_or_else(|| "4711".to_owned());
        let sent = self.addressed(case.message(self.modern, &id));
        let from = self.recorder.seen();
        let came = self.face.exchange(&sent, self.modern, b"").await;
        self.assert_id(case, &came, &id);
        let arrived = self.recorder.find(from, |m| contains(m, &case.name)).await;
        let arrived = arrived.unwrap_or_else(|| panic!("{} did not arrive", case.name));
        let lines = self.lines || matches!(self.face, Face::Stdio(_));
        self.assert_crossed(case, "", lines, &sent, &arrived);
        if self.server.is_some() && ["tools/call", "prompts/get"].contains(&case.method.as_str()) {
            let name = raw::path(&arrived, &["params", "name"]).and_then(raw::string);
            assert_eq!(name.as_deref(), Some("odd"), "{}", case.name);
        }
    }

    /// The answer must carry the client's own id, in its own bytes.
    fn assert_id(&self, case: &Case, came: &Came, id: &str) {
        let read = Message::read(came.answer()).unwrap_or_default();
        let theirs = read.id.map(String::from_utf8_lossy);
        let text = String::from_utf8_lossy(came.answer());
        assert_eq!(theirs.as_deref(), Some(id), "{}: {text:.300}", case.name);
        assert!(read.result.is_some(), "{}: {text:.300}", case.name);
    }

    async fn notification(&mut self, case: &Case) {
        let sent = case.message(self.modern, "");
        let from = self.recorder.seen();
        self.face.notify(&sent).await;
        let arrived = self.recorder.find(from, |m| contains(m, &case.name)).await;
        let arrived = arrived.unwrap_or_else(|| panic!("{} did not arrive", case.name));
        self.assert_crossed(case, "", true, &sent, &arrived);
    }

    async fn reply(&mut self, case: &Case) {
        let request = self.addressed(self.wanting(case));
        let came = self.face.exchange(&request, self.modern, b"").await;
        let id = r#""w\u0061nt""#;
        let lines = self.lines || came.lines;
        let sent = case.message(self.modern, id);
        self.assert_crossed(case, &case.method, lines, &sent, came.answer());
        let theirs = Message::read(came.answer()).and_then(|read| read.id);
        assert_eq!(theirs, Some(id.as_bytes()), "{}", case.name);
    }

    async fn server_notification(&mut self, case: &Case) {
        let request = self.addressed(self.wanting(case));
        let came = self.face.exchange(&request, self.modern, b"").await;
        let sent = String::from_utf8(case.message(self.modern, "")).expect("legal text");
        let sent = sent.replace("@TOKEN@", TOKEN);
        let [arrived, _] = came.messages.as_slice() else {
            panic!("{}: {} messages came", case.name, came.messages.len());
        };
        self.assert_crossed(case, "", true, sent.as_bytes(), arrived);
        if case.method == "notifications/progress" {
            let token = raw::path(arrived, &["params", "progressToken"]);
            assert_eq!(token, Some(TOKEN.as_bytes()), "{}", case.name);
        }
    }

    async fn server_request(&mut self, case: &Case) {
        let request = self.addressed(self.wanting(case));
        let came = self.face.exchange(&request, self.modern, b"{}").await;
        let [arrived, _] = came.messages.as_slice() else {
            panic!("{}: {} messages came", case.name, came.messages.len());
        };
        let sent = case.message(self.modern, "1");
        self.assert_crossed(case, "", true, &sent, arrived);
    }

    async fn answer(&mut self, case: &Case) {
        let request = self.addressed(self.wanting(case));
        let from = self.recorder.seen();
        let text = case.text(self.modern);
        let came = self.face.exchange(&request, self.modern, &text).await;
        assert_eq!(came.messages.len(), 2, "{}", case.name);
        let sent = case.message(self.modern, r#""ask-1""#);
        let arrived = self.recorder.find(from, |m| contains(m, "\"ask-1\"")).await;
        let arrived = arrived.unwrap_or_else(|| panic!("{} did not arrive", case.name));
        self.assert_crossed(case, "", true, &sent, &arrived);
        // The server's own id, in its own bytes.
        assert_eq!(raw::get(&arrived, "id"), Some(&br#""ask-1""#[..]));
    }
}
