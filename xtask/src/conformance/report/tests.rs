use super::*;
use std::collections::BTreeMap;

const VERSION: &str = "2025-11-25";

fn run(leg: Leg, good: &[&str], bad: &[&str]) -> Run {
    let mut checks: BTreeMap<String, Tally> = BTreeMap::new();
    for id in good {
        checks.entry((*id).into()).or_default().good += 1;
    }
    for id in bad {
        checks.entry((*id).into()).or_default().bad += 1;
    }
    let reasons = bad.iter().map(|id| Reason {
        check: Some((*id).into()),
        text: (*id).into(),
    });
    let scenario = Scenario {
        name: "scenario".into(),
        verdict: if bad.is_empty() {
            Verdict::Passed
        } else {
            Verdict::Failed
        },
        checks,
        reasons: reasons.collect(),
    };
    Run {
        leg: leg.name(),
        version: VERSION,
        scenarios: vec![scenario],
        not_run: Vec::new(),
        seconds: 0.0,
    }
}

fn exception(check: &str) -> Exception {
    Exception {
        across: false,
        version: VERSION.into(),
        scenario: "scenario".into(),
        check: check.into(),
    }
}

fn three(through: (&[&str], &[&str])) -> [Run; 3] {
    [
        run(Leg::Direct, &["a", "b"], &[]),
        run(Leg::GatewayStdio, through.0, through.1),
        run(Leg::GatewayHttp, &["a", "b"], &[]),
    ]
}

#[test]
fn the_same_checks_are_no_fault() {
    let runs = three((&["a", "b"], &[]));
    assert_eq!(Report::new(&runs, &[]).failures(), 0);
}

#[test]
fn a_check_that_vanishes_is_lost() {
    let runs = three((&["a"], &[]));
    let report = Report::new(&runs, &[]);
    assert_eq!(report.lost, ["gateway-stdio 2025-11-25 scenario: b"]);
    assert_eq!(report.failures(), 1);
}

#[test]
fn a_check_that_fails_is_both() {
    let runs = three((&["a"], &["b"]));
    let report = Report::new(&runs, &[]);
    assert_eq!((report.lost.len(), report.failed.len()), (1, 1));
}

#[test]
fn an_exception_excuses_its_check_only() {
    let runs = three((&["a"], &["b"]));
    let report = Report::new(&runs, &[exception("b")]);
    assert_eq!((report.failures(), report.excepted.len()), (0, 1));
    let runs = three((&[], &["a", "b"]));
    let report = Report::new(&runs, &[exception("b")]);
    assert_eq!((report.lost.len(), report.failed.len()), (1, 1));
}

#[test]
fn an_exception_that_nothing_needs_is_stale() {
    let runs = three((&["a", "b"], &[]));
    assert_eq!(Report::new(&runs, &[exception("b")]).stale.len(), 1);
    // One gateway alone cannot tell.
    assert_eq!(Report::new(&runs[..2], &[exception("b")]).failures(), 0);
}

#[test]
fn an_exception_does_not_excuse_the_server_itself() {
    let runs = [run(Leg::Direct, &["a"], &["b"])];
    assert_eq!(Report::new(&runs, &[exception("b")]).failures(), 1);
}

#[test]
fn repeated_checks_are_counted() {
    let runs = [
        run(Leg::Direct, &["a", "a"], &[]),
        run(Leg::GatewayHttp, &["a"], &[]),
    ];
    assert_eq!(Report::new(&runs, &[]).lost.len(), 1);
}
