//! By what a call is allowed, for those who keep a record of it.

use super::{Guard, asked_for, who};
use crate::{client::Client, permission::What, upstream::Server};
use std::sync::Arc;

impl Guard {
    /// What a call that may be made is allowed by, in words.
    pub(crate) fn allowed_by(
        &self,
        client: &Client,
        server: &Server,
        what: What<'_>,
        arguments: Option<&[u8]>,
    ) -> Arc<str> {
        let (rules, who) = (self.rules(), who(client));
        if self.is_plain(&rules, who, server) {
            return rules.plainly_allowed_by(who, &server.spec, asked_for(client, server, what));
        }
        self.explain_call(client, server, what, arguments).by()
    }
}
