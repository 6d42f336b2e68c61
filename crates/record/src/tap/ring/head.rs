//! What stands before the bytes of each message that is kept.

use switchboard_host::observe::Edge;

/// The bytes of one: five words.
// tidy: a form, no cap.
pub(super) const HEAD: usize = 5 * WORD;
// tidy: a form, no cap.
const WORD: usize = 8;

/// What is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Where the message before it of the same call stands, if there is one.
    pub(super) before: Option<u64>,
    /// When it crossed, in nanoseconds from when all began.
    pub(super) at: u64,
    pub(super) length: u64,
    /// How many bytes stand behind this.
    pub(super) own: u32,
    /// How many bytes of its end are those of the message before.
    pub(super) same: u32,
    pub(super) edge: Edge,
    pub(super) how: How,
}

/// How a message is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Not at all.
    Nowhere,
    /// Its bytes stand there, except for what is the same in the message before.
    Here,
    /// Its parts are listed there: some stand behind that list, some are large and elsewhere.
    Parts,
}

const EDGES: [Edge; 4] = [
    Edge::FromClient,
    Edge::ToServer,
    Edge::FromServer,
    Edge::ToClient,
];
const WAYS: [How; 3] = [How::Nowhere, How::Here, How::Parts];

impl Head {
    pub(super) fn write(&self, to: &mut [u8; HEAD]) {
        // One more, so that nothing is none.
        let words = [
            self.before.map_or(0, |before| before + 1),
            self.at,
            self.length,
            u64::from(self.own) | u64::from(self.same) << 32,
            self.edge as u64 | (self.how as u64) << 8,
        ];
        let (places, _) = to.as_chunks_mut::<WORD>();
        for (place, word) in places.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
    }

    /// One that was written, and what stands behind it.
    pub(super) fn read(text: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = text.split_first_chunk::<HEAD>()?;
        let (words, _) = head.as_chunks::<WORD>();
        let words: &[[u8; WORD]; HEAD / WORD] = words.try_into().ok()?;
        let [before, at, length, lengths, kind] = words.map(u64::from_le_bytes);
        let own = lengths as u32;
        let head = Self {
            before: before.checked_sub(1),
            at,
            length,
            own,
            same: (lengths >> 32) as u32,
            edge: *EDGES.get(usize::from(kind as u8))?,
            how: *WAYS.get((kind >> 8) as usize)?,
        };
        Some((head, rest.get(..own as usize)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        for (edge, how) in EDGES.into_iter().zip(WAYS.into_iter().cycle()) {
            for before in [None, Some(0), Some(1 << 40)] {
                let head = Head {
                    before,
                    at: 1 << 50,
                    length: 1 << 33,
                    own: 3,
                    same: u32::MAX,
                    edge,
                    how,
                };
                let mut text = [0; HEAD + 5];
                text[HEAD..].copy_from_slice(b"abcde");
                head.write(text.first_chunk_mut().unwrap());
                assert_eq!(Head::read(&text), Some((head, &b"abc"[..])));
            }
        }
        assert_eq!(Head::read(&[0; HEAD - 1]), None);
    }
}
