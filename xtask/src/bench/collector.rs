//! A collector of traces that takes everything and keeps nothing.

use anyhow::Result;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Starts one, which lives as long as we do. Returns its address.
pub fn collector() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || while take(&stream).is_some() {});
        }
    });
    Ok(address)
}

/// Takes one request and says so; none where the connection has ended.
fn take(mut stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).ok()?;
    let answer =
        "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(answer.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_one_request_after_another() -> Result<()> {
        let address = collector()?;
        let mut stream = TcpStream::connect(address.trim_start_matches("http://"))?;
        for _ in 0..2 {
            stream.write_all(b"POST /v1/traces HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")?;
            let mut answer = [0; 15];
            stream.read_exact(&mut answer)?;
            assert_eq!(&answer, b"HTTP/1.1 200 OK");
            let mut rest = vec![0; 72];
            let read = stream.read(&mut rest)?;
            assert!(rest[..read].ends_with(b"\r\n\r\n"));
        }
        Ok(())
    }
}
