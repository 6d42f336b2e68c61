//! From an event stream to messages.

use super::{
    answer::{Answer, reserve},
    link::Shared,
    sse::{Decoder, Event, TooLarge},
};
use crate::{limits::COUNTED_BYTES, link::Inbound};
use std::time::{Duration, Instant};
use switchboard_wire::{Era, Message, Received};
use tokio::time::timeout;

/// Hands over what came. Says whether the reply to `during` was in it: an error
/// without an id is the server's way to say that it could not read the request.
pub(super) fn deliver(shared: &Shared, received: Received, during: Option<u64>) -> bool {
    let mut answered = false;
    let mut one = |message: Message| {
        let replies = message.own_id() == during || message.id_span().is_none();
        answered |= message.is_reply() && during.is_some() && replies;
        shared.receive.message(Inbound { message, during });
    };
    match received {
        Received::One(message) => one(message),
        Received::Batch(messages) => {
            for message in messages {
                match message {
                    Ok(message) => one(message),
                    Err(fault) => shared.receive.unreadable(fault, during),
                }
            }
        }
    }
    answered
}

/// Why reading a stream stopped.
#[derive(Debug)]
pub(super) enum Ended {
    /// The reply came.
    Answered,
    /// The stream ended, broke or fell silent: it may be worth resuming.
    Lost(String),
    /// An event was too large.
    TooLarge(TooLarge),
}

/// Reads one logical stream, over as many connections as it takes.
pub(super) struct Pump<'a> {
    shared: &'a Shared,
    during: Option<u64>,
    pub(super) decoder: Decoder,
    pulse: Pulse,
    /// Whether the connection under way brought anything.
    pub(super) progress: bool,
}

impl<'a> Pump<'a> {
    pub(super) fn new(shared: &'a Shared, during: Option<u64>) -> Self {
        Self {
            shared,
            during,
            decoder: Decoder::new(shared.options.message_cap),
            pulse: Pulse::default(),
            progress: false,
        }
    }

    /// Reads until the reply, or until the connection ends.
    pub(super) async fn read(&mut self, answer: &mut Answer) -> Ended {
        self.decoder.restart();
        self.progress = false;
        let mut counted = None;
        loop {
            let chunk = match self.pulse.limit(self.silence_floor()) {
                None => answer.chunk().await,
                Some(limit) => match timeout(limit, answer.chunk()).await {
                    Ok(chunk) => chunk,
                    Err(_) => return Ended::Lost(format!("the stream fell silent for {limit:?}")),
                },
            };
            match chunk {
                None => return Ended::Lost("the server closed the stream".into()),
                Some(Err(fault)) => return Ended::Lost(format!("the stream broke: {fault}")),
                Some(Ok(chunk)) => self.decoder.feed(chunk),
            }
            loop {
                match self.decoder.next() {
                    Ok(Some(event)) => {
                        self.progress = true;
                        if self.event(event) {
                            return Ended::Answered;
                        }
                    }
                    Ok(None) => break,
                    Err(fault) => return Ended::TooLarge(fault),
                }
            }
            self.pulse.saw(self.decoder.comments());
            if self.decoder.held() < COUNTED_BYTES {
                counted = None;
            } else if counted.is_none() {
                counted = reserve(&self.shared.budget, self.decoder.held()).await;
            }
        }
    }

    /// The shortest silence that counts. To be wrong about a stream that can be
    /// resumed costs nothing; about another it costs the call.
    fn silence_floor(&self) -> Duration {
        let options = &self.shared.options;
        let resumable = self.decoder.last_id().is_some() && self.shared.era() != Some(Era::Modern);
        if self.during.is_none() || resumable {
            options.silence_floor
        } else {
            options.lasting_silence
        }
    }

    /// Hands over the message in an event, whatever its name. One without data only gives an id.
    fn event(&self, event: Event) -> bool {
        if event.data.trim_ascii().is_empty() {
            return false;
        }
        let data = if event.data.len() < COUNTED_BYTES {
            event.data
        } else {
            self.shared.budget.hold(Vec::from(event.data))
        };
        match Received::parse(data) {
            Ok(received) => deliver(self.shared, received, self.during),
            Err(fault) => {
                self.shared.receive.unreadable(fault, self.during);
                false
            }
        }
    }
}

/// How often a server shows that it is there. One that has sent comments at some
/// interval and then sends nothing for twice that long is gone.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    comments: u64,
    last: Option<Instant>,
    gaps: u32,
    longest: Duration,
}

impl Pulse {
    pub(super) fn saw(&mut self, comments: u64) {
        if comments == self.comments {
            return;
        }
        let new_stream = comments < self.comments;
        self.comments = comments;
        let now = Instant::now();
        if let Some(last) = self.last.replace(now)
            && !new_stream
        {
            self.gaps += 1;
            self.longest = self.longest.max(now - last);
        }
    }

    /// How long a silence may be, once that is known.
    pub(super) fn limit(&self, floor: Duration) -> Option<Duration> {
        (self.gaps >= 2).then(|| (self.longest * 2).max(floor))
    }
}
