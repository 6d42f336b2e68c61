use super::*;

#[test]
fn revisions_are_ordered_by_date_and_all_lists_each_once() {
    assert!(
        Revision::ALL
            .windows(2)
            .all(|pair| pair[0] < pair[1] && pair[0].as_str() < pair[1].as_str())
    );
    assert_eq!(Revision::ALL.last(), Some(&Revision::NEWEST));
}

#[test]
fn a_revision_reads_back_and_nothing_else_is_one() {
    for revision in Revision::ALL {
        assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        assert_eq!(revision.to_string(), revision.as_str());
    }
    for other in [
        "",
        "2025-11-24",
        "2025-11-25 ",
        " 2025-11-25",
        "2025-11-25\0",
        "2025-06",
        "DRAFT-2026-v1",
        "2026-7-28",
        "2099-01-01",
    ] {
        assert_eq!(Revision::parse(other), None, "{other:?}");
    }
}

#[test]
fn only_the_newest_revision_is_modern() {
    let modern: Vec<_> = Revision::ALL
        .into_iter()
        .filter(|r| r.era() == Era::Modern)
        .collect();
    assert_eq!(modern, [Revision::V2026_07_28]);
    assert_eq!(Revision::NEWEST_LEGACY, Revision::V2025_11_25);
    assert_eq!(Revision::NEWEST_LEGACY.era(), Era::Legacy);
    assert_eq!(Revision::UNSTATED.as_str(), "2025-03-26");
    assert_eq!(
        (Era::Legacy.to_string(), Era::Modern.to_string()),
        ("legacy".into(), "modern".into())
    );
}

#[test]
fn each_revision_has_what_its_specification_gives_it() {
    // (revision, batches, priming events, resource not found)
    let table = [
        (Revision::V2024_11_05, true, false, -32002),
        (Revision::V2025_03_26, true, false, -32002),
        (Revision::V2025_06_18, false, false, -32002),
        (Revision::V2025_11_25, false, true, -32002),
        (Revision::V2026_07_28, false, false, -32602),
    ];
    assert_eq!(table.map(|row| row.0), Revision::ALL);
    for (revision, batches, priming, not_found) in table {
        assert_eq!(revision.has_batches(), batches, "{revision}");
        assert_eq!(revision.has_priming_events(), priming, "{revision}");
        assert_eq!(revision.resource_not_found(), not_found, "{revision}");
    }
}
