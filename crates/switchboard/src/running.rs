//! Gateways that run: each leaves a note in the state directory that says where
//! it is, and commands of the same user find it there.

use crate::{dirs::Dirs, limits, pipeline::Options};
use serde_json::{Value, json};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use switchboard_local::private;

/// A gateway that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// `127.0.0.1:3700`
    pub address: String,
    /// Its process.
    pub pid: i32,
    /// How it names tools, and what it shows of them.
    pub names: String,
    /// The file of a token that lets clients in; none where everybody may come in.
    pub client_token: Option<PathBuf>,
    /// The file of the control token.
    pub control_token: PathBuf,
    /// Where it was started.
    pub directory: PathBuf,
    /// The version of the program.
    pub version: String,
    /// Whether it is the one that clients' entries lead to: `up` started it.
    pub by_up: bool,
}

/// A note that is taken away when the gateway ends.
#[derive(Debug)]
pub struct Note {
    path: PathBuf,
    text: String,
}

impl Note {
    /// Writes it again where it is not what it was: without it nobody finds the
    /// gateway. Says whether that was so.
    pub fn renew(&self) -> io::Result<bool> {
        let is_private = fs::symlink_metadata(&self.path).is_ok_and(|found| is_ours(&found));
        if is_private && fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            return Ok(false);
        }
        self.write()?;
        Ok(true)
    }

    /// 0600 from the first byte, whole or not at all.
    fn write(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        private::folder(folder)?;
        private::write(&self.path, self.text.as_bytes())
    }
}

/// What the notes say.
#[derive(Debug, Default)]
pub struct Found {
    /// Gateways that run, the newest first.
    pub running: Vec<Running>,
    /// Notes that say nothing, of gateways that may run.
    pub damaged: Vec<Damaged>,
}

/// A note that cannot be read. It stays where it is: whoever wrote it writes it
/// again if it still runs.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: the note of a running gateway cannot be read: {why}; if it runs it writes the note again within {} s, else delete it",
    .file.display(), RENEWAL.as_secs()
)]
pub struct Damaged {
    /// Which.
    pub file: PathBuf,
    #[source]
    why: NoteError,
}

/// Why a note cannot be read.
#[derive(Debug, thiserror::Error)]
enum NoteError {
    #[error("it is no note of ours")]
    NotOurs,
    #[error("others could have written it")]
    Writable,
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error(transparent)]
    NoJson(#[from] serde_json::Error),
}

pub use crate::limits::NOTE_RENEWAL as RENEWAL;

impl Drop for Note {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Running {
    /// Leaves the note by which other commands find a gateway; says why, where it cannot.
    pub(crate) fn found_by_others(&self, options: &Options) -> Option<Note> {
        let left = self.leave_note(&options.dirs().ok()?);
        let told = left.inspect_err(|error| {
            let text = format!("other commands will not find this gateway: {error}");
            options.tell.warn(&text);
        });
        told.ok()
    }

    /// Leaves the note.
    pub fn leave_note(&self, dirs: &Dirs) -> io::Result<Note> {
        let folder = folder(dirs);
        private::folder(&folder)?;
        let started = started(self.pid).unwrap_or_default();
        let note = json!({
            "address": self.address, "pid": self.pid, "started": started, "space": space(),
            "names": self.names, "clientToken": self.client_token, "controlToken": self.control_token,
            "directory": self.directory, "version": self.version,
            "up": self.by_up,
        });
        let path = folder.join(format!("{}-{started}.json", self.pid));
        let text = format!("{note}\n");
        let note = Note { path, text };
        note.write()?;
        Ok(note)
    }
}

impl Running {
    /// Asks its process to end, in good order.
    pub fn stop(&self) -> io::Result<()> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let pid = rustix::process::Pid::from_raw(self.pid).filter(|_| is_there(self.pid));
        let pid = pid.ok_or_else(gone)?;
        Ok(rustix::process::kill_process(
            pid,
            rustix::process::Signal::TERM,
        )?)
    }
}

/// Whether a process of ours is there.
pub fn is_there(pid: i32) -> bool {
    started(pid).is_some()
}

/// The user's gateways that run now. Notes of those that ended without taking
/// theirs away are removed.
pub fn all(dirs: &Dirs) -> Found {
    let Ok(files) = fs::read_dir(folder(dirs)) else {
        return Found::default();
    };
    let mut damaged = Vec::new();
    let mut found: Vec<(u64, Running)> = Vec::new();
    for file in files.flatten().take(limits::NOTES) {
        let path = file.path();
        if path
            .extension()
            .is_some_and(|extension| extension == SOCKET)
        {
            remove_if_left(&path);
        }
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match look(&path) {
            Looked::Runs(since, running) => found.push((since, *running)),
            Looked::Elsewhere => {}
            Looked::Damaged(why) => damaged.push(Damaged { file: path, why }),
            Looked::Stale => {
                let _ = fs::remove_file(&path);
            }
        }
    }
    found.sort_by_key(|(since, _)| std::cmp::Reverse(*since));
    Found {
        running: found.into_iter().map(|(_, running)| running).collect(),
        damaged,
    }
}

/// What the names of sockets end with at which gateways hand over.
pub(crate) const SOCKET: &str = "sock";

/// A socket of a process that is not there any more.
fn remove_if_left(path: &Path) {
    let pid = path
        .file_stem()
        .and_then(|name| name.to_str()?.parse().ok());
    if pid.is_some_and(|pid| !is_there(pid)) {
        let _ = fs::remove_file(path);
    }
}

enum Looked {
    Runs(u64, Box<Running>),
    /// In another container, perhaps: its process numbers mean nothing here.
    Elsewhere,
    /// It cannot be read; why.
    Damaged(NoteError),
    Stale,
}

/// Whether the process that a note's name tells of is there.
fn may_run(path: &Path) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str());
    let told = name.and_then(|name| name.split_once('-'));
    let told = told.and_then(|(pid, since)| Some((pid.parse().ok()?, since.parse::<u64>().ok()?)));
    told.is_none_or(|(pid, since)| started(pid) == Some(since))
}

fn read_note(path: &Path) -> Result<Value, NoteError> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() || found.len() > limits::NOTE_BYTES {
        return Err(NoteError::NotOurs);
    }
    if !is_ours(&found) {
        return Err(NoteError::Writable);
    }
    let text = fs::read_to_string(path)?;
    Ok(serde_json::from_str(&text)?)
}

fn look(path: &Path) -> Looked {
    let note = match read_note(path) {
        Ok(note) => note,
        Err(why) if may_run(path) => return Looked::Damaged(why),
        Err(_) => return Looked::Stale,
    };
    if note["space"] != json!(space()) {
        return Looked::Elsewhere;
    }
    let text = |key: &str| note[key].as_str().map(ToOwned::to_owned);
    let read = || {
        let pid = i32::try_from(note["pid"].as_i64()?).ok()?;
        let since = note["started"].as_u64()?;
        // The number may belong to another process by now, whoever's.
        if started(pid)? != since {
            return None;
        }
        let running = Running {
            address: text("address").filter(|address| is_loopback(address))?,
            pid,
            names: text("names")?,
            client_token: text("clientToken").map(Into::into),
            control_token: text("controlToken")?.into(),
            directory: text("directory")?.into(),
            version: text("version")?,
            by_up: note["up"] == true,
        };
        Some(Looked::Runs(since, Box::new(running)))
    };
    read().unwrap_or(Looked::Stale)
}

/// Tokens are shown to this machine alone.
fn is_loopback(address: &str) -> bool {
    address
        .parse::<std::net::SocketAddr>()
        .is_ok_and(|address| address.ip().is_loopback())
}

/// Where the notes are.
pub fn folder(dirs: &Dirs) -> PathBuf {
    dirs.state.join("gateways")
}

fn is_ours(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0
}

/// When a process began, in the system's own count; `None` if it is not there
/// or not ours.
#[cfg(target_os = "linux")]
fn started(pid: i32) -> Option<u64> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let ours = {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(&folder).ok()?.uid() == rustix::process::geteuid().as_raw()
    };
    let stat = fs::read_to_string(folder.join("stat"))
        .ok()
        .filter(|_| ours)?;
    // The name of the program may hold anything; what follows it does not.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let since = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(since)
}

#[cfg(not(target_os = "linux"))]
fn started(pid: i32) -> Option<u64> {
    let pid = rustix::process::Pid::from_raw(pid)?;
    rustix::process::test_kill_process(pid).ok().map(|()| 0)
}

/// The space that process numbers belong to.
fn space() -> String {
    fs::read_link("/proc/self/ns/pid")
        .map(|link| link.display().to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(folder: &Path) -> Dirs {
        Dirs::find(|name| (name == "HOME").then(|| folder.to_owned())).unwrap()
    }

    fn me(address: &str) -> Running {
        Running {
            address: address.into(),
            pid: i32::try_from(std::process::id()).unwrap(),
            names: "short".into(),
            client_token: None,
            control_token: "/token".into(),
            directory: "/".into(),
            version: "0".into(),
            by_up: false,
        }
    }

    #[test]
    fn a_note_is_found_and_taken_away() {
        use std::os::unix::fs::MetadataExt;
        let home = tempfile::tempdir().unwrap();
        let dirs = dirs(home.path());
        assert!(all(&dirs).running.is_empty());
        let note = me("127.0.0.1:1").leave_note(&dirs).unwrap();
        assert_eq!(fs::metadata(&note.path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(all(&dirs).running, [me("127.0.0.1:1")]);
        drop(note);
        assert!(all(&dirs).running.is_empty());
    }

    #[test]
    fn what_does_not_run_is_cleaned_up_and_what_runs_elsewhere_is_left() {
        let home = tempfile::tempdir().unwrap();
        let dirs = dirs(home.path());
        let note = me("127.0.0.1:1").leave_note(&dirs).unwrap();
        let written: Value =
            serde_json::from_str(&fs::read_to_string(&note.path).unwrap()).unwrap();
        for (key, value, stays) in [
            ("started", json!(1), false),
            ("pid", json!(i32::MAX), false),
            // Nobody's token is sent to another machine.
            ("address", json!("192.0.2.1:80"), false),
            ("space", json!("pid:[1]"), true),
        ] {
            use std::os::unix::fs::OpenOptionsExt;
            let mut changed = written.clone();
            changed[key] = value;
            fs::write(&note.path, changed.to_string()).unwrap();
            assert!(all(&dirs).running.is_empty(), "{key}");
            assert_eq!(note.path.exists(), stays, "{key}");
            let mut open = fs::OpenOptions::new();
            let _ = open
                .mode(0o600)
                .create(true)
                .write(true)
                .truncate(true)
                .open(&note.path);
        }
    }

    #[test]
    fn a_damaged_note_is_named_and_written_again() {
        let home = tempfile::tempdir().unwrap();
        let dirs = dirs(home.path());
        let note = me("127.0.0.1:1").leave_note(&dirs).unwrap();
        assert!(!note.renew().unwrap(), "it is what it was");
        fs::write(&note.path, "{\"address\":").unwrap();
        let found = all(&dirs);
        assert!(found.running.is_empty());
        assert_eq!(found.damaged.len(), 1, "{found:?}");
        assert!(note.path.exists(), "it is not taken away");
        assert!(note.renew().unwrap());
        assert_eq!(all(&dirs).running, [me("127.0.0.1:1")]);
        fs::remove_file(&note.path).unwrap();
        assert!(note.renew().unwrap());
        assert_eq!(all(&dirs).running, [me("127.0.0.1:1")]);
    }

    /// Nobody is led anywhere by what others could have written.
    #[test]
    fn a_note_that_others_can_write_or_that_lies_elsewhere_is_not_believed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let home = tempfile::tempdir().unwrap();
        let dirs = dirs(home.path());
        let note = me("127.0.0.1:1").leave_note(&dirs).unwrap();
        for mode in [0o644, 0o660, 0o602] {
            fs::set_permissions(&note.path, fs::Permissions::from_mode(mode)).unwrap();
            let found = all(&dirs);
            assert!(found.running.is_empty(), "{mode:o}");
            assert_eq!(found.damaged.len(), 1, "{mode:o}");
            assert!(note.renew().unwrap(), "{mode:o}: it is made private again");
            assert_eq!(all(&dirs).running, [me("127.0.0.1:1")]);
        }
        let elsewhere = home.path().join("elsewhere");
        fs::rename(&note.path, &elsewhere).unwrap();
        symlink(&elsewhere, &note.path).unwrap();
        assert!(all(&dirs).running.is_empty());
    }
}
