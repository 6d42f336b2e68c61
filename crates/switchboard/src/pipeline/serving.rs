//! Governed servers in front of clients: on our own streams, in this process, or on
//! network addresses, where other commands find, use and control them. All of them
//! follow the files that the servers were made of, and end the servers in the end.

use super::{Governed, Options};
use crate::{
    VERSION,
    api::{Api, Client, Frames, May},
    applied::{self, Following},
    console,
    control::GatewayControl,
    handover::Handing,
    kept::keeping,
    listen::{self, Doors, ListenError, Open},
    pools::Pools,
    required,
    running::{self, Note, RENEWAL, Running},
    tokens,
    watching::{Watch, WatchError, Watching},
};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};
use switchboard_agent::Caller;
use switchboard_config::{Inbox, Webhook};
use switchboard_gateway::{
    Cluster, ControlAccess, Gateway, GatewayOptions, Keeping, ToolLists, Visitors, faces,
};
use switchboard_host::desk::AskAt;
use switchboard_transport::in_process::End;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

/// How servers are shown to clients.
#[derive(Clone, Debug, Default)]
pub struct Show {
    /// The one server that clients use under its own names unless they name another.
    pub single: Option<Arc<str>>,
    /// What clients of all servers as one are shown of the tools.
    pub tools: ToolLists,
    /// How tools are named and shown, as a word: a client that wants the same can be
    /// led here by other commands.
    pub word: String,
    /// Whether these servers were chosen, so that no others may come on top.
    pub chosen: bool,
    /// Whether clients' entries lead here: it is what `up` serves.
    pub by_up: bool,
    /// How what passes through is watched.
    pub watch: Watch,
    /// Who is asked what a person has to answer, where that is said for this gateway.
    pub ask_at: Option<AskAt>,
    /// Whether settings may not be changed over the API.
    pub no_api_edit: bool,
    /// Whether nobody else is to find it: it leaves no note, and its control token is
    /// nowhere but in this process.
    pub hidden: bool,
}

/// Servers in front of which a gateway will stand.
pub struct Fronted {
    pub(super) governed: Governed,
    pub(super) show: Show,
}

impl Governed {
    /// A gateway in front of these servers.
    pub fn gateway(self, show: Show) -> Fronted {
        self.host().desk().set_face(show.ask_at);
        Fronted {
            governed: self,
            show,
        }
    }
}

impl Fronted {
    /// The servers.
    pub fn governed(&self) -> &Governed {
        &self.governed
    }

    /// Serves whoever started us, on our own streams, until the input ends or `stop`
    /// fires.
    pub async fn stdio(self, stop: CancellationToken) -> io::Result<()> {
        let watching = self.watching(false)?;
        let serve = faces::stdio::serve(
            self.face(None, Visitors::default(), Arc::default(), (None, None)),
            stop.clone(),
        );
        let served = Box::pin(self.governed.while_following(serve, None, stop)).await;
        self.close(&watching).await;
        served
    }

    /// Serves any pair of streams in the same way.
    pub async fn streams(
        self,
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let watching = self.watching(false)?;
        let serve = faces::stdio::serve_streams(
            self.face(None, Visitors::default(), Arc::default(), (None, None)),
            read,
            write,
            stop.clone(),
        );
        let served = Box::pin(self.governed.while_following(serve, None, stop)).await;
        self.close(&watching).await;
        served
    }

    /// Runs these servers for the replicas of a cluster, until `stop` fires.
    #[cfg(feature = "cluster")]
    pub async fn work(
        self,
        hired: crate::cluster::Hired,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let watching = self.watching(false)?;
        let face = self.face(None, Visitors::default(), Arc::default(), (None, None));
        let serve = hired.serve(face, stop.clone());
        Box::pin(self.governed.while_following(serve, None, stop)).await;
        self.close(&watching).await;
        Ok(())
    }

    /// Serves a client in this process: the one at the other end of a linked pair.
    pub async fn in_process(
        self,
        end: End,
        principal: impl Into<Arc<str>>,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let watching = self.watching(false)?;
        let (face, single) = (
            self.face(None, Visitors::default(), Arc::default(), (None, None)),
            self.show.single.clone(),
        );
        let stopped = stop.clone();
        let principal = principal.into();
        let serve = async move {
            let single = single.as_deref();
            faces::in_process::serve(face, end, principal, single, stopped).await;
        };
        self.governed.while_following(serve, None, stop).await;
        self.close(&watching).await;
        Ok(())
    }

    /// Listens where these doors are. Nobody is served before
    /// [`serve`](Listening::serve).
    pub fn listen(self, mut doors: Doors) -> Result<Listening, ListenError> {
        let watching = self.watching(true)?;
        if let Some(address) = watching.metrics_at() {
            doors.add_metrics(address)?;
        }
        let may = May {
            open: doors.is_open,
            edit: !self.show.no_api_edit,
        };
        let findable = Findable::new(&self, &doors, &watching, may)?;
        let (control, visitors) = (findable.control.clone(), findable.visitors.clone());
        let variables = &self.governed.options().variables;
        let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| variables.get(name).is_some_and(|value| !value.is_empty()));
        let inbox = self.governed.inbox();
        let webhook = webhook(self.governed.options(), inbox);
        findable.api.out.say(inbox, webhook, has_display);
        let mut following = None;
        let (cluster, keeping) = match doors.joined.take() {
            Some(joined) => {
                following = Following::begin(&joined, &self.governed);
                watching.share(joined.cluster.records());
                self.governed.options().far_way.set(joined.cluster.way());
                let sign_ins = Arc::new(joined.cluster.sign_ins().clone());
                self.governed.options().sign_ins.set(sign_ins);
                (Some(joined.cluster), Some(joined.keeping))
            }
            None if self.show.hidden => (None, None),
            None => (None, keeping(self.governed.options())),
        };
        let mut life = None;
        if let Some(keeping) = &keeping {
            life = Some(keeping.life().to_owned());
            let before = doors.taken_over.as_ref();
            if let Some(before) = before.and_then(|before| before.life.as_deref()) {
                keeping.follows(before);
            }
        }
        let face = self.face(
            Some(control),
            visitors,
            findable.api.frames.clone(),
            (keeping, cluster),
        );
        let bearer = findable.control.token.clone();
        let (token, principal) = (doors.token.clone(), doors.principal.clone());
        // Somebody can look at what waits from now on.
        self.governed.host().desk().open();
        let open = doors.open()?;
        let whole = open.iter().find(|open| open.is_whole()).map(Open::address);
        let api = findable.api.clone();
        if let Some(address) = open.iter().find(|open| open.has_api()).map(Open::address) {
            api.listens_at(address);
        }
        // Before anybody is told where it listens: whoever comes then is led here.
        let note = whole.and_then(|address| findable.running(&self, address, token));
        let note = note.and_then(|running| running.found_by_others(self.governed.options()));
        Ok(Listening {
            fronted: self,
            face,
            open,
            note,
            watching,
            api,
            principal,
            bearer,
            life,
            following,
        })
    }

    /// Begins to watch what passes through.
    fn watching(&self, listens: bool) -> Result<Arc<Watching>, WatchError> {
        Watching::begin(&self.show.watch, &self.governed, listens)
    }

    /// Ends the servers, and then what watched them.
    async fn close(&self, watching: &Watching) {
        self.governed.close().await;
        watching.close().await;
    }

    fn face(
        &self,
        control: Option<ControlAccess>,
        visitors: Visitors,
        frames: Arc<Frames>,
        (keeping, cluster): (Option<Keeping>, Option<Arc<Cluster>>),
    ) -> Arc<Gateway> {
        let options = GatewayOptions {
            version: VERSION.to_owned(),
            // Over a network every server has a path of its own.
            single: self.show.single.clone().filter(|_| control.is_none()),
            control,
            announcement: self.governed.announcement().clone(),
            tools: self.show.tools.clone(),
            visitors,
            pages: console::pages(self.governed.options(), frames),
            keeping,
            cluster,
            ..GatewayOptions::default()
        };
        Gateway::new(self.governed.host().clone(), options)
    }
}

impl Governed {
    /// Serves, and follows the files meanwhile.
    async fn while_following<T>(
        &self,
        serve: impl Future<Output = T>,
        note: Option<&Note>,
        stop: CancellationToken,
    ) -> T {
        tokio::pin!(serve);
        let follow = async {
            tokio::join!(
                self.follower().follow(stop.clone()),
                keep(note, stop.clone())
            )
        };
        tokio::select! {
            served = &mut serve => served,
            _ = follow => serve.await,
        }
    }
}

/// A gateway that listens on network addresses. A note says so where commands look for it.
pub struct Listening {
    fronted: Fronted,
    face: Arc<Gateway>,
    open: Vec<Open>,
    note: Option<Note>,
    watching: Arc<Watching>,
    api: Arc<Api>,
    /// On whose behalf servers are connected that must be there.
    principal: String,
    /// What opens its API.
    bearer: String,
    /// Whose its sessions are, where they are kept.
    life: Option<String>,
    /// What was applied to all replicas.
    following: Option<Following>,
}

impl Listening {
    /// The servers.
    pub fn governed(&self) -> &Governed {
        &self.fronted.governed
    }

    /// Where somebody listens.
    pub fn places(&self) -> &[Open] {
        &self.open
    }

    /// Whoever asks it from inside this process, if it listens where it can be asked.
    pub fn client(&self) -> Option<Client> {
        let open = self.open.iter().find(|open| open.has_api())?;
        let directory = self.governed().options().directory.clone();
        Some(Client::at(open.address(), directory, self.bearer.clone()))
    }

    /// The address of its page, with a code that opens it once, within a minute; none
    /// where it has no page.
    pub fn console(&self) -> Option<String> {
        self.face.has_pages().then(|| self.api.console())?
    }

    /// Serves until it is told to stop; then what is in flight may finish, and the
    /// servers end.
    pub async fn serve(self, stop: CancellationToken) -> io::Result<()> {
        let governed = &self.fronted.governed;
        let note = self.note;
        let handing = handing(governed, note.as_ref(), &self.open, self.life.clone());
        let caller = Caller::shared_as(governed.host().clone(), &self.principal);
        let pools = Pools::new(governed.settings());
        let members = governed.follower().members();
        let serve = async {
            let serve = listen::serve(&self.face, self.open, &stop);
            let keep = required::keep(members, caller, pools, stop.clone());
            let follow = applied::follow(self.following, stop.clone());
            tokio::join!(serve, keep, give_way(handing, &stop), follow).0
        };
        let following = governed.while_following(serve, note.as_ref(), stop.clone());
        let served = following.await;
        // Nobody is to be led here while the servers end.
        drop(note);
        self.fronted.close(&self.watching).await;
        served
    }
}

/// What other commands find, use and control a gateway by.
struct Findable {
    control: ControlAccess,
    /// What answers under `/api/v1/`.
    api: Arc<Api>,
    /// Where it is noted who is connected.
    visitors: Visitors,
    /// Whether other commands find the token where it is kept.
    is_kept: bool,
}

impl Findable {
    /// For these servers. Where the doors need no home of ours, in a container, say,
    /// this does without one as well.
    fn new(
        fronted: &Fronted,
        doors: &Doors,
        watching: &Arc<Watching>,
        may: May,
    ) -> Result<Self, ListenError> {
        let governed = &fronted.governed;
        let options = governed.options();
        let (token, is_kept) = match tokens::control(&options.dirs()?) {
            _ if fronted.show.hidden => (tokens::random()?, false),
            Ok(token) => (token, true),
            Err(error) if doors.alone => {
                options.tell.warn(&format!(
                    "{error}; other commands cannot find or control this gateway"
                ));
                (tokens::random()?, false)
            }
            Err(error) => return Err(error.into()),
        };
        let follower = governed.follower().clone();
        let reload = Arc::new(move || follower.reload());
        let principal = &doors.principal;
        let (watching, people) = (watching.clone(), doors.people.clone());
        let control = GatewayControl::new(governed, principal, reload, watching, may, people);
        Ok(Self {
            visitors: control.visitors().clone(),
            api: control.api().clone(),
            control: ControlAccess {
                token,
                control: Arc::new(control),
            },
            is_kept,
        })
    }

    /// What its note says. An address that this machine cannot be sure of has none.
    fn running(
        &self,
        fronted: &Fronted,
        mut address: SocketAddr,
        client_token: Option<PathBuf>,
    ) -> Option<Running> {
        let options = fronted.governed.options();
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        if !address.ip().is_loopback() || !self.is_kept {
            return None;
        }
        Some(Running {
            address: address.to_string(),
            pid: i32::try_from(std::process::id()).ok()?,
            names: fronted.show.word.clone(),
            client_token,
            control_token: tokens::control_file(&options.dirs().ok()?),
            directory: options.directory.clone(),
            version: VERSION.to_owned(),
            by_up: fronted.show.by_up,
        })
    }
}

/// The webhook that settings name, with what it refers to filled in.
fn webhook(options: &Options, inbox: &Inbox) -> Option<Webhook> {
    let written = inbox.webhook.as_ref()?;
    if written.is_written_out() {
        options.tell.warn(
            "the secret of approvals.webhook stands in the settings as it is: \
             \"${VAR}\" or \"${file:/path}\" keeps it elsewhere",
        );
    }
    let home = options.places().and_then(|places| places.home);
    let lookup = |name: &str| options.variables.get(name)?.into_string().ok();
    match written.filled(&lookup, &home.unwrap_or_default()) {
        Ok(webhook) => Some(webhook),
        Err(wrong) => {
            let text = format!("approvals.webhook: {wrong}; nobody is told by it what waits");
            options.tell.warn(&text);
            None
        }
    }
}

/// What hands its sockets over, where others find it.
fn handing(
    governed: &Governed,
    note: Option<&Note>,
    open: &[Open],
    life: Option<String>,
) -> Option<Handing> {
    let folder = running::folder(&governed.options().dirs().ok()?);
    let handing = note.map(|_| Handing::open(&folder, open, life))?;
    let told = handing.inspect_err(|fault| {
        tracing::info!(%fault, "this gateway cannot be replaced without a pause");
    });
    told.ok()
}

/// Stops once another serves in our place.
async fn give_way(handing: Option<Handing>, stop: &CancellationToken) {
    let Some(handing) = handing else { return };
    tokio::select! {
        () = handing.taken() => {
            tracing::info!("another gateway serves in our place");
            stop.cancel();
        }
        () = stop.cancelled() => {}
    }
}

/// Writes the note again where somebody or something damaged it.
async fn keep(note: Option<&Note>, stop: CancellationToken) {
    let Some(note) = note else { return };
    while stop
        .run_until_cancelled(tokio::time::sleep(RENEWAL))
        .await
        .is_some()
    {
        match note.renew() {
            Ok(false) => {}
            Ok(true) => tracing::warn!(
                "the note by which commands find this gateway was damaged, and is written again"
            ),
            Err(error) => {
                tracing::debug!(%error, "the note by which commands find this gateway cannot be written");
            }
        }
    }
}
