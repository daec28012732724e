//! How much one session may have under way. The proxy keeps to these limits: what is beyond them waits there, and
//! what is too much to wait is answered as busy. The daemon refuses as busy whatever another peer sends beyond them.

/// Requests that the daemon works on for one session at a time.
pub const MAX_RUNNING: usize = 64;
/// Their bytes; a request that runs alone may be larger.
pub const MAX_RUNNING_BYTES: usize = 32 << 20;
/// Requests that stay open on purpose (`subscriptions/listen`); they are not counted among the running ones.
pub const MAX_SUBSCRIPTIONS: usize = 64;
/// Messages that wait in the proxy for their turn, or for a daemon.
pub const MAX_QUEUED: usize = 1024;
/// Their bytes; a message that waits alone may be larger.
pub const MAX_QUEUED_BYTES: usize = 8 << 20;
