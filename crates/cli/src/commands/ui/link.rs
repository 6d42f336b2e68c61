//! The gateway that the screen is about: one that runs, else one inside this process, which
//! nobody else finds and which ends with the screen. Both are asked in the same way.

use super::beside;
use crate::{context::Context, failure::Failure, limits, trusting};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    net::Ipv4Addr,
    sync::{Arc, Weak},
};
use switchboard::{
    Caller, Fronted, Listen, Member, Options, Pools, Purpose, Show, Status,
    api::{Client, ClientError},
    host::Server,
    report, tasks,
};
use switchboard_api::{
    fill::{Fill, fill},
    sessions::{Code, Entered},
};
use switchboard_screen::{Link, Message};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// Whoever answers now.
pub type Line = Arc<Mutex<Option<Client>>>;

/// Where a gateway is to be had.
pub enum Source {
    /// One runs, and others may take its place.
    Running,
    /// None does: this one is begun inside.
    Inside(Box<Fronted>),
    /// The one that this process is.
    Own(Client),
}

impl Source {
    /// Looks for a gateway; where there is none, whatever is configured here is assembled.
    /// That may ask something, so it comes before the terminal is taken.
    pub fn choose(context: &Context) -> Result<Self, Failure> {
        if !context.options.direct && Client::find(&context.options).is_ok() {
            return Ok(Self::Running);
        }
        let config = trusting::asked(context, context.config()?)?;
        let approved = config.approve(&context.options.approvals());
        let governed = approved.govern(None, Purpose::Gateway)?;
        let show = Show {
            hidden: true,
            word: "short".to_owned(),
            ..Show::default()
        };
        Ok(Self::Inside(Box::new(governed.gateway(show))))
    }

    /// Begins to listen to it.
    pub fn begin(
        self,
        context: &Context,
        tell: &mpsc::Sender<Message>,
        ending: &CancellationToken,
    ) -> Result<Host, Failure> {
        let line = Line::default();
        let (here, host) = match self {
            Self::Running => (None, None),
            Self::Inside(fronted) => {
                let (client, host) = begin_inside(context, *fronted, ending)?;
                (Some((client, Link::Inside)), Some(host))
            }
            Self::Own(client) => {
                let link = attached(&client);
                (Some((client, link)), None)
            }
        };
        let follow = follow(context.options.clone(), here, line.clone(), tell.clone());
        let follow = beside(tasks::Kind::Upkeep, follow);
        Ok(Host {
            line,
            host,
            _follow: AbortOnDropHandle::new(follow),
        })
    }
}

/// A gateway that is listened to.
pub struct Host {
    line: Line,
    host: Option<JoinHandle<()>>,
    _follow: AbortOnDropHandle<()>,
}

impl Host {
    /// Whoever answers now.
    pub fn line(&self) -> Line {
        self.line.clone()
    }

    /// Waits until the servers of the host inside have ended.
    pub async fn end(self) {
        if let Some(host) = self.host {
            let _ = timeout(limits::HOST_END, host).await;
        }
    }
}

fn attached(client: &Client) -> Link {
    Link::Attached {
        address: client.running.address.clone(),
    }
}

/// A gateway in this process, on a port that nobody is told.
fn begin_inside(
    context: &Context,
    fronted: Fronted,
    ending: &CancellationToken,
) -> Result<(Client, JoinHandle<()>), Failure> {
    let listen = Listen {
        http: Some((Ipv4Addr::LOCALHOST, 0).into()),
        ..Listen::default()
    };
    let listening = fronted.listen(listen.doors(&context.options)?)?;
    let client = listening.client();
    let client = client.ok_or_else(|| Failure::usage("there is no address"))?;
    let stop = ending.clone();
    let governed = listening.governed();
    let caller = Caller::shared_as(governed.host().clone(), "default");
    let meeting = meet_all(
        Arc::new(caller),
        Arc::new(Pools::new(governed.settings())),
        governed.follower().members(),
    );
    let host = beside(tasks::Kind::Upkeep, async move {
        let served = tokio::select! {
            served = listening.serve(stop) => served,
            never = meeting => match never {},
        };
        if let Err(error) = served {
            tracing::error!(%error, "the host inside has ended");
        }
    });
    Ok((client, host))
}

/// Whoever opens the screen wants to see what works: each server of the host inside is met
/// once, also those that come later. A gateway's own are left as they are.
async fn meet_all(
    caller: Arc<Caller>,
    pools: Arc<Pools>,
    mut members: watch::Receiver<Vec<Member>>,
) -> Infallible {
    let mut met: Vec<Weak<Server>> = Vec::new();
    loop {
        met.retain(|server| server.strong_count() > 0);
        for member in members.borrow_and_update().iter() {
            let Status::Server(server) = &member.status else {
                continue;
            };
            if met
                .iter()
                .any(|known| known.as_ptr() == Arc::as_ptr(server))
            {
                continue;
            }
            met.push(Arc::downgrade(server));
            let (caller, pools, server) = (caller.clone(), pools.clone(), server.clone());
            beside(tasks::Kind::Background, async move {
                let remote = server.spec.target.is_remote();
                pools.run(remote, report(&caller, &server)).await;
            });
        }
        if members.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Tells what changes at the gateway, and finds another one when it goes.
async fn follow(
    options: Options,
    here: Option<(Client, Link)>,
    line: Line,
    tell: mpsc::Sender<Message>,
) {
    let mut lost = false;
    loop {
        let found = match &here {
            Some(here) => Ok(here.clone()),
            None => Client::find(&options).map(|client| {
                let link = attached(&client);
                (client, link)
            }),
        };
        let why = match found {
            Ok((client, link)) => match listen(client, link, &line, &tell, &mut lost).await {
                Ok(()) => "it ended".to_owned(),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        *line.lock() = None;
        // It is said once, however often it is looked for.
        if !lost {
            lost = true;
            let told = tell.send(Message::Linked(Link::Lost { why }));
            if told.await.is_err() {
                return;
            }
        }
        tokio::time::sleep(limits::GATEWAY_LOOK).await;
    }
}

/// Listens to one gateway as long as it is there.
async fn listen(
    client: Client,
    link: Link,
    line: &Line,
    tell: &mpsc::Sender<Message>,
    lost: &mut bool,
) -> Result<(), ClientError> {
    let client = enter(client).await?;
    let mut events = client.events("topics=state,calls,questions").await?;
    *line.lock() = Some(client);
    *lost = false;
    // What changes from here on is heard, so that nothing is missed when all is read now.
    if tell.send(Message::Linked(link)).await.is_err() {
        return Ok(());
    }
    while let Some((_, event)) = events.next().await? {
        let told = tell.send(Message::Changed(Box::new(event)));
        if told.await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// A person sits at this terminal: with a session of its own, what is to be run can be
/// approved here, as it can on the page in a browser.
async fn enter(client: Client) -> Result<Client, ClientError> {
    let (mut code, mut entered) = (Code::default(), Entered::default());
    match asked(&client, "codes", json!({}), &mut code).await {
        Ok(()) => {}
        Err(ClientError::Refused(..)) => return Ok(client),
        Err(error) => return Err(error),
    }
    let code = json!({ "code": code.code });
    asked(&client, "session", code, &mut entered).await?;
    Ok(client.with_bearer(entered.token))
}

/// Sends something, and fills in what is answered.
async fn asked(
    client: &Client,
    path: &str,
    body: Value,
    answer: &mut (dyn Fill + Send),
) -> Result<(), ClientError> {
    let text = client.text("POST", path, body.to_string(), false).await?;
    fill(answer, &text).map_err(|error| ClientError::Unfit(error.to_string()))
}
