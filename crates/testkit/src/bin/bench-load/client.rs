//! One MCP client.

use crate::http::Head;
use crate::line::{Address, Line};
use crate::{Args, Era};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;
use tokio::time::timeout;

/// No call may take longer.
const CALL_LIMIT: Duration = Duration::from_secs(30);

/// Nor may it take longer until all tools are there, also of many servers under valgrind.
const TOOLS_LIMIT: Duration = Duration::from_secs(300);

/// How often it is looked whether they are.
const TOOLS_POLL: Duration = Duration::from_millis(50);

/// What all clients call, and how.
pub struct Target {
    address: Address,
    path: String,
    /// Where sessions begin, if that is elsewhere.
    opens: Option<Box<Self>>,
    token: Option<String>,
    era: Era,
    tool: String,
    bytes: usize,
    /// Arguments of the call in place of a size, whose result may be anything.
    arguments: Option<Value>,
    /// Whether they ask which tools there are instead.
    list: bool,
    /// What they say that they can read.
    accepts: &'static str,
}

impl Target {
    /// From the command line.
    pub fn new(args: &Args, token: Option<String>) -> Result<Self> {
        let (scheme, rest) = args.url.split_once("://").unwrap_or_default();
        ensure!(
            ["http", "https"].contains(&scheme),
            "{} is not an http or https URL",
            args.url
        );
        let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
        let arguments = args.arguments.as_deref().map(serde_json::from_str);
        let opens = args.opened_at.clone().map(|url| {
            let args = Args {
                url,
                opened_at: None,
                ..args.clone()
            };
            Self::new(&args, token.clone()).map(Box::new)
        });
        Ok(Self {
            opens: opens.transpose()?,
            address: Address::new(address, scheme == "https", args.http2)?,
            path: format!("/{path}"),
            token,
            era: args.era,
            tool: args.tool.clone(),
            bytes: args.bytes,
            arguments: arguments.transpose().context("--arguments")?,
            list: args.list,
            accepts: match args.json {
                true => "application/json",
                false => "application/json, text/event-stream",
            },
        })
    }

    async fn connect(&self) -> Result<Line> {
        timeout(CALL_LIMIT, self.address.open())
            .await
            .context("connecting takes too long")?
    }

    /// The headers that all requests of a client share.
    fn headers(&self, session: Option<&str>) -> String {
        let mut text = format!(
            "Host: {}\r\nContent-Type: application/json\r\n\
             Accept: {}\r\n",
            self.address.authority, self.accepts
        );
        let mut header = |name: &str, value: &str| {
            text.push_str(name);
            text.push_str(": ");
            text.push_str(value);
            text.push_str("\r\n");
        };
        if let Some(token) = &self.token {
            header("Authorization", &format!("Bearer {token}"));
        }
        if let Some(session) = session {
            header("Mcp-Session-Id", session);
        }
        match self.era {
            Era::Legacy => header("MCP-Protocol-Version", "2025-11-25"),
            Era::Modern => {
                header("MCP-Protocol-Version", "2026-07-28");
                header("Mcp-Method", self.method());
                if !self.list {
                    header("Mcp-Name", &self.tool);
                }
            }
        }
        text
    }

    fn method(&self) -> &'static str {
        match self.list {
            true => "tools/list",
            false => "tools/call",
        }
    }

    fn params(&self) -> Value {
        let mut params = match self.list {
            true => json!({}),
            false => {
                let sized = || json!({"bytes": self.bytes});
                let arguments = self.arguments.clone().unwrap_or_else(sized);
                json!({"name": self.tool, "arguments": arguments})
            }
        };
        if self.era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "bench-load", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        params
    }
}

/// A client with its connection and session.
pub struct Client {
    connection: Line,
    session: Option<String>,
    /// The head of a call up to its Content-Length's value.
    head: String,
    /// `,"method":…}`: the body of a call after its id.
    rest: String,
    request: Vec<u8>,
    id: u64,
}

impl Client {
    /// Connects, and in the legacy era goes through the handshake.
    pub async fn connect(target: &Target) -> Result<Self> {
        let opens = target.opens.as_deref().unwrap_or(target);
        let mut client = Self {
            connection: opens.connect().await?,
            session: None,
            head: String::new(),
            rest: format!(
                ",\"method\":\"{}\",\"params\":{}}}",
                target.method(),
                target.params()
            ),
            request: Vec::new(),
            id: 0,
        };
        if target.era == Era::Legacy {
            timeout(CALL_LIMIT, client.handshake(opens))
                .await
                .context("the handshake takes too long")?
                .context("the handshake")?;
        }
        if target.opens.is_some() {
            client.connection = target.connect().await?;
        }
        let headers = target.headers(client.session.as_deref());
        client.head = format!("POST {} HTTP/1.1\r\n{headers}Content-Length: ", target.path);
        Ok(client)
    }

    /// Begins another session on the same connection, and leaves the one before open.
    pub async fn begin_another(&mut self, target: &Target) -> Result<()> {
        self.session = None;
        timeout(CALL_LIMIT, self.handshake(target))
            .await
            .context("the handshake takes too long")?
            .context("the handshake")
    }

    async fn handshake(&mut self, target: &Target) -> Result<()> {
        let initialize = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "bench-load", "version": "1"},
            },
        });
        let status = self.post(target, &initialize).await?.status;
        ensure!(status == 200, "initialize was answered {status}");
        let status = self
            .post(
                target,
                &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            )
            .await?
            .status;
        ensure!(status == 202, "initialized was answered {status}");
        Ok(())
    }

    async fn post(&mut self, target: &Target, message: &Value) -> Result<Head> {
        let body = message.to_string();
        let request = format!(
            "POST {} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{body}",
            target.path,
            target.headers(self.session.as_deref()),
            body.len()
        );
        let head = self.connection.exchange(request.as_bytes()).await?;
        self.session = head.session.clone().or(self.session.take());
        Ok(head)
    }

    /// Pages through the list until it has this many tools.
    pub async fn wait_for_tools(&mut self, target: &Target, wanted: usize) -> Result<()> {
        let all = async {
            loop {
                let found = self.count_tools(target).await?;
                if found >= wanted {
                    return Ok(());
                }
                tokio::time::sleep(TOOLS_POLL).await;
            }
        };
        timeout(TOOLS_LIMIT, all)
            .await
            .with_context(|| format!("{wanted} tools take too long to be there"))?
    }

    async fn count_tools(&mut self, target: &Target) -> Result<usize> {
        let (mut count, mut cursor) = (0, Value::Null);
        loop {
            let mut params = json!({});
            if cursor.is_string() {
                params["cursor"] = cursor;
            }
            let ask = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": params});
            let asked = timeout(TOOLS_LIMIT, self.post(target, &ask)).await;
            let head = asked.context("a page takes too long")??;
            ensure!(head.status == 200, "a page was answered {}", head.status);
            let body = answer_in(&head, self.connection.body())?;
            let answer: Value = serde_json::from_slice(body).context("a page that is not JSON")?;
            let tools = answer["result"]["tools"].as_array();
            count += tools.context("a page without tools")?.len();
            cursor = answer["result"]["nextCursor"].clone();
            if cursor.is_null() {
                return Ok(count);
            }
        }
    }

    /// One call, its answer checked.
    pub async fn call(&mut self, target: &Target) -> Result<()> {
        self.id += 1;
        self.request.clear();
        let start = "{\"jsonrpc\":\"2.0\",\"id\":";
        let digits = self.id.ilog10() as usize + 1;
        let length = start.len() + digits + self.rest.len();
        write!(
            self.request,
            "{}{length}\r\n\r\n{start}{}{}",
            self.head, self.id, self.rest
        )?;
        let head = timeout(CALL_LIMIT, self.connection.exchange(&self.request))
            .await
            .context("a call takes too long")??;
        let body = self.connection.body();
        if head.status != 200 {
            let text = String::from_utf8_lossy(&body[..body.len().min(300)]);
            bail!("a call was answered {}: {text}", head.status);
        }
        check(answer_in(&head, body)?, self.id, target)
    }

    /// Ends the session, if there is one; the answer does not matter.
    pub async fn disconnect(&mut self, target: &Target) {
        if self.session.is_some() {
            let headers = target.headers(self.session.as_deref());
            let request = format!("DELETE {} HTTP/1.1\r\n{headers}\r\n", target.path);
            let end = self.connection.exchange(request.as_bytes());
            let _ = timeout(Duration::from_secs(1), end).await;
        }
    }
}

/// The answer in a body: all of it, or its last event.
fn answer_in<'a>(head: &Head, body: &'a [u8]) -> Result<&'a [u8]> {
    if !head.events {
        return Ok(body);
    }
    let mut events = body.split(|byte| *byte == b'\n').rev();
    let answer = events.find_map(|line| {
        let data = line.strip_prefix(b"data:")?;
        Some(data).filter(|data| data.len() > 2)
    });
    answer.context("no event")
}

/// The answer to this call, with what was asked for.
fn check(body: &[u8], id: u64, target: &Target) -> Result<()> {
    let answer: Value = serde_json::from_slice(body).context("an answer that is not JSON")?;
    ensure!(
        answer["id"].as_u64() == Some(id),
        "an answer with id {} to call {id}",
        answer["id"]
    );
    let short = || answer.to_string().chars().take(300).collect::<String>();
    if target.list {
        let tools = answer["result"]["tools"].as_array();
        let is_there = tools.is_some_and(|tools| !tools.is_empty());
        ensure!(is_there, "no tools: {}", short());
        return Ok(());
    }
    let text = answer["result"]["content"][0]["text"].as_str();
    if target.arguments.is_some() {
        ensure!(text.is_some(), "no text: {}", short());
        return Ok(());
    }
    let (length, bytes) = (text.map(str::len), target.bytes);
    if length != Some(bytes) {
        bail!(
            "{length:?} bytes of text where {bytes} were asked for: {}",
            short()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Target, check};
    use crate::Era;
    use crate::line::Address;

    fn target(bytes: usize, list: bool) -> Target {
        Target {
            address: Address::new("", false, false).expect("an address"),
            path: String::new(),
            opens: None,
            token: None,
            era: Era::Legacy,
            tool: String::new(),
            bytes,
            arguments: None,
            list,
            accepts: "application/json",
        }
    }

    #[test]
    fn answers_are_checked() {
        let check = |body: &[u8], id, bytes| check(body, id, &target(bytes, false));
        let good =
            br#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"abc"}]}}"#;
        assert!(check(good, 3, 3).is_ok());
        assert!(check(good, 4, 3).is_err());
        assert!(check(good, 3, 4).is_err());
        assert!(check(br#"{"id":3,"error":{}}"#, 3, 3).is_err());
        assert!(check(b"", 3, 3).is_err());
    }

    #[test]
    fn a_list_has_something_in_it() {
        let check = |body: &str| check(body.as_bytes(), 3, &target(3, true));
        assert!(check(r#"{"id":3,"result":{"tools":[{"name":"a"}]}}"#).is_ok());
        assert!(check(r#"{"id":3,"result":{"tools":[]}}"#).is_err());
        assert!(check(r#"{"id":4,"result":{"tools":[{"name":"a"}]}}"#).is_err());
    }
}
