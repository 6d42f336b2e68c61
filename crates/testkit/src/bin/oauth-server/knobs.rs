//! What can be turned, with what it is by default. `POST /control` with a JSON
//! object changes the named ones; `null` puts one back.
//!
//! | knob | default | meaning |
//! |---|---|---|
//! | `as` | `["main"]` | authorization servers that the resource names |
//! | `prm` | `true` | whether there is protected-resource metadata |
//! | `prm_resource` | – | another `resource` in it |
//! | `prm_scopes` | – | its `scopes_supported` |
//! | `prm_as` | – | whole addresses instead of `as` |
//! | `metadata` | – | fields that override authorization-server metadata (`null` removes) |
//! | `challenge` | – | parameters added to the challenge, as text |
//! | `pointer` | `true` | whether the challenge names the metadata |
//! | `scope` | – | scopes that the MCP endpoint demands (403 otherwise) |
//! | `always_403` | `false` | demands them whatever the token has; `fresh`: another one each time |
//! | `token_life` | 3600 | seconds |
//! | `rotate` | `true` | whether refresh tokens rotate |
//! | `grace` | `false` | whether an old refresh token works while its successor is unused |
//! | `fault` | – | what the token endpoint does wrong: `500`, `503`, `429`, `hang`, `html`, `cut` (after rotation), `redirect`, `big`, `loose` |
//! | `fault_times` | -1 | how often; -1 is for ever |
//! | `iss` | `right` | in the redirect: `right`, `missing`, `wrong`, `slash` |
//! | `deny` | `false` | the person says no |
//! | `dcr`, `dcr_secret` | `true`, `false` | registration, and whether it gives a secret |
//! | `methods` | `["none","client_secret_basic","client_secret_post"]` | client authentication |
//! | `insists` | – | how clients say who they are: `id`: always in the form too; `once`: never twice; `nobody`: nobody is known |
//! | `clients` | `{}` | registered by hand: `{"id":{"secret":"s","redirect":"…"}}` |
//! | `cimd` | `false` | whether metadata documents are accepted as ids |
//! | `dpop` | `off` | `off`, `on`, `nonce` |
//! | `revocation` | `true` | whether there is an endpoint for it |
//! | `modern` | `false` | whether the MCP endpoints are of the modern era, and of no other |
//! | `mcp_get` | `405` | `stream`: a GET never ends |
//! | `id_life` | 3600 | seconds that an identity token lives |
//! | `idp_access` | – | claims of its access tokens, which are signed then; `life`: their seconds |
//! | `idp_fault` | – | the status that its token endpoint answers instead |
//! | `xaa_client` | `xaa-client` | client id in assertions |
//! | `exchange_extra` | – | fields added to the answers of exchanges |

use serde_json::{Value, json};

pub fn defaults() -> Value {
    json!({
        "as": ["main"],
        "prm": true,
        "pointer": true,
        "always_403": false,
        "token_life": 3600,
        "rotate": true,
        "grace": false,
        "fault_times": -1,
        "iss": "right",
        "deny": false,
        "dcr": true,
        "dcr_secret": false,
        "methods": ["none", "client_secret_basic", "client_secret_post"],
        "clients": {},
        "cimd": false,
        "dpop": "off",
        "revocation": true,
        "modern": false,
        "mcp_get": "405",
        "id_life": 3600,
        "xaa_client": "xaa-client",
    })
}
