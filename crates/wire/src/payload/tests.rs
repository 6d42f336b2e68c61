use super::*;
use crate::json::{check, tests::value};
use proptest::{collection::vec, prelude::*};

fn cut(bytes: &[u8], mut cuts: Vec<usize>) -> Payload {
    cuts.sort_unstable();
    let mut payload = Payload::default();
    let mut at = 0;
    for cut in cuts.into_iter().map(|cut| cut % (bytes.len() + 1)) {
        payload.push(Bytes::copy_from_slice(&bytes[at.min(cut)..cut]));
        at = at.max(cut);
    }
    payload.push(Bytes::copy_from_slice(&bytes[at..]));
    payload
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// However a message is cut into pieces, it becomes one line that has the
    /// same bytes except for the line ends between its tokens.
    #[test]
    fn a_message_becomes_exactly_one_line(text in value(), at in any::<proptest::sample::Index>()) {
        let payload = cut(text.as_bytes(), vec![at.index(text.len() + 1)]);
        let line = payload.into_line().into_bytes();
        let (end, body) = line.split_last().unwrap();
        prop_assert_eq!(*end, b'\n');
        prop_assert!(!body.iter().any(|byte| matches!(byte, b'\r' | b'\n')));
        prop_assert_eq!(body.len(), text.len());
        for (was, is) in text.bytes().zip(body) {
            prop_assert!(was == *is || (*is == b' ' && matches!(was, b'\r' | b'\n')));
        }
        prop_assert!(check(body).is_ok());
    }

    #[test]
    fn pieces_add_up(pieces in vec(vec(any::<u8>(), 0..50), 0..9)) {
        let mut payload = Payload::default();
        for piece in &pieces {
            payload.push(piece.clone());
        }
        let whole = pieces.concat();
        prop_assert_eq!(payload.len(), whole.len());
        prop_assert_eq!(payload.is_empty(), whole.is_empty());
        prop_assert!(payload.pieces().iter().all(|piece| !piece.is_empty()));
        prop_assert_eq!(payload.clone().into_pieces().collect::<Vec<_>>().concat(), whole.clone());
        prop_assert_eq!(&payload.clone().compacted().into_bytes()[..], &whole);
        prop_assert_eq!(&payload.into_bytes()[..], &whole);
    }
}

#[test]
fn line_ends_between_tokens_become_spaces_and_escaped_ones_stay() {
    let text = "{\r\n \"a\\r\\n\":\r\"b\\n\u{2028}\u{85}\",\n\"c\":[\n]\n}";
    let line = Payload::from(text.to_owned()).into_line().into_bytes();
    assert_eq!(
        &line[..],
        "{   \"a\\r\\n\": \"b\\n\u{2028}\u{85}\", \"c\":[ ] }\n".as_bytes()
    );
}

#[test]
fn a_large_message_keeps_its_bytes_where_they_are() {
    let large = Bytes::from(format!("\"{}\"", "x".repeat(100_000)));
    let line = Payload::from(large.clone()).into_line();
    assert_eq!(line.pieces().len(), 2);
    assert_eq!(line.pieces()[0].as_ptr(), large.as_ptr());
}

#[test]
fn a_small_message_leaves_in_one_piece() {
    assert_eq!(
        cut(b"{\"a\":1}", vec![1, 3]).into_line().pieces(),
        [&b"{\"a\":1}\n"[..]]
    );
}
