//! Listening on network addresses: where, whom to let in, and what is refused because
//! it would let in more than was said.

use crate::{
    applied::{Digests, Followed},
    dirs::NoHome,
    handover::TakenOver,
    pipeline::Options,
    tokens::{self, TokenError, TokenFile},
    watching::WatchError,
};
use std::{io, net::SocketAddr, path::PathBuf, sync::Arc};
use switchboard_auth::{self as auth, DoorSettings, PeopleSettings, RoleClaim, Secret};
use switchboard_gateway::{
    Cluster, Door, Keeping, LiveTokens, Signed,
    faces::http::{self, Routes},
};
use switchboard_transport::dial::{DoorFiles, DoorTls};
use tokio::net::TcpListener;
use url::Url;

/// Where to listen, and whom to let in. Without a word about it that is whoever shows
/// the client token, on this machine alone.
#[derive(Clone, Debug, Default)]
pub struct Listen {
    /// Everything, on this address; port 0 picks a free one.
    pub http: Option<SocketAddr>,
    /// How many ports after that are tried where one is taken.
    pub ports: u16,
    /// The plain dialect, on this address.
    pub plain: Option<SocketAddr>,
    /// Files with client tokens to accept, instead of those that we make, and whom
    /// each lets in.
    pub token_files: Vec<TokenFile>,
    /// Lets everybody in who can reach the address, which must be this machine's own.
    pub open: bool,
    /// An identity provider whose tokens are accepted as well.
    pub issuer: Option<Issuer>,
    /// Addresses that other machines can reach are meant.
    pub remote: bool,
    /// Our certificate: clients then speak TLS with us.
    pub tls: Option<DoorFiles>,
    /// A proxy in front of us speaks TLS with clients.
    pub behind_proxy: bool,
    /// Addresses that other machines reach without TLS, by somebody's word.
    pub in_clear: Vec<SocketAddr>,
    /// Host names, besides localhost, under which clients reach us.
    pub hosts: Vec<String>,
    /// Origins of web pages that may talk to us.
    pub origins: Vec<String>,
}

/// An identity provider of our clients.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// Where it is.
    pub url: Url,
    /// What its tokens must be meant for.
    pub audience: String,
    /// What says what somebody may do over the API.
    pub roles: Option<RoleClaim>,
    /// Our client there, by which people sign in from the page.
    pub people: Option<PeopleClient>,
}

/// Our client at an identity provider, by which people sign in.
#[derive(Clone, Debug, Default)]
pub struct PeopleClient {
    /// What it is called there.
    pub id: String,
    /// A file with its secret, where it has one.
    pub secret: Option<PathBuf>,
    /// What the provider's page is asked with besides.
    pub params: Vec<(String, String)>,
}

/// Why nobody is listening.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// It was not said that others may.
    #[error("{0} can be reached from other machines")]
    Remote(SocketAddr),
    /// Nobody said that this may be.
    #[error("without TLS, whoever is on the way to {0} can read tokens, arguments and results")]
    InClear(SocketAddr),
    /// Everybody would be too many.
    #[error("{0} can be reached from other machines, and everybody would be let in")]
    OpenToAll(SocketAddr),
    /// A token that cannot be used.
    #[error("{0}")]
    Token(#[from] TokenError),
    /// There is nowhere to keep tokens.
    #[error("{0}")]
    Home(#[from] NoHome),
    /// A certificate that cannot be used.
    #[error("{0}")]
    Tls(String),
    /// An identity provider that cannot be one.
    #[error("{0}")]
    Issuer(String),
    /// It cannot be watched as it was asked for.
    #[error("{0}")]
    Watch(#[from] WatchError),
    /// The system says no.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address that was tried last.
        address: SocketAddr,
        /// What it said.
        error: io::Error,
    },
}

/// An address, what is served there, and who may come in.
#[derive(Debug)]
struct Place {
    address: SocketAddr,
    ports: u16,
    routes: Routes,
    door: Door,
}

/// Places to listen at, with their doors; nobody listens yet.
#[derive(Debug)]
pub struct Doors {
    places: Vec<Place>,
    /// On whose behalf most clients act.
    pub(crate) principal: String,
    /// The file of the token that other commands show at the door.
    pub(crate) token: Option<PathBuf>,
    /// Whether this does without a home that can be written.
    pub(crate) alone: bool,
    /// Whether everybody is let in.
    pub(crate) is_open: bool,
    /// Whether addresses that other machines can reach are meant.
    remote: bool,
    /// Host names under which we are reached besides.
    hosts: Vec<String>,
    /// The way in for people who sign in at an identity provider.
    pub(crate) people: Option<Arc<auth::People>>,
    /// What another gateway hands over.
    pub(crate) taken_over: Option<TakenOver>,
    /// The others, if it is one of several.
    pub(crate) joined: Option<Joined>,
}

/// A gateway that has become one of several.
#[derive(Debug)]
pub struct Joined {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) keeping: Keeping,
    /// What it followed before, and where that is kept.
    pub(crate) followed: (Option<Arc<Signed>>, Followed),
}

/// A place where somebody listens.
#[derive(Debug)]
pub struct Open {
    pub(crate) listener: TcpListener,
    pub(crate) routes: Routes,
    pub(crate) door: Door,
    address: SocketAddr,
}

impl Open {
    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is served there.
    pub fn routes(&self) -> Routes {
        self.routes
    }

    /// Whether clients speak TLS with us there.
    pub fn is_secure(&self) -> bool {
        self.door.tls.is_some()
    }

    /// Whether it has `/api`.
    pub(crate) fn has_api(&self) -> bool {
        self.routes == Routes::All
    }

    /// Whether other commands can use it: they want everything, and speak without TLS.
    pub(crate) fn is_whole(&self) -> bool {
        self.routes == Routes::All && !self.is_secure()
    }
}

impl Listen {
    /// The doors that this asks for. Tokens that it needs are made.
    pub fn doors(&self, options: &Options) -> Result<Doors, ListenError> {
        let mut places = Vec::new();
        let tls = self.tls(options)?;
        let asked = [
            (self.http, Routes::All, self.ports),
            (self.plain, Routes::Plain, 0),
        ];
        for (address, routes, ports) in asked {
            if let Some(address) = address {
                let mut door = self.door(options, address)?;
                door.tls.clone_from(&tls);
                door.behind_proxy = self.behind_proxy;
                places.push(Place {
                    address,
                    ports,
                    routes,
                    door,
                });
            }
        }
        let named = places.first().and_then(|place| place.door.tokens.first());
        let principal = match named {
            Some(token) => token.name.to_string(),
            None if self.open => "anonymous".to_owned(),
            None => "default".to_owned(),
        };
        let token = match self.token_files.first() {
            _ if self.open || places.is_empty() => None,
            Some(file) => Some(options.directory.join(&file.path)),
            None => Some(tokens::client_file(&options.dirs()?)),
        };
        let oidc = places.first().and_then(|place| place.door.oidc.clone());
        Ok(Doors {
            people: self.people(options, oidc)?,
            places,
            principal,
            token,
            alone: self.open || !self.token_files.is_empty(),
            is_open: self.open,
            remote: self.remote,
            hosts: self.hosts.clone(),
            taken_over: None,
            joined: None,
        })
    }

    /// The files with tokens and keys: the file tools leave them alone.
    pub fn secrets(&self, options: &Options) -> Vec<PathBuf> {
        let tls = self.tls.iter();
        let tls = tls.flat_map(|tls| [Some(&tls.key), Some(&tls.cert), tls.client_ca.as_ref()]);
        let files = self.token_files.iter().map(|file| &file.path);
        let people = self.issuer.as_ref().and_then(|it| it.people.as_ref());
        let people = people.and_then(|people| people.secret.as_ref());
        let files = files.chain(tls.flatten()).chain(people);
        files.map(|file| options.directory.join(file)).collect()
    }

    /// Who may come in over HTTP.
    fn door(&self, options: &Options, address: SocketAddr) -> Result<Door, ListenError> {
        let remote = !address.ip().is_loopback();
        let secure = self.tls.is_some() || self.behind_proxy;
        if remote && !self.remote {
            return Err(ListenError::Remote(address));
        }
        if remote && self.open {
            return Err(ListenError::OpenToAll(address));
        }
        if remote && !secure && !self.in_clear.contains(&address) {
            return Err(ListenError::InClear(address));
        }
        let mut hosts = self.hosts.clone();
        if remote && !address.ip().is_unspecified() {
            hosts.push(address.ip().to_string());
        }
        let mut door = Door {
            open: self.open,
            hosts,
            origins: self.origins.clone(),
            ..Door::default()
        };
        if self.open {
            return Ok(door);
        }
        door.oidc = self.oidc(address)?;
        if self.token_files.is_empty() {
            let dirs = options.dirs()?;
            tokens::client(&dirs)?;
            // All client tokens, as long as they are not revoked.
            door.live = Some(tokens::live(&dirs));
        } else {
            door.tokens = tokens::from_files(&options.directory, &self.token_files)?;
        }
        Ok(door)
    }

    /// TLS, if we see to it.
    fn tls(&self, options: &Options) -> Result<Option<Arc<DoorTls>>, ListenError> {
        let Some(files) = &self.tls else {
            return Ok(None);
        };
        let here = |file: &PathBuf| options.directory.join(file);
        let files = DoorFiles {
            cert: here(&files.cert),
            key: here(&files.key),
            client_ca: files.client_ca.as_ref().map(here),
        };
        let tls = DoorTls::open(files).map_err(|error| ListenError::Tls(error.to_string()))?;
        Ok(Some(Arc::new(tls)))
    }

    /// The way in for people, where we have a client at the identity provider.
    fn people(
        &self,
        options: &Options,
        oidc: Option<Arc<auth::Door>>,
    ) -> Result<Option<Arc<auth::People>>, ListenError> {
        let client = self.issuer.as_ref().and_then(|it| it.people.as_ref());
        let Some((client, door)) = client.zip(oidc) else {
            return Ok(None);
        };
        let secret = client.secret.as_ref();
        let secret = secret.map(|file| tokens::from_file(&options.directory.join(file)));
        let settings = PeopleSettings {
            client_id: client.id.clone(),
            client_secret: secret.transpose()?.map(|found| Secret::new(found.secret)),
            params: client.params.clone(),
        };
        let people = auth::People::new(door, settings);
        let people = people.map_err(|fault| ListenError::Issuer(fault.to_string()))?;
        Ok(Some(Arc::new(people)))
    }

    /// The identity provider whose tokens are accepted, if there is one.
    fn oidc(&self, address: SocketAddr) -> Result<Option<Arc<auth::Door>>, ListenError> {
        let Some(Issuer {
            url,
            audience,
            roles,
            ..
        }) = &self.issuer
        else {
            return Ok(None);
        };
        let secure = self.tls.is_some() || self.behind_proxy;
        let scheme = if secure { "https" } else { "http" };
        let resource = format!("{scheme}://{address}/mcp");
        let settings = DoorSettings {
            issuer: url.clone(),
            audience: audience.clone(),
            resource: resource
                .parse()
                .map_err(|_| ListenError::Issuer("no address".to_owned()))?,
            scopes: Vec::new(),
            // The operator has named it.
            allow_private_addresses: true,
            roles: roles.clone(),
        };
        let door = auth::Door::new(settings);
        let door = door.map_err(|fault| ListenError::Issuer(fault.to_string()))?;
        Ok(Some(Arc::new(door)))
    }
}

impl Doors {
    /// Whether nothing is asked for: then there are only our own streams.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// One more: what is counted, for whoever reaches the address. It says which
    /// servers and tools there are and how often they are called, and nothing of what
    /// is said.
    pub(crate) fn add_metrics(&mut self, address: SocketAddr) -> Result<(), ListenError> {
        let is_remote = !address.ip().is_loopback();
        if is_remote && !self.remote {
            return Err(ListenError::Remote(address));
        }
        let mut hosts = self.hosts.clone();
        if is_remote && !address.ip().is_unspecified() {
            hosts.push(address.ip().to_string());
        }
        self.places.push(Place {
            address,
            ports: 0,
            routes: Routes::Metrics,
            door: Door {
                hosts,
                ..Door::default()
            },
        });
        Ok(())
    }

    /// Listens on what another gateway hands over, where it has the same address.
    pub fn take_over(mut self, taken_over: TakenOver) -> Self {
        self.taken_over = Some(taken_over);
        self
    }

    /// As one of several.
    pub fn join(mut self, joined: Option<Joined>) -> Self {
        if let Some(joined) = &joined {
            let digests: Arc<dyn LiveTokens> = Arc::new(Digests::of(joined.cluster.applied()));
            let is_followed = joined.cluster.applied().is_followed() && !self.is_open;
            for place in &mut self.places {
                place.door.wrong_tokens = joined.cluster.wrong_tokens().clone();
                place.door.digests = is_followed.then(|| digests.clone());
            }
        }
        self.joined = joined;
        self
    }

    /// Listens at every place.
    pub fn open(mut self) -> Result<Vec<Open>, ListenError> {
        let mut sockets = self
            .taken_over
            .take()
            .map_or_else(Vec::new, |it| it.sockets);
        let places = self.places.into_iter();
        places.map(|place| place.open(&mut sockets)).collect()
    }
}

/// The socket that listens at this address already, if one of these does.
fn handed(sockets: &mut Vec<std::net::TcpListener>, address: SocketAddr) -> Option<TcpListener> {
    let is_it = |socket: &std::net::TcpListener| socket.local_addr().ok() == Some(address);
    let socket = sockets.swap_remove(sockets.iter().position(is_it)?);
    socket.set_nonblocking(true).ok()?;
    TcpListener::from_std(socket).ok()
}

impl Place {
    fn open(self, sockets: &mut Vec<std::net::TcpListener>) -> Result<Open, ListenError> {
        let mut address = self.address;
        let last = address.port().saturating_add(self.ports);
        let listener = loop {
            if let Some(listener) = handed(sockets, address) {
                break listener;
            }
            match http::listen(address) {
                Ok(listener) => break listener,
                Err(_) if address.port() < last => address.set_port(address.port() + 1),
                Err(error) => return Err(ListenError::Bind { address, error }),
            }
        };
        let bound = listener.local_addr();
        let address = bound.map_err(|error| ListenError::Bind { address, error })?;
        Ok(Open {
            listener,
            routes: self.routes,
            door: self.door,
            address,
        })
    }
}

/// Serves at every place until it is told to stop.
pub async fn serve(
    gateway: &Arc<switchboard_gateway::Gateway>,
    open: Vec<Open>,
    stop: &tokio_util::sync::CancellationToken,
) -> io::Result<()> {
    let each = open.into_iter().map(|open| {
        let (gateway, stop) = (gateway.clone(), stop.clone());
        http::serve_routes(gateway, open.listener, open.door, open.routes, stop)
    });
    futures_util::future::try_join_all(each).await.map(drop)
}
