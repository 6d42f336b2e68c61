//! What came of holding a server to a cassette, as continuous integration reads it.

use super::verify::{Case, Outcome, Report};
use std::fmt::Write;

/// The report as JUnit XML. `file` is the cassette.
pub fn junit(file: &str, report: &Report) -> String {
    let (failures, errors) = (
        report.count(Outcome::Differs),
        report.count(Outcome::Failed),
    );
    let skipped = report.count(Outcome::Skipped);
    let tests = report.cases.len();
    let time: u64 = report.cases.iter().map(|case| case.took).sum();
    let counts = format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{}\"",
        seconds(time)
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites {counts}>");
    let _ = writeln!(
        out,
        "  <testsuite name=\"{}\" {counts}>",
        escaped(&report.server)
    );
    for case in &report.cases {
        one(&mut out, file, case);
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn one(out: &mut String, file: &str, case: &Case) {
    let name = match &case.name {
        Some(name) => format!("{} {name}", case.method),
        None => case.method.clone(),
    };
    let _ = write!(
        out,
        "    <testcase classname=\"{}.{}\" name=\"{} (line {})\" time=\"{}\"",
        escaped(file),
        case.era,
        escaped(&name),
        case.line,
        seconds(case.took)
    );
    let reason = case.reason.as_deref().unwrap_or_default();
    match case.outcome {
        Outcome::Same => {
            out.push_str("/>\n");
            return;
        }
        Outcome::Skipped => {
            let _ = write!(out, ">\n      <skipped message=\"{}\"/>\n", escaped(reason));
        }
        Outcome::Failed => {
            let _ = write!(out, ">\n      <error message=\"{}\"/>\n", escaped(reason));
        }
        Outcome::Differs => {
            let count = case.differences.len();
            let _ = write!(
                out,
                ">\n      <failure message=\"differs in {count} places\">"
            );
            for difference in &case.differences {
                let shown = |value: &Option<serde_json::Value>| {
                    value
                        .as_ref()
                        .map_or("nothing".to_owned(), ToString::to_string)
                };
                let line = format!(
                    "{}: recorded {}, actual {}\n",
                    difference.path,
                    shown(&difference.recorded),
                    shown(&difference.actual)
                );
                out.push_str(&escaped(&line));
            }
            out.push_str("</failure>\n");
        }
    }
    out.push_str("    </testcase>\n");
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

/// A text where XML takes it: what XML does not have is a replacement sign.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(sign),
            sign if sign.is_control() || matches!(sign, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}');
            }
            sign => out.push(sign),
        }
    }
    out
}
