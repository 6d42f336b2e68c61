//! Calls as they were, for whoever asks; and those that are made over the API.

use super::{metrics::Counting, uses::Uses};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use switchboard_host::Host;
use switchboard_record::tap::Tap;
use tokio_util::sync::CancellationToken;

/// What keeps the calls of one gateway.
#[derive(Debug)]
pub(crate) struct Tapping {
    pub(crate) tap: Arc<Tap>,
    /// Calls that are being made over the API, by number.
    making: Arc<Mutex<HashMap<u64, CancellationToken>>>,
    /// Whether somebody is told of calls as they change.
    is_followed: AtomicBool,
    uses: Arc<Uses>,
}

/// A call that is being made. It is forgotten with this.
#[derive(Debug)]
pub(crate) struct Making {
    number: u64,
    all: Arc<Mutex<HashMap<u64, CancellationToken>>>,
    /// Cancelled by whoever does not want it any more.
    pub(crate) given_up: CancellationToken,
}

impl Tapping {
    pub(super) fn begin(
        host: &Arc<Host>,
        counting: &Counting,
        always: bool,
        uses: Option<PathBuf>,
    ) -> Self {
        let tap = Tap::begin(host, counting.calls().list().clone());
        if always {
            tap.always();
        }
        Self {
            tap,
            making: Arc::default(),
            is_followed: AtomicBool::new(false),
            uses: Uses::begin(uses, counting.calls().clone()),
        }
    }

    /// When tools were last called.
    pub(crate) fn uses(&self) -> &Arc<Uses> {
        &self.uses
    }

    /// A call is being made.
    pub(crate) fn making(&self, number: u64) -> Making {
        let given_up = CancellationToken::new();
        self.making.lock().insert(number, given_up.clone());
        Making {
            number,
            all: self.making.clone(),
            given_up,
        }
    }

    /// Gives up a call that is being made; whether there is one.
    pub(crate) fn give_up(&self, number: u64) -> bool {
        let making = self.making.lock();
        let given_up = making.get(&number);
        given_up.inspect(|given_up| given_up.cancel()).is_some()
    }

    /// Whether somebody begins to follow calls; `false` where somebody does already.
    pub(crate) fn begins_to_follow(&self) -> bool {
        !self.is_followed.swap(true, Ordering::AcqRel)
    }

    /// Nobody follows any more.
    pub(crate) fn ends_to_follow(&self) {
        self.is_followed.store(false, Ordering::Release);
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        self.all.lock().remove(&self.number);
    }
}
