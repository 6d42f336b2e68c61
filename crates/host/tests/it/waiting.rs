//! How long lists wait for a server, when it has kept others waiting before.

use crate::scripted::Scripted;
use bytes::Bytes;
use std::{sync::Arc, time::Duration};
use switchboard_host::{Client, Host, NoSink, catalog::List, permission::Rules};
use switchboard_transport::Budget;
use switchboard_wire::{Revision, name::Style};

/// How long each list waits: long for a server in this process.
const WAIT: Duration = Duration::from_secs(4);

fn client(revision: Revision) -> Arc<Client> {
    let none = Bytes::from_static(b"{}");
    let client = Client::new("p".into(), revision, none, Arc::new(NoSink));
    Arc::new(client)
}

/// A server that has answered is given its whole time again for what nobody has asked
/// for yet, although it was first waited for long ago.
#[tokio::test]
async fn a_server_that_answered_is_waited_for_anew() {
    let host = Host::new(
        vec![Scripted::new("s").spec()],
        Rules::everything_allowed(),
        Style::Short,
        Budget::default(),
    );
    let legacy = client(Revision::NEWEST_LEGACY);
    let (tools, late) = host.merged_within(&legacy, List::Tools, WAIT).await;
    assert!(late.is_empty() && !tools.is_empty(), "{late:?}");
    tokio::time::sleep(WAIT).await;
    let (prompts, late) = host.merged_within(&legacy, List::Prompts, WAIT).await;
    assert!(late.is_empty(), "{late:?}");
    assert_eq!(prompts.len(), 1);
}
