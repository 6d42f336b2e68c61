//! Names of servers, tools and prompts as others see them.
//!
//! A name is safe (`[a-zA-Z0-9_-]`), not too long, and tells exactly one
//! (server, tool) pair: where two would be the same, or one would be too long,
//! a short hash of the full name is put at its end.

use crate::limits;
use std::collections::HashMap;

/// How the gateway names tools outward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Style {
    /// `server__tool`, at most 46 characters, since clients add a prefix of their own.
    #[default]
    Short,
    /// `mcp__server__tool`, at most 64 characters.
    Full,
    /// `tool` where only one server has it, `server__tool` otherwise.
    Bare,
}

impl Style {
    /// The most characters a name of this style has.
    pub const fn limit(self) -> usize {
        match self {
            Self::Short | Self::Bare => 46,
            Self::Full => 64,
        }
    }
}

/// The text with every character outside `[a-zA-Z0-9_-]` turned into `_`.
pub fn normalize(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

/// Gives out names. Made once for the configured servers, so that a server's
/// coming or going never renames another's tools.
#[derive(Clone, Debug)]
pub struct Namer {
    style: Style,
    servers: Vec<Server>,
    /// Where each is, by its name and by what stands for it.
    by_name: HashMap<String, usize>,
    by_prefix: HashMap<String, usize>,
    /// Which have this head; mostly one.
    by_head: HashMap<String, Vec<usize>>,
    /// Which have a head that begins so and goes on, where a name may keep no more of it.
    by_cut_head: HashMap<String, Vec<usize>>,
    /// The length of the longest head.
    longest_head: usize,
}

#[derive(Clone, Debug)]
struct Server {
    name: String,
    /// What stands for it.
    prefix: String,
    /// What the plain names of its items begin with, where they name it.
    head: String,
}

impl Namer {
    /// A namer for these servers.
    pub fn new<'a>(style: Style, servers: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = servers.into_iter().collect();
        let plain: Vec<String> = names.iter().map(|name| normalize(name)).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for prefix in &plain {
            *counts.entry(prefix).or_default() += 1;
        }
        let mut servers: Vec<Server> = Vec::with_capacity(names.len());
        for (name, prefix) in names.iter().zip(&plain) {
            let shared = counts.get(prefix.as_str()).is_some_and(|count| *count > 1);
            let mut own = prefix.clone();
            if shared {
                // A hash that looks like another server's name is passed over.
                let tries = (0..limits::NAME_ROUNDS).map(|round| {
                    let limit = prefix.len() + TAG;
                    hashed(prefix, limit, name, "", round)
                });
                own = tries
                    .filter(|own| !plain.contains(own))
                    .find(|own| servers.iter().all(|other| other.prefix != *own))
                    .unwrap_or(own);
            }
            servers.push(Server {
                name: (*name).to_owned(),
                head: head(style, &own),
                prefix: own,
            });
        }
        let (mut by_name, mut by_prefix) = (HashMap::new(), HashMap::new());
        let (mut by_head, mut by_cut_head) = (HashMap::new(), HashMap::new());
        let kept = least_head(style);
        let mut longest_head = 0;
        for (at, server) in servers.iter().enumerate() {
            // The first counts, where two were the same.
            by_name.entry(server.name.clone()).or_insert(at);
            by_prefix.entry(server.prefix.clone()).or_insert(at);
            let head = server.head.as_str();
            longest_head = longest_head.max(head.len());
            let same: &mut Vec<usize> = by_head.entry(head.to_owned()).or_default();
            same.push(at);
            if head.len() > kept {
                let cut: &mut Vec<usize> = by_cut_head.entry(head[..kept].to_owned()).or_default();
                cut.push(at);
            }
        }
        Self {
            style,
            servers,
            by_name,
            by_prefix,
            by_head,
            by_cut_head,
            longest_head,
        }
    }

    /// Whether names are decided server by server, so that one server's change touches
    /// no name of another's (as long as no two hashes meet).
    pub fn names_servers(&self) -> bool {
        self.style != Style::Bare
    }

    /// The path segment that stands for a server.
    pub fn prefix(&self, server: &str) -> Option<&str> {
        self.find(server).map(|server| server.prefix.as_str())
    }

    /// The server that a path segment stands for: its exact name, or the safe spelling of it.
    pub fn server(&self, segment: &str) -> Option<&str> {
        self.find(segment)
            .or_else(|| self.servers.get(*self.by_prefix.get(segment)?))
            .map(|server| server.name.as_str())
    }

    /// The server that an outward name speaks of, where it says so: the one with the
    /// longest part in front of it.
    pub fn speaks_of(&self, outward: &str) -> Option<&str> {
        let mut heads = self.heads_in(outward).collect::<Vec<_>>().into_iter().rev();
        let last = heads.find_map(|(_, servers)| servers.last());
        last.map(|at| self.servers[*at].name.as_str())
    }

    /// The heads that a name begins with, shortest first: their lengths, and whose they
    /// are. A head ends with the joint, so that only what ends there is looked up,
    /// however many servers there are.
    fn heads_in<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (usize, &'a [usize])> {
        let bytes = &name.as_bytes()[..name.len().min(self.longest_head)];
        let joints = bytes.windows(JOINT.len()).enumerate();
        let ends = joints.filter(|(_, two)| *two == JOINT.as_bytes());
        ends.filter_map(|(at, _)| {
            let end = at + JOINT.len();
            Some((end, self.by_head.get(&name[..end])?.as_slice()))
        })
    }

    fn find(&self, name: &str) -> Option<&Server> {
        self.servers.get(*self.by_name.get(name)?)
    }

    /// Outward names for (server, item) pairs: the i-th name belongs to the i-th pair.
    ///
    /// All members of a collision get a hash, so that the name of one never
    /// depends on which was there first.
    pub fn assign(&self, pairs: &[(&str, &str)]) -> Vec<String> {
        let mut names: Vec<String> = pairs
            .iter()
            .map(|(server, item)| self.name(self.style, server, item))
            .collect();
        // Where bare names collide, the server is named too.
        let style = match self.style {
            Style::Bare => Style::Short,
            style => style,
        };
        if self.style == Style::Bare {
            for i in shared(&names, pairs) {
                names[i] = self.name(style, pairs[i].0, pairs[i].1);
            }
        }
        // A hash can meet another name, by chance or by craft: then the next one is tried.
        for round in 0..limits::NAME_ROUNDS {
            let shared = shared(&names, pairs);
            if shared.is_empty() {
                break;
            }
            for i in shared {
                let (server, item) = pairs[i];
                names[i] = self.tagged(style, server, item, round);
            }
        }
        names
    }

    /// The name as far as the configured servers alone decide it.
    fn name(&self, style: Style, server: &str, item: &str) -> String {
        let name = self.head(style, server) + &normalize(item);
        let ambiguous = || style != Style::Bare && self.ambiguous(server, &name);
        if name.len() > style.limit() || ambiguous() {
            self.tagged(style, server, item, 0)
        } else {
            name
        }
    }

    /// The name with a hash at its end. Where that is too long, the server's part
    /// gives way first: one can tell servers apart by little, tools only by theirs.
    fn tagged(&self, style: Style, server: &str, item: &str, round: u64) -> String {
        let (head, own, room) = (
            self.head(style, server),
            normalize(item),
            style.limit() - TAG,
        );
        let kept = own
            .len()
            .min(limits::NAME_KEPT.max(room.saturating_sub(head.len())));
        let head = if head.len() + kept <= room {
            head
        } else {
            format!("{}{JOINT}", &head[..room - kept - JOINT.len()])
        };
        let plain = head + &own[..kept];
        hashed(&plain, style.limit(), server, item, round)
    }

    /// What the plain names of a server's items begin with.
    fn head(&self, style: Style, server: &str) -> String {
        match (style, self.find(server)) {
            (Style::Bare, _) => String::new(),
            (_, Some(server)) => server.head.clone(),
            (_, None) => head(style, &normalize(server)),
        }
    }

    /// Whether a plain name could also be a name of another server's item.
    fn ambiguous(&self, server: &str, name: &str) -> bool {
        let own = self.find(server).map_or(0, |server| server.head.len());
        let has_other = |at: &[usize]| at.iter().any(|at| self.servers[*at].name != server);
        // `a` + `b__c` reads like `a__b` + `c` if there is a server `a__b`; and a name
        // that ends like a hash could be one that another server's item was given.
        let like_a_hash = ends_like_a_hash(name);
        let mut heads = self.heads_in(name);
        if heads.any(|(length, servers)| (length > own || like_a_hash) && has_other(servers)) {
            return true;
        }
        let cut = name.get(..least_head(self.style)).filter(|_| like_a_hash);
        cut.and_then(|cut| self.by_cut_head.get(cut))
            .is_some_and(|servers| has_other(servers))
    }
}

/// As little as there may be left of a head in a name.
const fn least_head(style: Style) -> usize {
    style.limit() - TAG - limits::NAME_KEPT - JOINT.len()
}

fn head(style: Style, prefix: &str) -> String {
    match style {
        Style::Full => format!("mcp__{prefix}{JOINT}"),
        Style::Short | Style::Bare => format!("{prefix}{JOINT}"),
    }
}

/// What stands between a server's name and an item's.
const JOINT: &str = "__";

/// Length of the hash at the end of a name, with its underscore.
// tidy: the form of a name, not a cap
const TAG: usize = 9;

fn hashed(name: &str, limit: usize, server: &str, item: &str, round: u64) -> String {
    let hash = fnv(server, item, round);
    let keep = name.len().min(limit.saturating_sub(TAG));
    format!(
        "{}_{:08x}",
        &name[..keep],
        hash as u32 ^ (hash >> 32) as u32
    )
}

fn ends_like_a_hash(name: &str) -> bool {
    let tail = &name.as_bytes()[name.len().saturating_sub(TAG)..];
    tail.len() == TAG
        && tail[0] == b'_'
        && tail[1..]
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// FNV-1a over the exact names, with a separator that occurs in neither. Each
/// round begins elsewhere, so that two names that meet in one do not in the next.
fn fnv(server: &str, item: &str, round: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    server
        .bytes()
        .chain([0xff])
        .chain(item.bytes())
        .fold(start, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

/// The positions of names that stand for more than one pair. A pair that is
/// given twice is still one.
fn shared(names: &[String], pairs: &[(&str, &str)]) -> Vec<usize> {
    let mut owner: HashMap<&str, Option<(&str, &str)>> = HashMap::new();
    for (name, pair) in names.iter().zip(pairs) {
        owner
            .entry(name)
            .and_modify(|owner| *owner = owner.filter(|other| other == pair))
            .or_insert(Some(*pair));
    }
    (0..names.len())
        .filter(|&i| owner[names[i].as_str()].is_none())
        .collect()
}

#[cfg(test)]
mod tests;
