//! Names that are like another: "did you mean".

/// How alike names must be to be worth mentioning.
const ALIKE: f64 = 0.75;
/// How much worse than the best a name may be.
const WORSE: f64 = 0.1;

/// The names nearest to `wanted`, best first, at most three.
pub fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (likeness(&wanted, &name.to_lowercase()), name))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, name)| *name);
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    let close = scored
        .into_iter()
        .take_while(|(score, _)| best - score <= WORSE);
    close.take(3).map(|(_, name)| name).collect()
}

fn likeness(wanted: &str, name: &str) -> f64 {
    // What all names of a server begin with says nothing about which is meant.
    let (own, other) = (last(wanted), last(name));
    let contains = own.len() > 2 && other.len() > 2 && (other.contains(own) || own.contains(other));
    let alike = strsim::jaro_winkler(own, other);
    let same_server = wanted.strip_suffix(own) == name.strip_suffix(other);
    (if contains { alike.max(0.9) } else { alike }) + if same_server { 0.05 } else { 0.0 }
}

fn last(name: &str) -> &str {
    name.rsplit("__").next().unwrap_or(name)
}

/// "Did you mean a, b or c?"
pub fn did_you_mean(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [only] => Some(format!("did you mean {only}?")),
        [first @ .., last] => Some(format!("did you mean {} or {last}?", first.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_found() {
        let names = [
            "mcp__echo__echo",
            "mcp__echo__payload",
            "mcp__files__read_file",
        ];
        assert_eq!(near("ehco", names), ["mcp__echo__echo"]);
        assert_eq!(near("mcp__echo__ehco", names), ["mcp__echo__echo"]);
        assert_eq!(near("read-file", names), ["mcp__files__read_file"]);
        assert!(near("zzz", names).is_empty());
        assert_eq!(
            did_you_mean(&["a", "b", "c"]).unwrap(),
            "did you mean a, b or c?"
        );
    }
}
