//! A gateway that is killed, paused and started again at the same address.

use super::{History, What};
use crate::Program;
use crate::program::{DEADLINE, LATE};
use crate::world::{World, alive, until, worker_of};
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
use std::time::Duration;

/// What is done to a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nemesis {
    /// Killed at once, and started again.
    Kill,
    /// Stopped for this long, and then let go on.
    Pause(Duration),
    /// Asked to end, and started again.
    Restart,
}

/// A gateway over all its lives.
pub struct Life<'a> {
    world: &'a World,
    args: Vec<String>,
    address: String,
    program: Program,
}

impl<'a> Life<'a> {
    /// The first life of `serve` with these options, at an address that stays.
    pub async fn begin(world: &'a World, args: &[&str]) -> Life<'a> {
        // Free a moment ago, and nobody else is given it so soon.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.expect("a free port").to_string();
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let program = start(world, &address, &args).await;
        Self {
            world,
            args,
            address,
            program,
        }
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The process that the user sees.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Hurts it, and sees to it that it is well again.
    ///
    /// # Panics
    /// When it does not come back.
    pub async fn suffer(&mut self, nemesis: Nemesis, history: &History) {
        history.note(What::Hurt);
        let worker = worker_of(self.program.pid()).await;
        match nemesis {
            Nemesis::Kill => {
                signal(worker, Signal::KILL);
                self.begin_again().await;
            }
            Nemesis::Restart => {
                self.program.signal(Signal::TERM);
                self.begin_again().await;
            }
            Nemesis::Pause(long) => {
                signal(worker, Signal::STOP);
                tokio::time::sleep(long).await;
                signal(worker, Signal::CONT);
            }
        }
        history.note(What::Well);
    }

    async fn begin_again(&mut self) {
        self.program.wait(DEADLINE).await;
        self.program = start(self.world, &self.address, &self.args).await;
    }
}

fn signal(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a pid");
    kill_process(pid, signal).expect("the process was there");
}

/// Starts it, and waits until it listens.
async fn start(world: &World, address: &str, args: &[String]) -> Program {
    let program = world
        .launch(&["serve", "--http", address])
        .args(args)
        .spawn();
    program.wait_for_line("listening on http://").await;
    let worker = worker_of(program.pid()).await;
    let there = until(LATE, || alive(worker).then_some(())).await;
    assert!(there.is_some(), "it ended: {}", program.stderr());
    program
}
