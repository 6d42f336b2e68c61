//! What is kept of one server: what was pinned, what waits for somebody to say
//! yes, and what was told and not looked at yet.

use super::{
    definition::{Definition, Group},
    judge::Seen,
    signed::SignedPins,
};
use crate::{catalog::List, limits};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

/// How files are written today. The first had tools alone, in another order.
const FORM: u32 = 2; // tidy: a number of a form, no cap

/// What of a server is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Its tools.
    Tools,
    /// Its prompts.
    Prompts,
    /// What it says about how to use it.
    Instructions,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Instructions];

    /// What of a list is pinned.
    pub(crate) const fn of(list: List) -> Option<Self> {
        match list {
            List::Tools => Some(Self::Tools),
            List::Prompts => Some(Self::Prompts),
            List::Resources | List::Templates => None,
        }
    }
}

/// A server's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kept {
    /// Its configured name, for whoever opens the file.
    pub(super) server: String,
    /// For whom, where that is not the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) principal: Option<String>,
    #[serde(default)]
    form: u32,
    /// Its tools were approved by an earlier version, which held what changed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) holds: bool,
    /// Somebody has just signed in: what is new then is no surprise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) signed_in: bool,
    /// What it was told to hold the server to by somebody whom several machines follow, as a
    /// hash: nothing else is used that nobody has approved here since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signed: Option<String>,
    /// By the server's own names; nothing while they were never asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Section>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompts: Option<Section>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<Section>,
    /// What must not be used before somebody says yes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) waiting: BTreeMap<Kind, BTreeMap<String, Version>>,
}

pub(super) type Section = BTreeMap<String, Pin>;

/// What is pinned under one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pin {
    /// Empty where an earlier version's hash is all that is known.
    #[serde(flatten)]
    pub(super) version: Version,
    /// It is not what somebody last looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) told: Option<Box<Told>>,
}

/// One state of a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) hash: String,
    /// Further ones, where the server lists several things under one name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    also: Vec<String>,
    /// When it was seen or approved: seconds since 1970.
    #[serde(default)]
    approved: u64,
    /// The definition, where it is not too large, to show what changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) definition: Option<String>,
    /// It holds characters that a person does not see.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) hidden: bool,
}

/// What was there before something was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    /// Nothing where it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) was: Option<Version>,
}

impl Version {
    pub(super) fn of(group: &Group) -> Self {
        let mut hashes = group.hashes.iter().cloned();
        let fits = group.text.len() <= limits::PINNED_BYTES;
        Self {
            hash: hashes.next().unwrap_or_default(),
            also: hashes.collect(),
            approved: now(),
            definition: fits.then(|| group.text.clone()),
            hidden: group.hidden,
        }
    }

    /// Whether it is this. Of several things under one name some may be missing.
    pub(super) fn accepts(&self, group: &Group) -> bool {
        let known = |hash: &String| *hash == self.hash || self.also.contains(hash);
        group.hashes.iter().all(known)
            || (self.definition.is_none() && group.first.as_ref() == Some(&self.hash))
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.hash == other.hash && self.also == other.also
    }

    /// The same, whenever it was seen.
    pub(super) fn timeless(self) -> Self {
        Self {
            approved: 0,
            ..self
        }
    }

    /// The hashes of all that there is under the name.
    pub(super) fn hashes(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.hash).chain(&self.also)
    }
}

impl Pin {
    pub(super) fn of(version: Version) -> Self {
        Self {
            version,
            told: None,
        }
    }
}

impl Kept {
    /// With a change in it, in the form of today, of the server with this key. What it is
    /// then.
    pub(super) fn amended(&mut self, key: String, change: impl FnOnce(&mut Self)) -> Self {
        *self = std::mem::take(self).in_todays_form();
        self.server = key;
        change(self);
        self.trim();
        self.clone()
    }

    pub(super) fn section(&self, kind: Kind) -> Option<&Section> {
        match kind {
            Kind::Tools => self.tools.as_ref(),
            Kind::Prompts => self.prompts.as_ref(),
            Kind::Instructions => self.instructions.as_ref(),
        }
    }

    fn slot(&mut self, kind: Kind) -> &mut Option<Section> {
        match kind {
            Kind::Tools => &mut self.tools,
            Kind::Prompts => &mut self.prompts,
            Kind::Instructions => &mut self.instructions,
        }
    }

    /// What is pinned of this kind, from now on if nothing was before.
    pub(super) fn pins(&mut self, kind: Kind) -> &mut Section {
        self.slot(kind).get_or_insert_default()
    }

    /// Whether anything is pinned at all.
    pub(super) fn has_pins(&self) -> bool {
        Kind::ALL.iter().any(|kind| self.section(*kind).is_some())
    }

    /// What waits of this kind.
    pub(super) fn waits(&mut self, kind: Kind) -> &mut BTreeMap<String, Version> {
        self.waiting.entry(kind).or_default()
    }

    /// Begins to pin what one principal sees, where the user's own book knows the
    /// server: what waits there waits here too, if it is the same; and whoever was
    /// the only one, and shared that book, takes along what it says.
    pub(super) fn begin_with(&mut self, first: &Self, principal: &str, seen: Seen<'_>) {
        let kind = seen.kind;
        if self.section(kind).is_some() {
            return;
        }
        self.holds |= first.holds;
        let waiting = first.waiting.get(&kind).into_iter().flatten();
        if first.principal.as_deref() == Some(principal) {
            self.slot(kind).clone_from(&first.section(kind).cloned());
            let all = waiting.map(|(name, version)| (name.clone(), version.clone()));
            self.waits(kind).extend(all);
            return;
        }
        for (name, version) in waiting {
            let is_this = |group: &&Group| group.name() == name && version.accepts(group);
            if seen.groups.iter().any(|group| is_this(&group)) {
                self.waits(kind).insert(name.clone(), version.clone());
            }
        }
    }

    /// Holds the server to what somebody has signed from now on, whatever was pinned before;
    /// or to what is pinned, where nobody signs it any more.
    pub(super) fn adopt(&mut self, signed: Option<&SignedPins>) {
        self.signed = signed.map(|signed| signed.digest().to_owned());
        let Some(signed) = signed else { return };
        // What its signer never asked for is pinned when it is first seen, as ever.
        for kind in Kind::ALL.into_iter().filter(|kind| signed.has(*kind)) {
            let pins = signed.of(kind).map(|(name, version)| {
                let pin = Pin::of(version.clone());
                (name.clone(), pin)
            });
            let before = self.slot(kind).replace(pins.collect());
            let is_signed = |name: &str, now: &Version| {
                let signed = signed.get(kind, name);
                signed.is_some_and(|signed| signed.is(now))
            };
            let waiting = self.waits(kind);
            // What was used until now the server most likely has still: it waits from now on,
            // without being listed again.
            for (name, pin) in before.into_iter().flatten() {
                if waiting.len() < limits::PINS_WAITING {
                    waiting.entry(name).or_insert(pin.version);
                }
            }
            waiting.retain(|name, now| !is_signed(name, now));
        }
        self.waiting.retain(|_, waiting| !waiting.is_empty());
    }

    /// Forgets all of it: the next start is the first.
    pub(super) fn clear(&mut self) {
        *self = Self {
            server: std::mem::take(&mut self.server),
            principal: self.principal.take(),
            form: FORM,
            ..Self::default()
        };
    }

    /// What an earlier version wrote, as it is written today. Nothing that was
    /// pinned is lost; what it did not pin is pinned when it is next seen.
    pub(super) fn in_todays_form(mut self) -> Self {
        if self.form >= FORM {
            return self;
        }
        self.form = FORM;
        let Some(tools) = self.tools.take().filter(|tools| !tools.is_empty()) else {
            return self;
        };
        self.holds = true;
        let again = |(name, mut pin): (String, Pin)| {
            let text = pin.version.definition.as_deref();
            if let Some(same) = text.and_then(|text| Definition::again(&name, text)) {
                pin.version.hash = same.hash;
                pin.version.definition = Some(same.text);
            }
            (name, pin)
        };
        self.tools = Some(tools.into_iter().map(again).collect());
        self
    }

    /// Leaves out all texts; hashes stay.
    pub(super) fn strip(&mut self) {
        for version in self.versions() {
            version.definition = None;
        }
    }

    /// Whether it is the same, texts aside: the same hashes have the same texts.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let stripped = |kept: &Self| {
            let mut kept = kept.clone();
            kept.strip();
            kept
        };
        stripped(self) == stripped(other)
    }

    /// Everything that has a text, what is looked at most likely first.
    fn versions(&mut self) -> impl Iterator<Item = &mut Version> {
        let waiting = self.waiting.values_mut().flat_map(BTreeMap::values_mut);
        let sections = [&mut self.tools, &mut self.prompts, &mut self.instructions];
        let pins = sections.into_iter().flatten();
        let pins = pins.flat_map(BTreeMap::values_mut).flat_map(|pin| {
            let was = pin.told.as_mut().and_then(|told| told.was.as_mut());
            was.into_iter().chain([&mut pin.version])
        });
        waiting.chain(pins)
    }

    /// Leaves out what is too much to keep: hashes stay, texts go, first those
    /// that are least likely to be looked at.
    pub(super) fn trim(&mut self) {
        self.waiting.retain(|_, waiting| !waiting.is_empty());
        let mut left = limits::PINS_TEXT;
        for version in self.versions() {
            let length = version.definition.as_ref().map_or(0, String::len);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => version.definition = None,
            }
        }
    }
}

pub(super) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

fn is_false(value: &bool) -> bool {
    !value
}
