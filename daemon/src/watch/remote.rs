//! Which disks send no events: those of other machines, and file systems in user space.

use std::path::Path;

/// Magic numbers of file systems that must be asked again and again.
#[cfg(target_os = "linux")]
const SILENT: [i64; 8] = [
    0x6969,      // NFS
    0x517b,      // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x6573_5546, // FUSE
    0x0102_1997, // 9p, and the drives of Windows under WSL
    0x5346_414f, // AFS
    0x00c3_6400, // Ceph
];

/// Whether a directory is on such a disk.
#[cfg(target_os = "linux")]
#[allow(clippy::useless_conversion, reason = "the type of the number differs between processors")]
pub fn is_silent(directory: &Path) -> bool {
    rustix::fs::statfs(directory).is_ok_and(|about| SILENT.contains(&i64::from(about.f_type)))
}

/// Whether a directory is on such a disk.
#[cfg(not(target_os = "linux"))]
pub fn is_silent(_: &Path) -> bool {
    false
}
