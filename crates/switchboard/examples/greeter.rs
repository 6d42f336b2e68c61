//! A server with one tool, on stdin and stdout.

use serde::Deserialize;
use switchboard::server::{Call, JsonSchema, Server, ServerFault, schemars, typed};

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Whom to greet.
    name: String,
}

/// Serves until its client leaves.
#[tokio::main]
pub async fn main() -> Result<(), ServerFault> {
    let greet = async |greeting: Greeting, _: Call| format!("Hello, {}!", greeting.name);
    Server::new("greeter", "1.0.0")
        .tool("greet", "Greets somebody.", typed::<Greeting>(), greet)
        .run()
        .await
}
