//! Coming in: connecting to NATS, and making what is kept there.

use super::{Nats, Shared, Streams, fault, line::Line, names};
use crate::{LedgerError, limits};
use async_nats::{
    Client, ConnectOptions, Event, ServerAddr,
    connection::State,
    jetstream::{
        Context, ErrorCode,
        context::{ContextBuilder, CreateStreamError, CreateStreamErrorKind},
        stream::{Config, DiscardPolicy, StorageType, Stream},
    },
};
use parking_lot::Mutex;
use std::{
    future::ready,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::OnceCell;

/// Where NATS is, and how it lets us in.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// Addresses of its nodes; any of them will do.
    pub servers: Vec<String>,
    /// A file with credentials as NATS makes them, or with a name and a password and a
    /// colon between them.
    pub credentials: Option<PathBuf>,
    /// A file with authorities (PEM), besides those of this machine.
    pub authorities: Option<PathBuf>,
    /// The worker that this is, if it is not a replica. NATS gives it fewer rights.
    pub worker: Option<String>,
}

/// What is done where NATS cannot be reached at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// That is an error.
    Now,
    /// It is tried again and again; meanwhile nothing can be read or written.
    Later,
}

/// The names of the streams, and how many copies a cluster of NATS holds of each.
const ENTRIES: &str = "SWITCHBOARD_ENTRIES";
const EVENTS: &str = "SWITCHBOARD_EVENTS";
const COPIES: usize = 3; // tidy: a choice

impl Nats {
    /// Joins those who share this store.
    pub async fn join(store: &Store, joining: Joining) -> Result<Self, LedgerError> {
        let servers: Result<Vec<ServerAddr>, _> =
            store.servers.iter().map(|server| server.parse()).collect();
        let mut options = ConnectOptions::new();
        if let Some(file) = &store.credentials {
            options = let_in(options, file).await?;
        }
        if let Some(file) = &store.authorities {
            options = options.add_root_certificates(file.clone());
        }
        if joining == Joining::Later {
            options = options.retry_on_initial_connect();
        }
        let denied = Arc::<Mutex<Option<String>>>::default();
        let says = denied.clone();
        let options = options
            .name("switchboard")
            .custom_inbox_prefix(names::answers(store.worker.as_deref()))
            .connection_timeout(limits::NATS_ANSWER)
            .request_timeout(Some(limits::NATS_ANSWER))
            .reconnect_delay_callback(pause)
            .event_callback(move |event| {
                tell(&event, &says);
                ready(())
            });
        let client = options.connect(servers.map_err(fault)?).await;
        let client = client.map_err(fault)?;
        let prefix = match store.worker.is_some() && has_imported(&client).await {
            true => names::IMPORTED,
            false => names::OWN,
        };
        // What was asked to find that out does not count.
        *denied.lock() = None;
        let context = ContextBuilder::new()
            .api_prefix(prefix)
            .timeout(limits::NATS_ANSWER)
            .ack_timeout(limits::NATS_ANSWER)
            .max_ack_inflight(limits::NATS_ASKED)
            .backpressure_on_inflight(true)
            .build(client.clone());
        let shared = Arc::new(Shared {
            unheard: client.new_inbox(),
            client,
            context,
            denied,
            has_readers: store.worker.is_none(),
            streams: OnceCell::new(),
            counts: Mutex::default(),
        });
        if joining == Joining::Now {
            shared.streams().await?;
        }
        Ok(Self {
            line: Line::new(shared.clone()),
            shared,
            changed: Arc::default(),
        })
    }
}

async fn let_in(options: ConnectOptions, file: &Path) -> Result<ConnectOptions, LedgerError> {
    let bad = |why: &dyn std::fmt::Display| fault(format!("{}: {why}", file.display()));
    let text = tokio::fs::read_to_string(file).await;
    let text = text.map_err(|why| bad(&why))?;
    if text.contains("BEGIN NATS USER JWT") {
        return options.credentials(&text).map_err(|why| bad(&why));
    }
    let Some((name, password)) = text.trim().split_once(':') else {
        return Err(bad(&"it has neither credentials nor a name and a password"));
    };
    Ok(options.user_and_password(name.to_owned(), password.to_owned()))
}

/// Whether we are in an account of our own, with what is kept in the replicas' imported. Nobody
/// answers where it is not.
async fn has_imported(client: &Client) -> bool {
    let asked = format!("{}.STREAM.INFO.{ENTRIES}", names::IMPORTED);
    client.request(asked, bytes::Bytes::new()).await.is_ok()
}

/// What NATS says where an account lacks a right.
const VIOLATION: &str = "permissions violation";

/// Soon at first, and never long.
fn pause(attempts: usize) -> Duration {
    let pause = limits::NATS_LOOK * u32::try_from(attempts).unwrap_or(u32::MAX).min(1000);
    pause.min(limits::NATS_AGAIN)
}

fn tell(event: &Event, denied: &Mutex<Option<String>>) {
    if let Event::ServerError(fault) = event
        && fault.to_string().to_lowercase().contains(VIOLATION)
    {
        *denied.lock() = Some(fault.to_string());
    }
    match event {
        Event::Connected => tracing::info!("connected to NATS"),
        Event::Disconnected => tracing::warn!("the connection to NATS is lost; it is tried again"),
        Event::ServerError(fault) => tracing::warn!(%fault, "NATS says that something is wrong"),
        other => tracing::debug!(event = %other, "NATS"),
    }
}

impl Shared {
    /// What is kept there; made where it is missing. Waits for a moment where we are
    /// not connected: that mostly means that one of several nodes has gone.
    pub(super) async fn streams(&self) -> Result<&Streams, LedgerError> {
        let begun = Instant::now();
        while self.client.connection_state() != State::Connected {
            if begun.elapsed() > limits::NATS_AGAIN {
                return Err(fault("it cannot be reached"));
            }
            tokio::time::sleep(limits::NATS_LOOK).await;
        }
        if !self.client.server_info().jetstream {
            return Err(fault("JetStream is not enabled there"));
        }
        let make = || make(&self.client, &self.context, &self.denied);
        let made = self.streams.get_or_try_init(make).await;
        made.map_err(|fault| self.told(fault))
    }
}

async fn make(
    client: &Client,
    context: &Context,
    denied: &Mutex<Option<String>>,
) -> Result<Streams, LedgerError> {
    let copies = match client.server_info().cluster {
        Some(_) => COPIES,
        None => 1,
    };
    let entries = Config {
        name: ENTRIES.to_owned(),
        description: Some("What Switchboard's replicas share".to_owned()),
        subjects: vec![format!("{}.>", names::ENTRIES)],
        max_messages_per_subject: 1,
        ..kept(copies)
    };
    let events = Config {
        name: EVENTS.to_owned(),
        description: Some("Events of Switchboard's sessions".to_owned()),
        subjects: vec![format!("{}.>", names::EVENTS)],
        max_messages_per_subject: limits::NATS_ITEMS,
        ..kept(copies)
    };
    Ok(Streams {
        entries: opened(context, entries, denied).await?,
        events: opened(context, events, denied).await?,
    })
}

fn kept(copies: usize) -> Config {
    Config {
        storage: StorageType::File,
        discard: DiscardPolicy::Old,
        num_replicas: copies,
        allow_message_ttl: true,
        // Read where the leader is.
        allow_direct: false,
        ..Config::default()
    }
}

/// The stream as it is, or a new one. Nodes of NATS that start together are waited for, and so is
/// the choice of who leads; a cluster that stays too small holds one copy.
async fn opened(
    context: &Context,
    config: Config,
    denied: &Mutex<Option<String>>,
) -> Result<Stream, LedgerError> {
    let begun = Instant::now();
    loop {
        if let Ok(there) = context.get_stream(&config.name).await {
            return Ok(there);
        }
        // Waiting gives nobody a right.
        if let Some(why) = denied.lock().take() {
            return Err(fault(why));
        }
        let mut why = match context.create_stream(config.clone()).await {
            Ok(made) => return Ok(made),
            Err(why) => why,
        };
        let is_small = says(&why, ErrorCode::CLUSTER_NO_PEERS) && config.num_replicas > 1;
        if is_small && begun.elapsed() >= limits::NATS_GATHERS {
            why = match alone(context, config.clone(), &why).await {
                Ok(made) => return Ok(made),
                // There is one with more copies, which nobody leads just now.
                Err(why) if says(&why, ErrorCode::STREAM_NAME_EXIST) => why,
                Err(why) => return Err(fault(why)),
            };
        }
        if begun.elapsed() >= limits::NATS_LEADS {
            return Err(fault(why));
        }
        tokio::time::sleep(limits::NATS_LOOK * 10).await;
    }
}

/// Whether it is this that NATS says.
fn says(why: &CreateStreamError, code: ErrorCode) -> bool {
    matches!(why.kind(), CreateStreamErrorKind::JetStream(fault) if fault.error_code() == code)
}

async fn alone(
    context: &Context,
    config: Config,
    why: &CreateStreamError,
) -> Result<Stream, CreateStreamError> {
    let num_replicas = 1;
    let made = context.create_stream(Config {
        num_replicas,
        ..config
    });
    let made = made.await?;
    tracing::warn!(%why, "NATS holds one copy only of what replicas share: the node that has it must not be lost");
    Ok(made)
}
