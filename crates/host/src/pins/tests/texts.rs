//! Which of what is pinned is in memory.

use super::*;

#[test]
fn texts_are_left_to_the_file_and_hashes_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.json");
    let mut book = Book::open("k", path.clone(), &Arc::default());
    let pin = |kept: &mut Kept| drop(at_start(kept, &[tool()], Manner::Hold));
    book.change(pin).unwrap();
    let text = |kept: &Kept| {
        let pins = kept.section(Kind::Tools).unwrap();
        pins["send"].version.definition.clone()
    };
    let written = text(book.kept().unwrap());
    assert!(written.is_some());
    let mut changed = tool();
    changed["description"] = json!("Sends a message to everybody.");
    // Once with the file, and once without it: what is known goes on.
    for _ in 0..2 {
        book.rest();
        let kept = book.kept().unwrap();
        assert_eq!(text(kept), None);
        assert!(!held(kept, &tool(), Manner::Hold));
        assert!(held(kept, &changed, Manner::Hold));
        assert!(!book.refresh(), "nobody else has written it");
        let _ = fs::remove_file(&path);
    }
    book.change(pin).unwrap();
    assert!(!held(book.kept().unwrap(), &tool(), Manner::Hold));
    // Another program's word counts, with its texts.
    fs::remove_file(&path).unwrap();
    let mut other = Book::open("k", path.clone(), &Arc::default());
    other.change(pin).unwrap();
    book.rest();
    book.refresh();
    assert_eq!(text(book.whole().unwrap()), written);
}
