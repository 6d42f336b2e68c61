//! Where what is typed goes on a line that takes no text itself.

use super::{Form, Held};
use crate::key::Key;

impl Form {
    /// Moves to where something is typed in one that is below.
    pub(super) fn go_into(&mut self, mut path: Vec<usize>, index: usize) {
        path.push(index);
        while let Some(node) = self.root.at(&path)
            && matches!(node.held, Held::Members(_))
            && node.below() > 0
        {
            path.push(0);
        }
        if let Some(at) = self.paths().iter().position(|it| *it == path) {
            self.at = at;
        }
    }

    /// Somebody types on a line that takes no text: it goes where it would be typed, the first
    /// line below, or a new item.
    pub(super) fn type_below(&mut self, mut path: Vec<usize>, key: Key) -> bool {
        loop {
            let depth = path.len();
            let Some(node) = self.root.at_mut(&path) else {
                return false;
            };
            let below = match (&node.held, node.below()) {
                (Held::Text(_) | Held::OneOf(..), _) => break,
                (Held::Items(_), count) => {
                    if !node.key(Key::Char('+'), depth) {
                        return false;
                    }
                    count
                }
                (Held::Members(_) | Held::Way(..), 1..) => 0,
                (Held::Members(_) | Held::Way(..), _) => return false,
            };
            path.push(below);
        }
        if let Some(at) = self.paths().iter().position(|it| *it == path) {
            self.at = at;
        }
        let depth = path.len();
        self.root
            .at_mut(&path)
            .is_some_and(|node| node.key(key, depth))
    }
}
