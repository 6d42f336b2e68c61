//! A server of one's own with all that a tool can do. On stdin and stdout, or
//! on HTTP: `own_server 127.0.0.1:3900`, for whoever shows the token in
//! `OWN_SERVER_TOKEN`.
#![allow(clippy::print_stderr, reason = "stdout is the protocol's")]

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{error::Error, time::Duration};
use switchboard::{
    gateway::{ClientToken, Door},
    server::{
        Answer, Answered, Call, Json, JsonSchema, Level, NoArguments, Server, Tool, schemars, typed,
    },
};
use tokio::net::TcpListener;

#[derive(Deserialize, JsonSchema)]
struct Trip {
    /// Where it goes.
    city: String,
    /// How many days it takes.
    #[schemars(range(min = 1, max = 30))]
    days: u32,
}

#[derive(Serialize, JsonSchema)]
struct Price {
    /// In whole euros.
    euros: u32,
}

/// What is asked before a trip is booked.
#[derive(Deserialize, JsonSchema)]
struct Traveller {
    /// The name on the ticket.
    name: String,
    /// Whether there is a window.
    window: bool,
}

/// A structured result of a type; whatever is wrong with the arguments was
/// refused before.
async fn price(trip: Trip, _: Call) -> Json<Price> {
    Json(Price {
        euros: 90 * trip.days,
    })
}

/// Asks for a form in the middle of the call. An error is a result that says so.
async fn book(trip: Trip, call: Call) -> Result<String, Box<dyn Error + Send + Sync>> {
    let question = format!("Who goes to {}?", trip.city);
    match call.ask::<Traveller>(&question).await? {
        Answered::Accepted(traveller) => {
            let seat = if traveller.window { "window" } else { "aisle" };
            let name = traveller.name;
            Ok(format!("{name} goes to {}, {seat} seat.", trip.city))
        }
        Answered::Declined | Answered::Cancelled => Err("nobody goes".into()),
    }
}

/// Sends the user to a page.
async fn pay(_: NoArguments, call: Call) -> Result<&'static str, Box<dyn Error + Send + Sync>> {
    let page = call.open_page("Pay for the trip", "https://pay.example/trip");
    match page.await? {
        Answered::Accepted(page) => {
            // Here one would wait for the payment.
            page.done();
            Ok("paid")
        }
        Answered::Declined | Answered::Cancelled => Err("not paid".into()),
    }
}

/// Takes its time, says how far it is, and is dropped when it is cancelled.
async fn search(arguments: Value, call: Call) -> String {
    struct Cleanup;
    impl Drop for Cleanup {
        fn drop(&mut self) {
            eprintln!("the search is over");
        }
    }
    let _cleanup = Cleanup;
    let steps = arguments["steps"].as_u64().unwrap_or(3);
    for step in 1..=steps {
        call.progress(step as f64, Some(steps as f64), "looking");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    call.log(Level::Info, json!({"steps": steps}));
    "nothing found".to_owned()
}

/// Content of several kinds.
async fn brochure(_: NoArguments, _: Call) -> Answer {
    Answer::new()
        .text("This is what it looks like.")
        .image("image/png", b"not really a picture")
        .link("https://trips.example/brochure", "brochure")
}

fn server() -> Server {
    let steps = json!({
        "type": "object",
        "properties": {"steps": {"type": "integer", "minimum": 1}},
    });
    let panics = async |_: NoArguments, _: Call| -> String { panic!("a fault of the handler's") };
    Server::new("trips", "1.0.0")
        .title("Trips")
        .instructions("Prices are for one person.")
        .with_tool(
            Tool::new("price", "Tells what a trip costs.", typed::<Trip>(), price)
                .title("Price")
                .read_only()
                .returns::<Price>(),
        )
        .tool("book", "Books a trip.", typed::<Trip>(), book)
        .tool("pay", "Pays for it.", NoArguments, pay)
        .tool("search", "Looks for trips.", steps, search)
        .tool("brochure", "Shows a brochure.", NoArguments, brochure)
        .tool("broken", "Panics.", NoArguments, panics)
}

/// Serves until its client leaves.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let Some(address) = std::env::args().nth(1) else {
        return Ok(server().run().await?);
    };
    let token = ClientToken {
        name: "me".into(),
        secret: std::env::var("OWN_SERVER_TOKEN")?,
    };
    let door = Door {
        tokens: vec![token],
        ..Door::default()
    };
    let listener = TcpListener::bind(&address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    server().run_http(listener, door).await?;
    Ok(())
}
