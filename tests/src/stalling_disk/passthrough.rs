//! The file system: requests of the kernel come in, and are carried out in the directory below.
//!
//! Inodes are those of that directory, but for the root. Nothing is cached by the kernel, so that every look is asked
//! for and a rule holds from the moment it is set.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, renameat_with, utimensat};

use super::faults::{Faults, Operation};

const NOT_CACHED: Duration = Duration::ZERO;
const FIRST: Generation = Generation(0);
const BLOCK_SIZE: u32 = 4096;

pub(super) struct Passthrough {
    disk: Arc<Disk>,
    faults: Arc<Faults>,
}

/// The directory below, and what the kernel knows of it.
struct Disk {
    backing: PathBuf,
    /// Where an inode was seen last, from the root on.
    places: Mutex<HashMap<u64, PathBuf>>,
    open: Mutex<HashMap<u64, Arc<File>>>,
    handles: AtomicU64,
}

impl Passthrough {
    pub(super) fn new(backing: PathBuf, faults: Arc<Faults>) -> Self {
        let places = Mutex::new(HashMap::from([(INodeNo::ROOT.0, PathBuf::new())]));
        let disk = Disk { backing, places, open: Mutex::default(), handles: AtomicU64::new(1) };
        Self { disk: Arc::new(disk), faults }
    }

    /// Carries out work on something, unless a rule forbids it.
    fn run(
        &self,
        operation: Operation,
        inode: INodeNo,
        work: impl FnOnce(Result<(), Errno>, &Disk, PathBuf) + Send + 'static,
    ) {
        let (disk, place) = (Arc::clone(&self.disk), self.disk.place(inode));
        let path = disk.backing.join(&place);
        self.faults.run(operation, &place, Box::new(move |fault| work(fault, &disk, path)));
    }

    /// The same, on a name in a directory.
    fn run_in(
        &self,
        operation: Operation,
        parent: INodeNo,
        name: &OsStr,
        work: impl FnOnce(Result<(), Errno>, &Disk, PathBuf) + Send + 'static,
    ) {
        let (disk, place) = (Arc::clone(&self.disk), self.disk.place(parent).join(name));
        let path = disk.backing.join(&place);
        self.faults.run(operation, &place, Box::new(move |fault| work(fault, &disk, path)));
    }
}

impl Disk {
    fn place(&self, inode: INodeNo) -> PathBuf {
        self.places.lock().expect("nobody panics").get(&inode.0).cloned().unwrap_or_default()
    }

    /// What is at a path, which the kernel may ask for by its inode from now on.
    fn look(&self, path: &Path) -> Result<FileAttr, Errno> {
        let metadata = fs::symlink_metadata(path)?;
        let place = path.strip_prefix(&self.backing).unwrap_or(path).to_owned();
        let is_root = place.as_os_str().is_empty();
        if !is_root {
            self.places.lock().expect("nobody panics").insert(metadata.ino(), place);
        }
        Ok(attributes(&metadata, is_root))
    }

    fn keep_open(&self, file: File) -> FileHandle {
        let handle = self.handles.fetch_add(1, Ordering::Relaxed);
        self.open.lock().expect("nobody panics").insert(handle, Arc::new(file));
        FileHandle(handle)
    }

    fn file(&self, handle: FileHandle) -> Result<Arc<File>, Errno> {
        self.open.lock().expect("nobody panics").get(&handle.0).cloned().ok_or(Errno::EBADF)
    }

    /// The state of an open file, or of whatever has this inode.
    fn state(&self, inode: INodeNo, path: &Path, handle: Option<FileHandle>) -> Result<FileAttr, Errno> {
        if let Some(Ok(file)) = handle.map(|handle| self.file(handle)) {
            return Ok(attributes(&file.metadata()?, false));
        }
        let seen = self.look(path)?;
        if seen.ino == inode { Ok(seen) } else { Err(Errno::ESTALE) }
    }
}

fn attributes(metadata: &Metadata, is_root: bool) -> FileAttr {
    let kind = FileType::from_std(metadata.file_type()).unwrap_or(FileType::RegularFile);
    let at = |seconds: i64, nanos: i64| UNIX_EPOCH + Duration::new(seconds as u64, nanos as u32);
    FileAttr {
        ino: if is_root { INodeNo::ROOT } else { INodeNo(metadata.ino()) },
        size: metadata.size(),
        blocks: metadata.blocks(),
        atime: at(metadata.atime(), metadata.atime_nsec()),
        mtime: at(metadata.mtime(), metadata.mtime_nsec()),
        ctime: at(metadata.ctime(), metadata.ctime_nsec()),
        crtime: UNIX_EPOCH,
        kind,
        perm: (metadata.mode() & 0o7777) as u16,
        nlink: metadata.nlink() as u32,
        uid: metadata.uid(),
        gid: metadata.gid(),
        rdev: metadata.rdev() as u32,
        blksize: BLOCK_SIZE,
        flags: 0,
    }
}

fn timestamp(time: Option<TimeOrNow>) -> Timespec {
    match time {
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Some(TimeOrNow::Now) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Some(TimeOrNow::SpecificTime(time)) => {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            Timespec { tv_sec: since.as_secs() as i64, tv_nsec: since.subsec_nanos().into() }
        }
    }
}

fn system_error(error: rustix::io::Errno) -> Errno {
    io::Error::from(error).into()
}

fn answer_entry(reply: ReplyEntry, seen: Result<FileAttr, Errno>) {
    match seen {
        Ok(seen) => reply.entry(&NOT_CACHED, &seen, FIRST),
        Err(why) => reply.error(why),
    }
}

fn answer_attributes(reply: ReplyAttr, seen: Result<FileAttr, Errno>) {
    match seen {
        Ok(seen) => reply.attr(&NOT_CACHED, &seen),
        Err(why) => reply.error(why),
    }
}

fn answer_empty(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(why) => reply.error(why),
    }
}

impl Filesystem for Passthrough {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.run_in(Operation::Look, parent, name, |fault, disk, path| {
            answer_entry(reply, fault.and_then(|()| disk.look(&path)));
        });
    }

    fn getattr(&self, _: &Request, inode: INodeNo, handle: Option<FileHandle>, reply: ReplyAttr) {
        self.run(Operation::Look, inode, move |fault, disk, path| {
            answer_attributes(reply, fault.and_then(|()| disk.state(inode, &path, handle)));
        });
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.run(Operation::Write, inode, move |fault, disk, path| {
            let set = || -> Result<FileAttr, Errno> {
                let open = handle.and_then(|handle| disk.file(handle).ok());
                if let Some(mode) = mode {
                    fs::set_permissions(&path, Permissions::from_mode(mode & 0o7777))?;
                }
                if uid.is_some() || gid.is_some() {
                    std::os::unix::fs::lchown(&path, uid, gid)?;
                }
                match (size, &open) {
                    (Some(size), Some(open)) => open.set_len(size)?,
                    (Some(size), None) => OpenOptions::new().write(true).open(&path)?.set_len(size)?,
                    (None, _) => {}
                }
                if atime.is_some() || mtime.is_some() {
                    let times = Timestamps { last_access: timestamp(atime), last_modification: timestamp(mtime) };
                    utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(system_error)?;
                }
                disk.state(inode, &path, handle)
            };
            answer_attributes(reply, fault.and_then(|()| set()));
        });
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        self.run(Operation::Look, inode, |fault, _, path| match fault.and_then(|()| Ok(fs::read_link(&path)?)) {
            Ok(target) => reply.data(target.as_os_str().as_encoded_bytes()),
            Err(why) => reply.error(why),
        });
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        self.run_in(Operation::Name, parent, name, move |fault, disk, path| {
            let make = || -> Result<FileAttr, Errno> {
                fs::DirBuilder::new().mode(mode & !umask & 0o7777).create(&path)?;
                disk.look(&path)
            };
            answer_entry(reply, fault.and_then(|()| make()));
        });
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.run_in(Operation::Name, parent, name, |fault, _, path| {
            answer_empty(reply, fault.and_then(|()| Ok(fs::remove_file(&path)?)));
        });
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.run_in(Operation::Name, parent, name, |fault, _, path| {
            answer_empty(reply, fault.and_then(|()| Ok(fs::remove_dir(&path)?)));
        });
    }

    fn symlink(&self, _: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let target = target.to_owned();
        self.run_in(Operation::Name, parent, name, move |fault, disk, path| {
            let made = fault.and_then(|()| Ok(std::os::unix::fs::symlink(target, &path)?));
            answer_entry(reply, made.and_then(|()| disk.look(&path)));
        });
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let to = self.disk.backing.join(self.disk.place(new_parent)).join(new_name);
        self.run_in(Operation::Name, parent, name, move |fault, disk, from| {
            let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
            let rename = || renameat_with(CWD, &from, CWD, &to, flags).map_err(system_error);
            let done = fault.and_then(|()| rename());
            // Both names may lead to another inode now.
            let _ = (disk.look(&to), disk.look(&from));
            answer_empty(reply, done);
        });
    }

    fn link(&self, _: &Request, inode: INodeNo, new_parent: INodeNo, new_name: &OsStr, reply: ReplyEntry) {
        let from = self.disk.backing.join(self.disk.place(inode));
        self.run_in(Operation::Name, new_parent, new_name, move |fault, disk, path| {
            let linked = fault.and_then(|()| Ok(fs::hard_link(&from, &path)?));
            answer_entry(reply, linked.and_then(|()| disk.look(&path)));
        });
    }

    fn open(&self, _: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        self.run(Operation::Open, inode, move |fault, disk, path| {
            let access = flags.acc_mode();
            let mut options = OpenOptions::new();
            // The kernel may read what is around the bytes that are written.
            options.read(true).write(access != OpenAccMode::O_RDONLY);
            match fault.and_then(|()| Ok(options.open(&path)?)) {
                Ok(file) => reply.opened(disk.keep_open(file), FopenFlags::empty()),
                Err(why) => reply.error(why),
            }
        });
    }

    fn create(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, _: i32, reply: ReplyCreate) {
        self.run_in(Operation::Name, parent, name, move |fault, disk, path| {
            let create = || -> Result<(FileAttr, FileHandle), Errno> {
                let mut options = OpenOptions::new();
                options.read(true).write(true).create_new(true).mode(mode & !umask & 0o7777);
                let file = options.open(&path)?;
                Ok((disk.look(&path)?, disk.keep_open(file)))
            };
            match fault.and_then(|()| create()) {
                Ok((seen, handle)) => reply.created(&NOT_CACHED, &seen, FIRST, handle, FopenFlags::empty()),
                Err(why) => reply.error(why),
            }
        });
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.run(Operation::Read, inode, move |fault, disk, _| {
            let read = || -> Result<Vec<u8>, Errno> {
                let file = disk.file(handle)?;
                let mut bytes = vec![0; size as usize];
                let mut filled = 0;
                while filled < bytes.len() {
                    match file.read_at(&mut bytes[filled..], offset + filled as u64)? {
                        0 => break,
                        read => filled += read,
                    }
                }
                bytes.truncate(filled);
                Ok(bytes)
            };
            match fault.and_then(|()| read()) {
                Ok(bytes) => reply.data(&bytes),
                Err(why) => reply.error(why),
            }
        });
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let data = data.to_owned();
        self.run(Operation::Write, inode, move |fault, disk, _| {
            match fault.and_then(|()| Ok(disk.file(handle)?.write_all_at(&data, offset)?)) {
                Ok(()) => reply.written(data.len() as u32),
                Err(why) => reply.error(why),
            }
        });
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.disk.open.lock().expect("nobody panics").remove(&handle.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, inode: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        self.run(Operation::Sync, inode, move |fault, disk, _| {
            answer_empty(reply, fault.and_then(|()| disk.file(handle)).map(drop));
        });
    }

    fn readdir(&self, _: &Request, inode: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        self.run(Operation::List, inode, move |fault, _, path| {
            let list = || -> Result<Vec<(u64, FileType, std::ffi::OsString)>, Errno> {
                let mut names = vec![(1, FileType::Directory, ".".into()), (1, FileType::Directory, "..".into())];
                for entry in fs::read_dir(&path)? {
                    let entry = entry?;
                    let kind = FileType::from_std(entry.file_type()?).unwrap_or(FileType::RegularFile);
                    names.push((std::os::unix::fs::DirEntryExt::ino(&entry), kind, entry.file_name()));
                }
                names.sort_by(|one, other| one.2.cmp(&other.2));
                Ok(names)
            };
            let names = match fault.and_then(|()| list()) {
                Ok(names) => names,
                Err(why) => return reply.error(why),
            };
            for (number, (inode, kind, name)) in names.into_iter().enumerate().skip(offset as usize) {
                if reply.add(INodeNo(inode), number as u64 + 1, kind, name) {
                    break;
                }
            }
            reply.ok();
        });
    }

    fn fsyncdir(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.run(Operation::Sync, inode, |fault, _, _| answer_empty(reply, fault));
    }

    fn statfs(&self, _: &Request, inode: INodeNo, reply: ReplyStatfs) {
        self.run(Operation::Look, inode, |fault, _, _| match fault {
            Ok(()) => reply.statfs(1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19, BLOCK_SIZE, 255, BLOCK_SIZE),
            Err(why) => reply.error(why),
        });
    }
}
