//! `permissions`: which tools may be used without a question, with one, or not
//! at all. What the words mean is the host's business; here they are only
//! found, with their file and line.

use super::clear::{about_nothing, tool_name, unclear};
use crate::{entry::Pinning, fault::Fault, limits, read::Doc};
use serde_json::Value;

/// A word in a file, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The word.
    pub text: String,
    /// File and line.
    pub place: String,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRule {
    /// `allow`, `ask` or `deny`.
    pub list: &'static str,
    /// The rule, such as `mcp__server__*`.
    pub rule: Written,
    /// The file is one that a repository could have written.
    pub inside: bool,
    /// The file is Switchboard's own: every rule in it is meant for us.
    pub ours: bool,
    /// The file is the administrator's.
    pub managed: bool,
}

impl PermissionRule {
    /// Whether it is about anything of ours: other clients' files also have
    /// rules for tools of their own.
    pub fn is_for_us(&self) -> bool {
        let name = tool_name(&self.rule.text);
        // Their own tools have capitals. Whatever else is forbidden was meant for somebody.
        let is_theirs = name.starts_with(|c: char| c.is_ascii_uppercase());
        self.ours || name.starts_with("mcp__") || self.list != "allow" && !is_theirs
    }
}

/// Whose file it is, as far as permissions depend on that.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Writer {
    /// A repository could have written it.
    pub(crate) inside: bool,
    /// It is Switchboard's own, and not another client's.
    pub(crate) ours: bool,
    /// It is the administrator's.
    pub(crate) managed: bool,
}

/// What all files together say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// The rules, in the order of the files.
    pub rules: Vec<PermissionRule>,
    /// `defaultMode`: who is asked where no rule says anything.
    pub mode: Option<Written>,
    /// `modes`: the same for one principal each.
    pub modes: Vec<(String, Written)>,
    /// `trustedServers`: what these say of their own tools counts.
    pub trusted: Vec<Written>,
    /// `pins`: `hold`, `tell` or `off`; what becomes of definitions that are not
    /// what they were.
    pub pinning: Option<Pinned>,
    /// `allowManagedPermissionRulesOnly`: no rule counts but the
    /// administrator's, and no answer that somebody once gave.
    pub managed_only: bool,
}

/// What `pins` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// For all servers; nothing where it depends on where each comes from.
    pub pinning: Option<Pinning>,
    /// The word, and where it is written.
    pub written: Written,
}

/// In the administrator's file: nobody else makes rules.
pub(super) const MANAGED_ONLY: &str = "allowManagedPermissionRulesOnly";

/// Everything that `permissions` can have. One that is misspelt would not
/// forbid what it was written to forbid.
pub(super) const KEYS: [&str; 8] = [
    "allow",
    "ask",
    "deny",
    "defaultMode",
    "modes",
    "trustedServers",
    PINS,
    EARLIER_PINS,
];

/// What becomes of definitions that are not what they were.
const PINS: &str = "pins";
/// The same in the words of an earlier version.
const EARLIER_PINS: &str = "pinDefinitions";

/// The lists of rules.
pub(super) const LISTS: [&str; 3] = ["allow", "ask", "deny"];

impl Permissions {
    /// Adds what one file says. Of files that a repository could have written,
    /// and of another client's, only the rules are taken: their modes are not meant for us.
    pub(crate) fn add(&mut self, doc: &Doc<'_>, file: &str, writer: Writer) -> Vec<Fault> {
        let Writer {
            inside,
            ours,
            managed,
        } = writer;
        let mut faults = unclear(doc, writer);
        if managed && let Some((value, line)) = doc.value(&[MANAGED_ONLY]) {
            // Whatever else it says, it was not meant to permit more.
            self.managed_only |= value != Value::Bool(false);
            if !value.is_boolean() {
                let problem = format!("`{MANAGED_ONLY}` must be true or false, found {value}");
                let hint = "write it without quotes".to_owned();
                faults.push(doc.fault_at(line, problem, Some(hint)));
            }
        }
        match doc.value(&["permissions"]) {
            None => return faults,
            Some((Value::Object(all), _)) => {
                for key in all
                    .keys()
                    .filter(|key| ours && !inside && !KEYS.contains(&key.as_str()))
                {
                    let line = doc.value(&["permissions", key]).map_or(0, |(_, line)| line);
                    let problem = format!("`permissions.{key}` is not known");
                    let hint = format!("it can have {}", KEYS.join(", "));
                    faults.push(doc.fault_at(line, problem, Some(hint)));
                }
            }
            Some((other, line)) => {
                let problem = format!("`permissions` must be an object, found {other}");
                let hint = r#"write {"deny": ["mcp__server__tool"]}"#.to_owned();
                faults.push(doc.fault_at(line, problem, Some(hint)));
                return faults;
            }
        }
        self.add_lists(doc, file, writer, &mut faults);
        if inside || !ours {
            return faults;
        }
        self.add_mode_and_pins(doc, file, &mut faults);
        self.add_modes(doc, file, &mut faults);
        self.add_trusted(doc, file, &mut faults);
        faults
    }

    /// The lists of rules.
    fn add_lists(&mut self, doc: &Doc<'_>, file: &str, writer: Writer, faults: &mut Vec<Fault>) {
        let Writer {
            inside,
            ours,
            managed,
        } = writer;
        for list in LISTS {
            let at = ["permissions", list];
            let Some((whole, line)) = doc.value(&at) else {
                continue;
            };
            let Some(items) = doc.items(&at) else {
                let problem = format!("`permissions.{list}` must be a list, found {whole}");
                let hint = r#"write ["mcp__server__tool"]"#;
                faults.push(doc.fault_at(line, problem, Some(hint.to_owned())));
                continue;
            };
            let count = self.rules.len() + items.len();
            if count > limits::RULES {
                faults.push(self.too_many(doc, file, writer, line));
                return;
            }
            for (value, line) in items {
                match value {
                    Value::String(text) => {
                        if let Some((problem, hint)) = about_nothing(list, &text, ours && !inside) {
                            faults.push(doc.fault_at(line, problem, Some(hint)));
                        }
                        self.rules.push(PermissionRule {
                            list,
                            rule: written(text, file, line),
                            inside,
                            ours,
                            managed,
                        });
                    }
                    other => {
                        let problem =
                            format!("a rule in `permissions.{list}` must be text, found {other}");
                        let hint = "write it as \"mcp__server__tool\" or \"mcp__server__*\"";
                        faults.push(doc.fault_at(line, problem, Some(hint.to_owned())));
                    }
                }
            }
        }
    }

    /// More rules than anybody writes. What they would have forbidden is not known, so
    /// that everything is.
    fn too_many(&mut self, doc: &Doc<'_>, file: &str, writer: Writer, line: usize) -> Fault {
        self.rules.push(PermissionRule {
            list: "deny",
            rule: written("*".to_owned(), file, line),
            inside: writer.inside,
            ours: writer.ours,
            managed: writer.managed,
        });
        let problem = format!(
            "`permissions` has more than {} rules, so that no tool is permitted",
            limits::RULES
        );
        let hint = "say the same with fewer: mcp__server__* means all tools of a server".to_owned();
        doc.fault_at(line, problem, Some(hint))
    }

    /// The mode, and whether definitions are pinned.
    fn add_mode_and_pins(&mut self, doc: &Doc<'_>, file: &str, faults: &mut Vec<Fault>) {
        let mut word = |key: &str| match doc.value(&["permissions", key])? {
            (Value::String(text), line) => Some(written(text, file, line)),
            (other, line) => {
                let problem = format!("`permissions.{key}` must be text, found {other}");
                let hint = "put it in double quotes".to_owned();
                faults.push(doc.fault_at(line, problem, Some(hint)));
                None
            }
        };
        if let Some(mode) = word("defaultMode") {
            self.mode = Some(mode);
        }
        let (pins, earlier) = (word(PINS), word(EARLIER_PINS));
        match (pins, earlier) {
            (Some(_), Some(earlier)) => {
                let problem = format!(
                    "`permissions.{EARLIER_PINS}` is the earlier name of `permissions.{PINS}`"
                );
                let hint = format!("keep `{PINS}` and remove `{EARLIER_PINS}`");
                let line = line_of(&earlier);
                faults.push(doc.fault_at(line, problem, Some(hint)));
            }
            (Some(written), None) => match Pinning::parse(&written.text) {
                Some(pinning) => self.pinning = Some(Pinned::all(pinning, written)),
                None => {
                    let problem = format!("`permissions.{PINS}` is {:?}", written.text);
                    let hint = format!("it can be {}", Pinning::SPELLINGS);
                    faults.push(doc.fault_at(line_of(&written), problem, Some(hint)));
                }
            },
            (None, Some(written)) => match written.text.as_str() {
                "off" => self.pinning = Some(Pinned::all(Pinning::Off, written)),
                "all" => self.pinning = Some(Pinned::all(Pinning::Hold, written)),
                "approved" => {
                    let pinning = None;
                    self.pinning = Some(Pinned { pinning, written });
                }
                other => {
                    let problem = format!(
                        "`permissions.{EARLIER_PINS}`, the earlier name of `permissions.{PINS}`, is {other:?}"
                    );
                    let hint = format!("write {PINS:?}, which can be {}", Pinning::SPELLINGS);
                    faults.push(doc.fault_at(line_of(&written), problem, Some(hint)));
                }
            },
            (None, None) => {}
        }
    }

    /// Modes of single principals.
    fn add_modes(&mut self, doc: &Doc<'_>, file: &str, faults: &mut Vec<Fault>) {
        match doc.value(&["permissions", "modes"]) {
            Some((Value::Object(modes), line)) => {
                for (principal, mode) in modes {
                    match mode {
                        Value::String(mode) => {
                            self.modes.push((principal, written(mode, file, line)));
                        }
                        other => {
                            let problem = format!(
                                "the mode of {principal:?} in `permissions.modes` must be text, found {other}"
                            );
                            faults.push(doc.fault_at(line, problem, None));
                        }
                    }
                }
            }
            Some((other, line)) => {
                let problem = format!("`permissions.modes` must be an object, found {other}");
                faults.push(doc.fault_at(line, problem, None));
            }
            None => {}
        }
    }

    /// Servers whose word about their own tools counts.
    fn add_trusted(&mut self, doc: &Doc<'_>, file: &str, faults: &mut Vec<Fault>) {
        let at = ["permissions", "trustedServers"];
        if let Some((whole, line)) = doc.value(&at)
            && doc.items(&at).is_none()
        {
            let problem = format!("`permissions.trustedServers` must be a list, found {whole}");
            faults.push(doc.fault_at(line, problem, None));
        }
        for (value, line) in doc.items(&at).unwrap_or_default() {
            match value {
                Value::String(name) => self.trusted.push(written(name, file, line)),
                other => {
                    let problem = format!(
                        "a name in `permissions.trustedServers` must be text, found {other}"
                    );
                    faults.push(doc.fault_at(line, problem, None));
                }
            }
        }
    }

    /// Adds what the next file says. Of modes the last one counts.
    pub(crate) fn and(&mut self, next: Self) {
        let Self {
            rules,
            mode,
            modes,
            trusted,
            pinning,
            managed_only,
        } = next;
        self.rules.extend(rules);
        self.mode = mode.or(self.mode.take());
        self.modes.extend(modes);
        self.trusted.extend(trusted);
        self.pinning = pinning.or(self.pinning.take());
        self.managed_only |= managed_only;
    }

    /// Leaves out what does not count, once all files are read.
    pub(crate) fn settle(&mut self) {
        if self.managed_only {
            self.rules.retain(|rule| rule.managed);
        }
    }
}

impl Pinned {
    fn all(pinning: Pinning, written: Written) -> Self {
        Self {
            pinning: Some(pinning),
            written,
        }
    }
}

/// The line that a word is written on.
fn line_of(written: &Written) -> usize {
    let line = written.place.rsplit_once(':');
    line.and_then(|(_, line)| line.parse().ok())
        .unwrap_or_default()
}

fn written(text: String, file: &str, line: usize) -> Written {
    Written {
        text,
        place: format!("{file}:{line}"),
    }
}
