//! A request that is made ready to leave a second time: on a new connection, or
//! under headers made anew.

use super::{Crossing, Event, Exchange, Stage, failed};
use crate::{
    call::{self, Permitted, Retry},
    error::CallError,
    mirror,
    upstream::Connection,
};
use std::{fmt, future::Future, pin::Pin, sync::Arc};
use switchboard_wire::code;
use tokio::time::Instant;

pub(super) type Prepared = Result<(Arc<Connection>, Permitted), CallError>;

/// Its preparation, kept between two looks at the exchange: whoever waits for
/// an event may stop waiting and come back.
pub(super) struct Renewal {
    preparation: Pin<Box<dyn Future<Output = Prepared> + Send>>,
    /// What goes on across eras, where the server refused only how it was put:
    /// rounds that are over still count.
    crossing: Option<Box<Crossing>>,
}

impl Renewal {
    /// How a request that ended with `fault` leaves again.
    fn of(again: Retry, connection: Arc<Connection>, fault: &CallError) -> Self {
        let in_place = is_header_mismatch(fault);
        let preparation = async move {
            let mut again = again;
            if in_place {
                mirror::made_anew(&connection, &mut again.permitted).await?;
                again.permitted.still_allowed()?;
                return Ok((connection, again.permitted));
            }
            let permitted = again.permitted;
            let connection = call::connection_of(&permitted).await?;
            permitted.still_allowed()?;
            Ok((connection, permitted))
        };
        Self {
            preparation: Box::pin(preparation),
            crossing: None,
        }
    }

    /// How a request of which nothing left, since its connection has just ended,
    /// leaves by the next one.
    fn by_the_next(permitted: Permitted, ended: Arc<Connection>) -> Self {
        let preparation = async move {
            let connection = call::next_connection(&permitted, &ended).await?;
            permitted.still_allowed()?;
            Ok((connection, permitted))
        };
        Self {
            preparation: Box::pin(preparation),
            crossing: None,
        }
    }

    /// Waits until it is ready, or cannot be.
    pub(super) async fn prepared(&mut self) -> Prepared {
        self.preparation.as_mut().await
    }
}

impl Exchange {
    /// What becomes of a request that waited, and then could not leave.
    pub(super) fn not_left(&mut self, fault: CallError, permitted: Permitted) -> Option<Event> {
        if !matches!(fault, CallError::NotConnected { .. }) {
            return Some(failed(fault));
        }
        self.deadline = Instant::now() + permitted.timeout;
        let renewal = Renewal::by_the_next(permitted, self.connection.clone());
        self.stage = Stage::Renewing(Box::new(renewal));
        None
    }

    /// Sends the request again now that it is ready; the end if it cannot be.
    pub(super) fn renewed(&mut self, prepared: Prepared) -> Option<Event> {
        let Stage::Renewing(renewal) = self.leave_stage() else {
            return None;
        };
        let sent = prepared.and_then(|(connection, permitted)| {
            if let Some(mut crossing) = renewal.crossing {
                crossing.send_again(permitted.mirrored)?;
                self.stage = Stage::Across(crossing);
                self.note_left();
                return Ok(());
            }
            let mut fresh = connection.start(&permitted)?;
            // It has no more time for being sent twice.
            fresh.deadline = self.deadline;
            self.goes_on_as(fresh);
            Ok(())
        });
        sent.err().map(failed)
    }

    /// Whether a request that ended so is sent again.
    pub(super) fn renews(&mut self, fault: &CallError) -> bool {
        // What was answered in earlier rounds would be lost on the way to a new beginning.
        let begins_anew =
            matches!(fault, CallError::WrongForm { .. }) && !is_header_mismatch(fault);
        if self.is_under_way() && begins_anew {
            return false;
        }
        let Some(again) = self.again.take_if(|again| again.after(fault)) else {
            return false;
        };
        let mut renewal = Renewal::of(*again, self.connection.clone(), fault);
        renewal.crossing = match self.leave_stage() {
            Stage::Across(crossing) if is_header_mismatch(fault) => Some(crossing),
            _ => None,
        };
        self.stage = Stage::Renewing(Box::new(renewal));
        true
    }

    /// Whether something has come of it across eras: answers of the client's, a task.
    pub(super) fn is_under_way(&self) -> bool {
        match &self.stage {
            Stage::Across(crossing) => !crossing.is_new(),
            Stage::Rooted(rooted) => !rooted.request.is_new(),
            Stage::Attended(attended) => !attended.request.is_new(),
            _ => false,
        }
    }
}

fn is_header_mismatch(fault: &CallError) -> bool {
    matches!(
        fault,
        CallError::WrongForm {
            code: code::HEADER_MISMATCH,
            ..
        }
    )
}

impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewal")
            .field("crossing", &self.crossing)
            .finish_non_exhaustive()
    }
}
