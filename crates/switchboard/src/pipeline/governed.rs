//! Servers under rules: the only thing that has a host.

use super::{Approved, Options, asking, follow::Follower};
use crate::{
    library,
    permissions::{Governance, Purpose, Unfollowable},
    roster::{Member, Roster, Status, ViaGateway},
    settings::Settings,
};
use std::sync::Arc;
use switchboard_agent::{Agent, AgentBuilder};
use switchboard_config::{Source, Standing};
use switchboard_host::{Announcement, Host, permission::Mode};
use switchboard_model::search;
use switchboard_wire::name::Style;

/// What is configured, approved and held to its rules. Nothing is started until
/// somebody needs it.
pub struct Governed {
    options: Options,
    roster: Roster,
    settings: Settings,
    announcement: Announcement,
    follower: Follower,
    #[cfg(feature = "gateway")]
    observe: switchboard_config::Observe,
    #[cfg(feature = "gateway")]
    inbox: switchboard_config::Inbox,
}

impl Governed {
    pub(super) fn new(
        approved: Approved,
        mode: Option<Mode>,
        purpose: Purpose,
        style: Style,
    ) -> Result<Self, Unfollowable> {
        let Approved {
            mut look,
            known,
            arrangements,
            ..
        } = approved;
        look.protect();
        let options = look.options.clone();
        let announcement = Announcement::default();
        announcement.set(look.about_folder());
        let shares = purpose == Purpose::Command && look.active().next().is_some();
        let mut gateways = match shares {
            true => options.gateways(),
            false => Vec::new(),
        };
        let permissions = std::mem::take(&mut look.loaded.permissions);
        #[cfg(feature = "gateway")]
        let observe = std::mem::take(&mut look.loaded.observe);
        let inbox = std::mem::take(&mut look.loaded.inbox);
        let data = options.places().map(|places| places.data);
        let signed = options.applied.read().pins.clone();
        let governance = Governance {
            permissions: &permissions,
            purpose,
            mode,
            data: data.as_deref(),
            signed: signed.as_ref(),
        };
        let kit = look.kit(purpose);
        let roster =
            kit.with(|with| Roster::new(look.loaded, with, &governance, style, &mut gateways))?;
        roster.host.desk().set_policy(asking::policy(&inbox));
        for warning in &roster.warnings {
            options.tell.warn(warning);
        }
        let follower = Follower::new(
            options.clone(),
            &roster,
            known,
            arrangements,
            (purpose, mode),
            announcement.clone(),
        );
        Ok(Self {
            options,
            roster,
            settings: kit.settings,
            announcement,
            follower,
            #[cfg(feature = "gateway")]
            observe,
            #[cfg(feature = "gateway")]
            inbox,
        })
    }

    /// What all of it goes by.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Those of the servers that can be used, under their rules.
    pub fn host(&self) -> &Arc<Host> {
        &self.roster.host
    }

    /// All that was configured at the start, in that order, and what became of it.
    pub fn members(&self) -> &[Member] {
        &self.roster.members
    }

    /// The members that count, whether or not they work: what names are decided over.
    pub fn counting(&self) -> impl Iterator<Item = &Member> {
        let used = |member: &&Member| !matches!(member.status, Status::Unused(_));
        self.members().iter().filter(used)
    }

    /// The member of this name that is in use, or would be.
    pub fn find(&self, name: &str) -> Option<&Member> {
        let members = self.members().iter();
        let mut named = members.filter(|member| member.entry.name == name);
        let used = |member: &&Member| !matches!(member.status, Status::Unused(_));
        let given_way =
            |member: &&Member| matches!(member.status, Status::Unused(Standing::Shadowed(_)));
        let first = named.clone().find(used);
        first.or_else(|| named.find(|member| !given_way(member)))
    }

    /// How a server is reached that a running gateway has.
    pub fn via(&self, name: &str) -> Option<&ViaGateway> {
        self.roster.via.get(name)
    }

    /// Whether a server is reached through a running gateway, which may have refused what
    /// was asked of it.
    pub fn is_behind_a_gateway(&self, name: &str) -> bool {
        let brought =
            |member: &Member| member.entry.name == name && member.entry.source == Source::Ours;
        self.via(name).is_some() || self.members().iter().any(brought)
    }

    /// Times and numbers.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What clients are told when they come in.
    pub fn announcement(&self) -> &Announcement {
        &self.announcement
    }

    /// Follows the files that this was made of.
    pub fn follower(&self) -> &Follower {
        &self.follower
    }

    /// What settings say about watching calls.
    #[cfg(feature = "gateway")]
    pub(crate) fn observe(&self) -> &switchboard_config::Observe {
        &self.observe
    }

    /// What settings say about questions to a person.
    #[cfg(feature = "gateway")]
    pub(crate) fn inbox(&self) -> &switchboard_config::Inbox {
        &self.inbox
    }

    /// An agent with these servers, under their rules and nobody else's. It needs
    /// somebody who answers what the rules ask ([`AgentBuilder::operator`]).
    pub fn agent(&self) -> AgentBuilder {
        let search = self.settings.tool_search.as_deref().unwrap_or_default();
        Agent::builder()
            .over(self.host().clone())
            .tool_search(search.parse::<search::Mode>().unwrap_or_default())
    }

    /// Ends all servers, built-in ones with what they have started too.
    pub async fn close(&self) {
        library::close(self.host()).await;
    }
}
