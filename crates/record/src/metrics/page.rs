//! What is counted, as a page that Prometheus reads: in its own text format, or as
//! OpenMetrics, which has examples as well.

use std::fmt::{Display, Write};

/// How a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus's own.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// The one that a request's `Accept` prefers. Who names none gets Prometheus's own.
    pub fn preferred(accept: Option<&str>) -> Self {
        let weight = |wanted: &str| {
            let ranges = accept.unwrap_or_default().split(',');
            let weights = ranges.filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let is_it = parts.next()?.eq_ignore_ascii_case(wanted);
                let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
                is_it.then_some(weight.unwrap_or(1.0_f64))
            });
            weights.fold(0.0, f64::max)
        };
        let open = weight("application/openmetrics-text");
        if open > 0.0 && open >= weight("text/plain") {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    /// How a page of it is called.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// What a family of numbers is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows. Its name ends in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts in buckets.
    Histogram,
}

/// A page in the making.
#[derive(Debug)]
pub struct Page {
    format: Format,
    text: String,
}

/// Labels: their names, and what they say.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    /// An empty page.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            text: String::with_capacity(16 * 1024),
        }
    }

    /// Begins a family: all its samples follow before the next begins.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let word = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let name = match (self.format, kind) {
            (Format::OpenMetrics, Kind::Counter) => name.strip_suffix("_total").unwrap_or(name),
            _ => name,
        };
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {word}");
    }

    /// One number. Labels that say nothing are left out.
    pub fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        self.write(name, labels, None, value);
        self.text.push('\n');
    }

    /// A family of one number without labels.
    pub fn single(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// A histogram: how many were at most each bound, how many there are, and their sum.
    /// The example is a call's labels and its value, with the bound that it is under.
    pub(super) fn histogram(
        &mut self,
        name: &str,
        labels: Labels<'_>,
        buckets: impl Iterator<Item = (&'static str, u64)>,
        total: (u64, f64),
        mut example: Option<(Vec<(&'static str, String)>, f64)>,
    ) {
        let (count, sum) = total;
        let all = buckets.chain([("+Inf", count)]);
        let bucket = format!("{name}_bucket");
        for (bound, at_most) in all {
            self.write(&bucket, labels, Some(bound), at_most);
            let is_under = |value: f64| bound.parse().is_ok_and(|bound: f64| value <= bound);
            if self.format == Format::OpenMetrics
                && let Some((whose, value)) = example.take_if(|(_, value)| is_under(*value))
            {
                let whose: Vec<String> = whose
                    .iter()
                    .map(|(name, value)| format!("{name}=\"{value}\""))
                    .collect();
                let _ = write!(self.text, " # {{{}}} {value}", whose.join(","));
            }
            self.text.push('\n');
        }
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, count);
    }

    fn write(&mut self, name: &str, labels: Labels<'_>, bound: Option<&str>, value: impl Display) {
        self.text.push_str(name);
        let bound = bound.map(|bound| ("le", bound));
        let said = labels.iter().copied().chain(bound);
        let mut before = '{';
        for (label, says) in said.filter(|(_, says)| !says.is_empty()) {
            self.text.push(before);
            before = ',';
            let _ = write!(self.text, "{label}=\"");
            escape(&mut self.text, says);
            self.text.push('"');
        }
        if before == ',' {
            self.text.push('}');
        }
        let _ = write!(self.text, " {value}");
    }

    /// The whole page.
    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// Text from outside, as both formats want it.
fn escape(to: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\\' => to.push_str("\\\\"),
            '"' => to.push_str("\\\""),
            '\n' => to.push_str("\\n"),
            c => to.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_each_kind() {
        let page = |format| {
            let mut page = Page::new(format);
            page.family("calls_total", Kind::Counter, "Calls.");
            page.sample("calls_total", &[("who", "a\"b\\c\nd"), ("none", "")], 3);
            page.family("took_seconds", Kind::Histogram, "Times.");
            let example = Some((vec![("call", "7".to_owned())], 0.3));
            let buckets = [("0.1", 1), ("0.5", 2), ("1", 2)].into_iter();
            page.histogram("took_seconds", &[], buckets, (2, 0.4), example);
            page.finish()
        };
        let text = "# HELP calls_total Calls.\n# TYPE calls_total counter\n\
            calls_total{who=\"a\\\"b\\\\c\\nd\"} 3\n\
            # HELP took_seconds Times.\n# TYPE took_seconds histogram\n\
            took_seconds_bucket{le=\"0.1\"} 1\ntook_seconds_bucket{le=\"0.5\"} 2\n\
            took_seconds_bucket{le=\"1\"} 2\ntook_seconds_bucket{le=\"+Inf\"} 2\n\
            took_seconds_sum 0.4\ntook_seconds_count 2\n";
        assert_eq!(page(Format::Text), text);
        let open = text
            .replace("HELP calls_total", "HELP calls")
            .replace("TYPE calls_total", "TYPE calls")
            .replace("le=\"0.5\"} 2", "le=\"0.5\"} 2 # {call=\"7\"} 0.3")
            + "# EOF\n";
        assert_eq!(page(Format::OpenMetrics), open);
    }

    #[test]
    fn who_asks_for_openmetrics_gets_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0,\
            application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Format::preferred(Some(prometheus)), Format::OpenMetrics);
        for text in [
            None,
            Some("*/*"),
            Some("text/plain"),
            Some("application/openmetrics-text;q=0.1, text/plain;q=0.9"),
        ] {
            assert_eq!(Format::preferred(text), Format::Text, "{text:?}");
        }
    }
}
