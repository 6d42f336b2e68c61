//! Reading `oauth`.

use super::Reader;
use crate::entry::OauthGrant;
use jsonc_parser::{
    ast::{ObjectProp, Value},
    common::Ranged,
};

const KNOWN: &str = "known are `clientId`, `clientSecret`, `callbackPort`, `scopes`, \
                     `authServerMetadataUrl`, `issuer`, `clientMetadataUrl`, `allowPrivateAddresses`, \
                     `clientsSignIn`, `xaa`, `grant`, `privateKey`, `signingAlgorithm` and `assertionFile`";

impl Reader<'_> {
    pub(super) fn oauth(&mut self, value: &Value<'_>) {
        let Value::Object(object) = value else {
            let hint = r#"write {"clientId": "…"}, or leave it out"#;
            self.mistyped("oauth", value, "an object", hint);
            return;
        };
        for property in &object.properties {
            if !matches!(property.value, Value::NullKeyword(_)) {
                self.oauth_field(property);
            }
        }
        let oauth = &self.entry.oauth;
        let lacks = match oauth.grant {
            OauthGrant::Client if oauth.client_id.is_none() => Some("clientId"),
            OauthGrant::Workload if oauth.assertion_file.is_none() => Some("assertionFile"),
            OauthGrant::Person | OauthGrant::Client | OauthGrant::Workload => None,
        };
        if let Some(field) = lacks {
            let field = format!("oauth.{field}");
            let hint = "this grant does not work without it";
            self.fault(value.range().start, Some(&field), "is missing", Some(hint));
        }
    }

    fn oauth_field(&mut self, property: &ObjectProp<'_>) {
        let (key, value) = (property.name.as_str(), &property.value);
        let field = format!("oauth.{key}");
        match key {
            "clientId" => self.entry.oauth.client_id = self.filled(&field, value),
            "clientSecret" => self.entry.oauth.client_secret = self.filled(&field, value),
            "issuer" => self.entry.oauth.issuer = self.web_address(&field, value),
            "clientMetadataUrl" => {
                self.entry.oauth.client_metadata_url = self.web_address(&field, value);
            }
            "authServerMetadataUrl" => {
                self.entry.oauth.auth_server_metadata_url = self.web_address(&field, value);
            }
            "callbackPort" => self.entry.oauth.callback_port = self.port(&field, value),
            "scopes" => self.entry.oauth.scopes = self.scopes(&field, value),
            "allowPrivateAddresses" => {
                let allowed = self.boolean(&field, value);
                self.entry.oauth.allow_private_addresses = allowed.unwrap_or_default();
            }
            "clientsSignIn" => {
                let allowed = self.boolean(&field, value);
                self.entry.oauth.clients_sign_in = allowed.unwrap_or_default();
            }
            "xaa" => self.entry.oauth.xaa = self.boolean(&field, value),
            "grant" => self.grant(&field, value),
            "privateKey" => self.entry.oauth.private_key = self.filled(&field, value),
            "signingAlgorithm" => self.entry.oauth.signing_algorithm = self.filled(&field, value),
            "assertionFile" => self.entry.oauth.assertion_file = self.filled(&field, value),
            _ => self.fault(
                property.range.start,
                Some(&field),
                "is unknown",
                Some(KNOWN),
            ),
        }
    }

    fn filled(&mut self, field: &str, value: &Value<'_>) -> Option<String> {
        let text = self.text(field, value)?;
        if text.trim().is_empty() {
            let at = value.range().start;
            self.fault(
                at,
                Some(field),
                "is empty",
                Some("fill it in, or leave it out"),
            );
            return None;
        }
        Some(text)
    }

    /// An address. One with variables is judged when they are known.
    fn web_address(&mut self, field: &str, value: &Value<'_>) -> Option<String> {
        let text = self.filled(field, value)?;
        let known = text.contains("${")
            || url::Url::parse(&text)
                .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if !known {
            let hint = "write it like https://login.example.com";
            let at = value.range().start;
            self.fault(at, Some(field), "is no web address", Some(hint));
        }
        Some(text)
    }

    fn port(&mut self, field: &str, value: &Value<'_>) -> Option<u16> {
        let number = match value {
            Value::NumberLit(number) => number.value.parse().ok().filter(|port| *port > 0),
            _ => None,
        };
        if number.is_none() {
            let hint = "write it without quotes, such as 8123";
            self.mistyped(field, value, "a port between 1 and 65535", hint);
        }
        number
    }

    /// A list, or the text that OAuth itself uses.
    fn scopes(&mut self, field: &str, value: &Value<'_>) -> Option<Vec<String>> {
        match value {
            Value::StringLit(text) => {
                Some(text.value.split_whitespace().map(str::to_owned).collect())
            }
            _ => self.strings(field, value),
        }
    }

    fn grant(&mut self, field: &str, value: &Value<'_>) {
        match self.text(field, value).as_deref() {
            Some("authorization_code") => self.entry.oauth.grant = OauthGrant::Person,
            Some("client_credentials") => self.entry.oauth.grant = OauthGrant::Client,
            Some("jwt-bearer") => self.entry.oauth.grant = OauthGrant::Workload,
            Some(other) => {
                let choices = r#""authorization_code", "client_credentials" or "jwt-bearer""#;
                self.choice(field, value, other, choices);
            }
            None => {}
        }
    }
}
