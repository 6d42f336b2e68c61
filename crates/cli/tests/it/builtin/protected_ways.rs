//! Ways around the table: links under protected names, repositories by other
//! names, whole folders, and what a person lifted.

use super::protected::{CANARY, Rig};
use serde_json::json;
use std::{fs, os::unix::fs::symlink};
use switchboard_testkit::world::World;
use switchboard_testkit::{LEGACY, StdioClient};

/// A name that protects is no way in, and neither is what it leads to.
#[tokio::test]
async fn a_link_under_a_protected_name_leads_nowhere() {
    let home = World::repository();
    let link = |target: &str, name: &str| {
        let name = home.path("home").join(name);
        fs::create_dir_all(name.parent().unwrap()).unwrap();
        symlink(target, name).unwrap();
    };
    for (file, name, target) in [
        ("w/sub/cfg/m.json", "w/sub/.mcp.json", "cfg/m.json"),
        ("w/sub/cfg/dev", "w/sub/.envrc", "cfg/dev"),
        ("w/sub/cfg/npmrc", "w/sub/.npmrc", "cfg/npmrc"),
        ("w/sub/k", "w/sub/.ssh/id", "../k"),
        ("w/sub/dir/mcp.json", "w/sub/.cursor", "dir"),
    ] {
        home.write(format!("home/{file}"), CANARY);
        link(target, name);
    }
    for (file, name, target) in [
        (
            "w/scripts/pre-commit",
            "w/.git/hooks/pre-commit",
            "../../scripts/pre-commit",
        ),
        ("w/tasks.json", "w/.vscode/tasks.json", "../tasks.json"),
        (
            "dot/x.service",
            ".config/systemd/user/x.service",
            "../../../dot/x.service",
        ),
        ("src/tool.sh", ".local/bin/tool", "../../src/tool.sh"),
        ("dot/rc", "between", "dot/rc"),
    ] {
        home.write(format!("home/{file}"), "seen");
        link(target, name);
    }
    link("between", ".bashrc");
    let mut rig = Rig::in_home(home, &[]).await;
    for path in [
        "w/sub/.mcp.json",
        "w/sub/cfg/m.json",
        "w/sub/.envrc",
        "w/sub/cfg/dev",
        "w/sub/.npmrc",
        "w/sub/.ssh/id",
        "w/sub/k",
        "w/sub/.cursor/mcp.json",
        "w/sub/dir/mcp.json",
    ] {
        rig.hides(path).await;
    }
    for path in [
        "w/.git/hooks/pre-commit",
        "w/scripts/pre-commit",
        "w/.vscode/tasks.json",
        "w/tasks.json",
        ".config/systemd/user/x.service",
        "dot/x.service",
        ".local/bin/tool",
        "src/tool.sh",
        ".bashrc",
        "between",
        "dot/rc",
    ] {
        let read = rig.does("read", json!({"path": path})).await;
        assert_eq!(read["text"], "seen", "{path}");
        rig.keeps(path).await;
    }
    rig.does("write", json!({"path": "plain", "content": "x"}))
        .await;
    for path in ["between", "dot/rc", "w/tasks.json"] {
        rig.refuses("delete", json!({"path": path})).await;
        let put = json!({"from": "plain", "to": path, "overwrite": true});
        rig.refuses("move", put).await;
    }
    let listed = rig.does("list", json!({"path": "w/sub/cfg"})).await;
    assert_eq!(listed["protected"], 3, "{listed}");
    rig.does("delete", json!({"path": "plain"})).await;
    rig.nothing_changed();
}

/// Nothing is written at a path, whether or not something is there.
async fn unwritten(rig: &mut Rig, path: &str) {
    for mode in ["create", "overwrite", "append"] {
        let evil = json!({"path": path, "content": "EVIL", "mode": mode});
        rig.refuses("write", evil).await;
    }
}

/// Git finds its repository by what is in a folder, not by its name.
#[tokio::test]
async fn a_repository_by_any_name_is_one() {
    let home = World::repository();
    let repository = |folder: &str| {
        home.write(format!("home/{folder}/HEAD"), "ref: refs/heads/main");
        home.write(format!("home/{folder}/config"), CANARY);
        home.write(format!("home/{folder}/hooks/a"), "seen");
        for inner in ["objects", "refs"] {
            fs::create_dir_all(home.path("home").join(folder).join(inner)).unwrap();
        }
    };
    repository("w/.bare");
    repository("w/embedded");
    home.write("home/w/.git", "gitdir: ./.bare\n");
    home.write("home/nest/meta/config", CANARY);
    symlink("meta", home.path("home/nest/.git")).unwrap();
    let mut rig = Rig::in_home(home, &[]).await;
    for path in [
        "w/.bare/config",
        "w/embedded/config",
        "nest/meta/config",
        "nest/.git/config",
    ] {
        rig.hides(path).await;
    }
    for path in [
        "w/.bare/hooks/a",
        "w/.bare/hooks/post-checkout",
        "w/.bare/config.worktree",
        "w/.bare/commondir",
        "w/embedded/hooks/a",
        "w/embedded/HEAD",
        "nest/meta/hooks/pre-commit",
    ] {
        unwritten(&mut rig, path).await;
    }
    rig.nothing_changed();

    // The last piece that would make a folder a repository is refused, whichever it is.
    let pieces = [
        ("HEAD", "HEAD"),
        ("objects", "objects/x"),
        ("refs", "refs/heads/x"),
    ];
    for (last, refused) in pieces {
        for (_, path) in pieces.iter().filter(|(name, _)| *name != last) {
            let piece = json!({"path": format!("docs-{last}/{path}"), "content": "x"});
            rig.does("write", piece).await;
        }
        let configuration = json!({"path": format!("docs-{last}/config"), "content": "x"});
        rig.does("write", configuration).await;
        let path = format!("docs-{last}/{refused}");
        rig.refuses("write", json!({"path": path, "content": "x"}))
            .await;
        rig.does("write", json!({"path": "piece/x", "content": "x"}))
            .await;
        let put = json!({"from": "piece", "to": format!("docs-{last}/{last}")});
        rig.refuses("move", put).await;
    }
    let shared = json!({"path": "docs-refs/commondir", "content": "../w/.bare"});
    rig.refuses("write", shared).await;
}

/// What points at a repository from beside it.
#[tokio::test]
async fn what_working_trees_share_is_protected() {
    let home = World::repository();
    home.write("home/w/tree/.git", "gitdir: meta/worktrees/one\n");
    home.write("home/w/tree/meta/worktrees/one/commondir", "../..\n");
    home.write("home/w/tree/meta/config", CANARY);
    home.write("home/w/tree/meta/modules/m/config", CANARY);
    let mut rig = Rig::in_home(home, &[]).await;
    rig.hides("w/tree/meta/config").await;
    rig.hides("w/tree/meta/modules/m/config").await;
    unwritten(&mut rig, "w/tree/meta/hooks/pre-commit").await;
    unwritten(&mut rig, "w/tree/meta/worktrees/one/commondir").await;
    rig.nothing_changed();
}

#[tokio::test]
async fn no_folder_goes_with_what_is_protected_in_it() {
    let home = World::repository();
    home.write("home/w/p/deep/er/.envrc", CANARY);
    home.write("home/w/q/deep/.vscode/tasks.json", "seen");
    home.write("home/w/plain/deep/a.txt", "seen");
    home.write("home/w/settings/mcp.json", "{}");
    let mut rig = Rig::in_home(home, &[]).await;
    for from in ["w", "w/p", "w/p/deep", "w/q"] {
        rig.refuses("move", json!({"from": from, "to": "taken"}))
            .await;
    }
    let named = json!({"from": "w/settings", "to": "w/.kiro/settings"});
    rig.refuses("move", named).await;
    rig.nothing_changed();
    rig.does("move", json!({"from": "w/plain", "to": "w/moved"}))
        .await;
    let read = rig
        .does("read", json!({"path": "w/moved/deep/a.txt"}))
        .await;
    assert_eq!(read["text"], "seen");
}

/// What is lifted is where it was when a person said so.
#[tokio::test]
async fn a_link_that_appears_later_lifts_nothing() {
    let home = World::repository();
    home.write("home/.ssh/id", CANARY);
    home.write("home/.netrc", CANARY);
    home.write("home/w/.envrc", "MINE=1");
    let at = |path: &str| home.path("home").join(path);
    symlink(at(".ssh"), at("w/l")).unwrap();
    fs::hard_link(at(".netrc"), at("w/h")).unwrap();
    let later = at("w/later").display().to_string();
    let lifted = at("w/.envrc").display().to_string();
    let args = ["--allow-protected", &later, "--allow-protected", &lifted];
    let mut rig = Rig::in_home(home, &args).await;
    let read = rig.does("read", json!({"path": "w/.envrc"})).await;
    assert_eq!(read["text"], "MINE=1");
    rig.does("move", json!({"from": "w/l", "to": "w/later"}))
        .await;
    rig.hides(".ssh/id").await;
    rig.hides("w/later/id").await;
    let put = json!({"from": "w/h", "to": "w/.envrc", "overwrite": true});
    rig.does("move", put).await;
    rig.hides("w/.envrc").await;
    rig.hides(".netrc").await;
}

#[tokio::test]
async fn the_table_knows_what_others_keep_and_run() {
    const SECRET: &[&str] = &[
        ".mcp-auth/mcp-remote-0.1/x_tokens.json",
        ".lmstudio/mcp.json",
        ".bash_history",
        ".zsh_history",
        ".local/share/fish/fish_history",
        ".claude/history.jsonl",
        ".mozilla/firefox/p/logins.json",
        ".config/google-chrome/Default/Cookies",
        ".config/Code/User/globalStorage/state.vscdb",
        ".thunderbird/x/logins.json",
        ".pulumi/credentials.json",
        ".supabase/access-token",
        ".cloudflared/cert.pem",
        ".config/hcloud/cli.toml",
        ".config/ngrok/ngrok.yml",
        ".kube/other",
        ".config/pypoetry/auth.toml",
        ".ivy2/.credentials",
        ".subversion/auth/x",
        ".config/solana/id.json",
        ".bitcoin/wallet.dat",
        ".hgrc",
        "w/.hg/hgrc",
        ".curlrc",
    ];
    const FIXED: &[&str] = &[
        ".local/lib/python3.11/site-packages/usercustomize.py",
        ".cargo/config.toml",
        "w/.cargo/config.toml",
        "w/mise.toml",
        ".config/mise/config.toml",
        ".tmux.conf",
        ".config/sway/config",
        ".config/i3/config",
        ".config/hypr/hyprland.conf",
        ".config/kitty/kitty.conf",
        ".local/share/applications/firefox.desktop",
        ".local/share/dbus-1/services/x.service",
        ".bashrc.d/x",
        ".oh-my-zsh/oh-my-zsh.sh",
        ".nvm/nvm.sh",
        ".pyenv/shims/python",
        ".volta/bin/node",
        ".local/share/pnpm/npx",
        ".docker/cli-plugins/docker-x",
        ".pythonrc",
        ".psqlrc",
        ".ipython/profile_default/startup/x.py",
        "w/.Rprofile",
        "w/.pre-commit-config.yaml",
        "w/lefthook.yml",
        "w/.husky/pre-push",
        "w/.kiro/hooks/x",
        "w/.jj/repo/config.toml",
        "w/.nvim.lua",
        "w/.dir-locals.el",
        "w/.yarn/releases/yarn.cjs",
        "w/.helix/languages.toml",
        ".claude/plugins/x/hooks/hooks.json",
        ".forward",
        "on-path/program",
        "w/on-path-too/program",
    ];
    let home = World::repository();
    for path in SECRET {
        home.write(format!("home/{path}"), CANARY);
    }
    for path in FIXED {
        home.write(format!("home/{path}"), "seen");
    }
    let root = home.path("home");
    let path = std::env::join_paths([
        root.join("on-path"),
        root.join("w/on-path-too"),
        "/usr/bin".into(),
        "/bin".into(),
    ]);
    let program = home
        .launch(&["builtin", "files", "--root"])
        .arg(&root)
        .env("PATH", path.unwrap())
        .cwd(&root);
    let mut client = StdioClient::new(program.spawn());
    client.initialize(LEGACY).await;
    let before = home.everything();
    let mut rig = Rig::with(home, client, before);
    for path in SECRET {
        rig.hides(path).await;
    }
    for path in FIXED {
        let read = rig.does("read", json!({"path": path})).await;
        assert_eq!(read["text"], "seen", "{path}");
        rig.keeps(path).await;
    }
    rig.nothing_changed();
    // What people work on is theirs.
    for path in [
        "w/package.json",
        "w/Makefile",
        "w/.github/workflows/ci.yml",
        "w/CLAUDE.md",
        "w/config",
    ] {
        rig.does("write", json!({"path": path, "content": "x"}))
            .await;
    }
}
