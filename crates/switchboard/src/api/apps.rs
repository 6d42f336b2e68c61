//! `POST apps`: a page of a server's (MCP Apps), read as every resource is, and kept for one
//! frame. It is served under an address that nobody can guess, once, with a policy of its
//! own that gives it an origin of its own: it cannot reach the page around it, nor us.

mod policy;

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    calls,
};
use crate::limits;
use base64::Engine as _;
use parking_lot::Mutex;
use policy::Wishes;
use serde_json::Value;
use std::{collections::VecDeque, sync::Arc, time::Instant};
use switchboard_api::apps::{Open, Opened};
use switchboard_host::catalog::is_page;
use switchboard_local::{random, secret, visible};
use switchboard_wire::meta::UI_PAGE_KIND;

/// What the addresses of pages begin with.
pub(crate) const PATH: &str = "/app/";

/// Pages that a frame has yet to fetch.
#[derive(Debug, Default)]
pub(crate) struct Frames(Mutex<VecDeque<Frame>>);

/// A page.
#[derive(Debug)]
pub(crate) struct Frame {
    id: String,
    at: Instant,
    /// Its text.
    pub(crate) html: String,
    /// What it may do.
    pub(crate) policy: String,
}

impl Frames {
    /// The page at this path, which is nobody's afterwards.
    pub(crate) fn take(&self, path: &str) -> Option<Frame> {
        let id = path.strip_prefix(PATH)?;
        let mut frames = self.0.lock();
        frames.retain(|frame| frame.at.elapsed() < limits::APP_KEPT);
        let at = frames.iter().position(|frame| frame.id == id)?;
        frames.remove(at)
    }

    fn keep(&self, frame: Frame) {
        let mut frames = self.0.lock();
        while frames.len() >= limits::APP_PAGES {
            frames.pop_front();
        }
        frames.push_back(frame);
    }
}

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let open: Open = ask.body()?;
    if !is_page(&open.uri) {
        let no = No::invalid("a page's address begins with ui://");
        return Err(no.field("/uri"));
    }
    let made = calls::read_page(api, ask, &open.server, &open.uri, open.confirmed).await?;
    if let Some(error) = &made.error {
        let why = error["message"].as_str().unwrap_or("it cannot be read");
        return Err(No::conflict(visible::line(&secret::text(why))));
    }
    let result = made.result.unwrap_or_default();
    let page = result["contents"].as_array().and_then(|all| all.first());
    let page = page.ok_or_else(|| No::conflict("the server sent no page"))?;
    let html = text(page)?;
    let wishes = Wishes::of(&page["_meta"]["ui"]);
    let policy = wishes.policy(open.reach);
    let id = random::id().map_err(|fault| No::broken(&fault))?;
    let address = format!("{PATH}{id}");
    api.frames.keep(Frame {
        id,
        at: Instant::now(),
        html,
        policy: policy.clone(),
    });
    Reply::json(&Opened {
        call: made.id,
        address,
        wants: wishes.hosts(),
        refused: wishes.refused,
        policy,
        border: page["_meta"]["ui"]["prefersBorder"] != Value::Bool(false),
    })
}

/// The text of a page, if it is one and not too large.
fn text(page: &Value) -> Result<String, No> {
    let kind = page["mimeType"].as_str().unwrap_or_default();
    let kind: String = kind.split_whitespace().collect();
    if !kind.eq_ignore_ascii_case(UI_PAGE_KIND) {
        let no = No::conflict("the server's page is none of an app");
        return Err(no.hint(format!("its type must be {UI_PAGE_KIND}")));
    }
    let text = match (&page["text"], &page["blob"]) {
        (Value::String(text), _) => text.clone(),
        (_, Value::String(blob)) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(blob);
            let bytes = bytes.map_err(|_| No::conflict("the server's page is no base64"))?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        _ => return Err(No::conflict("the server's page has no text")),
    };
    if text.len() > limits::APP_BYTES {
        return Err(No::conflict("the server's page is too large"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn frame(id: &str) -> Frame {
        Frame {
            id: id.into(),
            at: Instant::now(),
            html: String::new(),
            policy: String::new(),
        }
    }

    #[test]
    fn a_page_is_had_once_and_the_oldest_give_way() {
        let frames = Frames::default();
        frames.keep(frame("a"));
        assert!(frames.take("/app/").is_none());
        assert!(frames.take("/app/b").is_none());
        assert!(frames.take("/app/a").is_some());
        assert!(frames.take("/app/a").is_none());
        for number in 0..=limits::APP_PAGES {
            frames.keep(frame(&number.to_string()));
        }
        assert!(frames.take("/app/0").is_none());
        assert!(frames.take("/app/1").is_some());
    }

    #[test]
    fn only_a_page_of_an_app_is_one() {
        let page = |kind: &str, text: &str| text_of(&json!({"mimeType": kind, "text": text}));
        assert!(page("text/html;profile=mcp-app", "x").is_some());
        assert!(page("text/html; profile=mcp-app", "x").is_some());
        assert!(page("text/html", "x").is_none());
        assert!(page("application/javascript", "x").is_none());
        let large = "x".repeat(limits::APP_BYTES + 1);
        assert!(page("text/html;profile=mcp-app", &large).is_none());
        let blob = json!({"mimeType": UI_PAGE_KIND, "blob": "PGI+"});
        assert_eq!(text_of(&blob).as_deref(), Some("<b>"));
    }

    fn text_of(page: &Value) -> Option<String> {
        text(page).ok()
    }
}
