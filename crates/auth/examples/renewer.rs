//! A process that uses a stored sign-in, for the tests: waits for a line on stdin,
//! then asks for credentials and prints them.
//!
//! `renewer FOLDER NAME URL`

#![allow(clippy::print_stdout, reason = "what it prints is what it is for")]

use http::Method;
use std::{error::Error, io::Read};
use switchboard_auth::{Authority, Server, TokenStore, Vault};
use switchboard_transport::http::{Asking, Authorize};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, name, url] = &args[..] else {
        return Err("renewer FOLDER NAME URL".into());
    };
    let server = Server {
        name: name.clone(),
        url: url.parse()?,
        config_hash: "hash".into(),
    };
    let authority = Authority::builder(server, Vault::open(folder, TokenStore::File)).build();
    let uri = url.parse()?;
    let asking = Asking {
        method: &Method::POST,
        url: &uri,
        let_in: false,
    };
    std::io::stdin().read_exact(&mut [0])?;
    let headers = authority.headers(&asking).await?;
    let token = headers.get("authorization").ok_or("no credentials")?;
    println!("{}", token.to_str()?);
    Ok(())
}
