//! How Switchboard is let in. Servers want OAuth in many forms, headers that a
//! command prints, or nothing; and our own gateway wants to know its clients.
//!
//! [`Authority`] is one server's way in: it implements the transport's
//! [`Authorize`](switchboard_transport::http::Authorize), signs in and out, and
//! keeps the sign-in in a [`Vault`]. [`HeadersHelper`] is the other way in. [`Door`]
//! checks the tokens of our own clients, and [`People`] has people sign in for them.
//!
//! rmcp is the OAuth engine; everything it sends goes through our hook (`hook`),
//! which judges addresses and disarms the engine's traps. What the engine forgets
//! is in our [`Record`]. Nothing here prints, and no secret is in any error, log or
//! `Debug`.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod address;
mod authority;
mod bearer;
pub mod browser;
mod callback;
mod client_credentials;
mod client_tokens;
mod clock;
mod counts;
mod discovery;
mod dpop;
mod engine;
mod engine_http;
mod error;
mod flow;
mod helper;
mod idp;
mod journal;
mod jwt;
mod keychain;
pub mod limits;
mod needs_auth;
mod net;
mod page_visit;
mod people;
mod post;
mod record;
mod renew;
mod secret;
mod settings;
mod vault;
mod workload;
mod xaa;

pub use authority::{Authority, AuthorityBuilder, SignedIn, SignedOut};
pub use bearer::{BearerError, get_with_token};
pub use client_credentials::{ClientCredentials, ClientProof};
pub use client_tokens::{Admitted, Door, DoorSettings, Rejected, RoleClaim};
pub use counts::{Tries, renewals, sign_ins};
pub use error::SignInError;
pub use helper::{HeadersHelper, LIMIT as HELPER_LIMIT};
pub use idp::IdentityProvider;
pub use journal::{Ended, Journal, Step};
pub use keychain::{KeyKeeper, Keychain, KeychainError, kept_token};
pub use needs_auth::{NeedsAuth, REMEMBERED};
pub use net::NetLimits;
pub use people::{Back, Begun, People, PeopleError, PeopleSettings, SignedPerson, Unrenewed};
pub use post::{NotPosted, post};
pub use record::{Client, ClientKind, Record, Tokens, Trouble};
pub use secret::Secret;
pub use settings::{AnyError, Grant, OauthSettings, Opener, Prompt, Server, Visit};
pub use switchboard_transport::http::challenge::{self, Challenge};
pub use vault::{
    Awaited, Fleet, FleetError, FleetWay, TokenStore, Turn, Vault, VaultError, VaultKey, VaultLock,
    Versioned,
};
pub use workload::{AssertionSource, Workload};
pub use xaa::{Enterprise, enabled_by_environment as xaa_enabled_by_environment};

/// Log targets that hold secrets at debug level. We silence the engine wherever we
/// call it; a log filter may name these as well, in case somebody else does.
pub const SECRET_TARGETS: &[&str] = &["rmcp::transport::auth"];
