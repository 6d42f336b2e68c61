//! What fields are made of.

use super::{Each, Fill, Maybe, Place, Whole};
use serde_json::Value;

impl Fill for bool {
    fn place(&mut self) -> Place<'_> {
        Place::Yes(self)
    }
}

impl Fill for String {
    fn place(&mut self) -> Place<'_> {
        Place::Text(self)
    }
}

impl Fill for f64 {
    fn place(&mut self) -> Place<'_> {
        Place::Real(self)
    }
}

impl Fill for Value {
    fn place(&mut self) -> Place<'_> {
        Place::Any(self)
    }
}

impl<T: Fill> Fill for Box<T> {
    fn place(&mut self) -> Place<'_> {
        T::place(self)
    }
}

impl<T: Fill + Default> Fill for Option<T> {
    fn place(&mut self) -> Place<'_> {
        Place::Maybe(self)
    }
}

impl<T: Fill + Default> Maybe for Option<T> {
    fn some(&mut self) -> &mut dyn Fill {
        self.insert(T::default())
    }

    fn none(&mut self) {
        *self = None;
    }
}

impl<T: Fill + Default> Fill for Vec<T> {
    fn place(&mut self) -> Place<'_> {
        Place::Each(self)
    }
}

impl<T: Fill + Default> Each for Vec<T> {
    fn next(&mut self, at: usize) -> Option<&mut dyn Fill> {
        // What was there, where there are two lists of the same name.
        self.truncate(at);
        self.push(T::default());
        Some(self.last_mut()?)
    }

    fn least(&self) -> usize {
        0
    }
}

impl<A: Fill, B: Fill> Fill for (A, B) {
    fn place(&mut self) -> Place<'_> {
        Place::Each(self)
    }
}

impl<A: Fill, B: Fill> Each for (A, B) {
    fn next(&mut self, at: usize) -> Option<&mut dyn Fill> {
        match at {
            0 => Some(&mut self.0),
            1 => Some(&mut self.1),
            _ => None,
        }
    }

    fn least(&self) -> usize {
        2
    }
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Fill for $type {
            fn place(&mut self) -> Place<'_> {
                Place::Whole(self)
            }
        }

        impl Whole for $type {
            fn take(&mut self, number: i128) -> bool {
                Self::try_from(number).map(|number| *self = number).is_ok()
            }
        }
    )*};
}

whole!(u16, u32, u64, usize, i64);
