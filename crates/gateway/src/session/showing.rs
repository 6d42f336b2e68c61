//! What is shown of a request to those who see messages: all that its client is told on
//! the way, as it is told.

use super::{Outlet, Weight};
use std::sync::Arc;
use switchboard_host::observe::Shown;
use switchboard_wire::Payload;

/// An outlet whose messages are shown.
pub(crate) struct Showing {
    outlet: Arc<dyn Outlet>,
    shown: Arc<Shown>,
}

impl Showing {
    /// This outlet, and what goes there is shown.
    pub(crate) fn around(outlet: Arc<dyn Outlet>, shown: &Arc<Shown>) -> Arc<dyn Outlet> {
        let shown = shown.clone();
        Arc::new(Self { outlet, shown })
    }
}

impl Outlet for Showing {
    fn send(&self, payload: Payload, weight: Weight) {
        if self.outlet.takes(weight) {
            self.shown.to_client(&payload);
        }
        self.outlet.send(payload, weight);
    }

    fn takes(&self, weight: Weight) -> bool {
        self.outlet.takes(weight)
    }

    fn takes_questions(&self) -> bool {
        self.outlet.takes_questions()
    }

    fn shown(&self) -> Option<&Arc<Shown>> {
        Some(&self.shown)
    }
}
