//! An engine without sockets, over any system calls, in a directory of its own, so that a write can be interrupted
//! at every point where a machine can.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use trellis_protocol::endpoint::TrellisPaths;
use trellis_protocol::{Failure, Surface};
use trellis_tests::fixture::FixtureFamily;
use trellisd::clock;
use trellisd::disk::DiskWork;
use trellisd::disk::journal::{CallId, JournalRecord};
use trellisd::disk::syscalls::{OsSyscalls, WriteSyscalls};
use trellisd::disk::{AtomicWriter, displaced, recover};
use trellisd::engine::commit::WriteCall;
use trellisd::engine::lifecycle::ExitReason;
use trellisd::engine::{AnswerCache, Engine, GatewayState, ProcessInfo, StartedBy};
use trellisd::families::{self, FamilyDescriptor};
use trellisd::families::{Answer, ProgressReporter, Registry, SessionContext, ToolLookup, ToolRun};
use trellisd::trees::Author;

pub(crate) struct TestProject {
    directory: TempDir,
}

pub(crate) struct EngineFixture {
    pub(crate) engine: Arc<Engine>,
    project: PathBuf,
}

/// Every file below the project with its bytes; a directory has none.
pub(crate) type FileTree = BTreeMap<String, Option<String>>;

impl TestProject {
    pub(crate) fn new() -> Self {
        Self::new_in(&std::env::temp_dir())
    }

    pub(crate) fn new_in(parent: &Path) -> Self {
        let directory = tempfile::Builder::new().prefix("trellis-").tempdir_in(parent).expect("a temporary directory");
        fs::create_dir_all(directory.path().join("project/.git")).expect("a project");
        Self { directory }
    }

    /// The directory that holds the project and the state of its daemons.
    pub(crate) fn base(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// Writes a file below the project, and the directories above it.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// A daemon on this ground, after it has gone through the journal and swept.
    pub(crate) fn open(&self, syscalls: Arc<dyn WriteSyscalls>) -> io::Result<EngineFixture> {
        self.open_at(syscalls, clock::epoch_millis()).map(|(fixture, _)| fixture)
    }

    /// The same at another time, in milliseconds of the epoch, and how many writes were too old to be carried out.
    pub(crate) fn open_at(&self, syscalls: Arc<dyn WriteSyscalls>, now: i64) -> io::Result<(EngineFixture, usize)> {
        let directory = self.state().join("journal");
        let (writer, recovered) = recover::open_and_recover(&directory, &syscalls, &no_callback(), now)?;
        recover::sweep(&writer, syscalls.as_ref());
        let rolled_back = recovered.rolled_back.len();
        Ok((self.start(writer, AnswerCache::of(recovered)), rolled_back))
    }

    /// A daemon that serves while it goes through the journal.
    pub(crate) fn open_in_background(&self, syscalls: Arc<dyn WriteSyscalls>) -> io::Result<EngineFixture> {
        let now = clock::epoch_millis();
        let directory = self.state().join("journal");
        let (writer, unfinished) = recover::open(&directory, &syscalls, &no_callback(), now)?;
        let fixture = self.start(writer, AnswerCache::of(unfinished.known));
        fixture.engine.recover_in_background(unfinished.groups, &no_callback());
        recover::sweep(&fixture.engine.writer, syscalls.as_ref());
        Ok(fixture)
    }

    fn start(&self, writer: AtomicWriter, answers: AnswerCache) -> EngineFixture {
        let state = self.state();
        let at = |name: &str| state.join(name);
        let paths = TrellisPaths {
            state: state.clone(),
            cache: at("cache"),
            config: at("config"),
            log: at("log"),
            socket: at("socket"),
            cookies: at("cookies"),
        };
        let (socket, gateway) = (String::new(), GatewayState::Off);
        let process = ProcessInfo {
            since: Instant::now(),
            socket,
            paths,
            started_by: StartedBy::Terminal,
            started_in: None,
            gateway,
            landlock: String::new(),
        };
        let mut families = families::all();
        families.push(FamilyDescriptor::of::<FixtureFamily>());
        let registry = Registry::new(families);
        let engine = Engine::start(registry, Default::default(), process, writer, answers, Vec::new());
        EngineFixture { engine, project: self.project() }
    }

    /// The next daemon, on a machine that works.
    pub(crate) fn reopen(&self) -> EngineFixture {
        self.open(Arc::new(OsSyscalls)).expect("the journal opens")
    }

    /// What a daemon does before it serves. Which requests it knows as done, and of which it says that nobody can tell.
    pub(crate) fn recover(&self, syscalls: Arc<dyn WriteSyscalls>) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let on_conflict: Arc<displaced::ConflictCallback> = Arc::new(|_: &OsStr, _: &OsStr| {});
        let journal = self.state().join("journal");
        let now = clock::epoch_millis();
        let opened = recover::open_and_recover(&journal, &syscalls, &on_conflict, now);
        let (writer, recovered) = opened.expect("the journal opens");
        recover::sweep(&writer, syscalls.as_ref());
        writer.finish();
        let sequence = |record: &JournalRecord| record.call.as_ref().expect("a call").sequence;
        let sequences = |records: &[JournalRecord]| records.iter().map(sequence).collect();
        (sequences(&recovered.applied), sequences(&recovered.unknown))
    }

    pub(crate) fn tree(&self) -> FileTree {
        let mut tree = FileTree::new();
        collect(&self.project(), "", &mut tree);
        tree.remove(".git");
        tree
    }
}

fn no_callback() -> Arc<displaced::ConflictCallback> {
    Arc::new(|_: &OsStr, _: &OsStr| {})
}

fn collect(directory: &Path, above: &str, tree: &mut FileTree) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = format!("{above}{}", entry.file_name().display());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{path}/"), tree);
            tree.insert(path, None);
        } else {
            let text = fs::read(entry.path()).expect("a file");
            tree.insert(path, Some(String::from_utf8_lossy(&text).into_owned()));
        }
    }
}

impl EngineFixture {
    /// Calls a writing tool as the request with this number of one session.
    pub(crate) fn call(&self, tool: &str, arguments: &Value, sequence: u64) -> Result<Answer, Failure> {
        self.call_in(&self.project, tool, arguments, sequence)
    }

    /// The same, in another project.
    pub(crate) fn call_in(
        &self,
        project: &Path,
        tool: &str,
        arguments: &Value,
        sequence: u64,
    ) -> Result<Answer, Failure> {
        let catalogue = self.engine.registry.catalogue(&Surface::default()).expect("a catalogue");
        let ToolLookup::Tool(found) = catalogue.find(tool) else { panic!("no tool `{tool}`") };
        let family = found.family();
        let ToolRun::Write(two_phase) = &found.tool().run else { panic!("it does not write") };
        let mut session = SessionContext::default();
        session.key = Some("session".to_owned());
        session.directory = Some(project.to_owned());
        session.umask = 0o022;
        let call = Some(CallId { session: "session".to_owned(), sequence });
        let arguments = arguments.as_object().expect("an object");
        let author = Author { family: family.name, tool: tool.to_owned(), ..Author::default() };
        let write_call = WriteCall { family, two_phase, arguments, call, key: None, author: Arc::new(author) };
        let work = DiskWork::new(&self.engine.disks);
        let committed = self.engine.commit(&write_call, &session, &ProgressReporter::default(), &work)?;
        Ok(committed.answer)
    }

    /// Lets the daemon finish, and go.
    pub(crate) fn close(self) {
        self.engine.finish(Duration::ZERO);
        self.engine.lifecycle.leave(ExitReason::Signal);
    }
}

/// Files alone: a crash may leave empty directories.
pub(crate) fn files(tree: &FileTree) -> FileTree {
    tree.iter().filter(|(_, text)| text.is_some()).map(|(path, text)| (path.clone(), text.clone())).collect()
}
