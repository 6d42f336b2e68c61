//! Whether names and addresses can be what they are meant to be, before
//! anything is written.

use url::Url;

/// Why something cannot be what it is meant to be. No value of a header is in it:
/// that may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// A server's name.
    #[error("{0:?} is no name for a server: use letters, digits, hyphens and underscores")]
    Name(String),
    /// `KEY=VALUE`.
    #[error("{0:?} is no variable: write KEY=VALUE, the key in letters, digits and underscores")]
    Variable(String),
    /// `Name: value` without its colon.
    #[error("a header without a colon: write 'Name: value'")]
    NoColon,
    /// A header's name.
    #[error("{0:?} is no name for a header: write 'Name: value', without spaces in the name")]
    HeaderName(String),
    /// The value of the header of this name.
    #[error("the value of header {0:?} has characters that no header can have")]
    HeaderValue(String),
    /// An address.
    #[error("{text:?} is no address of such a server: write {schemes}://host/path{}", source.map(|why| format!(": {why}")).unwrap_or_default())]
    Address {
        /// What was written.
        text: String,
        /// How it could begin.
        schemes: String,
        /// What a reader of addresses says.
        source: Option<url::ParseError>,
    },
}

/// A server's name.
pub fn name(name: &str) -> Result<(), CheckError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(fits) {
        return Err(CheckError::Name(name.to_owned()));
    }
    Ok(())
}

/// `KEY=VALUE`.
pub fn variable(text: &str) -> Result<(String, String), CheckError> {
    let wrong = || CheckError::Variable(text.to_owned());
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if key.is_empty() || !key.chars().all(fits) || key.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong());
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// `Name: value`. The value is not repeated in the message: it may be a secret.
pub fn header(text: &str) -> Result<(String, String), CheckError> {
    let (name, value) = text.split_once(':').ok_or(CheckError::NoColon)?;
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(CheckError::HeaderName(name.to_owned()));
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(CheckError::HeaderValue(name.to_owned()));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// An address of one of these schemes. One with variables is checked as far as
/// it is known.
pub fn address(text: &str, schemes: &[&str]) -> Result<(), CheckError> {
    let expected = |source| CheckError::Address {
        text: text.to_owned(),
        schemes: schemes.join(":// or "),
        source,
    };
    if text.contains("${") {
        let known = text
            .split_once("://")
            .is_none_or(|(scheme, _)| scheme.contains("${") || schemes.contains(&scheme));
        return if known { Ok(()) } else { Err(expected(None)) };
    }
    let url = Url::parse(text).map_err(|why| expected(Some(why)))?;
    if !schemes.contains(&url.scheme()) || url.host_str().is_none_or(str::is_empty) {
        return Err(expected(None));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_client_lets_through_is_refused() {
        for good in ["a", "A-b_9"] {
            assert!(name(good).is_ok());
        }
        for bad in ["", "a b", "a.b", "ü", "a/b"] {
            assert!(name(bad).is_err(), "{bad}");
        }
        let web = ["http", "https"];
        for good in [
            "https://x/mcp",
            "http://[::1]:3/",
            "${BASE}/mcp",
            "https://${HOST}/x",
        ] {
            assert!(address(good, &web).is_ok(), "{good}");
        }
        for bad in ["ftp://x/", "https://", "x", "https:// x/", "ftp://${X}/"] {
            assert!(address(bad, &web).is_err(), "{bad}");
        }
        assert_eq!(header("A: b: c"), Ok(("A".into(), "b: c".into())));
        for bad in ["A b: c", "none", ": x", "A: x\ny"] {
            assert!(header(bad).is_err(), "{bad}");
        }
        let told = header("Bad Name: s3cret").unwrap_err().to_string();
        assert!(!told.contains("s3cret"));
        assert_eq!(variable("A=b=c"), Ok(("A".into(), "b=c".into())));
        for bad in ["A", "=x", "1A=x", "A-B=x"] {
            assert!(variable(bad).is_err(), "{bad}");
        }
    }
}
