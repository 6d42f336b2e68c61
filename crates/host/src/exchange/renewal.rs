//! A request that is made ready to leave a second time: on a new connection, or
//! under headers made anew.

use super::{Event, Exchange, Outcome};
use crate::{
    call::{self, Again, Permitted},
    error::CallError,
    mirror,
    upstream::Connection,
};
use std::{fmt, future::Future, pin::Pin, sync::Arc};
use switchboard_wire::code;
use tokio::time::Instant;

type Prepared = Result<(Arc<Connection>, Permitted), CallError>;

/// Its preparation, kept between two looks at the exchange: whoever waits for
/// an event may stop waiting and come back.
pub(super) struct Renewal {
    preparation: Pin<Box<dyn Future<Output = Prepared> + Send>>,
    /// Whether the server refused only how it was put, so that rounds that are over still count.
    in_place: bool,
}

impl Renewal {
    /// How a request that ended with `fault` leaves again.
    pub(super) fn of(again: Again, connection: Arc<Connection>, fault: &CallError) -> Self {
        let in_place = is_header_mismatch(fault);
        let preparation = async move {
            let mut again = again;
            if in_place {
                mirror::made_anew(&connection, &mut again.permitted).await?;
                again.still_allowed()?;
                return Ok((connection, again.permitted));
            }
            let permitted = again.permitted;
            let connection = call::connection_of(&permitted).await?;
            Ok((connection, permitted))
        };
        Self {
            preparation: Box::pin(preparation),
            in_place,
        }
    }

    /// How a request of which nothing left, since its connection has just ended,
    /// leaves by the next one.
    fn by_the_next(permitted: Permitted, ended: Arc<Connection>) -> Self {
        let preparation = async move {
            let connection = call::next_connection(&permitted, &ended).await?;
            Ok((connection, permitted))
        };
        Self {
            preparation: Box::pin(preparation),
            in_place: false,
        }
    }
}

impl Exchange {
    /// What becomes of a request that waited, and then could not leave.
    pub(super) fn not_left(&mut self, fault: CallError, permitted: &Permitted) -> Option<Event> {
        if !matches!(fault, CallError::NotConnected { .. }) {
            return Some(Event::Outcome(Outcome::Failed(fault)));
        }
        let ended = self.connection.clone();
        self.renewal = Some(Renewal::by_the_next(permitted.clone(), ended));
        self.deadline = Instant::now() + permitted.timeout;
        None
    }

    /// Sends the request again as soon as it is ready; the end if it cannot be.
    pub(super) async fn renewed(&mut self) -> Option<Event> {
        let renewal = self.renewal.as_mut()?;
        let prepared = renewal.preparation.as_mut().await;
        let in_place = renewal.in_place;
        self.renewal = None;
        let sent = prepared.and_then(|(connection, permitted)| {
            if let Some(crossing) = self.bridge.as_mut().filter(|_| in_place) {
                (self.inbox, self.request) =
                    crossing.send_again(&connection, permitted.mirrored)?;
                return Ok(());
            }
            let mut fresh = connection.start(&permitted)?;
            fresh.deadline = self.deadline;
            self.give_way_to(fresh);
            Ok(())
        });
        sent.err()
            .map(|fault| Event::Outcome(Outcome::Failed(fault)))
    }

    /// Whether a request that ended so is sent again.
    pub(super) fn renews(&mut self, fault: &CallError) -> bool {
        // What was answered in earlier rounds would be lost on the way to a new beginning.
        let is_under_way = self.bridge.as_ref().is_some_and(|bridge| !bridge.is_new());
        let begins_anew = matches!(fault, CallError::Misput { .. }) && !is_header_mismatch(fault);
        if is_under_way && begins_anew {
            return false;
        }
        let Some(again) = self.again.take_if(|again| again.after(fault)) else {
            return false;
        };
        self.renewal = Some(Renewal::of(*again, self.connection.clone(), fault));
        true
    }
}

fn is_header_mismatch(fault: &CallError) -> bool {
    matches!(
        fault,
        CallError::Misput {
            code: code::HEADER_MISMATCH,
            ..
        }
    )
}

impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewal")
            .field("in_place", &self.in_place)
            .finish_non_exhaustive()
    }
}
