//! Server processes as the program starts and ends them, with real processes.

#![allow(unreachable_pub, reason = "a program has no outside")]
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod support;

use std::time::{Duration, Instant};
use switchboard_testkit::LATE;

use support::{all_dead, clinger, is_alive, pids, shell, start, state, wait_until};
use switchboard_process::{
    Exit, Rung, STDERR_KEPT, ServerCommand, ServerProcess, Start, TERMINATE_AFTER,
};
use tokio::io::AsyncReadExt;

const SECOND: Duration = Duration::from_secs(1);

async fn output(server: &mut ServerProcess) -> String {
    let mut text = String::new();
    server
        .take_stdout()
        .read_to_string(&mut text)
        .await
        .unwrap();
    text
}

#[tokio::test]
async fn a_willing_server_ends_at_once() {
    let server = start("exec sleep 60");
    let stopped = server.stop().await;
    // A busy machine may need longer for a death than the next rung waits.
    let is_in_time = stopped.took < TERMINATE_AFTER;
    assert!(
        stopped.rung == Rung::Interrupt || !is_in_time && stopped.rung == Rung::Terminate,
        "{stopped:?}"
    );
    assert_eq!(stopped.exit, Some(Exit::Signal(2)));
    assert!(stopped.is_complete);
    assert!(
        stopped.took < Duration::from_millis(110) + LATE,
        "{stopped:?}"
    );
    assert_eq!(state(server.pid().cast_signed()), None, "reaped");
}

#[tokio::test]
async fn the_end_of_stdin_is_enough_for_a_reader() {
    let server = start("trap '' INT; read line; exit 4");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let stopped = server.stop().await;
    assert_eq!(
        (stopped.rung, stopped.exit),
        (Rung::Interrupt, Some(Exit::Code(4)))
    );
}

#[tokio::test]
async fn sigterm_comes_after_100_ms() {
    let server = start("trap '' INT; sleep 60 & echo; wait");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let stopped = server.stop().await;
    assert_eq!(stopped.rung, Rung::Terminate);
    assert!(stopped.took >= Duration::from_millis(95), "{stopped:?}");
    assert!(stopped.took < LATE, "{stopped:?}");
}

#[tokio::test]
async fn sigkill_comes_after_500_ms_and_all_is_over_by_600() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pids");
    let server = start(&clinger("--ignore-signals --no-pipe", &file));
    let pids = pids(&file, 2);
    let stopped = server.stop().await;
    assert_eq!(stopped.rung, Rung::Kill);
    assert!(stopped.is_complete);
    assert!(stopped.took >= Duration::from_millis(495), "{stopped:?}");
    assert!(stopped.took < LATE, "{stopped:?}");
    assert!(all_dead(&pids));
}

#[tokio::test]
async fn a_second_stop_returns_the_first_result() {
    let server = start("exec sleep 60");
    let (first, second) = tokio::join!(server.stop(), server.stop());
    assert_eq!(first.took, second.took);
}

#[tokio::test]
async fn orphans_of_one_server_die_and_those_of_another_live() {
    let directory = tempfile::tempdir().unwrap();
    let files = [directory.path().join("a"), directory.path().join("b")];
    let flags = "--setsid --no-pipe --daemonise";
    let servers = [
        start(&clinger(flags, &files[0])),
        start(&clinger(flags, &files[1])),
    ];
    let theirs = [pids(&files[0], 5), pids(&files[1], 5)];
    let stopped = servers[0].stop().await;
    assert!(stopped.is_complete, "{stopped:?}");
    assert!(
        stopped.took <= Duration::from_millis(750) + LATE,
        "{stopped:?}"
    );
    assert!(all_dead(&theirs[0]));
    assert!(theirs[1].iter().all(|pid| is_alive(*pid)));
    assert!(servers[1].stop().await.is_complete);
    assert!(all_dead(&theirs[1]));
}

#[tokio::test]
async fn a_leader_that_died_first_does_not_save_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pids");
    let script = format!(
        "({}) & while [ ! -f {}.go ]; do sleep 0.01; done; exit 3",
        clinger("--setsid --ignore-signals", &file),
        file.display()
    );
    let server = start(&script);
    let pids = pids(&file, 2);
    std::fs::write(directory.path().join("pids.go"), "").unwrap();
    assert_eq!(server.exited().await, Exit::Code(3));
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    assert!(server.stop().await.is_complete);
    assert!(all_dead(&pids));
}

#[tokio::test]
async fn dropping_kills_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pids");
    let server = start(&clinger(
        "--ignore-signals --setsid --no-pipe --daemonise",
        &file,
    ));
    let pids = pids(&file, 5);
    let leader = server.pid().cast_signed();
    let begun = Instant::now();
    drop(server);
    assert!(
        begun.elapsed() < Duration::from_millis(400) + LATE,
        "{:?}",
        begun.elapsed()
    );
    assert!(all_dead(&pids));
    assert_eq!(state(leader), None, "reaped");
}

#[test]
fn dropping_after_the_runtime_kills_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pids");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async { start(&clinger("--ignore-signals --setsid", &file)) });
    let pids = pids(&file, 2);
    drop(runtime);
    drop(server);
    assert!(all_dead(&pids));
}

#[tokio::test]
async fn a_stop_that_is_abandoned_half_way_still_ends_in_death() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pids");
    let server = start(&clinger("--ignore-signals --setsid", &file));
    let pids = pids(&file, 2);
    let cut = tokio::time::timeout(Duration::from_millis(50), server.stop()).await;
    assert!(cut.is_err());
    drop(server);
    assert!(all_dead(&pids));
}

#[tokio::test]
async fn many_exits_leave_no_zombie() {
    let mut pids = Vec::new();
    for _ in 0..200 {
        let servers = [start("exit 0"), start("exit 1"), start("exit 2")];
        for (code, server) in (0..).zip(&servers) {
            assert_eq!(server.exited().await, Exit::Code(code));
            pids.push(server.pid().cast_signed());
        }
    }
    wait_until(SECOND, "all to be reaped", || {
        pids.iter().all(|pid| state(*pid).is_none())
    });
}

#[tokio::test]
async fn a_server_sees_the_allow_list_and_its_own_variables() {
    let mut command = shell("env; exec sleep 60");
    command.env = vec![
        ("MINE".into(), "() yes".into()),
        ("LANG".into(), "xx".into()),
    ];
    command.args[1] = "env".into();
    let mut server = ServerProcess::spawn(&command).unwrap();
    let text = output(&mut server).await;
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    let expected = [
        "HOME",
        "PATH",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "LANG",
        "TZ",
        "TMPDIR",
        "MINE",
        "SWITCHBOARD_SERVER_TAG",
        // Made by the shell itself.
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    ];
    for name in &names {
        let is_known =
            expected.contains(name) || name.starts_with("LC_") || name.starts_with("XDG_");
        assert!(is_known, "{name} is not on the list");
    }
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_some(),
        "there was something to leak"
    );
    assert!(
        names.contains(&"PATH") && text.contains("MINE=() yes\n") && text.contains("LANG=xx\n")
    );
}

#[tokio::test]
async fn a_server_gets_three_descriptors() {
    let ours = descriptors("self");
    // Whoever started the tests may have left some open that we cannot close.
    let given: Vec<u32> = ours
        .into_iter()
        .filter(|fd| *fd > 2 && !closes_on_exec(*fd))
        .collect();
    let _open = std::fs::File::open("/dev/null").unwrap();
    let _other = start("exec sleep 60");
    let server = start("exec sleep 60");
    // What the shell opens for itself is gone once it has become `sleep`.
    wait_until(SECOND, "three descriptors", || {
        let mut all = descriptors(&server.pid().to_string());
        all.retain(|fd| !given.contains(fd));
        all.sort_unstable();
        all == [0, 1, 2]
    });
}

fn descriptors(process: &str) -> Vec<u32> {
    let all = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    all.map(|fd| fd.unwrap().file_name().to_str().unwrap().parse().unwrap())
        .collect()
}

fn closes_on_exec(fd: u32) -> bool {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.is_none_or(|flags| u32::from_str_radix(flags.trim(), 8).unwrap() & 0o2_000_000 != 0)
}

#[tokio::test]
async fn a_flood_on_stderr_is_drained_and_bounded() {
    let server = start("head -c 30000000 /dev/zero >&2; printf 'the end' >&2; exit 5");
    let exit = tokio::time::timeout(10 * SECOND, server.exited())
        .await
        .unwrap();
    assert_eq!(exit, Exit::Code(5));
    let stderr = server.stderr();
    stderr.ended(SECOND).await;
    assert_eq!(stderr.total(), 30_000_007);
    assert_eq!(stderr.bytes().len(), STDERR_KEPT);
    assert!(stderr.bytes().ends_with(b"\0the end"));
    assert!(!stderr.tail_lines(5).contains('\0'));
}

#[tokio::test]
async fn errors_name_the_program_and_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain");
    std::fs::write(&plain, "#!/nowhere/sh\n").unwrap();
    let script = directory.path().join("script");
    std::fs::copy(&plain, &script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let binary = directory.path().join("binary");
    std::fs::write(&binary, b"\x7fELF no more").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&binary, mode).unwrap();

    let error = |program: &std::path::Path, cwd: Option<&str>| {
        let command = ServerCommand {
            program: program.into(),
            cwd: cwd.map(Into::into),
            ..ServerCommand::default()
        };
        ServerProcess::spawn(&command).unwrap_err().to_string()
    };
    let missing = error("no-such-program".as_ref(), None);
    assert!(
        missing.starts_with("`no-such-program` was not found on PATH (/"),
        "{missing}"
    );
    let missing = error("/no/such/program".as_ref(), None);
    assert_eq!(
        missing,
        "`/no/such/program` does not exist: check the command's path"
    );
    assert!(error(&plain, None).contains("chmod +x"));
    assert!(error(directory.path(), None).contains("it is a directory"));
    assert!(error(&script, None).contains("the interpreter it names is missing"));
    assert!(error(&binary, None).contains("not a program for this machine"));
    let cwd = error("sh".as_ref(), Some("/no/such/place"));
    assert_eq!(
        cwd,
        "`sh` cannot start in /no/such/place (it does not exist): create it, or change `cwd`"
    );
}

#[tokio::test]
async fn it_runs_where_told_and_finds_relative_programs_there() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/sh", directory.path().join("mine")).unwrap();
    let mut command = shell("pwd; echo $0");
    command.program = "./mine".into();
    command.cwd = Some(directory.path().into());
    let mut server = ServerProcess::spawn(&command).unwrap();
    assert_eq!(
        output(&mut server).await,
        format!("{}\n./mine\n", directory.path().display())
    );
}

/// A repository could bring its own `npx`: by a relative entry of `PATH`, or by
/// one that leads into it.
#[tokio::test]
async fn programs_of_the_tree_are_not_found_by_name() {
    let tree = tempfile::tempdir().unwrap();
    let real = tree.path().canonicalize().unwrap();
    let planted = real.join("bin/planted");
    std::fs::create_dir(real.join("bin")).unwrap();
    std::fs::copy("/bin/sh", &planted).unwrap();
    let path = |text: &str| ServerCommand {
        program: "planted".into(),
        args: vec!["-c".into(), "echo $PATH".into()],
        env: vec![("PATH".into(), text.into())],
        cwd: Some(real.clone()),
        tree: Some(real.clone()),
        ..ServerCommand::default()
    };
    let inside = real.join("bin").display().to_string();
    for entry in ["bin", "./bin", "../bin/", inside.as_str()] {
        let text = format!("{entry}:/usr/bin:/bin");
        let error = ServerProcess::spawn(&path(&text)).unwrap_err().to_string();
        assert!(error.starts_with("`planted` "), "{error}");
        if entry != "../bin/" {
            assert!(
                error.contains("is only in ") && error.contains("full path"),
                "{error}"
            );
        }
    }
    // Named whole it is started, wherever it is.
    let mut whole = path("/bin");
    whole.program = planted.clone().into();
    ServerProcess::spawn(&whole).unwrap();
    // And by its name where that is nobody's tree.
    let mut free = path(&inside);
    free.tree = None;
    ServerProcess::spawn(&free).unwrap();
}

/// Nothing of the tree gets into a server that is started elsewhere.
#[tokio::test]
async fn a_server_elsewhere_has_an_empty_directory_and_nothing_of_the_tree() {
    use tokio::io::AsyncReadExt;
    let tree = tempfile::tempdir().unwrap();
    let real = tree.path().canonicalize().unwrap();
    let rooms = tempfile::tempdir().unwrap();
    let command = ServerCommand {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "pwd; ls -A; echo \"$PATH\"; cat".into()],
        env: vec![(
            "PATH".into(),
            format!("bin::{}/x:/usr/bin:/bin", real.display()).into(),
        )],
        tree: Some(real.clone()),
        start: Start::Elsewhere(rooms.path().join("rooms")),
        ..ServerCommand::default()
    };
    let mut server = ServerProcess::spawn(&command).unwrap();
    let (stdin, mut stdout) = (server.take_stdin(), server.take_stdout());
    let room = std::fs::read_dir(rooms.path().join("rooms"))
        .unwrap()
        .next();
    let room = room.unwrap().unwrap().path().canonicalize().unwrap();
    drop(stdin);
    let mut said = String::new();
    stdout.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, format!("{}\n/usr/bin:/bin\n", room.display()));
    drop(server);
    assert!(!room.exists(), "it goes with the server");
    // Where none can be made, only root can have put anything.
    let command = ServerCommand {
        start: Start::Elsewhere("/proc/no/such".into()),
        ..command
    };
    let mut server = ServerProcess::spawn(&command).unwrap();
    drop(server.take_stdin());
    let mut said = String::new();
    server
        .take_stdout()
        .read_to_string(&mut said)
        .await
        .unwrap();
    assert!(said.starts_with("/\n"), "{said}");
}

/// One that asks for far more than it may have gets none: no process of the server may
/// have more data than four times its cap.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_process_may_ask_for_far_more_memory_than_its_server_may_use() {
    use tokio::io::AsyncWriteExt;
    let mut command = shell("read -r _; ulimit -d; ulimit -v");
    command.caps.memory = Some(1 << 30);
    let mut server = ServerProcess::spawn(&command).unwrap();
    server.take_stdin().write_all(b"now\n").await.unwrap();
    let mut said = String::new();
    server
        .take_stdout()
        .read_to_string(&mut said)
        .await
        .unwrap();
    let said: Vec<&str> = said.lines().collect();
    assert_eq!(said, [(4 << 20).to_string().as_str(), "unlimited"]);
}
