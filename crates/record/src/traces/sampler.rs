//! Which traces are recorded.

use switchboard_wire::trace::TraceContext;

/// Which traces are recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// The part of them, from 0 to 1.
    pub ratio: f64,
    /// Whether one that somebody else began is recorded as they say.
    pub parent_decides: bool,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            ratio: 1.0,
            parent_decides: true,
        }
    }
}

impl Sampler {
    /// The one of this name, in the words of `OTEL_TRACES_SAMPLER`, with its argument.
    pub fn named(name: &str, argument: Option<&str>) -> Option<Self> {
        let (name, parent_decides) = match name.strip_prefix("parentbased_") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let ratio = match (name, argument) {
            ("always_on", _) | ("traceidratio", None) => 1.0,
            ("always_off", _) => 0.0,
            ("traceidratio", Some(ratio)) => ratio.trim().parse().ok()?,
            _ => return None,
        };
        (0.0..=1.0).contains(&ratio).then_some(Self {
            ratio,
            parent_decides,
        })
    }

    /// Whether this trace is recorded.
    pub(super) fn records(&self, trace: [u8; 16], parent: Option<&TraceContext>) -> bool {
        match parent {
            Some(parent) if self.parent_decides => parent.is_recorded(),
            _ => {
                // The same for everybody who looks at the same trace: its last bits are
                // random.
                let [.., a, b, c, d, e, f, g, h] = trace;
                let random = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
                (random as f64) < self.ratio * (1u64 << 63) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0";

    #[test]
    fn names_are_the_standards() {
        let named = |name, argument| Sampler::named(name, argument);
        let default = Some(Sampler::default());
        assert_eq!(named("parentbased_always_on", None), default);
        assert_eq!(named("traceidratio", Some("0.25")).unwrap().ratio, 0.25);
        assert!(!named("always_off", None).unwrap().parent_decides);
        assert_eq!(named("jaeger_remote", None), None);
        assert_eq!(named("traceidratio", Some("2")), None);
        assert_eq!(named("traceidratio", Some("x")), None);
    }

    #[test]
    fn a_part_of_all_traces_is_recorded() {
        let half = Sampler::named("traceidratio", Some("0.5")).unwrap();
        let records = |sampler: Sampler, seed: u64| {
            let mut trace = [7; 16];
            let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            trace[8..].copy_from_slice(&random.to_be_bytes());
            sampler.records(trace, None)
        };
        let recorded = (0..1000).filter(|seed| records(half, *seed)).count();
        assert!((400..600).contains(&recorded), "{recorded}");
        let all = Sampler::named("always_on", None).unwrap();
        assert!((0..1000).all(|seed| records(all, seed)));
        let none = Sampler::named("always_off", None).unwrap();
        assert!(!(0..1000).any(|seed| records(none, seed)));
    }

    #[test]
    fn who_began_it_decides() {
        let parent = |flag| TraceContext::parse(&format!("{PARENT}{flag}"), None).unwrap();
        let (on, off) = (parent("1"), parent("0"));
        let sampler = Sampler::default();
        assert!(sampler.records(on.trace, Some(&on)));
        assert!(!sampler.records(off.trace, Some(&off)));
        let own = Sampler::named("always_on", None).unwrap();
        assert!(own.records(off.trace, Some(&off)));
    }
}
