//! What is written from these types: `docs/reference/api.md`, `openapi.json` and the
//! types of the page in a browser (`api.d.ts`).

mod typescript;

use crate::{
    Refused, apps, breakpoints, calls, events, insight, questions,
    routes::{Edits, ROUTES, Route},
    servers, sessions, settings, state, tools,
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
pub use typescript::typescript;

/// A type as a route names it, and as it is called in what is written.
struct Known {
    word: &'static str,
    schema: Value,
}

/// Every type that a route names, and all that they are made of.
struct Types {
    known: Vec<Known>,
    /// By their names.
    parts: Map<String, Value>,
}

fn types(at: &'static str) -> Types {
    let settings = SchemaSettings::draft2020_12().with(|it| it.definitions_path = at.into());
    let mut generator = settings.into_generator();
    let mut known = Vec::new();
    macro_rules! all {
        ($($module:ident :: $name:ident,)*) => {
            $(known.push(one::<$module::$name>(
                &mut generator,
                concat!(stringify!($module), "::", stringify!($name)),
            ));)*
        };
    }
    all!(
        apps::Open,
        apps::Opened,
        breakpoints::Breakpoints,
        breakpoints::SetBreakpoint,
        calls::Page,
        calls::Detail,
        calls::Make,
        calls::Made,
        calls::Replay,
        calls::Replayed,
        calls::Call,
        events::Event,
        insight::TapState,
        insight::SetTap,
        insight::Metrics,
        insight::Bill,
        insight::Log,
        insight::SetLog,
        questions::Questions,
        questions::Question,
        questions::Answer,
        questions::Taken,
        servers::Serving,
        servers::Report,
        servers::Detail,
        servers::Stderr,
        servers::Listed,
        servers::SignIn,
        servers::Act,
        servers::Done,
        servers::Explained,
        sessions::Me,
        sessions::Enter,
        sessions::Entered,
        sessions::Ways,
        sessions::Begin,
        sessions::Begun,
        sessions::Finish,
        sessions::Renew,
        sessions::Code,
        settings::Settings,
        settings::Snippet,
        settings::Understood,
        settings::Edit,
        settings::Imports,
        settings::Written,
        settings::Reloaded,
        settings::Tokens,
        settings::MakeToken,
        settings::MadeToken,
        settings::Pins,
        settings::Repin,
        settings::Audit,
        state::Document,
        tools::Tools,
        tools::Rule,
        tools::Form,
        tools::Fields,
        tools::Validate,
        tools::Validated,
    );
    known.push(one::<Refused>(&mut generator, "Refused"));
    Types {
        known,
        parts: generator.take_definitions(true),
    }
}

fn one<T: JsonSchema>(generator: &mut SchemaGenerator, word: &'static str) -> Known {
    Known {
        word,
        schema: generator.subschema_for::<T>().to_value(),
    }
}

impl Types {
    /// What stands for a type; nothing for those that are no JSON, or nothing at all.
    fn find(&self, word: &str) -> Option<&Known> {
        self.known.iter().find(|known| known.word == word)
    }
}

/// The name in a reference.
fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// What follows `?` at some routes.
const QUERIES: [(&str, &str, &str); 14] = [
    (
        "events",
        "topics",
        "what to tell of: `state`, `calls`, `questions`, with commas",
    ),
    (
        "events",
        "since",
        "the number after which to begin: a document's or an event's",
    ),
    (
        "events",
        "filter",
        "which calls to tell of; without a text in quotes",
    ),
    ("calls", "filter", "which calls"),
    ("calls", "before", "only those before this one"),
    ("calls", "only", "this one alone, if it matches"),
    ("calls", "limit", "how many at most"),
    ("export", "filter", "which calls"),
    ("questions", "all", "`true`: also those that were answered"),
    ("servers", "used", "`true`: also what their processes use"),
    ("tools", "server", "only this server's"),
    (
        "audit",
        "filter",
        "words that a record has, or `field=value`",
    ),
    ("audit", "before", "only those before this number"),
    ("audit", "limit", "how many at most"),
];

/// The queries of a route.
fn queries(route: &Route) -> impl Iterator<Item = (&'static str, &'static str)> {
    let (verb, path) = (route.verb, route.path);
    let own = QUERIES
        .into_iter()
        .filter(move |(at, ..)| verb == "GET" && *at == path);
    own.map(|(_, name, about)| (name, about))
}

/// When it changes settings, if it does.
fn edits(route: &Route) -> Option<&'static str> {
    match route.edits {
        Edits::Never => None,
        Edits::Always => Some("always"),
        Edits::WithALastingAnswer => Some("with an answer that lasts"),
    }
}

/// The routes as an OpenAPI document.
pub fn openapi() -> Value {
    let types = types("/components/schemas");
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let path = format!("/{}", route.path);
        let verb = route.verb.to_lowercase();
        let operation = operation(&types, route);
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        entry[verb] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Switchboard",
            "description": "What a running gateway is asked and told.",
            "version": "1",
        },
        "servers": [{ "url": "http://127.0.0.1:3700/api/v1" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "schemas": types.parts,
        },
    })
}

fn operation(types: &Types, route: &Route) -> Value {
    let parts = route.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }),
        )
    });
    let asked = queries(route).map(|(name, about)| {
        let text = json!({ "type": "string" });
        json!({ "name": name, "in": "query", "description": about, "schema": text })
    });
    let parts: Vec<Value> = parts.chain(asked).collect();
    let content = |word: &str| match types.find(word) {
        Some(known) if word == "events::Event" => {
            json!({ "text/event-stream": { "schema": known.schema } })
        }
        Some(known) => json!({ "application/json": { "schema": known.schema } }),
        None if word == "Cassette" => json!({ "application/x-ndjson": {} }),
        None => json!({ "application/json": {} }),
    };
    let refused = types.find("Refused").map(|known| known.schema.clone());
    let mut operation = json!({
        "summary": route.does,
        "x-role": route.role.word(),
        "x-role-for-others": route.others.word(),
        "responses": {
            "200": { "description": "Done.", "content": content(route.gives) },
            "default": {
                "description": "Why not.",
                "content": { "application/json": { "schema": refused } },
            },
        },
    });
    if !parts.is_empty() {
        operation["parameters"] = parts.into();
    }
    if let Some(edits) = edits(route) {
        operation["x-edits"] = edits.into();
    }
    if let Some(known) = route.takes.and_then(|word| types.find(word)) {
        operation["requestBody"] = json!({
            "content": { "application/json": { "schema": known.schema } },
        });
        operation["requestBody"]["x-most-bytes"] = route.body.into();
    }
    operation
}

/// The routes and types as a page.
pub fn markdown() -> String {
    let types = types("/$defs");
    let mut page = String::from(INTRODUCTION);
    page.push_str(
        "\n## Routes\n\nFor another principal than one's own the role in brackets is needed. What \
         changes settings is refused where the gateway was started with `--no-api-edit`.\n\n\
         | route | role | takes | gives | changes settings | |\n|---|---|---|---|---|---|\n",
    );
    let link = |word: &str| match types.find(word).and_then(|known| name_of(&known.schema)) {
        Some(name) => format!("[`{name}`](#{})", name.to_lowercase()),
        None if word == "Nothing" => String::new(),
        None => word.to_owned(),
    };
    for route in ROUTES {
        let takes = route.takes.map(link).unwrap_or_default();
        let (gives, edits) = (link(route.gives), edits(route).unwrap_or_default());
        let role = match (route.role.word(), route.others.word()) {
            (role, others) if role == others => role.to_owned(),
            (role, others) => format!("{role} ({others})"),
        };
        let (verb, path, does) = (route.verb, route.path, route.does);
        let _ = writeln!(
            page,
            "| `{verb} {path}` | {role} | {takes} | {gives} | {edits} | {does} |"
        );
    }
    page.push_str("\n## Queries\n\n| route | query | |\n|---|---|---|\n");
    for route in ROUTES {
        for (name, about) in queries(route) {
            let _ = writeln!(page, "| `GET {}` | `{name}` | {about} |", route.path);
        }
    }
    page.push_str("\n## Types\n");
    for (name, schema) in &types.parts {
        type_section(&mut page, name, schema);
    }
    page
}

const INTRODUCTION: &str = "\
# The API of a running gateway

Below `/api/v1/` at the gateway's address. Every request shows a token, as `Authorization:
Bearer …`: the control token or a session that a single-use code opened (role *admin*), or a
client's token (role *own*: its own calls and questions). `switchboard console` prints an
address with a code; `POST session` takes it. Bodies are JSON of at most 16 KiB, or
of as much as their route says (`x-most-bytes` in openapi.json), and a field that is not known
is refused. A status of 400 or more comes with a [`Refused`](#refused). The same as
a document for programs: [openapi.json](openapi.json); as types for TypeScript:
[api.d.ts](api.d.ts).
";

fn type_section(page: &mut String, name: &str, schema: &Value) {
    let about = |schema: &Value| {
        let text = schema["description"].as_str().unwrap_or_default();
        text.replace('\n', " ").replace('|', "\\|")
    };
    let _ = write!(page, "\n### {name}\n\n{}\n", about(schema));
    let ways = schema["oneOf"]
        .as_array()
        .or_else(|| schema["anyOf"].as_array());
    if let Some(members) = schema["properties"]
        .as_object()
        .filter(|members| !members.is_empty())
    {
        page.push_str("\n| field | type | |\n|---|---|---|\n");
        for (field, schema) in members {
            let (shape, about) = (typescript::shape(schema), about(schema));
            let shape = shape.replace('|', "\\|");
            let _ = writeln!(page, "| `{field}` | `{shape}` | {about} |");
        }
    } else if let Some(ways) = ways {
        page.push('\n');
        for way in ways {
            let _ = writeln!(page, "- `{}`: {}", typescript::shape(way), about(way));
        }
    } else {
        let _ = writeln!(page, "\n`{}`", typescript::shape(schema));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_a_route_names_is_known_and_no_two_share_a_name() {
        let types = types("/$defs");
        for route in ROUTES {
            for word in route.takes.iter().chain([&route.gives]) {
                let is_none = ["Nothing", "Cassette"].contains(word);
                assert!(is_none || types.find(word).is_some(), "{word}");
            }
        }
        for name in types.parts.keys() {
            assert!(!name.ends_with(|c: char| c.is_ascii_digit()), "{name}");
        }
    }
}
