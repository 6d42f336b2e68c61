//! What commands change is recorded where calls are: in the audit, once somebody has
//! asked for one.

use crate::{
    args::Command,
    commands::token::Action,
    context::{Context, Say, warn},
    limits,
};
use parking_lot::Mutex;
use serde_json::json;
use std::{fs, path::PathBuf};
use switchboard::{
    record::audit::{Appender, Keep, Record, hash},
    watching::{Changes, audit_folder},
};

/// What commands have done that no file shows well enough.
static DONE: Mutex<Vec<Record>> = Mutex::new(Vec::new());

/// Something was done that is recorded, where a record is kept.
pub fn done(record: Record) {
    let mut all = DONE.lock();
    if all.len() < limits::DONE {
        all.push(record);
    }
}

/// A command that may change something.
pub struct Recording {
    keep: Keep,
    /// What is recorded if it does.
    record: Record,
    configured: Changes,
    /// Files besides, such as those of approvals, and what they hold.
    files: Vec<(PathBuf, Option<String>)>,
    /// Whether it counts even if no file shows it.
    always: bool,
}

/// What this command would change; nothing where no record is kept.
pub fn begin(context: &Context, command: &Command) -> Option<Recording> {
    let (record, always) = about(command)?;
    let dirs = context.dirs().ok()?;
    let folder = audit_folder(&dirs);
    let observe = context.look(Say::Nothing).observe.clone();
    if observe.audit.is_none() && !folder.exists() {
        return None;
    }
    let heads = observe.audit.and_then(|audit| audit.heads_to);
    let keep = Keep {
        heads: heads.map(|file| context.options.directory.join(file)),
        ..Keep::within(folder)
    };
    let places = context.places().ok()?;
    let mut files = vec![places.approvals(), places.folders()];
    files.extend(crate::commands::connect::written(context, command));
    Some(Recording {
        keep,
        record,
        configured: Changes::read(&context.options),
        files: files
            .into_iter()
            .map(|file| (content(&file), file))
            .map(|(is, file)| (file, is))
            .collect(),
        always,
    })
}

/// What is recorded of a command, and whether that it was done is enough.
fn about(command: &Command) -> Option<(Record, bool)> {
    let named = |event, name: Option<&str>| Record::new(event).with("server", name);
    Some(match command {
        Command::Approve(with) => {
            let record = named("approve", with.own.name.as_deref());
            (
                record.with("environment", with.own.environment.then_some(true)),
                false,
            )
        }
        Command::Reject(with) => (named("reject", Some(&with.own.name)), false),
        Command::ResetProjectChoices(_) => (Record::new("reset-project-choices"), false),
        Command::Trust(with) => {
            let folder = with.own.folder.as_ref().map(|folder| json!(folder));
            (Record::new("trust").with("folder", folder), false)
        }
        Command::Untrust(with) => (
            Record::new("untrust").with("folder", json!(with.own.folder)),
            false,
        ),
        Command::Token(with) => match &with.own.action {
            // Said as `principal`: what is called a token would be taken for a secret.
            Action::Create { name } => (
                Record::new("token.create").with("principal", name.as_str()),
                true,
            ),
            Action::Revoke { name } => (
                Record::new("token.revoke").with("principal", name.as_str()),
                true,
            ),
            Action::List { .. } => return None,
        },
        Command::Login(with) => (named("login", Some(&with.own.name)), true),
        Command::Logout(with) => (named("logout", Some(&with.own.name)), true),
        Command::Add(_) | Command::AddJson(_) => (Record::new("add"), false),
        Command::Import(_) => (Record::new("import"), false),
        Command::Connect(with) if !with.own.dry_run => (Record::new("connect"), false),
        Command::Disconnect(with) if !with.own.dry_run => (Record::new("disconnect"), false),
        Command::Remove(_) => (Record::new("remove"), false),
        Command::Enable(_) => (Record::new("enable"), false),
        Command::Disable(_) => (Record::new("disable"), false),
        _ => return None,
    })
}

fn content(file: &PathBuf) -> Option<String> {
    fs::read(file).ok().map(|text| hash(&text))
}

impl Recording {
    /// The command has ended, well or not.
    pub fn end(self, context: &Context, is_done: bool) {
        let configured = self.configured.until(&Changes::read(&context.options));
        let has_changed = self.files.iter().any(|(file, was)| content(file) != *was);
        let done = std::mem::take(&mut *DONE.lock());
        let is_worth_it =
            (self.always && is_done) || has_changed || configured.is_some() || !done.is_empty();
        if !is_worth_it {
            return;
        }
        // Who it is says the system; the name is what they call themselves.
        let uid = rustix::process::getuid().as_raw();
        let user = std::env::var("USER").ok();
        let by = format!("switchboard {}", self.record.event());
        let mut records = vec![
            self.record
                .plain("uid", uid)
                .with("user", user)
                .with("directory", json!(context.options.directory)),
        ];
        records.extend(done);
        records.extend(configured.map(|record| record.with("by", by)));
        let kept = Appender::new(self.keep).and_then(|mut to| to.append(&records, true));
        if let Err(error) = kept {
            warn(&format!(
                "this could not be recorded for switchboard audit: {error}"
            ));
        }
    }
}
