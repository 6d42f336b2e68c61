//! What a service manager is told when one gateway takes the place of another: which
//! process is its service from now on. Otherwise it would take the end of the first for
//! the end of the service.

use crate::{context::Context, life};
use std::{
    ffi::OsStr,
    io,
    os::unix::{ffi::OsStrExt, net::UnixDatagram},
};

/// Where the manager listens, as systemd says it.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Tells the manager, where there is one.
pub fn is_told(context: &Context) {
    let Some(socket) = context.options.variables.get(SOCKET) else {
        return;
    };
    let text = format!("MAINPID={}\nREADY=1\n", life::first_process());
    if let Err(error) = tell(&socket, text.as_bytes()) {
        tracing::warn!(%error, "the service manager could not be told that another process is the service now");
    }
}

fn tell(socket: &OsStr, text: &[u8]) -> io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => to_name(&sender, name, text),
        None => sender.send_to(text, socket),
    }?;
    Ok(())
}

/// To a socket that has a name and no file.
#[cfg(target_os = "linux")]
fn to_name(sender: &UnixDatagram, name: &[u8], text: &[u8]) -> io::Result<usize> {
    use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};
    sender.send_to_addr(text, &SocketAddr::from_abstract_name(name)?)
}

#[cfg(not(target_os = "linux"))]
fn to_name(_: &UnixDatagram, _: &[u8], _: &[u8]) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}
