//! Faults: starts, kills, floods, stalled clients, strangers.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]

/// Tests that need the whole machine run one at a time.
mod exclusive;

/// What the system says about a process.
mod process;

/// Hosts that keep calls in flight and book every answer.
mod load;

/// A socket without a proxy, or without a daemon.
mod raw_connection;

/// However many start it: one daemon.
mod starts;

/// A daemon that dies at work.
mod crash;

/// Many who want the same item, and holders that die.
mod claims;

/// No daemon to be had.
mod no_daemon;

/// Builds of different age.
mod versions;

/// Bytes that are no protocol.
mod garbage;

/// Strangers and open directories.
mod security;

/// Paths that do not fit into a socket's address.
mod long_paths;

/// Shutdown on purpose.
mod daemon_shutdown;

/// A socket that a service manager opened.
mod socket_activation;

/// A host that exits.
mod host_exit;

/// Clients that flood, stall or do not listen.
mod slow;

/// Requests wait in the proxy, not in the daemon.
mod queue;

/// Nobody wants anything.
mod idle;

/// Bad blocks and foreign files in the journal.
mod journal_damage;

/// How long and how much the journal keeps.
mod journal_retention;

/// An engine without sockets.
mod write_fixture;

/// System calls that fail or stop at the N-th.
mod failing_syscalls;

/// A write that ends at every place where a machine can end it.
mod writes_nth_call;

/// Every state that a power cut may leave.
mod disk_model;

/// A watched vault, compared with the disk.
mod watch_fixture;

/// Tens of thousands of files come, change, move and go.
mod watch_storms;

/// Roots come and go.
mod watch_roots;

/// Odd names and odd trees.
mod watch_names;

/// The system allows no more watches.
mod watch_limits;

/// The barrier, and what it costs.
mod watch_barrier;

/// A disk that hangs, crawls or fails harms nobody who does not use it.
mod hung_disk;

/// Somebody edits by hand what hosts read.
mod reads_beside_editor;

/// Projects outlive the daemon that learnt of them.
mod project_store;

/// Hosts that write and book what was acknowledged.
mod writes_load;

/// A daemon that ends while hosts write.
mod writes_crash;

/// Recovery by evidence, of each tree for itself.
mod recovery;

/// Where temp files lie.
mod writes_staged;

/// Calls by chance under kills, and an order that fits them.
mod history;

/// Somebody edits by hand what hosts write.
mod writes_beside_editor;

/// Flush, rename, flush, answer.
mod writes_order;

/// Two daemons on the same files.
mod writes_two_daemons;

/// Interference between two system calls of a write.
mod write_interference;

/// Cached models that were not compared.
mod unverified_models;

/// Slow, silent and greedy callers of the gateway.
mod http_slow;

/// Requests whose end is unsure, and bytes that are no request.
mod http_framing;

/// A gateway during shutdown.
mod http_shutdown;

/// Keys and texts that no log holds.
mod http_secrets;

/// What the log shows of people's files: little, on one line each.
mod log_privacy;

/// A daemon that ends while tasks become plans of their own.
mod vine_crash;

/// The index is damaged, removed, killed.
mod index_damage;

/// A daemon is nobody's child, and keeps nobody's environment.
mod detached;

/// What the system forbids a daemon.
mod landlock;

/// Descriptors, threads and the clock.
mod bounds;
