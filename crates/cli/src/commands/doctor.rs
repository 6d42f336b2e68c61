//! `doctor`: looks at everything that can be wrong, and says what to do.

use crate::{
    commands::{explain::limits, list},
    context::{Context, Say},
    failure::{Code, Failure},
    show::{out, safe, sums::counted, term},
    strays,
};
use clap::Args;
use serde::Serialize;
use std::path::Path;
use switchboard::{
    Approvals, Health, Look, Preview, Purpose, VERSION,
    config::{Loaded, Outcome, Scope, Standing, Webhook, trust::labels},
    local::secret,
    process, running, tasks, tokens,
};

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Do not start or contact any server
    #[arg(long)]
    pub no_connect: bool,
}

/// One thing that was looked at. The names are what scripts rely on.
#[derive(Debug, Serialize)]
struct Finding {
    /// configuration, limits, servers, sign-ins, processes, versions or panics
    area: &'static str,
    /// ok, warning or problem
    level: Level,
    /// What was looked at.
    what: String,
    /// What was found.
    found: String,
    /// What to do.
    advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Ok,
    Warning,
    Problem,
}

#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(
        &mut self,
        area: &'static str,
        level: Level,
        what: impl Into<String>,
        found: impl Into<String>,
    ) {
        let found: String = found.into();
        self.0.push(Finding {
            area,
            level,
            what: what.into(),
            found: secret::text(&found).into_owned(),
            advice: None,
        });
    }

    /// Says what to do about the last one.
    fn advise(&mut self, advice: impl Into<String>) {
        if let Some(last) = self.0.last_mut() {
            last.advice = Some(advice.into());
        }
    }
}

/// Looks, and says. Exit code 1 if there is a problem.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let mut findings = Findings::default();
    let loaded = context.look(Say::Nothing);
    configuration(&loaded, &mut findings);
    rules(&loaded, &mut findings);
    webhook(&loaded, &mut findings);
    connectors(context, &loaded, options.no_connect, &mut findings);
    versions(context, &mut findings);
    processes(&mut findings);
    limited(&loaded, &mut findings);
    servers(loaded, options.no_connect, &mut findings)?;
    sign_ins(context, &mut findings);
    let own = (tasks::panics(), tasks::last_panic());
    panics("this command", own, &mut findings);
    let problems = findings
        .0
        .iter()
        .filter(|finding| finding.level == Level::Problem)
        .count();
    if options.json {
        out::json_list(&findings.0)?;
    } else {
        show(&findings.0)?;
    }
    Ok(if problems > 0 {
        Code::Answered
    } else {
        Code::Done
    })
}

/// Rules about servers that are not there.
fn rules(loaded: &Loaded, findings: &mut Findings) {
    for stray in strays::all(loaded) {
        let place = stray.rule.rule.place.clone();
        findings.add("configuration", Level::Warning, place, stray.text());
        let meant = stray.meant.unwrap_or_else(|| {
            "correct the name, or take the rule out: switchboard list".to_owned()
        });
        findings.advise(meant);
    }
}

/// A secret that everybody knows who reads the settings.
fn webhook(loaded: &Loaded, findings: &mut Findings) {
    let webhook = loaded.inbox.webhook.as_ref();
    if webhook.is_some_and(Webhook::is_written_out) {
        let found = "its secret stands in the settings as it is";
        findings.add("configuration", Level::Warning, "approvals.webhook", found);
        findings.advise("keep it elsewhere: \"${VAR}\" or \"${file:/path}\"");
    }
}

/// Every file that was looked for, and every entry that cannot work.
fn configuration(loaded: &Loaded, findings: &mut Findings) {
    const AREA: &str = "configuration";
    for looked in &loaded.looked {
        let file = looked.file.display().to_string();
        match &looked.outcome {
            Outcome::Absent => {}
            Outcome::Read => {
                findings.add(AREA, Level::Ok, file, format!("read ({})", looked.scope));
            }
            Outcome::Skipped(why) => {
                findings.add(AREA, Level::Problem, file, format!("does not count: {why}"));
                findings.advise("correct it; until then nothing of it is used");
            }
        }
    }
    let told = |file: &str| {
        loaded.looked.iter().any(|looked| {
            matches!(looked.outcome, Outcome::Skipped(_))
                && file.starts_with(&looked.file.display().to_string())
        })
    };
    for (_, fault) in &loaded.faults {
        let text = fault.to_string();
        if !told(&text) {
            findings.add(AREA, Level::Problem, fault.source.to_string(), text);
        }
    }
    for server in &loaded.servers {
        let (entry, name) = (&server.entry, &server.entry.name);
        match server.standing {
            Standing::Active => {
                for fault in &entry.faults {
                    findings.add(
                        AREA,
                        Level::Problem,
                        format!("server {name}"),
                        fault.to_string(),
                    );
                }
            }
            Standing::PendingApproval => {
                let found = format!(
                    "comes from inside the project ({}) and waits for your approval",
                    entry.place()
                );
                findings.add(AREA, Level::Warning, format!("server {name}"), found);
                findings.advise(format!("switchboard approve {name}"));
            }
            _ => {}
        }
    }
    let elsewhere = loaded.elsewhere();
    if !elsewhere.is_empty() {
        let what = format!("folder {}", loaded.folder.directory.display());
        let found = format!(
            "is not trusted, so servers start in an empty directory and not in it: {}",
            labels(&elsewhere)
        );
        findings.add(AREA, Level::Warning, what, found);
        let command = loaded.folder.command();
        findings.advise(format!("if you trust all that is in it: {command}"));
    }
    for variable in loaded.environment.waiting() {
        let found = "is set by the administrator, and waits for your approval";
        let what = format!("variable {} ({})", variable.name, variable.place);
        findings.add(AREA, Level::Warning, what, found);
        findings.advise("switchboard approve --environment");
    }
    if loaded.servers.is_empty() && loaded.faults.is_empty() {
        findings.add(AREA, Level::Warning, "servers", "none is configured");
        findings.advise("switchboard add NAME -- COMMAND, or switchboard import");
    }
}

/// Whether the list of connectors could be fetched.
fn connectors(context: &Context, loaded: &Look, no_connect: bool, findings: &mut Findings) {
    const AREA: &str = "configuration";
    let (Some(connectors), Some(fetching)) = (&loaded.connectors, loaded.fetching()) else {
        return;
    };
    let what = format!("connectors ({})", connectors.place);
    if !no_connect {
        context.late.begin(Some(&fetching));
        context.late.finish();
    }
    match fetching.state() {
        None => {
            findings.add(AREA, Level::Warning, what, "the list was never fetched");
            findings.advise("switchboard list");
        }
        Some(state) => match state.problem {
            None => {
                let count = loaded.servers.iter();
                let count = count.filter(|server| server.entry.scope == Scope::Connector);
                let found = format!("fetched, servers: {}", count.count());
                findings.add(AREA, Level::Ok, what, found);
            }
            Some(problem) => findings.add(AREA, Level::Problem, what, problem),
        },
    }
}

/// Whether what servers may use is held to, where somebody has limited it.
fn limited(loaded: &Look, findings: &mut Findings) {
    for entry in loaded.active() {
        let Some(note) = limits::note(entry) else {
            continue;
        };
        let level = match limits::counts(entry) {
            true => Level::Ok,
            false => Level::Warning,
        };
        findings.add("limits", level, entry.name.clone(), note);
    }
}

/// Whether each server works.
fn servers(loaded: Look, no_connect: bool, findings: &mut Findings) -> Result<(), Failure> {
    const AREA: &str = "servers";
    let usable = loaded.unusable().is_none();
    let governed = match loaded.clone().lawful() {
        Ok(config) => {
            let approved = config.approve(&Approvals::at_start()).bring_along();
            Some(approved.govern(None, Purpose::Command)?)
        }
        Err(_) => None,
    };
    let previews = match &governed {
        Some(governed) => governed.members().iter().map(Preview::from).collect(),
        None => loaded.previews(),
    };
    for found in previews {
        for fault in found
            .faults
            .iter()
            .filter(|_| found.entry.faults.is_empty())
        {
            findings.add(
                AREA,
                Level::Problem,
                found.entry.name.clone(),
                fault.to_string(),
            );
        }
    }
    let Some(governed) = governed.filter(|_| usable && !no_connect) else {
        return Ok(());
    };
    for (name, report) in list::reports(&governed)? {
        match report.health {
            Health::Connected => {
                let tools = report.tools.map(|tools| counted(tools, "tool"));
                let tools = tools.unwrap_or_else(|| "unknown tools".to_owned());
                let found = format!("connected in {} ms, {tools}", report.ms);
                match report.reason {
                    None => findings.add(AREA, Level::Ok, name, found),
                    Some(remarks) => {
                        findings.add(AREA, Level::Warning, name, format!("{found}\n{remarks}"));
                    }
                }
            }
            Health::Asleep => {
                let found = "asleep, since nobody uses it; it starts when it is needed";
                findings.add(AREA, Level::Ok, name, found);
            }
            Health::NeedsAuth => {
                findings.add("sign-ins", Level::Problem, name.clone(), "wants a sign-in");
                findings.advise(format!("switchboard login {name}"));
            }
            Health::Failed => {
                findings.add(
                    AREA,
                    Level::Problem,
                    name.clone(),
                    report.reason.unwrap_or_default(),
                );
                findings.advise(format!("switchboard explain {name} says where it is configured; switchboard disable {name} switches it off"));
            }
        }
    }
    Ok(())
}

/// Files that hold secrets must be the user's alone.
fn sign_ins(context: &Context, findings: &mut Findings) {
    const AREA: &str = "sign-ins";
    let Ok(dirs) = context.options.dirs() else {
        return;
    };
    let mut files = vec![(tokens::control_file(&dirs), tokens::control_fault(&dirs))];
    match tokens::list(&dirs) {
        Ok(names) => files.extend(names.iter().map(|(name, _)| {
            let file = tokens::client_file(&dirs).with_file_name(name);
            (file, tokens::fault(&dirs, name))
        })),
        Err(error) => findings.add(AREA, Level::Problem, "client tokens", error.to_string()),
    }
    for (file, fault) in files.into_iter().filter(|(file, _)| file.exists()) {
        let shown = file.display().to_string();
        match fault {
            None => findings.add(AREA, Level::Ok, shown, "a token that only you can read"),
            Some(error) => {
                findings.add(AREA, Level::Problem, shown, error.to_string());
                findings.advise(error.hint());
            }
        }
    }
    if let Some(open) = exposed(&dirs.data) {
        findings.add(AREA, Level::Problem, dirs.data.display().to_string(), open);
        findings.advise(format!("chmod 700 {}", dirs.data.display()));
    }
}

fn exposed(folder: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(folder).ok()?;
    (found.mode() & 0o022 != 0)
        .then(|| format!("others can write to it (mode {:o})", found.mode() & 0o777))
}

/// Gateways that run, and whether they are what we are.
fn versions(context: &Context, findings: &mut Findings) {
    const AREA: &str = "versions";
    let program = std::env::current_exe().map(|path| path.display().to_string());
    findings.add(
        AREA,
        Level::Ok,
        format!("switchboard {VERSION}"),
        program.unwrap_or_default(),
    );
    let found = context
        .options
        .dirs()
        .map(|dirs| running::all(&dirs))
        .unwrap_or_default();
    for damaged in &found.damaged {
        findings.add(AREA, Level::Problem, "a gateway", damaged.to_string());
    }
    let answering = context.options.gateways();
    for gateway in found.running {
        let what = format!(
            "gateway http://{} (process {})",
            gateway.address, gateway.pid
        );
        let answers =
            context.global.direct || answering.iter().any(|other| other.running == gateway);
        if !answers {
            findings.add(AREA, Level::Problem, what, "runs, but does not answer");
            findings.advise(format!("end it (kill {}) and start it again", gateway.pid));
        } else if gateway.version != VERSION {
            findings.add(
                AREA,
                Level::Warning,
                what,
                format!("runs version {}", gateway.version),
            );
            findings.advise("switchboard restart, so that both are the same");
        } else {
            findings.add(AREA, Level::Ok, what, "runs and answers");
        }
    }
    for gateway in &answering {
        let what = format!("gateway http://{}", gateway.running.address);
        if let Some(state) = gateway.state() {
            let own = (state.gateway.panics, state.gateway.last_panic);
            panics(&what, own, findings);
        }
    }
}

/// Faults of our own that a process has survived. Its requests ended with an error.
fn panics(what: &str, (panics, last): (u64, Option<String>), findings: &mut Findings) {
    if panics == 0 {
        return;
    }
    let last = last.as_deref().unwrap_or("an unknown place");
    let found = format!("something in it has panicked, times: {panics}; the last time at {last}");
    findings.add("panics", Level::Problem, what, found);
    findings.advise("this is a bug in Switchboard: report it with the lines of the log that name this place; the gateway itself goes on");
}

/// Processes that nobody looks after.
fn processes(findings: &mut Findings) {
    const AREA: &str = "processes";
    match process::orphans() {
        Ok(orphans) if orphans.is_empty() => {
            findings.add(
                AREA,
                Level::Ok,
                "orphans",
                "no server has outlived its gateway",
            );
        }
        Ok(orphans) => {
            for orphan in orphans {
                let what = format!("process {} ({})", orphan.pid, orphan.name);
                findings.add(
                    AREA,
                    Level::Problem,
                    what,
                    "was started by a server, and its gateway is gone",
                );
                findings.advise(format!("kill {}", orphan.pid));
            }
        }
        Err(error) => {
            findings.add(
                AREA,
                Level::Warning,
                "orphans",
                format!("cannot be looked for here: {error}"),
            );
        }
    }
}

fn show(findings: &[Finding]) -> Result<(), Failure> {
    let paint = term::stdout();
    let mut areas: Vec<&str> = Vec::new();
    for finding in findings {
        if !areas.contains(&finding.area) {
            areas.push(finding.area);
        }
    }
    for area in areas {
        out::line(&paint.bold(area))?;
        for finding in findings.iter().filter(|finding| finding.area == area) {
            let word = match finding.level {
                Level::Ok => paint.green("ok     "),
                Level::Warning => paint.yellow("warning"),
                Level::Problem => paint.red("problem"),
            };
            let found = safe::lines(&finding.found).replace('\n', "\n             ");
            out::line(&format!("  {word}  {}: {found}", safe::line(&finding.what)))?;
            if let Some(advice) = &finding.advice {
                out::line(&format!(
                    "           {} {}",
                    paint.bold("do:"),
                    safe::line(advice)
                ))?;
            }
        }
    }
    let count = |level: Level| {
        findings
            .iter()
            .filter(|finding| finding.level == level)
            .count()
    };
    let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
    out::line(&match (problems, warnings) {
        (0, 0) => "everything is well".to_owned(),
        (0, warnings) => format!("no problems; warnings: {warnings}"),
        (problems, warnings) => format!("problems: {problems}; warnings: {warnings}"),
    })
}
