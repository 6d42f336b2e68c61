//! What a NATS server is set up with, for replicas and workers alone.

/// The text of a configuration file: what replicas and these workers may use, and how long
/// what they write may be missing on disk. Passwords are to be put in.
pub fn nats_config(workers: &[String]) -> String {
    let each = workers.iter().map(|name| WORKER.replace("NAME", name));
    let each: String = match workers.is_empty() {
        true => NO_WORKERS.to_owned(),
        false => each.collect(),
    };
    TEXT.replace("WORKERS\n", &each)
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
WORKERS
    ]
  }
}
"#;

const NO_WORKERS: &str =
    "      # Workers: switchboard cluster nats-config --worker NAME prints an account for each.\n";

/// One worker.
const WORKER: &str = r#"      # It reads who is there, writes what it says of itself and which servers it runs, and hears
      # what is for it alone.
      {
        user: worker-NAME, password: "PASSWORD-OF-NAME"
        permissions {
          publish: [
            "sb.kv.outposts.NAME", "sb.kv.places.*"
            "$JS.API.INFO"
            "$JS.API.STREAM.INFO.SWITCHBOARD_ENTRIES", "$JS.API.STREAM.INFO.SWITCHBOARD_EVENTS"
            "$JS.API.STREAM.MSG.GET.SWITCHBOARD_ENTRIES"
            "$JS.API.CONSUMER.CREATE.SWITCHBOARD_ENTRIES.*.sb.kv.nodes.*"
            "$JS.API.CONSUMER.DELETE.SWITCHBOARD_ENTRIES.*"
            "$JS.API.CONSUMER.MSG.NEXT.SWITCHBOARD_ENTRIES.*"
          ]
          subscribe: ["_INBOX.worker.NAME.>"]
        }
      }
"#;
