//! Every route, with who may use it. The gateway serves just these, the reference lists them,
//! and a test walks them with each role.

use crate::sessions::Role;

/// A route.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// `GET`, `POST`, `DELETE`.
    pub verb: &'static str,
    /// Below `/api/v1/`; `{…}` is one segment.
    pub path: &'static str,
    /// The least role.
    pub role: Role,
    /// What it does, in a sentence.
    pub does: &'static str,
    /// The type of the body, if it takes one.
    pub takes: Option<&'static str>,
    /// The type of the answer.
    pub gives: &'static str,
}

const fn get(path: &'static str, role: Role, gives: &'static str, does: &'static str) -> Route {
    Route {
        verb: "GET",
        path,
        role,
        does,
        takes: None,
        gives,
    }
}

const fn post(
    path: &'static str,
    role: Role,
    takes: &'static str,
    gives: &'static str,
    does: &'static str,
) -> Route {
    Route {
        verb: "POST",
        path,
        role,
        does,
        takes: Some(takes),
        gives,
    }
}

const fn delete(path: &'static str, role: Role, gives: &'static str, does: &'static str) -> Route {
    Route {
        verb: "DELETE",
        path,
        role,
        does,
        takes: None,
        gives,
    }
}

/// All of them.
pub const ROUTES: &[Route] = &[
    get(
        "session",
        Role::Own,
        "sessions::Me",
        "Says who asks, and what may be done.",
    ),
    get(
        "state",
        Role::Viewer,
        "state::Document",
        "The whole as one document.",
    ),
    get(
        "events",
        Role::Own,
        "events::Event",
        "What changes, as an event stream.",
    ),
    get(
        "calls",
        Role::Own,
        "calls::Page",
        "Calls, newest first, that match a filter.",
    ),
    get(
        "calls/{id}",
        Role::Own,
        "calls::Detail",
        "One call with both its sides.",
    ),
    post(
        "calls",
        Role::Operator,
        "calls::Make",
        "calls::Made",
        "Makes a call.",
    ),
    post(
        "apps",
        Role::Operator,
        "apps::Open",
        "apps::Opened",
        "Reads a page of a server's, and serves it once to a frame.",
    ),
    post(
        "calls/{id}/replay",
        Role::Operator,
        "calls::Replay",
        "calls::Replayed",
        "Makes a call again, as it was or changed.",
    ),
    post(
        "calls/{id}/reveal",
        Role::Admin,
        "Nothing",
        "calls::Detail",
        "One call with its secrets; put on record.",
    ),
    get(
        "export",
        Role::Operator,
        "Cassette",
        "The calls that match a filter, as a cassette.",
    ),
    delete(
        "calls/{id}",
        Role::Operator,
        "calls::Call",
        "Cancels a call that the console made.",
    ),
    get(
        "tap",
        Role::Viewer,
        "insight::TapState",
        "Whether messages are kept.",
    ),
    post(
        "tap",
        Role::Operator,
        "insight::SetTap",
        "insight::TapState",
        "Has messages kept, or no longer.",
    ),
    get(
        "questions",
        Role::Own,
        "questions::Questions",
        "What waits for a person.",
    ),
    get(
        "questions/{id}",
        Role::Own,
        "questions::Question",
        "One question.",
    ),
    post(
        "questions/{id}",
        Role::Own,
        "questions::Answer",
        "questions::Taken",
        "Answers it; another principal's only as an operator.",
    ),
    get(
        "servers/{segment}",
        Role::Viewer,
        "servers::Detail",
        "One server.",
    ),
    get(
        "servers/{segment}/stderr",
        Role::Viewer,
        "servers::Stderr",
        "What it wrote to its stderr.",
    ),
    get(
        "servers/{segment}/sign-in",
        Role::Viewer,
        "servers::SignIn",
        "Each step of the sign-in that was tried last, without secrets.",
    ),
    get(
        "servers/{segment}/{list}",
        Role::Viewer,
        "servers::Listed",
        "What it lists: tools, resources, templates, prompts.",
    ),
    post(
        "servers/{segment}/{verb}",
        Role::Operator,
        "servers::Act",
        "servers::Done",
        "reconnect, enable, disable, sign-in, sign-out; as an admin approve, reject.",
    ),
    get(
        "explain/{name}",
        Role::Viewer,
        "servers::Explained",
        "Why a server or tool is there, or is not.",
    ),
    get(
        "tools",
        Role::Viewer,
        "tools::Tools",
        "All tools of all servers.",
    ),
    post(
        "tools/rules",
        Role::Admin,
        "tools::Rule",
        "settings::Written",
        "Writes rules, with the difference first.",
    ),
    post(
        "forms",
        Role::Viewer,
        "tools::Form",
        "tools::Fields",
        "A schema as fields.",
    ),
    post(
        "validate",
        Role::Viewer,
        "tools::Validate",
        "tools::Validated",
        "Holds a value to a schema.",
    ),
    get(
        "pins/{server}",
        Role::Viewer,
        "settings::Pins",
        "Definitions that are not what was pinned.",
    ),
    post(
        "pins/{server}",
        Role::Admin,
        "settings::Repin",
        "settings::Pins",
        "Approves them.",
    ),
    get(
        "settings",
        Role::Viewer,
        "settings::Settings",
        "Every file and entry.",
    ),
    post(
        "settings/read",
        Role::Operator,
        "settings::Snippet",
        "settings::Understood",
        "Explains a pasted snippet.",
    ),
    get(
        "imports",
        Role::Operator,
        "settings::Imports",
        "What other clients have configured, without secrets.",
    ),
    post(
        "settings/change",
        Role::Admin,
        "settings::Edit",
        "settings::Written",
        "Adds or removes an entry, with the difference first.",
    ),
    get(
        "tokens",
        Role::Admin,
        "settings::Tokens",
        "Who may come in.",
    ),
    post(
        "tokens",
        Role::Admin,
        "settings::MakeToken",
        "settings::MadeToken",
        "Makes a token.",
    ),
    delete(
        "tokens/{name}",
        Role::Admin,
        "settings::Tokens",
        "Revokes it.",
    ),
    get(
        "metrics",
        Role::Viewer,
        "insight::Metrics",
        "What was counted.",
    ),
    get(
        "bill",
        Role::Viewer,
        "insight::Bill",
        "What lists cost a model.",
    ),
    get(
        "audit",
        Role::Viewer,
        "settings::Audit",
        "The record, newest first.",
    ),
    post(
        "session",
        Role::Own,
        "sessions::Enter",
        "sessions::Entered",
        "Opens a session with a single-use code; wants no token.",
    ),
    delete(
        "session",
        Role::Own,
        "Nothing",
        "Ends the session that asks.",
    ),
    post(
        "codes",
        Role::Admin,
        "Nothing",
        "sessions::Code",
        "Makes a single-use code that opens a session.",
    ),
];
