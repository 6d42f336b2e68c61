//! Every route, with who may use it. The gateway serves just these, the reference lists them,
//! and a test walks them with each role.

mod route;

pub use route::{Edits, Route};

use crate::{limits, sessions::Role};

/// Whoever sees what is another's is a viewer at least.
const fn others(role: Role) -> Role {
    match role {
        Role::Own => Role::Viewer,
        role => role,
    }
}

const fn get(path: &'static str, role: Role, gives: &'static str, does: &'static str) -> Route {
    Route {
        verb: "GET",
        path,
        role,
        others: others(role),
        edits: Edits::Never,
        does,
        takes: None,
        body: limits::BODY,
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
        takes: Some(takes),
        ..get(path, role, gives, does)
    }
}

const fn delete(path: &'static str, role: Role, gives: &'static str, does: &'static str) -> Route {
    Route {
        verb: "DELETE",
        ..get(path, role, gives, does)
    }
}

/// Something that can be done with a server.
const fn verb(path: &'static str, role: Role, does: &'static str) -> Route {
    post(path, role, "servers::Act", "servers::Done", does)
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
    )
    .taking(limits::BODY_ARGUMENTS),
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
    )
    .taking(limits::BODY_ARGUMENTS),
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
        "breakpoints",
        Role::Viewer,
        "breakpoints::Breakpoints",
        "Which calls are held on their way.",
    ),
    post(
        "breakpoints",
        Role::Operator,
        "breakpoints::SetBreakpoint",
        "breakpoints::Breakpoints",
        "Holds calls that match a filter, or their answers, until somebody lets them go.",
    ),
    delete(
        "breakpoints/{id}",
        Role::Operator,
        "breakpoints::Breakpoints",
        "Removes a breakpoint. What it holds stays held.",
    ),
    delete(
        "breakpoints",
        Role::Operator,
        "breakpoints::Breakpoints",
        "Removes all of them.",
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
    Route {
        others: Role::Operator,
        edits: Edits::WithALastingAnswer,
        body: limits::BODY_ARGUMENTS,
        ..post(
            "questions/{id}",
            Role::Own,
            "questions::Answer",
            "questions::Taken",
            "Answers it; another principal's only as an operator.",
        )
    },
    post(
        "questions/{id}/reveal",
        Role::Admin,
        "Nothing",
        "questions::Question",
        "One question with its secrets; put on record.",
    ),
    get(
        "servers",
        Role::Admin,
        "servers::Serving",
        "What is served here, and what makes each the server that it is.",
    ),
    get(
        "servers/{segment}/report",
        Role::Viewer,
        "servers::Report",
        "Meets it, and says how it is doing.",
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
    verb(
        "servers/{segment}/reconnect",
        Role::Operator,
        "Ends its connections and makes them anew.",
    ),
    verb(
        "servers/{segment}/enable",
        Role::Operator,
        "Switches it on in the gateway's project.",
    )
    .editing(),
    verb(
        "servers/{segment}/disable",
        Role::Operator,
        "Switches it off there.",
    )
    .editing(),
    verb(
        "servers/{segment}/sign-in",
        Role::Operator,
        "Begins a sign-in, or says that the browser came back.",
    ),
    verb(
        "servers/{segment}/sign-out",
        Role::Operator,
        "Forgets the sign-in.",
    ),
    verb(
        "servers/{segment}/subscribe",
        Role::Operator,
        "Has changes of one of its resources told.",
    ),
    verb(
        "servers/{segment}/unsubscribe",
        Role::Operator,
        "Has them told no more.",
    ),
    verb(
        "servers/{segment}/approve",
        Role::Admin,
        "Approves the entry that a repository brings; in a session that a code opened.",
    )
    .editing(),
    verb("servers/{segment}/reject", Role::Admin, "Rejects it.").editing(),
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
    )
    .taking(limits::BODY_ENTRY)
    .editing(),
    post(
        "forms",
        Role::Viewer,
        "tools::Form",
        "tools::Fields",
        "A schema as fields.",
    )
    .taking(limits::BODY_ARGUMENTS),
    post(
        "validate",
        Role::Viewer,
        "tools::Validate",
        "tools::Validated",
        "Holds a value to a schema.",
    )
    .taking(limits::BODY_ARGUMENTS),
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
    )
    .taking(limits::BODY_ENTRY)
    .editing(),
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
    )
    .taking(limits::BODY_SNIPPET),
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
    )
    .taking(limits::BODY_ENTRY)
    .editing(),
    post(
        "reload",
        Role::Operator,
        "Nothing",
        "settings::Reloaded",
        "Reads the configuration again.",
    ),
    get(
        "log",
        Role::Viewer,
        "insight::Log",
        "How much is logged, and where.",
    ),
    post(
        "log",
        Role::Admin,
        "insight::SetLog",
        "insight::Log",
        "Changes how much is logged.",
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
    )
    .editing(),
    delete(
        "tokens/{name}",
        Role::Admin,
        "settings::Tokens",
        "Revokes it.",
    )
    .editing(),
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
    get(
        "session/ways",
        Role::Own,
        "sessions::Ways",
        "Says how people come in; wants no token.",
    ),
    post(
        "session/begin",
        Role::Own,
        "sessions::Begin",
        "sessions::Begun",
        "Begins a sign-in at the identity provider; wants no token.",
    ),
    post(
        "session/finish",
        Role::Own,
        "sessions::Finish",
        "sessions::Entered",
        "Ends a sign-in: exchanges the identity provider's code for its token; wants no token.",
    ),
    post(
        "session/renew",
        Role::Own,
        "sessions::Renew",
        "sessions::Entered",
        "Has the identity provider give a newer token; wants no token.",
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
        "Makes a single-use code that opens a session; for the control token alone.",
    ),
];
