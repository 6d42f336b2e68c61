//! Pins that somebody has signed for several machines: what is listed there is used, and
//! nothing else before somebody says yes to it.

use super::{
    definition,
    kept::{Kept, Kind, Version},
};
use crate::limits;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Write, sync::OnceLock};
use switchboard_local::visible;

/// What the definitions of one server are to be.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SignedPins {
    pins: BTreeMap<Kind, BTreeMap<String, Version>>,
    /// Made when it is first asked for, which is at many calls.
    #[serde(skip)]
    digest: OnceLock<String>,
}

impl PartialEq for SignedPins {
    fn eq(&self, other: &Self) -> bool {
        self.pins == other.pins
    }
}

impl Eq for SignedPins {}

impl SignedPins {
    /// What is pinned here, for others; nothing where nothing is.
    pub(super) fn of_kept(kept: &Kept) -> Option<Self> {
        if !kept.has_pins() {
            return None;
        }
        let mut left = limits::SIGNED_PINS_TEXT;
        let mut pins = BTreeMap::new();
        for kind in Kind::ALL {
            let section = kept.section(kind).into_iter().flatten();
            let versions = section.map(|(name, pin)| {
                let mut version = pin.version.clone().timeless();
                let length = version.definition.as_ref().map_or(0, String::len);
                match left.checked_sub(length) {
                    Some(rest) => left = rest,
                    // Its hash says what it is.
                    None => version.definition = None,
                }
                (name.clone(), version)
            });
            let versions: BTreeMap<String, Version> = versions.collect();
            if kept.section(kind).is_some() {
                pins.insert(kind, versions);
            }
        }
        Some(Self {
            pins,
            ..Self::default()
        })
    }

    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = (&String, &Version)> {
        self.pins.get(&kind).into_iter().flatten()
    }

    pub(super) fn has(&self, kind: Kind) -> bool {
        self.pins.contains_key(&kind)
    }

    pub(super) fn get(&self, kind: Kind, name: &str) -> Option<&Version> {
        self.pins.get(&kind)?.get(name)
    }

    /// How many definitions it has.
    pub fn count(&self) -> usize {
        self.pins.values().map(BTreeMap::len).sum()
    }

    /// What tells it from others: the hashes of all definitions.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let mut all = String::new();
            for (kind, versions) in &self.pins {
                for (name, version) in versions {
                    let hashes: Vec<&String> = version.hashes().collect();
                    let _ = writeln!(all, "{kind:?} {name:?} {hashes:?}");
                }
            }
            definition::hash(all.as_bytes())
        })
    }

    /// All of it for a person, a heading for each definition and below it what it says.
    /// Harmless on a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (kind, versions) in &self.pins {
            for (name, version) in versions {
                let hashes: Vec<String> = version.hashes().map(|hash| short(hash)).collect();
                let name = visible::line(name);
                let called = match kind {
                    Kind::Tools => format!("tool {name}"),
                    Kind::Prompts => format!("prompt {name}"),
                    Kind::Instructions => "instructions".to_owned(),
                };
                let _ = writeln!(text, "{called} {}", hashes.join(" "));
                for line in version.definition.iter().flat_map(|text| text.lines()) {
                    let _ = writeln!(text, "  {}", visible::line(line));
                }
            }
        }
        text
    }
}

/// As much of a hash as anybody compares.
fn short(hash: &str) -> String {
    hash.chars().take(16).collect()
}
