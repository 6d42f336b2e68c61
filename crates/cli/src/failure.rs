//! How a command ends when it does not end well.

use crate::show::{safe, term};
use serde_json::json;
use std::{borrow::Cow, error::Error, fmt, io::Write};
use switchboard::{Unfollowable, Unusable, config::check::CheckError, local::secret};

/// Exit codes: part of what scripts rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Done.
    Done = 0,
    /// The tool or server answered with an error.
    Answered = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The configuration is wrong.
    Configuration = 3,
    /// A server cannot be reached.
    Unreachable = 4,
    /// It is not allowed.
    NotPermitted = 5,
    /// The server wants a sign-in.
    NeedsAuth = 6,
    /// It took too long.
    TimedOut = 7,
    /// The user gave up; 143 where SIGTERM ended it, 129 where SIGHUP did.
    Interrupted = 130,
}

impl Code {
    /// The word for it in JSON.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Answered => "error",
            Self::Usage => "usage",
            Self::Configuration => "configuration",
            Self::Unreachable => "unreachable",
            Self::NotPermitted => "not-permitted",
            Self::NeedsAuth => "needs-auth",
            Self::TimedOut => "timed-out",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What to write instead of what somebody has just written. It is only ever shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice(Cow<'static, str>);

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Advice {}

impl<T: Into<Cow<'static, str>>> From<T> for Advice {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

/// What went wrong, and what to do about it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// How the program ends.
    pub code: Code,
    message: String,
    hint: Option<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}

impl From<Box<dyn Error + Send + Sync>> for Failure {
    fn from(error: Box<dyn Error + Send + Sync>) -> Self {
        match error.downcast::<Self>() {
            Ok(failure) => *failure,
            Err(error) => Self::new(Code::Configuration, error.to_string()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(Code::Answered, error.to_string())
    }
}

/// What is wrong with a word of the command line says what it should be.
impl From<CheckError> for Failure {
    fn from(what: CheckError) -> Self {
        Self::usage(what.to_string())
    }
}

impl From<Unusable> for Failure {
    fn from(why: Unusable) -> Self {
        let (code, hint) = match &why {
            Unusable::Files { managed: true, .. } => (
                Code::Configuration,
                "no server is used until it is put right by whoever administers this machine",
            ),
            Unusable::Files { managed: false, .. } => (
                Code::Configuration,
                "correct what --mcp-config names, or leave it out",
            ),
            Unusable::Lawless(_) => (
                Code::Configuration,
                "correct it; until then nothing is used, since what it forbids would not count",
            ),
            Unusable::Exclusive(_) => (Code::NotPermitted, "leave --mcp-config out"),
        };
        Self::new(code, why.to_string()).hint(hint)
    }
}

impl From<Unfollowable> for Failure {
    fn from(fault: Unfollowable) -> Self {
        Self::new(Code::Configuration, fault.to_string())
            .hint("correct the rule where it is written; until then nothing is used")
    }
}

impl Failure {
    /// A failure with this code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
        }
    }

    /// The command line is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    /// The same, saying what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// How the command ends.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What is wrong.
    pub fn text(&self) -> &str {
        &self.message
    }

    /// Tells the user, on stderr, without what looks like a secret.
    pub fn show(&self, json: bool) {
        if self.code == Code::Interrupted && !json {
            return;
        }
        let mut err = std::io::stderr().lock();
        // If nobody listens there is nobody to tell.
        let _ = if json {
            let hint = self.hint.as_deref().map(secret::text);
            let message = secret::text(&self.message);
            let error = json!({ "error": { "code": self.code.as_str(), "message": message, "hint": hint } });
            match term::stderr().terminal {
                true => writeln!(err, "{}", safe::json(&error.to_string())),
                false => writeln!(err, "{error}"),
            }
        } else {
            let paint = term::stderr();
            let hint = self.hint.as_ref().map(|hint| {
                format!(
                    "\n{} {}",
                    paint.bold("hint:"),
                    safe::lines(&secret::text(hint))
                )
            });
            let message = safe::lines(&secret::text(&self.message));
            writeln!(
                err,
                "{} {message}{}",
                paint.red("error:"),
                hint.unwrap_or_default()
            )
        };
    }
}
