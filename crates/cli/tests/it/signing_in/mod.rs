//! Being let in: OAuth, tokens, the door, secrets.

mod admission;
mod canaries;
mod door;
mod gateway;
mod more;
mod signin;
