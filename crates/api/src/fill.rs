//! Reading answers. What serde derives is made anew for every type, and for every way of
//! reading it: ten kilobytes for one with twenty fields. Here a type only says where its fields
//! are, and one walk fills them in, as text is read. A field that is not known is passed over;
//! one that is missing stays as it was; of two of the same name the last one counts.
//!
//! What is sent *to* a gateway is derived: there a field that is there twice is refused.

mod kinds;
#[cfg(test)]
mod tests;

use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, de::value::StrDeserializer};
use serde_json::Value;
use std::{borrow::Cow, fmt};

/// Something that is filled in.
pub trait Fill {
    /// Where what is read goes.
    fn place(&mut self) -> Place<'_>;
}

/// Where what is read goes, and with that what is expected there.
pub enum Place<'a> {
    /// A yes or a no.
    Yes(&'a mut bool),
    /// A text.
    Text(&'a mut String),
    /// A whole number.
    Whole(&'a mut dyn Whole),
    /// Any number.
    Real(&'a mut f64),
    /// Whatever it is.
    Any(&'a mut Value),
    /// One of the words of an enumeration.
    Word(&'a mut dyn Word),
    /// An object.
    Members(&'a mut dyn Members),
    /// An array.
    Each(&'a mut dyn Each),
    /// What may be missing.
    Maybe(&'a mut dyn Maybe),
}

/// A whole number.
pub trait Whole {
    /// Takes it; not where it is too small or too large.
    fn take(&mut self, number: i128) -> bool;
}

/// One of several words.
pub trait Word {
    /// Takes it; not where there is no such word.
    fn take(&mut self, word: &str) -> bool;
}

/// A structure.
pub trait Members {
    /// The one of this name, which is written as in Rust.
    fn member(&mut self, name: &str) -> Option<&mut dyn Fill>;
}

/// A list, or a tuple.
pub trait Each {
    /// Room for the next one, which is at this place; not where there are no more.
    fn next(&mut self, at: usize) -> Option<&mut dyn Fill>;

    /// How many there have to be.
    fn least(&self) -> usize;
}

/// What may be missing.
pub trait Maybe {
    /// It is there.
    fn some(&mut self) -> &mut dyn Fill;

    /// It is not.
    fn none(&mut self);
}

/// Fills in what is there from text of JSON, as [`serde_json::from_slice`] would read it.
pub fn fill(to: &mut dyn Fill, text: &[u8]) -> serde_json::Result<()> {
    let mut from = serde_json::Deserializer::from_slice(text);
    Filling(to).deserialize(&mut from)?;
    from.end()
}

/// Any text of JSON as a value.
pub fn value(text: &str) -> serde_json::Result<Value> {
    let mut value = Value::Null;
    fill(&mut value, text.as_bytes())?;
    Ok(value)
}

/// Reads a value of a type that can be filled in.
pub(crate) fn read<'de, T: Fill + Default, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let mut value = T::default();
    Filling(&mut value).deserialize(from)?;
    Ok(value)
}

struct Filling<'a>(&'a mut dyn Fill);

impl<'de> DeserializeSeed<'de> for Filling<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.0.place() {
            Place::Any(value) => {
                *value = Value::deserialize(from)?;
                Ok(())
            }
            Place::Maybe(maybe) => from.deserialize_option(Placed(Place::Maybe(maybe))),
            place => from.deserialize_any(Placed(place)),
        }
    }
}

struct Placed<'a>(Place<'a>);

impl Placed<'_> {
    fn whole<E: Error>(self, number: i128, seen: Unexpected<'_>) -> Result<(), E> {
        match self.0 {
            Place::Whole(to) => match to.take(number) {
                true => Ok(()),
                false => Err(E::invalid_value(seen, &"a number that fits")),
            },
            Place::Real(to) => {
                *to = number as f64;
                Ok(())
            }
            _ => Err(E::invalid_type(seen, &self)),
        }
    }
}

impl<'de> Visitor<'de> for Placed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Place::Yes(_) => "a boolean",
            Place::Text(_) => "a string",
            Place::Whole(_) => "a whole number",
            Place::Real(_) => "a number",
            Place::Any(_) | Place::Maybe(_) => "anything",
            Place::Word(_) => "a word",
            Place::Members(_) => "an object",
            Place::Each(_) => "an array",
        })
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<(), E> {
        let Place::Yes(to) = self.0 else {
            return Err(E::invalid_type(Unexpected::Bool(yes), &self));
        };
        *to = yes;
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.whole(number.into(), Unexpected::Unsigned(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.whole(number.into(), Unexpected::Signed(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        let Place::Real(to) = self.0 else {
            return Err(E::invalid_type(Unexpected::Float(number), &self));
        };
        *to = number;
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        match self.0 {
            Place::Text(to) => {
                text.clone_into(to);
                Ok(())
            }
            Place::Word(to) => match to.take(text) {
                true => Ok(()),
                false => Err(E::invalid_value(Unexpected::Str(text), &"a known word")),
            },
            _ => Err(E::invalid_type(Unexpected::Str(text), &self)),
        }
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        let Place::Maybe(to) = self.0 else {
            return Err(E::invalid_type(Unexpected::Unit, &self));
        };
        to.none();
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let Place::Maybe(to) = self.0 else {
            return Err(D::Error::invalid_type(Unexpected::Option, &self));
        };
        Filling(to.some()).deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Place::Each(to) = self.0 else {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        };
        let mut at = 0;
        while seq.next_element_seed(Next(&mut *to, at))?.is_some() {
            at += 1;
        }
        match at < to.least() {
            true => Err(A::Error::invalid_length(at, &"more")),
            false => Ok(()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Place::Members(to) = self.0 else {
            return Err(A::Error::invalid_type(Unexpected::Map, &self));
        };
        while let Some(member) = map.next_key_seed(Named(&mut *to))? {
            match member {
                Some(member) => map.next_value_seed(Filling(member))?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The member whose name is read.
struct Named<'a>(&'a mut dyn Members);

impl<'de, 'a> DeserializeSeed<'de> for Named<'a> {
    type Value = Option<&'a mut dyn Fill>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de, 'a> Visitor<'de> for Named<'a> {
    type Value = Option<&'a mut dyn Fill>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.member(&snake(key)))
    }
}

/// The next of a list. There is room for it only once it is known to be there.
struct Next<'a>(&'a mut dyn Each, usize);

impl<'de> DeserializeSeed<'de> for Next<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.0.next(self.1) {
            Some(next) => Filling(next).deserialize(from),
            None => Err(D::Error::invalid_length(self.1 + 1, &"fewer")),
        }
    }
}

/// A name as it is written in Rust: `inFlight` is `in_flight`.
fn snake(key: &str) -> Cow<'_, str> {
    if !key.contains(|letter: char| letter.is_ascii_uppercase() || letter == '_') {
        return Cow::Borrowed(key);
    }
    let mut name = String::with_capacity(key.len() + 4);
    for letter in key.chars() {
        match letter {
            'A'..='Z' => {
                name.push('_');
                name.push(letter.to_ascii_lowercase());
            }
            // No name has one that is written: it is nobody's.
            '_' => name.push('-'),
            letter => name.push(letter),
        }
    }
    Cow::Owned(name)
}

/// The word that this is, as it is derived for the enumeration.
pub(crate) fn word<'de, T: Deserialize<'de>>(word: &'de str) -> Option<T> {
    T::deserialize(StrDeserializer::<serde::de::value::Error>::new(word)).ok()
}

/// Enumerations of which each value is a word: they can be filled in.
macro_rules! words {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::fill::Fill for $type {
            fn place(&mut self) -> $crate::fill::Place<'_> {
                $crate::fill::Place::Word(self)
            }
        }

        impl $crate::fill::Word for $type {
            fn take(&mut self, word: &str) -> bool {
                $crate::fill::word(word).map(|word| *self = word).is_some()
            }
        }
    )*};
}

/// Structures, each with all of its fields: they can be filled in, and with that be read. A
/// field that is left out here does not compile.
macro_rules! fields {
    ($($type:ty { $($field:ident),* $(,)? })*) => {$(
        impl $crate::fill::Fill for $type {
            fn place(&mut self) -> $crate::fill::Place<'_> {
                $crate::fill::Place::Members(self)
            }
        }

        impl $crate::fill::Members for $type {
            fn member(&mut self, name: &str) -> Option<&mut dyn $crate::fill::Fill> {
                let Self { $($field),* } = self;
                match name {
                    $(stringify!($field) => Some($field),)*
                    _ => None,
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::fill::read(from)
            }
        }
    )*};
}

pub(crate) use {fields, words};
