//! What 2026-07-28 mirrors from a request's body into HTTP headers, and how
//! values are written there.

use crate::{
    json::{self, Scanner, Span, ValueKind, loose_text, text},
    limits::{MIRRORED_PARAMS, TREE_DEPTH},
    reading::{same_key, up_to_nul},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::borrow::Cow;

/// The prefix of headers that mirror tool parameters.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// What stands around a value in the base64 form.
const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// Writes a value so that it survives as a header: plain where that is safe, else in the base64 form.
pub fn encode(value: &str) -> Cow<'_, str> {
    let plain = value
        .bytes()
        .all(|byte| (0x20..=0x7e).contains(&byte) || byte == b'\t')
        && value.trim_matches([' ', '\t']).len() == value.len()
        && !(value.starts_with(OPEN) && value.ends_with(CLOSE));
    if plain {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(format!("{OPEN}{}{CLOSE}", STANDARD.encode(value)))
    }
}

/// Reads a header value back; `None` if it claims to be base64 and is not, or holds forbidden bytes.
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let value = std::str::from_utf8(value).ok()?;
    if !value
        .bytes()
        .all(|byte| (0x20..=0x7e).contains(&byte) || byte == b'\t')
    {
        return None;
    }
    let Some(inner) = value
        .strip_prefix(OPEN)
        .and_then(|rest| rest.strip_suffix(CLOSE))
    else {
        return Some(Cow::Borrowed(value));
    };
    String::from_utf8(STANDARD.decode(inner).ok()?)
        .ok()
        .map(Cow::Owned)
}

/// One parameter that a tool's schema asks to be mirrored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirroredParam {
    /// The name after `Mcp-Param-`, as the schema writes it.
    pub header: String,
    /// The chain of property names that leads to the value in the arguments.
    pub path: Vec<String>,
}

/// How a schema breaks the rules for parameters that are mirrored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MirrorError {
    /// It is not searched any further.
    #[error("the schema is nested too deeply")]
    TooDeep,
    /// One property has two annotations.
    #[error("x-mcp-header is there twice on one property")]
    TwiceOnOne,
    /// An annotation is no text.
    #[error("x-mcp-header must be a string")]
    NoString,
    /// An annotation holds what no header's name can.
    #[error("x-mcp-header {0:?} is not a header name")]
    NoHeaderName(String),
    /// Where it stands, no value could be found for it.
    #[error("x-mcp-header {0:?} is not on a property reached by properties alone")]
    OutOfReach(String),
    /// A value of this kind cannot be mirrored.
    #[error("x-mcp-header {0:?} is on a parameter that is no string, integer or boolean")]
    WrongKind(String),
    /// Two parameters want the same header.
    #[error("x-mcp-header {0:?} is used twice")]
    UsedTwice(String),
    /// More than one request could carry.
    #[error("more than {MIRRORED_PARAMS} x-mcp-header")]
    TooMany,
}

/// The mirrored parameters of a tool's `inputSchema`, or why the schema breaks the rules.
pub fn mirrored_params(input_schema: &[u8]) -> Result<Vec<MirroredParam>, MirrorError> {
    // Most schemas have none; the key can also be written escaped, so an
    // escaped character anywhere means looking properly.
    if memchr::memmem::find(input_schema, b"x-mcp-header").is_none()
        && memchr::memmem::find(input_schema, b"\\u").is_none()
    {
        return Ok(Vec::new());
    }
    let mut search = Search {
        source: input_schema,
        scanner: Scanner::new(input_schema),
        path: Vec::new(),
        found: Vec::new(),
    };
    search.schema(true, 0)?;
    Ok(search.found)
}

/// One pass over a schema in search of annotations. The methods begin with the
/// scanner before a value and leave it behind that value.
struct Search<'a> {
    source: &'a [u8],
    scanner: Scanner<'a>,
    /// The names of the properties that led here.
    path: Vec<String>,
    found: Vec<MirroredParam>,
}

impl Search<'_> {
    /// Looks at a schema, or at what may be one. `reachable` says whether only `properties` led here.
    fn schema(&mut self, reachable: bool, depth: usize) -> Result<(), MirrorError> {
        if depth > TREE_DEPTH {
            return Err(MirrorError::TooDeep);
        }
        self.scanner.white_space();
        match self.scanner.peek() {
            Some(b'{') => {}
            Some(b'[') => return self.schemas(depth),
            _ => {
                self.skip();
                return Ok(());
            }
        }
        let (mut annotation, mut kind) = (None, None);
        let mut kinds = 0;
        self.step(b'{');
        while let Some(key) = self.next_key() {
            match text(key.of(self.source)).as_deref() {
                Some("x-mcp-header") => {
                    if annotation.replace(self.skip()).is_some() {
                        return Err(MirrorError::TwiceOnOne);
                    }
                }
                Some("type") => {
                    kind = Some(self.skip());
                    kinds += 1;
                }
                Some("properties") => self.properties(reachable, depth)?,
                // From names to schemas: a name in there is no keyword.
                Some("$defs" | "definitions" | "patternProperties" | "dependentSchemas") => {
                    self.definitions(depth)?;
                }
                // Data, not schemas: an annotation look-alike in there means nothing.
                Some("const" | "enum" | "default" | "examples" | "dependentRequired") => {
                    self.skip();
                }
                _ => self.schema(false, depth + 1)?,
            }
        }
        match annotation {
            Some(header) => self.annotated(header, kind.filter(|_| kinds == 1), reachable),
            None => Ok(()),
        }
    }

    /// The elements of an array, as schemas.
    fn schemas(&mut self, depth: usize) -> Result<(), MirrorError> {
        self.step(b'[');
        self.scanner.white_space();
        while !self.step(b']') {
            self.schema(false, depth + 1)?;
            self.scanner.white_space();
            if !self.step(b',') && self.scanner.peek() != Some(b']') {
                break;
            }
        }
        Ok(())
    }

    fn properties(&mut self, reachable: bool, depth: usize) -> Result<(), MirrorError> {
        if !self.step(b'{') {
            self.skip();
            return Ok(());
        }
        while let Some(key) = self.next_key() {
            // A name that stands for no text cannot be looked up later.
            let name = text(key.of(self.source));
            let reachable = reachable && name.is_some();
            self.path.push(name.unwrap_or_default().into_owned());
            self.schema(reachable, depth + 1)?;
            self.path.pop();
        }
        Ok(())
    }

    fn definitions(&mut self, depth: usize) -> Result<(), MirrorError> {
        if !self.step(b'{') {
            self.skip();
            return Ok(());
        }
        while self.next_key().is_some() {
            self.schema(false, depth + 1)?;
        }
        Ok(())
    }

    /// Applies the specification's rules to one annotation.
    fn annotated(
        &mut self,
        header: Span,
        kind: Option<Span>,
        reachable: bool,
    ) -> Result<(), MirrorError> {
        let header = text(header.of(self.source))
            .ok_or(MirrorError::NoString)?
            .into_owned();
        if header.is_empty() || !header.bytes().all(is_token_byte) {
            return Err(MirrorError::NoHeaderName(header));
        }
        if !reachable || self.path.is_empty() {
            return Err(MirrorError::OutOfReach(header));
        }
        let kind = kind.and_then(|span| text(span.of(self.source)));
        if !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
            return Err(MirrorError::WrongKind(header));
        }
        let mut others = self.found.iter();
        if others.any(|other| other.header.eq_ignore_ascii_case(&header)) {
            return Err(MirrorError::UsedTwice(header));
        }
        if self.found.len() == MIRRORED_PARAMS {
            return Err(MirrorError::TooMany);
        }
        self.found.push(MirroredParam {
            header,
            path: self.path.clone(),
        });
        Ok(())
    }

    /// The next key of an object whose brace was stepped over; the scanner is then before its
    /// value. `None` at the end, the closing brace stepped over.
    fn next_key(&mut self) -> Option<Span> {
        self.scanner.white_space();
        self.step(b',');
        self.scanner.white_space();
        if self.step(b'}') {
            return None;
        }
        let key = self.scanner.string().ok()?;
        self.scanner.white_space();
        self.step(b':');
        self.scanner.white_space();
        Some(key)
    }

    /// Steps over a value.
    fn skip(&mut self) -> Span {
        let start = self.scanner.position();
        // The text was checked; were it not, the search would end here.
        let _ = self.scanner.value();
        Span::new(start, self.scanner.position())
    }

    fn step(&mut self, byte: u8) -> bool {
        self.scanner.expect(byte, "").is_ok()
    }
}

/// Why the argument that a header repeats cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnclearArgument {
    /// It is there twice.
    #[error("is there twice: {0:?}")]
    Twice(String),
    /// It is there in another spelling, which some readers take for it.
    #[error("some readers take for another: {0:?} for {1:?}")]
    Misspelt(String, String),
}

/// The text that mirrors the argument at `path`, or `None` where nothing is to be
/// mirrored: absent or null. What is there twice, or in a spelling that some readers
/// take for it, is an error: two readers could then disagree about the value.
pub fn mirrored_value(
    arguments: &[u8],
    path: &[String],
) -> Result<Option<String>, UnclearArgument> {
    let mut value = arguments;
    for step in path {
        let mut found = None;
        for member in json::members(value) {
            let key = loose_text(member.key.of(value));
            if key == step.as_str() {
                if found.replace(member.value).is_some() {
                    return Err(UnclearArgument::Twice(step.clone()));
                }
            } else if [Some(&*key), up_to_nul(&key)]
                .into_iter()
                .flatten()
                .any(|key| same_key(key) == same_key(step))
            {
                return Err(UnclearArgument::Misspelt(key.into_owned(), step.clone()));
            }
        }
        let Some(found) = found else { return Ok(None) };
        value = found.of(value);
    }
    Ok(match ValueKind::of(value) {
        Some(ValueKind::String) => text(value).map(Cow::into_owned),
        Some(ValueKind::Number | ValueKind::Bool) => {
            std::str::from_utf8(value).ok().map(str::to_owned)
        }
        _ => None,
    })
}

/// Whether a header's value says the same as the body's: numbers by value, everything else by text.
pub fn values_agree(header: &str, body: &str, body_is_number: bool) -> bool {
    if header == body {
        return true;
    }
    body_is_number
        && matches!(
            (decimal(header.trim_matches([' ', '\t'])), decimal(body)),
            (Some(a), Some(b)) if a == b
        )
}

/// Sign, digits and power of ten of a JSON number, the same for every spelling of it. A float
/// would take 2^53 and 2^53+1 for one number.
fn decimal(number: &str) -> Option<(bool, String, i64)> {
    if !matches!(json::check(number.as_bytes()), Ok((span, ValueKind::Number)) if span.len() == number.len())
    {
        return None;
    }
    let (negative, number) = number
        .strip_prefix('-')
        .map_or((false, number), |rest| (true, rest));
    let (mantissa, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return Some((false, String::new(), 0));
    }
    let power = power
        .parse::<i64>()
        .ok()?
        .checked_sub(i64::try_from(fraction.len()).ok()?)?
        .checked_add(zeros)?;
    Some((negative, significant.to_owned(), power))
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests;
