//! Stopping and going on, as a shell with jobs has it.

use crate::limits;
use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};
use std::{io, time::Instant};
use switchboard::{local::signals, process::keeper};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

/// What somebody wants of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// To stop; the terminal is to be given back first.
    Stop,
    /// To go on.
    GoOn,
}

/// Hears both.
pub struct Stopping {
    /// None where whoever started us has said that this is not for us.
    stops: Option<Signals>,
    continued: Signals,
    last: Option<Instant>,
}

impl Stopping {
    pub fn listen() -> io::Result<Self> {
        let stop = Signal::TSTP.as_raw();
        let stops = match signals::ignored().contains(stop) {
            true => None,
            false => Some(signal(SignalKind::from_raw(stop))?),
        };
        Ok(Self {
            stops,
            continued: signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
            last: None,
        })
    }

    /// What comes next.
    pub async fn next(&mut self) -> Wanted {
        loop {
            let stops = async {
                match &mut self.stops {
                    Some(stops) => stops.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = stops => {
                    // The group, and so we, is told of what we have done already.
                    let known = self.last.is_some_and(|last| last.elapsed() < limits::ONE_SIGNAL);
                    if !known && keeper::has_shell() {
                        return Wanted::Stop;
                    }
                }
                _ = self.continued.recv() => return Wanted::GoOn,
            }
        }
    }

    /// Stops until somebody lets us go on. The terminal was given back.
    pub fn stop(&mut self) {
        let _ = kill_process(getpid(), Signal::STOP);
        self.last = Some(Instant::now());
    }

    /// The same with all that belongs to this job, for whoever pressed the key for it.
    pub fn stop_job(&mut self) {
        if keeper::has_shell() {
            let _ = kill_current_process_group(Signal::TSTP);
            self.stop();
        }
    }
}
