//! The program's life: under a keeper, in a runtime, until a signal or the end.

use crate::{
    failure::{Code, Failure},
    limits,
    show::term,
};
use std::{
    pin::Pin,
    process::exit,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicI32, Ordering},
    },
    time::{Duration, Instant},
};
use switchboard::local::signals;
use switchboard::process::keeper::{self, KeeperError, Kept};
use switchboard::tasks;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

static KEPT: OnceLock<Kept> = OnceLock::new();

/// What only commands without a keeper read: no other process of ours, and
/// nothing that it starts, has a use for it.
const FORGOTTEN: [&str; 1] = ["MCP_CLIENT_SECRET"];

/// Keeps other programs out of our memory, where nothing else does it.
pub fn hide() {
    keeper::hide_memory();
}

/// Where this process is only to wait for another, it does that and nothing else.
pub fn stand_guard() {
    keeper::stand_guard(&FORGOTTEN);
}

/// Puts the program under a keeper, so that servers never outlive it.
pub fn keep() {
    match keeper::enter(&FORGOTTEN) {
        Ok(kept) => {
            let _ = KEPT.set(kept);
        }
        // Whoever started us has killed us already.
        #[expect(clippy::exit, reason = "nothing was started yet")]
        Err(KeeperError::KeeperGone) => exit(137),
        // Logging is not there yet; it is worth a line all the same.
        Err(fault) => {
            let failure = Failure::new(Code::Done, format!("running without a keeper: {fault}"));
            failure.show(false);
            hide();
        }
    }
}

/// The first of the processes that this program is: the one that its caller knows.
pub fn first_process() -> u32 {
    let keeper = KEPT.get().and_then(Kept::keeper_pid);
    keeper.unwrap_or_else(std::process::id)
}

/// Ends the program and whatever it may still have started.
pub fn end(code: Code) -> ! {
    crate::commands::ui::restore();
    if let Some(kept) = KEPT.get() {
        kept.kill_all();
    }
    // As a shell has it of a program that a signal ended: who sent SIGTERM did not press
    // Ctrl-C.
    let code = match (code, ENDED_BY.load(Ordering::SeqCst)) {
        (Code::Interrupted, signal) if signal != 0 => 128 + signal,
        _ => code as i32,
    };
    #[expect(clippy::exit, reason = "everything that was started has ended")]
    exit(code)
}

/// Runs a short command on one thread. The token is cancelled by a signal; a
/// second signal ends the program at once.
pub fn short<T>(work: impl AsyncFnOnce(CancellationToken) -> T) -> Result<T, Failure> {
    let mut builder = Builder::new_current_thread();
    ECHOES.store(true, Ordering::SeqCst);
    run(builder.enable_all().build(), &ALL, work)
}

/// Runs a gateway, on a few threads, or on this one where there are few cores.
pub fn long<T>(work: impl AsyncFnOnce(CancellationToken) -> T) -> Result<T, Failure> {
    long_on(few(), work)
}

/// The same on so many threads.
pub fn long_on<T>(
    threads: usize,
    work: impl AsyncFnOnce(CancellationToken) -> T,
) -> Result<T, Failure> {
    run(on(threads).enable_all().build(), &ALL, work)
}

/// Runs the screen in the same way. What Ctrl-C ends is its own business: it may be a
/// command that has the terminal for a while.
pub fn screen<T>(work: impl AsyncFnOnce(CancellationToken) -> T) -> Result<T, Failure> {
    run(on(few()).enable_all().build(), &ALL[1..], work)
}

/// The signals that end the program.
const ALL: [fn() -> SignalKind; 3] = [
    SignalKind::interrupt,
    SignalKind::terminate,
    SignalKind::hangup,
];

/// The first signal that was to end the program; 0 where none was.
static ENDED_BY: AtomicI32 = AtomicI32::new(0);

/// Whether a terminal shows Ctrl-C where the cursor is, so that what comes then, if only a
/// shell's prompt, needs a line of its own.
static ECHOES: AtomicBool = AtomicBool::new(false);

/// Whether another program has the terminal: Ctrl-C is meant for that one then.
static LENT: AtomicBool = AtomicBool::new(false);

/// Another program has the terminal until this is dropped.
pub struct Lent(());

/// Lends the terminal to another program.
pub fn lent() -> Lent {
    LENT.store(true, Ordering::SeqCst);
    Lent(())
}

impl Drop for Lent {
    fn drop(&mut self) {
        LENT.store(false, Ordering::SeqCst);
    }
}

/// Half of the cores, since servers and clients need the others, and four at most.
pub fn few() -> usize {
    std::thread::available_parallelism()
        .map_or(1, |cores| usize::from(cores) / 2)
        .clamp(1, 4)
}

fn on(threads: usize) -> Builder {
    // One worker among many would have a queue of 256 tasks, and what does not
    // fit would wait until the others, which keep coming, leave room.
    if threads == 1 {
        return Builder::new_current_thread();
    }
    let mut many = Builder::new_multi_thread();
    many.worker_threads(threads);
    many
}

fn run<T>(
    runtime: std::io::Result<Runtime>,
    signals: &[fn() -> SignalKind],
    work: impl AsyncFnOnce(CancellationToken) -> T,
) -> Result<T, Failure> {
    let mut done = None;
    let all = async {
        let stop = CancellationToken::new();
        watch_signals(signals, stop.clone())?;
        done = Some(work(stop).await);
        Ok::<(), std::io::Error>(())
    };
    let ran = runtime.and_then(|runtime| block_on(runtime, Box::pin(all)));
    let refused = |why: String| Failure::new(Code::Answered, why);
    ran.map_err(|error| refused(format!("the system refused a runtime: {error}")))?;
    done.ok_or_else(|| refused("the command was left before its end".to_owned()))
}

/// Waits for a command. It is boxed: what runs a future is made anew for every kind of it, and
/// every command is one.
fn block_on(
    runtime: Runtime,
    work: Pin<Box<dyn Future<Output = std::io::Result<()>> + '_>>,
) -> std::io::Result<()> {
    let done = runtime.block_on(work);
    // A read of stdin cannot be taken back; it must not keep us.
    runtime.shutdown_timeout(Duration::from_millis(1));
    done
}

fn watch_signals(kinds: &[fn() -> SignalKind], stop: CancellationToken) -> std::io::Result<()> {
    let ignored = signals::ignored();
    let first: Arc<OnceLock<Instant>> = Arc::default();
    for kind in kinds.iter().map(|kind| kind()) {
        // Who starts us under nohup, or as a background job of a script, has
        // said that this one is not for us.
        if ignored.contains(kind.as_raw_value()) {
            continue;
        }
        let mut signals = signal(kind)?;
        let (stop, first) = (stop.clone(), first.clone());
        tasks::spawn(tasks::Kind::Upkeep, async move {
            while signals.recv().await.is_some() {
                if kind == SignalKind::interrupt() && LENT.load(Ordering::SeqCst) {
                    continue;
                }
                let is_first = first.get().is_none();
                if is_first {
                    ENDED_BY.store(kind.as_raw_value(), Ordering::SeqCst);
                }
                if kind == SignalKind::interrupt() && is_first && ECHOES.load(Ordering::SeqCst) {
                    term::end_line();
                }
                if first.get_or_init(Instant::now).elapsed() > limits::ONE_SIGNAL {
                    end(Code::Interrupted);
                }
                stop.cancel();
            }
        });
    }
    Ok(())
}
