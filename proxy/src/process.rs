//! What is settled for the whole process: how much of its heap it keeps, and which descriptors a started daemon must not
//! inherit. The one module with unsafe code.

#![allow(unsafe_code, reason = "a foreign descriptor is known only by its number, the heap only to the C library")]

use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::FdFlags;

/// Tried when the system does not list the open ones.
const MAX_GUESSED_DESCRIPTOR: RawFd = 256;

/// Lets threads allocate from so many heaps in all, and gives pieces of at least this size back to the system as soon
/// as nobody needs them. A heap for each thread, and what large messages leave behind in it, would cost more memory
/// than all that is ever held. Must run before the second thread starts.
pub fn limit_heap(arenas: i32, mmap_threshold: i32) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the calls only set limits that are looked at when something is allocated. If one is refused, memory is
    // kept as without the call.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, arenas);
        libc::mallopt(libc::M_MMAP_THRESHOLD, mmap_threshold);
        // What is freed at the end of a heap is kept for the next piece of that size.
        libc::mallopt(libc::M_TRIM_THRESHOLD, mmap_threshold.saturating_mul(2));
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = (arenas, mmap_threshold);
}

/// Gives free memory back to the system, wherever in the heap it is.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call only releases pages that nothing is allocated in.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Marks every descriptor but the three standard ones to be closed in children. Hosts leak pipes into their servers;
/// one that lived on in a daemon would keep the host waiting for its end.
pub(crate) fn set_cloexec_on_all() {
    for number in open_descriptors().unwrap_or_else(|| (3..MAX_GUESSED_DESCRIPTOR).collect()) {
        // SAFETY: the call only sets a flag that the standard library sets on everything it opens; a number
        // that is closed by now gives an error, and nothing is read, written or closed.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC);
    }
}

/// The numbers of the open descriptors, without the standard ones.
fn open_descriptors() -> Option<Vec<RawFd>> {
    let listed = std::fs::read_dir("/dev/fd").ok()?;
    let number = |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    Some(listed.filter_map(number).filter(|number| *number > 2).collect())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn open_descriptors_are_marked() {
        let file = std::fs::File::open("/dev/null").expect("always there");
        rustix::io::fcntl_setfd(&file, FdFlags::empty()).expect("open");
        assert!(open_descriptors().is_some_and(|numbers| numbers.contains(&file.as_raw_fd())));
        set_cloexec_on_all();
        assert_eq!(rustix::io::fcntl_getfd(&file).expect("open"), FdFlags::CLOEXEC);
    }
}
