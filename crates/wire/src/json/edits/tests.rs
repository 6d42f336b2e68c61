use super::*;
use proptest::{collection::vec, prelude::*};

/// Spans that do not overlap, with what to put there, in any order of registration.
fn edits_for(len: usize) -> impl Strategy<Value = Vec<(Span, String)>> {
    vec((0..=len, "[A-Z]{0,5}"), 0..8)
        .prop_map(|points| {
            let mut cuts: Vec<usize> = points.iter().map(|(at, _)| *at).collect();
            cuts.sort_unstable();
            cuts.chunks_exact(2)
                .zip(points)
                .map(|(cut, (_, with))| (Span::new(cut[0], cut[1]), with))
                .collect::<Vec<_>>()
        })
        .prop_filter(
            "an empty span at another's end has no defined side",
            |list| list.windows(2).all(|pair| pair[0].0.end < pair[1].0.start),
        )
        .prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn only_the_spans_change_whatever_the_order_of_registration(
        (source, list) in (0usize..200).prop_flat_map(|len| (vec(b'a'..=b'z', len), edits_for(len))),
    ) {
        let mut edits = Edits::new();
        for (span, with) in &list {
            edits.replace(*span, with.clone());
        }
        let mut expected = source.clone();
        let mut backwards = list.clone();
        backwards.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        for (span, with) in backwards {
            expected.splice(span.start..span.end, with.bytes());
        }
        prop_assert_eq!(edits.is_empty(), list.is_empty());
        prop_assert_eq!(&edits.apply_to_slice(&source)[..], &expected);
        let payload = edits.apply(&Bytes::from(source));
        prop_assert_eq!(payload.len(), expected.len());
        prop_assert_eq!(&payload.into_bytes()[..], &expected);
    }
}

#[test]
fn insertions_at_one_place_keep_their_order() {
    let mut edits = Edits::new();
    edits
        .replace(Span::new(1, 1), "1")
        .replace(Span::new(1, 1), "2")
        .replace(Span::new(1, 1), "3");
    assert_eq!(&edits.apply_to_slice(b"ab")[..], b"a123b");
}

#[test]
fn an_insertion_stands_before_a_replacement_that_starts_there_in_either_order() {
    let insertion = (Span::new(1, 1), "I");
    let replacement = (Span::new(1, 2), "R");
    for list in [[insertion, replacement], [replacement, insertion]] {
        let mut edits = Edits::new();
        for (span, with) in list {
            edits.replace(span, with);
        }
        assert_eq!(&edits.apply_to_slice(b"abc")[..], b"aIRc", "{list:?}");
        assert_eq!(
            &edits.apply(&Bytes::from_static(b"abc")).into_bytes()[..],
            b"aIRc"
        );
    }
}

#[test]
fn a_long_unchanged_stretch_is_shared_with_its_source() {
    let source = Bytes::from(vec![b'x'; 100_000]);
    let mut edits = Edits::new();
    edits.replace(Span::new(0, 1), "y");
    let payload = edits.apply(&source);
    assert_eq!(payload.pieces()[1].as_ptr(), source[1..].as_ptr());
    assert_eq!(
        Edits::new().apply(&source).pieces()[0].as_ptr(),
        source.as_ptr()
    );
}

#[test]
#[should_panic(expected = "overlap")]
#[cfg(debug_assertions)]
fn overlapping_spans_are_noticed_in_debug_builds() {
    Edits::new()
        .replace(Span::new(1, 4), "a")
        .replace(Span::new(2, 3), "b");
}

#[test]
#[should_panic(expected = "overlap")]
#[cfg(debug_assertions)]
fn replacing_the_same_span_twice_is_noticed_in_debug_builds() {
    Edits::new()
        .replace(Span::new(1, 4), "a")
        .replace(Span::new(1, 4), "b");
}
