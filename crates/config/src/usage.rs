//! How it is written what servers may use: sizes, shares of a processor, and how long
//! a process is kept that nobody uses. In an entry, or in the settings for all.

use crate::{entry::Entry, fault::Fault, limits, read::Doc};
use serde_json::Value;

/// What `idleTimeout` can be.
pub(crate) const IDLE: &str = "a whole number of milliseconds, or \"off\"";
/// How it is written.
pub(crate) const WRITE_IDLE: &str = "write 1800000 for half an hour, or \"off\" to keep it running";
/// How limits are written.
pub(crate) const WRITE_LIMITS: &str =
    r#"write {"memory": "512 MiB", "cpu": 0.5, "processes": 20}, or those of them that count"#;

/// The units of sizes, longest first.
const UNITS: [(&str, u64); 10] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("b", 1),
];

/// Milliseconds; 0 for ever.
pub(crate) fn idle(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) if text == "off" => Some(0),
        Value::Number(number) => number.as_u64(),
        _ => None,
    }
}

/// A size in bytes: a number of them, or a number and a unit.
pub(crate) fn bytes(value: &Value) -> Option<u64> {
    let bytes = match value {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => {
            let text = text.trim().to_ascii_lowercase();
            let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
            let (unit, size) = unit.copied().unwrap_or(("", 1));
            let number: f64 = text[..text.len() - unit.len()].trim().parse().ok()?;
            let bytes = number * size as f64;
            (bytes.is_finite() && bytes <= u64::MAX as f64).then_some(bytes as u64)?
        }
        _ => return None,
    };
    Some(bytes).filter(|bytes| *bytes > 0)
}

/// Thousandths of a number of cores.
pub(crate) fn thousandths(value: &Value) -> Option<u32> {
    let cores = value.as_f64().filter(|cores| *cores < 1_000_000.0)?;
    let thousandths = (cores * 1000.0).round();
    (thousandths >= 1.0).then_some(thousandths as u32)
}

/// A whole number above 0.
pub(crate) fn count(value: &Value) -> Option<u32> {
    let count = u32::try_from(value.as_u64()?).ok()?;
    (count > 0).then_some(count)
}

/// What a settings file says for all servers.
pub(crate) fn read_idle(doc: &Doc<'_>) -> Result<Option<u64>, Box<Fault>> {
    let key = "idleTimeout";
    let Some((value, line)) = doc.value(&[key]) else {
        return Ok(None);
    };
    match idle(&value) {
        Some(idle) => Ok(Some(idle)),
        None => {
            let problem = format!("`{key}` must be {IDLE}, found {value}");
            Err(Box::new(doc.fault_at(
                line,
                problem,
                Some(WRITE_IDLE.to_owned()),
            )))
        }
    }
}

/// What holds for an entry: its own word, or the settings'. What a repository brings
/// can be shorter than that, and not longer.
pub(crate) fn settle_idle(entry: &mut Entry, settings: Option<u64>) {
    let most = match settings {
        None => limits::IDLE,
        Some(0) => u64::MAX,
        Some(most) => most,
    };
    entry.idle_timeout = match entry.idle_timeout {
        Some(own) if !entry.inside => Some(own),
        Some(own) if own > 0 && own < most => Some(own),
        _ => settings,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scope, Source};
    use serde_json::json;

    #[test]
    fn sizes_have_units() {
        for (written, means) in [
            (json!(4096), 4096),
            (json!("4096"), 4096),
            (json!("512 MiB"), 512 << 20),
            (json!("512m"), 512 << 20),
            (json!("1.5GiB"), 3 << 29),
            (json!("2 GB"), 2_000_000_000),
            (json!("7 b"), 7),
        ] {
            assert_eq!(bytes(&written), Some(means), "{written}");
        }
        for wrong in [
            json!(0),
            json!(-1),
            json!("much"),
            json!("MiB"),
            json!("1e99 GiB"),
            json!("nan m"),
            json!(true),
        ] {
            assert_eq!(bytes(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn shares_and_counts_are_above_nothing() {
        assert_eq!(thousandths(&json!(0.5)), Some(500));
        assert_eq!(thousandths(&json!(2)), Some(2000));
        assert_eq!(thousandths(&json!(0.0001)), None);
        assert_eq!(thousandths(&json!("half")), None);
        assert_eq!(count(&json!(3)), Some(3));
        assert_eq!((count(&json!(0)), count(&json!(1.5))), (None, None));
        assert_eq!(idle(&json!("off")), Some(0));
        assert_eq!((idle(&json!(5)), idle(&json!("never"))), (Some(5), None));
    }

    #[test]
    fn a_repository_keeps_nothing_running_for_longer() {
        let settled = |own, inside, settings| {
            let mut entry = Entry::at("a", Scope::User, Source::Ours, 1);
            (entry.idle_timeout, entry.inside) = (own, inside);
            settle_idle(&mut entry, settings);
            entry.idle_timeout
        };
        assert_eq!(settled(Some(0), false, Some(9)), Some(0));
        assert_eq!(settled(None, false, Some(9)), Some(9));
        assert_eq!(settled(Some(0), true, Some(9)), Some(9));
        assert_eq!(settled(Some(10), true, Some(9)), Some(9));
        assert_eq!(settled(Some(8), true, Some(9)), Some(8));
        assert_eq!(settled(Some(0), true, None), None);
        assert_eq!(settled(Some(limits::IDLE + 1), true, None), None);
        assert_eq!(settled(Some(8), true, Some(0)), Some(8));
    }
}
