//! Only this user reaches the daemon; not even root is special.

use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::traits::StreamCommon as _;

/// Whether the other end of a connection belongs to the user we run for.
pub fn is_us(stream: &Stream) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    stream.peer_creds().ok().and_then(|credentials| credentials.euid()) == Some(ours)
}
