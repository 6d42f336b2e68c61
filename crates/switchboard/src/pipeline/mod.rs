//! From what a user has configured to servers that can be used, in the one order that
//! is safe, which the types hold everybody to:
//!
//! | step | has | says |
//! |---|---|---|
//! | [`Config::load`] | [`Config`] | what is configured, with all that is wrong with it |
//! | [`Config::approve`] | [`Approved`] | what a project brings along was approved as it is |
//! | [`Approved::govern`] | [`Governed`] | the rules of the settings hold: only this has a [`Host`] |
//! | [`Governed::agent`] | an agent | who asks a model |
//! | [`Governed::gateway`] | [`Fronted`] | who serves clients: on streams, in this process, on addresses |
//!
//! ```
//! use switchboard::{Config, Options, Purpose, Variables, host::permission::Mode};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let mut options = Options::new(std::env::temp_dir(), Variables::default());
//! options.mcp_config = vec![r#"{"mcpServers": {"system": {"type": "builtin"}}}"#.to_owned()];
//! let servers = Config::load(&options)?
//!     .approve(&options.approvals())
//!     .govern(Some(Mode::ReadOnly), Purpose::Agent)?;
//! let agent = servers.agent().build()?;
//! assert!(agent.tools().await.find("mcp__system__health").is_some());
//! servers.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No step can be left out. What was merely loaded has no servers:
//!
//! ```compile_fail,E0599
//! # use switchboard::{Config, Options, Variables};
//! let options = Options::new("/", Variables::default());
//! let agent = Config::load(&options).unwrap().agent();
//! ```
//!
//! What was not approved is held to no rules, since it is not to be used:
//!
//! ```compile_fail,E0599
//! # use switchboard::{Config, Options, Purpose, Variables};
//! let options = Options::new("/", Variables::default());
//! let servers = Config::load(&options).unwrap().govern(None, Purpose::Gateway);
//! ```
//!
//! What was approved has no host before it has rules:
//!
//! ```compile_fail,E0599
//! # use switchboard::{Config, Options, Variables};
//! let options = Options::new("/", Variables::default());
//! let approved = Config::load(&options).unwrap().approve(&options.approvals());
//! let host = approved.host();
//! ```
//!
//! What somebody only looks at is not approved, whatever is wrong with it:
//!
//! ```compile_fail,E0599
//! # use switchboard::{Config, Options, Variables};
//! let options = Options::new("/", Variables::default());
//! let approved = Config::look(&options).approve(&options.approvals());
//! ```
//!
//! And a host for servers of one's own is told its rules, even if there are none:
//!
//! ```compile_fail,E0061
//! # use switchboard::host::Host;
//! let host = Host::new(Vec::new(), Default::default(), Default::default());
//! ```
//!
//! [`Host`]: switchboard_host::Host

mod approved;
mod asking;
#[cfg(feature = "gateway")]
mod behind;
mod config;
mod follow;
mod governed;
mod options;
#[cfg(feature = "gateway")]
mod serving;

pub use approved::{Approvals, Approved, Arrangement};
#[cfg(feature = "gateway")]
pub use behind::{Behind, Candidate};
pub use config::{Config, Look, Unusable};
pub use follow::{Follower, ReloadError};
pub use governed::Governed;
#[cfg(feature = "gateway")]
pub(crate) use options::Holding;
pub use options::{Options, Tell};
#[cfg(feature = "gateway")]
pub use serving::{Fronted, Listening, Show};
