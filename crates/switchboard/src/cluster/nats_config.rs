//! What a NATS server is set up with, for replicas and workers alone.

use std::collections::BTreeSet;

/// The text of a configuration file: what replicas and these workers may use, and how long
/// what they write may be missing on disk. Passwords are to be put in.
pub fn nats_config(workers: &[String]) -> String {
    if workers.is_empty() {
        let text = TEXT.replace("EXPORTS\n", "");
        return text.replace("WORKERS\n", NO_WORKERS);
    }
    let workers: BTreeSet<&String> = workers.iter().collect();
    let each = |text: &str| -> String {
        let of = |name: &&String| text.replace("NAME", name);
        workers.iter().map(of).collect()
    };
    let all: Vec<_> = workers
        .iter()
        .map(|name| format!("\"worker-{name}\""))
        .collect();
    let exports = EXPORTS.replace("ALL", &all.join(", "));
    let exports = exports.replace("OWN\n", &each(OWN));
    TEXT.replace("EXPORTS\n", &exports)
        .replace("WORKERS\n", &each(WORKER))
}

const TEXT: &str = r#"# NATS for a cluster of Switchboard. One file for each of three nodes: put in the names and
# addresses of this one and of the others, and passwords in the place of ROUTE-PASSWORD,
# REPLICA-PASSWORD and those of workers. Replicas say --cluster-creds FILE, with
# replica:PASSWORD in the file; workers the same, with worker-NAME:PASSWORD.
server_name: n1
listen: 0.0.0.0:4222

jetstream {
  store_dir: /var/lib/nats
  # What was acknowledged is on disk, and survives the loss of power of all nodes at once.
  # Without it the last two minutes may be missing then; the death of processes loses
  # nothing either way.
  sync_interval: always
}

cluster {
  name: switchboard
  listen: 0.0.0.0:6222
  authorization { user: route, password: "ROUTE-PASSWORD" }
  routes: [
    "nats://route:ROUTE-PASSWORD@n1.internal:6222"
    "nats://route:ROUTE-PASSWORD@n2.internal:6222"
    "nats://route:ROUTE-PASSWORD@n3.internal:6222"
  ]
}

# Values are sealed before they leave a replica: whoever runs NATS can deny service, and can
# neither read nor forge. TLS keeps passwords and names of sessions' entries to yourselves.
tls {
  cert_file: /etc/nats/server.pem
  key_file: /etc/nats/server.key
}

accounts {
  SWITCHBOARD {
    jetstream: enabled
    users: [
      {
        user: replica, password: "REPLICA-PASSWORD"
        permissions {
          publish: [
            "sb.>"
            "$JS.API.INFO"
            "$JS.API.STREAM.*.SWITCHBOARD_ENTRIES", "$JS.API.STREAM.*.SWITCHBOARD_EVENTS"
            "$JS.API.STREAM.MSG.*.SWITCHBOARD_ENTRIES", "$JS.API.STREAM.MSG.*.SWITCHBOARD_EVENTS"
            "$JS.API.CONSUMER.CREATE.SWITCHBOARD_ENTRIES", "$JS.API.CONSUMER.CREATE.SWITCHBOARD_EVENTS"
            "$JS.API.CONSUMER.*.SWITCHBOARD_ENTRIES.>", "$JS.API.CONSUMER.*.SWITCHBOARD_EVENTS.>"
            "$JS.API.CONSUMER.MSG.NEXT.SWITCHBOARD_ENTRIES.>"
            "$JS.API.CONSUMER.MSG.NEXT.SWITCHBOARD_EVENTS.>"
          ]
          # Where replicas cannot dial each other, what is for them goes this way.
          # Answers are heard by whom they are for: workers hear none of these.
          subscribe: ["_INBOX.replica.>", "sb.post.>"]
          allow_responses: true
        }
      }
    ]
EXPORTS
  }
WORKERS
}
"#;

const NO_WORKERS: &str =
    "  # Workers: switchboard cluster nats-config --worker NAME prints an account for each.\n";

/// What workers may reach of what replicas have.
const EXPORTS: &str = r#"    # What workers may ask here: who is there, and which of them runs a server.
    exports: [
OWN
      { service: "sb.kv.places.*", accounts: [ALL] }
      { service: "$JS.API.STREAM.INFO.SWITCHBOARD_ENTRIES", accounts: [ALL] }
      { service: "$JS.API.STREAM.INFO.SWITCHBOARD_EVENTS", accounts: [ALL] }
      { service: "$JS.API.STREAM.MSG.GET.SWITCHBOARD_ENTRIES", accounts: [ALL] }
    ]
"#;

/// What one worker alone may write.
const OWN: &str = r#"      { service: "sb.kv.outposts.NAME", accounts: ["worker-NAME"] }
"#;

/// One worker.
const WORKER: &str = r#"  # It reads who is there, writes what it says of itself and which servers it runs, and hears
  # what is for it alone. Nothing else of the replicas' account can be named from here, not
  # even as where an answer is to go.
  "worker-NAME" {
    users: [
      {
        user: worker-NAME, password: "PASSWORD-OF-NAME"
        permissions {
          publish: [
            "sb.kv.outposts.NAME", "sb.kv.places.*"
            "sb.js.STREAM.INFO.SWITCHBOARD_ENTRIES", "sb.js.STREAM.INFO.SWITCHBOARD_EVENTS"
            "sb.js.STREAM.MSG.GET.SWITCHBOARD_ENTRIES"
          ]
          subscribe: ["_INBOX.worker.NAME.>"]
        }
      }
    ]
    imports: [
      { service: { account: SWITCHBOARD, subject: "sb.kv.outposts.NAME" } }
      { service: { account: SWITCHBOARD, subject: "sb.kv.places.*" } }
      { service: { account: SWITCHBOARD, subject: "$JS.API.STREAM.INFO.SWITCHBOARD_ENTRIES" }
        to: "sb.js.STREAM.INFO.SWITCHBOARD_ENTRIES" }
      { service: { account: SWITCHBOARD, subject: "$JS.API.STREAM.INFO.SWITCHBOARD_EVENTS" }
        to: "sb.js.STREAM.INFO.SWITCHBOARD_EVENTS" }
      { service: { account: SWITCHBOARD, subject: "$JS.API.STREAM.MSG.GET.SWITCHBOARD_ENTRIES" }
        to: "sb.js.STREAM.MSG.GET.SWITCHBOARD_ENTRIES" }
    ]
  }
"#;
