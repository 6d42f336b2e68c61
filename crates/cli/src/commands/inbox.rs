//! `inbox`: everything that waits for a person at the running gateway, in one list.

use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
    show::{diff, out, safe, term},
};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};
use switchboard::{
    api::{
        Client, ClientError,
        types::{
            events::Event,
            questions::{Kind, Question, Questions},
        },
    },
    host::desk::AskAt,
};

/// Options of `inbox`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Go on with what is asked and answered from now on; while this runs, clients and the inbox
    /// are both asked, unless settings say otherwise
    #[arg(short, long)]
    follow: bool,
    /// Show those as well that are over
    #[arg(short, long)]
    all: bool,
}

const EXAMPLES: &str = "Examples:
  switchboard inbox
  switchboard inbox -f
  switchboard answer 3f9a allow";

/// Who is asked what a person has to answer: an option of `serve` and `up`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AskOptions {
    /// Who is asked what a person has to answer: client, inbox, or both, where the first answer
    /// counts (default: client, and both while somebody looks at the inbox)
    #[arg(long, value_name = "WHERE", value_parser = ask_at)]
    #[serde(with = "word", skip_serializing_if = "Option::is_none")]
    pub ask_at: Option<AskAt>,
}

fn ask_at(word: &str) -> Result<AskAt, crate::failure::Advice> {
    AskAt::parse(word).ok_or_else(|| "it can be client, inbox or both".into())
}

/// The option as it is written down.
mod word {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use switchboard::host::desk::AskAt;

    #[expect(clippy::ref_option, reason = "serde hands it over like this")]
    pub fn serialize<S: Serializer>(at: &Option<AskAt>, to: S) -> Result<S::Ok, S::Error> {
        at.map(AskAt::word).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<AskAt>, D::Error> {
        let word = Option::<String>::deserialize(from)?;
        Ok(word.as_deref().and_then(AskAt::parse))
    }
}

/// Shows what waits. Exit code 4 where no gateway runs.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    life::short(async |stop| {
        let client = Client::find(&context.options).map_err(failed)?;
        // Before what is there is asked for, so that nothing is missed between.
        let events = match options.follow {
            true => Some(client.events("topics=questions").await.map_err(failed)?),
            false => None,
        };
        let all = if options.all { "?all=true" } else { "" };
        let found: Questions = client
            .get(&format!("questions{all}"))
            .await
            .map_err(failed)?;
        if options.json && options.follow {
            found.questions.iter().try_for_each(json_line)?;
        } else if options.json {
            out::json_list(&found.questions)?;
        } else if found.questions.is_empty() {
            out::line("Nothing waits for a person.")?;
        } else {
            found.questions.iter().try_for_each(show)?;
        }
        let Some(mut events) = events else {
            return Ok(Code::Done);
        };
        loop {
            let event = tokio::select! {
                event = events.next() => event.map_err(failed)?,
                () = stop.cancelled() => return Ok(Code::Done),
            };
            match event {
                Some((_, Event::Question { question, .. })) => {
                    let question = whole(&client, *question).await.map_err(failed)?;
                    match options.json {
                        true => json_line(&question)?,
                        false => show(&question)?,
                    }
                }
                Some(_) => {}
                None => return Ok(Code::Done),
            }
        }
    })?
}

/// A question with all that was left out of it, while there is such a question.
pub(super) async fn whole(client: &Client, question: Question) -> Result<Question, ClientError> {
    if !question.partial {
        return Ok(question);
    }
    let id = &question.id;
    match client.get(&format!("questions/{id}")).await {
        Err(fault) if fault.code() == Some("not-found") => Ok(question),
        found => found,
    }
}

fn json_line(question: &Question) -> Result<(), Failure> {
    let text = serde_json::to_string(question).unwrap_or_default();
    out::line(&text)
}

/// Why the gateway did not do it.
pub(super) fn failed(error: ClientError) -> Failure {
    let (code, hint) = match (&error, error.code()) {
        (ClientError::None, _) => {
            let failure = Failure::new(Code::Unreachable, "no gateway runs");
            return failure.hint("start one: switchboard up");
        }
        (_, Some("not-found")) => (Code::Usage, Some("see what waits: switchboard inbox")),
        (_, Some("invalid")) => (Code::Usage, None),
        (_, Some("not-allowed")) => (Code::NotPermitted, None),
        (_, Some("conflict")) => (Code::Answered, Some("see what waits: switchboard inbox")),
        (_, Some(_)) => (Code::Answered, None),
        (_, None) => (
            Code::Unreachable,
            Some("switchboard doctor says what is wrong"),
        ),
    };
    let said = match &error {
        ClientError::Refused(_, refused) => refused.hint.clone(),
        _ => None,
    };
    let failure = Failure::new(code, safe::lines(&error.to_string()));
    match said.as_deref().or(hint) {
        Some(hint) => failure.hint(safe::line(hint)),
        None => failure,
    }
}

/// One question, a few lines: what a server or a client wrote is escaped.
pub(super) fn show(question: &Question) -> Result<(), Failure> {
    let paint = term::stdout();
    let id = paint.bold(&safe::line(&question.id));
    out::line(&format!("{id}  {}", safe::line(&question.title)))?;
    let mut about = vec![kind(question.kind).to_owned()];
    about.extend(
        question
            .principal
            .as_ref()
            .map(|name| format!("for {name}")),
    );
    about.extend(question.client.as_ref().map(|name| format!("by {name}")));
    about.push(format!("{} ago", ago(question.at)));
    if question.also_client {
        about.push("its client is asked as well".to_owned());
    }
    about.push(match (&question.answered, question.status.as_str()) {
        (Some(answered), _) => format!("answered: {} by {}", answered.action, answered.by),
        (None, "open") => format!("takes {}", question.answers.join(", ")),
        (None, status) => status.to_owned(),
    });
    let about = paint.dim(&safe::line(&about.join("; ")));
    out::line(&format!("  {about}"))?;
    details(question)
        .iter()
        .try_for_each(|line| out::line(line))
}

/// What the question is about, escaped.
fn details(question: &Question) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(text) = question.text.as_deref().filter(|text| !text.is_empty()) {
        let text = safe::lines(text);
        lines.extend(text.lines().map(|line| format!("  {line}")));
    }
    lines.extend(
        question
            .url
            .as_ref()
            .map(|url| format!("  {}", safe::line(url))),
    );
    if let Some(about) = &question.about {
        let text = match question.kind {
            Kind::Permission => about.to_string(),
            _ => serde_json::to_string_pretty(about).unwrap_or_default(),
        };
        let text = safe::lines(&text);
        lines.extend(text.lines().map(|line| format!("  {line}")));
    }
    if let Some(fields) = question.schema.as_ref().map(|it| &it["properties"]) {
        let names = fields.as_object().into_iter().flatten();
        let names: Vec<String> = names
            .map(|(name, field)| field_words(name, field))
            .collect();
        if !names.is_empty() {
            lines.push(format!("  fields: {}", safe::line(&names.join(", "))));
        }
    }
    if question.partial {
        let id = safe::line(&question.id);
        lines.push(format!("  there is more to it: switchboard answer {id}"));
    }
    for change in &question.changes {
        lines.push(format!("  {}", safe::line(&change.of)));
        let after = change.after.as_deref().unwrap_or_default();
        let shown = match &change.before {
            Some(before) => diff::lines(before, after),
            None => safe::lines(after).lines().map(str::to_owned).collect(),
        };
        lines.extend(shown.into_iter().map(|line| format!("    {line}")));
    }
    lines
}

fn field_words(name: &str, field: &Value) -> String {
    match field["type"].as_str() {
        Some(kind) => format!("{name} ({kind})"),
        None => name.to_owned(),
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Permission => "permission",
        Kind::Form => "form",
        Kind::Page => "page",
        Kind::Sampling => "sampling",
        Kind::SignIn => "sign-in",
        Kind::Approval => "approval",
        Kind::Changed => "changed definitions",
        Kind::Proposal => "proposal",
        Kind::Held => "held",
    }
}

/// How long ago that was, in the largest unit that fits.
fn ago(at: u64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = now.as_secs().saturating_sub(at / 1000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}
