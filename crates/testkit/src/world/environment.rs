//! What a program under test sees of the machine: one list, for every program
//! that any test starts. A variable that is not here is not there, so nothing of
//! whoever runs the tests is read or written.

use std::ffi::OsString;
use std::path::Path;

/// What is handed on from the test's own environment: coverage and backtraces.
const HANDED_ON: [&str; 2] = ["RUST_BACKTRACE", "LLVM_PROFILE_FILE"];

/// Where the programs of the system are.
pub(crate) const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin";

/// The whole environment of a program that lives in `home`, with an
/// administrator's files in `managed`, temporary ones in `temporary`, and
/// programs in `path`.
pub(crate) fn environment(
    home: &Path,
    managed: &Path,
    temporary: &Path,
    path: OsString,
) -> Vec<(&'static str, OsString)> {
    let mut all: Vec<(&'static str, OsString)> = vec![
        ("HOME", home.into()),
        ("XDG_CONFIG_HOME", home.join(".config").into()),
        ("XDG_DATA_HOME", home.join(".local/share").into()),
        ("XDG_STATE_HOME", home.join(".local/state").into()),
        ("XDG_CACHE_HOME", home.join(".cache").into()),
        ("XDG_RUNTIME_DIR", temporary.into()),
        ("TMPDIR", temporary.into()),
        ("SWITCHBOARD_TEST_MANAGED_DIR", managed.into()),
        ("PATH", path),
    ];
    let handed_on = HANDED_ON.into_iter();
    all.extend(handed_on.filter_map(|name| Some((name, std::env::var_os(name)?))));
    all
}
