//! A real browser: Chromium, headless, driven by chromedriver over plain HTTP on this
//! machine (the W3C's WebDriver), with real clicks and keys.

use crate::program::{DEADLINE, Program};
use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;

/// How long is between two looks at a page.
const LOOK: Duration = Duration::from_millis(40);

/// How often a driver is started that has lost its port.
const STARTS: usize = 8;

/// What is wrong with an element for a moment only: it comes, is drawn anew, or something
/// covers it.
const PASSES: [&str; 4] = [
    "no such element",
    "not interactable",
    "stale element",
    "click intercepted",
];

/// The key of an element in WebDriver's answers.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// What a browser is started with: nothing that asks the network by itself.
const FLAGS: [&str; 11] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// A key, as WebDriver names it.
pub mod key {
    /// Return.
    pub const ENTER: &str = "\u{e007}";
    /// Escape.
    pub const ESCAPE: &str = "\u{e00c}";
    /// Backspace.
    pub const BACKSPACE: &str = "\u{e003}";
    /// Control, held until the next one.
    pub const CONTROL: &str = "\u{e009}";
    /// Lets go of what is held.
    pub const RELEASE: &str = "\u{e000}";
}

/// A browser with one window.
#[derive(Debug)]
pub struct Browser {
    _driver: Program,
    authority: String,
    session: String,
    process: Option<Pid>,
}

impl Browser {
    /// Starts one, with this width and height.
    ///
    /// # Panics
    /// Where there is none, or it does not start.
    pub async fn start(width: u32, height: u32) -> Self {
        let chromium = installed("chromium", "chromium");
        let (driver, authority) = driver().await;
        let profile = driver.home().join("profile");
        let mut flags: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        flags.push(format!("--user-data-dir={}", profile.display()));
        flags.push(format!("--window-size={width},{height}"));
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"binary": chromium, "args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
            // Half a minute otherwise: the machine may have other things to do.
            "timeouts": {"script": DEADLINE.as_millis() as u64},
        }}});
        let made = ask(&authority, Method::POST, "/session", Some(&wanted)).await;
        let process = made["capabilities"]["goog:processID"].as_i64();
        let process = process.and_then(|id| i32::try_from(id).ok());
        Self {
            session: made["sessionId"].as_str().expect("a session").to_owned(),
            process: process.and_then(Pid::from_raw),
            _driver: driver,
            authority,
        }
    }

    async fn ask(&self, verb: Method, path: &str, body: Option<&Value>) -> Value {
        let path = format!("/session/{}/{path}", self.session);
        ask(&self.authority, verb, &path, body).await
    }

    /// Opens an address.
    pub async fn open(&self, address: &str) {
        let body = json!({ "url": address });
        self.ask(Method::POST, "url", Some(&body)).await;
    }

    /// The size of the window.
    pub async fn resize(&self, width: u32, height: u32) {
        let body = json!({"width": width, "height": height});
        self.ask(Method::POST, "window/rect", Some(&body)).await;
    }

    /// What a script returns; it may be a promise's value.
    pub async fn run(&self, script: &str) -> Value {
        let script = format!("return (async () => {{ {script} }})()");
        let body = json!({ "script": script, "args": [] });
        self.ask(Method::POST, "execute/sync", Some(&body)).await
    }

    /// Waits until a script returns something that is true, and returns that.
    ///
    /// # Panics
    /// At the deadline, with what is on the page.
    pub async fn until(&self, script: &str) -> Value {
        let looking = async {
            loop {
                let found = self.run(script).await;
                let is_it = match &found {
                    Value::Null | Value::Bool(false) => false,
                    Value::String(text) => !text.is_empty(),
                    _ => true,
                };
                if is_it {
                    return found;
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        match tokio::time::timeout(DEADLINE, looking).await {
            Ok(found) => found,
            Err(_) => panic!(
                "in vain: {script}\non the page:\n{}",
                self.text("body").await
            ),
        }
    }

    /// Waits for an element.
    pub async fn wait(&self, css: &str) {
        let script = format!("return !!document.querySelector({css:?})");
        self.until(&script).await;
    }

    /// The driver's name for an element, or why it has none: it may be gone again.
    async fn found(&self, css: &str) -> Result<Value, String> {
        self.wait(css).await;
        let body = json!({"using": "css selector", "value": css});
        let path = format!("/session/{}/element", self.session);
        let found = tried(&self.authority, Method::POST, &path, Some(&body)).await?;
        Ok(found[ELEMENT].clone())
    }

    /// Does something to an element, once it is there and that can be done: one that is
    /// drawn anew, or that something covers for a moment, is tried a moment later, as by a
    /// person.
    async fn element(&self, css: &str, verb: &str, body: &Value) {
        let begun = Instant::now();
        loop {
            let done = async {
                let element = self.found(css).await?;
                let element = element.as_str().expect("an element");
                let path = format!("/session/{}/element/{element}/{verb}", self.session);
                tried(&self.authority, Method::POST, &path, Some(body)).await
            };
            let Err(why) = done.await else { return };
            let passes = PASSES.iter().any(|word| why.contains(word));
            let late = begun.elapsed() > DEADLINE;
            assert!(passes && !late, "{css}, {verb}: {why}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until an element's text has these words.
    pub async fn says(&self, css: &str, words: &str) {
        let script = format!(
            "return [...document.querySelectorAll({css:?})].some((one) => (one.innerText + ' ' + (one.value ?? '')).includes({words:?}))"
        );
        self.until(&script).await;
    }

    /// An element's text, as it is seen; empty where it is not there.
    pub async fn text(&self, css: &str) -> String {
        let script = format!("return document.querySelector({css:?})?.innerText ?? ''");
        self.run(&script)
            .await
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// How many elements there are.
    pub async fn count(&self, css: &str) -> u64 {
        let script = format!("return document.querySelectorAll({css:?}).length");
        self.run(&script).await.as_u64().unwrap_or_default()
    }

    /// Clicks an element, once it is there, can be clicked and has come to rest: the driver
    /// clicks where it was when it looked.
    pub async fn click(&self, css: &str) {
        let script = format!(
            "const one = document.querySelector({css:?});
            if (!one || one.disabled) return false;
            const place = () => JSON.stringify(one.getBoundingClientRect());
            const before = place();
            await new Promise((done) => {{ setTimeout(done, 100); requestAnimationFrame(() => requestAnimationFrame(done)); }});
            return one.isConnected && !one.disabled && place() === before;"
        );
        self.until(&script).await;
        self.element(css, "click", &json!({})).await;
    }

    /// Clicks an element as it is at this moment: for what the page may take away while one
    /// waits until it is at rest.
    ///
    /// # Panics
    /// When it is not there.
    pub async fn click_now(&self, css: &str) {
        let script = format!(
            "const one = document.querySelector({css:?});
            one?.click();
            return !!one;"
        );
        assert_eq!(self.run(&script).await, json!(true), "{css} is not there");
    }

    /// Types into an element, once it is there and takes keys.
    pub async fn type_into(&self, css: &str, text: &str) {
        self.element(css, "value", &json!({ "text": text })).await;
    }

    /// Takes away what is in a field, as a person does it, then types into it.
    pub async fn fill(&self, css: &str, text: &str) {
        let all = format!("{}a{}{}", key::CONTROL, key::RELEASE, key::BACKSPACE);
        self.type_into(css, &format!("{all}{text}")).await;
    }

    /// Presses keys, wherever the focus is.
    pub async fn press(&self, keys: &str) {
        let script = "return document.activeElement === document.body ? 'body' : ''";
        let on_body = self.run(script).await == json!("body");
        let path = match on_body {
            true => "body",
            false => ":focus",
        };
        self.type_into(path, keys).await;
    }

    /// The window as a PNG.
    ///
    /// # Panics
    /// When it cannot be written.
    pub async fn picture(&self, file: &Path) {
        use base64::Engine as _;
        let text = self.ask(Method::GET, "screenshot", None).await;
        let text = text.as_str().expect("a picture");
        let bytes = base64::engine::general_purpose::STANDARD.decode(text);
        std::fs::write(file, bytes.expect("base64")).expect("a file");
    }

    /// Bytes that the page's scripts hold, after what nobody holds was collected.
    pub async fn heap(&self) -> u64 {
        for _ in 0..2 {
            self.devtools("HeapProfiler.collectGarbage").await;
        }
        let used = self.devtools("Runtime.getHeapUsage").await;
        used["usedSize"].as_f64().unwrap_or_default() as u64
    }

    /// What the page takes for the window's size: windows themselves have a least width, and
    /// telephones are narrower.
    pub async fn view(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools_with("Emulation.setDeviceMetricsOverride", size)
            .await;
    }

    /// A command of the browser's own protocol.
    async fn devtools(&self, command: &str) -> Value {
        self.devtools_with(command, json!({})).await
    }

    async fn devtools_with(&self, command: &str, params: Value) -> Value {
        let body = json!({ "cmd": command, "params": params });
        self.ask(Method::POST, "goog/cdp/execute", Some(&body))
            .await
    }

    /// What was written to the browser's console since the last look, faults first of all:
    /// a broken policy, a script that failed, an answer that was none.
    pub async fn complaints(&self) -> Vec<String> {
        let body = json!({"type": "browser"});
        let log = self.ask(Method::POST, "se/log", Some(&body)).await;
        let lines = log.as_array().cloned().unwrap_or_default();
        let is_bad = |line: &Value| line["level"] == "SEVERE" || line["level"] == "WARNING";
        let text = |line: &Value| line["message"].as_str().unwrap_or_default().to_owned();
        lines.iter().filter(|line| is_bad(line)).map(text).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver starts it in a group of its own.
        if let Some(process) = self.process {
            let _ = kill_process_group(process, Signal::KILL);
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// Where a program is.
fn installed(name: &str, package: &str) -> PathBuf {
    let folders = ["/usr/bin", "/usr/local/bin", "/usr/lib/chromium"];
    let found = folders.iter().map(|folder| Path::new(folder).join(name));
    found
        .into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| {
            panic!("{name} is missing: run `cargo xtask setup`, or install the package `{package}`")
        })
}

/// A driver, and where it listens. It takes a port that is free on the one address of this
/// machine and ends when somebody has it on the other one: then there is another port.
async fn driver() -> (Program, String) {
    let path = installed("chromedriver", "chromium-driver");
    let mut said = String::new();
    for _ in 0..STARTS {
        let mut driver = Program::new(&path).arg("--port=0").spawn();
        match listening(&mut driver).await {
            Some(authority) => return (driver, authority),
            None => said = driver.stderr(),
        }
    }
    panic!("chromedriver ended {STARTS} times:\n{said}");
}

/// Where the driver listens, which it says on stdout, unless it ends.
async fn listening(driver: &mut Program) -> Option<String> {
    let stdout = driver.stdout.take().expect("stdout was piped");
    let mut lines = BufReader::new(stdout).lines();
    let looking = async {
        while let Ok(Some(line)) = lines.next_line().await {
            if let Some((_, port)) = line.split_once("successfully on port ") {
                return Some(port.trim_end_matches('.').trim().to_owned());
            }
        }
        None
    };
    let port = tokio::time::timeout(DEADLINE, looking).await;
    let port = port.expect("chromedriver says where it listens")?;
    // Whatever else it says must not fill the pipe.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Some(format!("127.0.0.1:{port}"))
}

/// One request, and the value of its answer.
async fn ask(authority: &str, verb: Method, path: &str, body: Option<&Value>) -> Value {
    let said = tried(authority, verb.clone(), path, body).await;
    said.unwrap_or_else(|why| panic!("{verb} {path} with {body:?}: {why}"))
}

/// The same, or what the driver says is wrong.
async fn tried(
    authority: &str,
    verb: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, String> {
    let asking = async {
        let stream = TcpStream::connect(authority).await.expect("a driver");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .expect("a connection");
        tokio::spawn(connection);
        let text = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(verb.clone())
            .uri(path)
            .header(header::HOST, authority)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(text)))
            .expect("a request");
        let answer = sender.send_request(request).await.expect("an answer");
        let whole = answer.into_body().collect().await.expect("all of it");
        let said: Value = serde_json::from_slice(&whole.to_bytes()).expect("JSON");
        said["value"].clone()
    };
    let value = tokio::time::timeout(DEADLINE, asking).await;
    let value = value.unwrap_or_else(|_| panic!("{verb} {path}: no answer"));
    match value.get("error").and_then(Value::as_str) {
        Some(error) => Err(format!("{error}: {}", value["message"])),
        None => Ok(value),
    }
}
