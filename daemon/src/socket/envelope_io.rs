//! Envelope I/O on a connection, both ways.
//!
//! Reading checks every length before it allocates; writing gives up on a client that does not read.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use interprocess::local_socket::tokio::Stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader, ReadBuf};
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;
use trellis_protocol::codec::{self, LENGTH_BYTES, MARK_BYTES};
use trellis_protocol::envelope::{Envelope, FrameRole};

/// A connection, shared by its reader and its writers.
pub type Connection = Arc<Stream>;

/// A frame that was begun must be complete after this.
const FRAME_TIMEOUT: Duration = Duration::from_secs(30);
/// A client that takes nothing for so long is dropped.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Most frames fit: one system call for each. Every session has one of these for as long as it lives.
const READ_AHEAD_BYTES: usize = 2 << 10;

/// Reads envelopes. One that was begun and given up is lost, and the connection with it.
#[derive(Debug)]
pub struct EnvelopeReader {
    stream: BufReader<SharedStream>,
}

/// Lets a shared stream be read as if it were owned.
#[derive(Debug)]
struct SharedStream(Connection);

impl tokio::io::AsyncRead for SharedStream {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut &*self.0).poll_read(context, buffer)
    }
}

impl EnvelopeReader {
    /// Reads from a connection.
    pub fn new(connection: Connection) -> Self {
        Self { stream: BufReader::with_capacity(READ_AHEAD_BYTES, SharedStream(connection)) }
    }

    /// The number and body of a greeting.
    pub async fn greeting(&mut self) -> io::Result<(u16, Vec<u8>)> {
        in_time(async {
            let mut prefix = [0; MARK_BYTES];
            self.stream.read_exact(&mut prefix).await?;
            let (number, length) = codec::mark(prefix).map_err(io::Error::other)?;
            Ok((number, self.body(length).await?))
        })
        .await
    }

    /// The next envelope; `None` when the other side has closed.
    pub async fn next(&mut self) -> io::Result<Option<Envelope>> {
        let mut prefix = [0; LENGTH_BYTES];
        // Waiting for the first byte may take for ever: an idle connection is free.
        if self.stream.read(&mut prefix[..1]).await? == 0 {
            return Ok(None);
        }
        let body = in_time(async {
            self.stream.read_exact(&mut prefix[1..]).await?;
            let length = codec::envelope_length(prefix).map_err(io::Error::other)?;
            self.body(length).await
        })
        .await?;
        codec::decode(body).map(Some).map_err(io::Error::other)
    }

    /// Grows with what really arrives, so that a length alone costs nothing.
    async fn body(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut body = Vec::with_capacity(length.min(64 << 10));
        (&mut self.stream).take(length as u64).read_to_end(&mut body).await?;
        if body.len() == length { Ok(body) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

async fn in_time<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(FRAME_TIMEOUT, work).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Writes envelopes, whole messages one after the other.
#[derive(Debug)]
pub struct EnvelopeWriter {
    connection: Mutex<Connection>,
    closed: CancellationToken,
    deaf: AtomicBool,
}

impl EnvelopeWriter {
    /// Writes to a connection.
    pub fn new(connection: Connection) -> Self {
        Self { connection: Mutex::new(connection), closed: CancellationToken::new(), deaf: AtomicBool::new(false) }
    }

    /// Ends when nothing can be written any more.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Whether that is because the other side does not read; else it has closed.
    pub fn is_stalled(&self) -> bool {
        self.deaf.load(Ordering::Relaxed)
    }

    /// Waits for the turn to write.
    pub async fn turn(&self) -> Turn<'_> {
        Turn { writer: self, connection: self.connection.lock().await }
    }

    /// Writes one JSON-RPC message.
    pub async fn message(&self, sequence: u64, message: Vec<u8>, role: FrameRole) {
        self.turn().await.message(sequence, message, role).await;
    }

    /// Writes one envelope.
    pub async fn send(&self, envelope: &Envelope) -> io::Result<()> {
        let turn = self.turn().await;
        self.write(&turn.connection, envelope).await
    }

    async fn write(&self, connection: &Connection, envelope: &Envelope) -> io::Result<()> {
        if self.closed.is_cancelled() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let bytes = codec::encode(envelope).map_err(io::Error::other)?;
        let mut stream = &**connection;
        let written = tokio::time::timeout(WRITE_TIMEOUT, stream.write_all(&bytes)).await;
        let written = written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        if let Err(error) = &written {
            self.deaf.store(error.kind() == io::ErrorKind::TimedOut, Ordering::Relaxed);
            self.closed.cancel();
        }
        written
    }
}

/// The turn to write: nobody else does until it is dropped.
#[derive(Debug)]
pub struct Turn<'a> {
    writer: &'a EnvelopeWriter,
    connection: MutexGuard<'a, Connection>,
}

impl Turn<'_> {
    /// Writes one JSON-RPC message, in parts if it is large.
    pub async fn message(&self, sequence: u64, message: Vec<u8>, role: FrameRole) {
        for frame in codec::parts(sequence, message, role) {
            if self.writer.write(&self.connection, &Envelope::Frame(frame)).await.is_err() {
                return;
            }
        }
    }
}

/// Writes bytes that are no envelope: a greeting's reply.
pub async fn write_raw(connection: &Connection, bytes: &[u8]) -> io::Result<()> {
    let mut stream = &**connection;
    in_time(stream.write_all(bytes)).await
}
