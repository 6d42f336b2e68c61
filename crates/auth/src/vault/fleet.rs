//! Sign-ins that several machines share. Where there is such a place, it has them, and
//! the files of this machine are left alone.

use crate::{clock, limits, record::Record};
use std::{
    fmt,
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};
use zeroize::Zeroizing;

/// What a shared place will say.
pub type Awaited<T> = Pin<Box<dyn Future<Output = Result<T, FleetError>> + Send>>;

/// The text of a sign-in, and which version of it this is.
pub type Versioned = (Zeroizing<Vec<u8>>, u64);

/// Why a shared place does not help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// It cannot be reached.
    #[error("sign-ins are shared with other replicas, and their store cannot be used: {0}")]
    Store(String),
    /// What is there was written by nobody of ours.
    #[error(
        "what is kept of the sign-in was not written by a replica of this cluster; sign in again"
    )]
    Altered,
    /// A replica of a newer version wrote it, in a form that this one does not know.
    #[error("what is kept of the sign-in has form {0}, which this version does not know")]
    Newer(u8),
    /// Another has had its turn since.
    #[error("another replica has changed the sign-in meanwhile")]
    Overtaken,
    /// Another has its turn for too long.
    #[error("another replica has been renewing the sign-in for {0:?}")]
    Busy(Duration),
    /// The key that seals sign-ins is not here.
    #[error("a worker's key opens no sign-ins")]
    NoKey,
}

/// A turn that is held: nobody else, on any machine, renews or changes the sign-in.
/// Dropping it gives it back.
pub trait Turn: fmt::Debug + Send + Sync {
    /// Whether nobody else can have it yet. One that was paused finds out here.
    fn is_good(&self) -> bool;
}

/// Where several machines keep sign-ins.
pub trait Fleet: fmt::Debug + Send + Sync {
    /// What is there, as whoever wrote last left it; never anything older.
    fn load(&self, place: &str) -> Awaited<Option<Versioned>>;

    /// The same as this machine has heard of it, where it listens.
    fn heard(&self, place: &str) -> Option<Result<Option<Versioned>, FleetError>>;

    /// The version that this machine has heard of last.
    fn version(&self, place: &str) -> Option<u64>;

    /// Keeps it, or where there is no text that there is none; the version of that. Only
    /// whoever has the turn can, and only if nobody has had it since.
    fn save(&self, place: &str, text: Option<Zeroizing<Vec<u8>>>) -> Awaited<u64>;

    /// Takes the turn of a place.
    fn turn(&self, place: &str, limit: Duration) -> Awaited<Box<dyn Turn>>;
}

/// The way to where several machines keep sign-ins; there is none until one is known.
#[derive(Clone, Default)]
pub struct FleetWay(Arc<OnceLock<Arc<dyn Fleet>>>);

impl FleetWay {
    /// From now on they are kept there. The first stays.
    pub fn set(&self, fleet: Arc<dyn Fleet>) {
        let _ = self.0.set(fleet);
    }

    pub(super) fn get(&self) -> Option<&Arc<dyn Fleet>> {
        self.0.get()
    }
}

impl fmt::Debug for FleetWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FleetWay")
    }
}

impl Record {
    /// The same with the word that a renewal has begun: whoever finds it without its end
    /// cannot know whether the refresh token was used up. It is left alone until the access
    /// token has ended, and whoever was at it had time to say what came of it.
    pub(crate) fn renewing(&self) -> Self {
        let mut begun = self.clone();
        let end = begun.tokens.as_ref().and_then(|tokens| tokens.expires_at);
        let left = end.map_or(0, |end| end.saturating_sub(clock::millis()));
        let wait = Duration::from_millis(left).max(limits::RENEWAL_UNKNOWN);
        begun.note_trouble(
            "another replica began to renew the sign-in, and has not said what came of it: its \
             refresh token may be used up. It is tried once more when the access token has \
             ended, after a minute at least; a new sign-in helps at once"
                .into(),
            wait,
        );
        begun
    }
}
