//! What a token's claims say that somebody may do.

use crate::jwt::Claims;
use serde_json::Value;

/// A claim that says what somebody may do.
#[derive(Clone, Debug, Default)]
pub struct RoleClaim {
    /// Its name; a point leads into an object, as in `realm_access.roles`.
    pub claim: String,
    /// What its values mean: a value, and the role. Where there are none, values are roles.
    pub means: Vec<(String, String)>,
}

impl RoleClaim {
    /// The roles that these claims give.
    pub(super) fn of(&self, claims: &Claims) -> Vec<String> {
        let whole = claims.get(&self.claim);
        let mut parts = self.claim.split('.');
        let first = parts.next().and_then(|part| claims.get(part));
        let found = whole.or_else(|| parts.try_fold(first?, |value, part| value.get(part)));
        let values: Vec<String> = match found {
            Some(Value::String(one)) => one.split_whitespace().map(str::to_owned).collect(),
            Some(list) => crate::discovery::strings(list),
            None => Vec::new(),
        };
        if self.means.is_empty() {
            return values;
        }
        let given = self
            .means
            .iter()
            .filter(|(value, _)| values.contains(value));
        given.map(|(_, role)| role.clone()).collect()
    }
}
