//! Being let in: OAuth, tokens, the door, secrets.

mod canaries;
mod door;
mod gateway;
mod more;
mod signin;
