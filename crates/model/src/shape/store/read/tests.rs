use super::*;
use std::sync::Arc;

fn stored(text: &str) -> (tempfile::TempDir, Arc<Store>, String) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let id = store.put(text.as_bytes(), "txt").unwrap().id;
    (dir, store, id)
}

fn query(offset: usize, lines: Option<usize>, pattern: Option<&str>) -> Query {
    Query {
        offset,
        lines,
        pattern: pattern.map(str::to_owned),
    }
}

#[test]
fn pages_of_lines() {
    let text: Vec<String> = (1..=10).map(|n| format!("l{n}")).collect();
    let (_dir, store, id) = stored(&text.join("\n"));
    let page = store.read(&id, &query(4, Some(3), None)).unwrap();
    let numbers: Vec<(usize, &str)> = page
        .rows
        .iter()
        .map(|row| (row.number, row.text.as_str()))
        .collect();
    assert_eq!(numbers, [(4, "l4"), (5, "l5"), (6, "l6")]);
    assert_eq!((page.next, page.total), (Some(7), 10));
    assert_eq!(
        page.to_text(),
        "4: l4\n5: l5\n6: l6\n[3 lines; the result has 10 lines; continue with offset 7]"
    );
    let end = store.read(&id, &query(9, None, None)).unwrap();
    assert_eq!((end.rows.len(), end.next), (2, None));
    let past = store.read(&id, &query(11, None, None)).unwrap();
    assert_eq!(
        past.to_text(),
        "[no lines from there on; the result has 10 lines]"
    );
    // From 0 is from the start.
    assert_eq!(
        store.read(&id, &query(0, Some(1), None)).unwrap().rows[0].number,
        1
    );
    assert_eq!(
        store
            .read(&id, &query(1, Some(0), None))
            .unwrap()
            .rows
            .len(),
        1
    );
}

#[test]
fn a_line_without_end_is_read_in_pieces() {
    let long = "é".repeat(limits::PAGE_LINE_CHARS * 60 + 5);
    let (_dir, store, id) = stored(&format!("first\n{long}\nlast"));
    let (mut back, mut offset) = (String::new(), Some(1));
    let mut pages = 0;
    while let Some(from) = offset {
        let page = store.read(&id, &query(from, None, None)).unwrap();
        let chars: usize = page.rows.iter().map(|row| row.text.chars().count()).sum();
        assert!(chars <= limits::PAGE_CHARS);
        assert!(
            page.rows
                .iter()
                .all(|row| row.text.chars().count() <= limits::PAGE_LINE_CHARS)
        );
        back.extend(page.rows.iter().map(|row| row.text.as_str()));
        (offset, pages) = (page.next, pages + 1);
        assert_eq!(page.total, 63);
    }
    assert_eq!(back, format!("first{long}last"));
    assert_eq!(pages, 3);
}

#[test]
fn a_search_finds_what_crosses_the_pieces_of_a_long_line() {
    let before = "a".repeat(limits::PAGE_LINE_CHARS - 3);
    let (_dir, store, id) = stored(&format!(
        "x\n{before}needle{}needle\nneedle",
        "b".repeat(5000)
    ));
    let page = store.read(&id, &query(1, None, Some("ne+dle"))).unwrap();
    let numbers: Vec<usize> = page.rows.iter().map(|row| row.number).collect();
    assert_eq!(numbers, [2, 5, 6]);
    assert_eq!(
        page.rows[0].text,
        format!(
            "…{}needle{}…",
            "a".repeat(limits::MATCH_AROUND),
            "b".repeat(limits::MATCH_AROUND)
        )
    );
    assert_eq!(
        page.rows[1].text,
        format!("…{}needle", "b".repeat(limits::MATCH_AROUND))
    );
    assert_eq!(page.rows[2].text, "needle");
    // From a line on.
    let rest = store.read(&id, &query(6, None, Some("needle"))).unwrap();
    assert_eq!(rest.rows.len(), 1);
    // And page by page.
    let first = store.read(&id, &query(1, Some(1), Some("needle"))).unwrap();
    assert_eq!(first.next, Some(5));
}

#[test]
fn patterns_are_linear_and_capped() {
    let (_dir, store, id) = stored(&format!("{}!", "a".repeat(100_000)));
    let start = std::time::Instant::now();
    let page = store.read(&id, &query(1, None, Some("(a+)+$"))).unwrap();
    assert!(page.rows.is_empty());
    assert!(
        start.elapsed() < std::time::Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
    for pattern in [
        "(",
        "(?=a)",
        "(a)\\1",
        "(((a{100}){100}){100}){100}",
        &"a".repeat(1001),
    ] {
        assert!(
            matches!(
                store.read(&id, &query(1, None, Some(pattern))),
                Err(ReadError::Pattern(_))
            ),
            "{pattern:.20}"
        );
    }
}

#[test]
fn what_is_no_text_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let stored = store.put(b"\xff\xfe\x00", "bin").unwrap();
    assert_eq!((stored.chars, stored.lines), (0, 0));
    let fault = store.read(&stored.id, &Query::default()).unwrap_err();
    assert!(
        fault.to_string().contains(stored.path.to_str().unwrap()),
        "{fault}"
    );
}
