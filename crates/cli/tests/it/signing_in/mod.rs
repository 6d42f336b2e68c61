//! Being let in: OAuth, tokens, the door, secrets.

mod admission;
mod arguments;
mod canaries;
mod door;
mod gateway;
mod memory;
mod more;
mod proving;
mod several;
mod signin;
mod step_up;
