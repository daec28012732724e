//! The daemon's writing without its sockets: an engine over any calls, in a directory of its own, so that
//! a write can be ended at every place where a machine can end it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::Value;
use tempfile::TempDir;
use trellis_protocol::endpoint::Places;
use trellis_protocol::{Failure, Surface};
use trellis_tests::rehearsal::Rehearsal;
use trellisd::disk::calls::{Calls, System};
use trellisd::disk::journal::CallId;
use trellisd::disk::{Reporter, keeper, recover};
use trellisd::engine::commit::Writing;
use trellisd::engine::event::Why;
use trellisd::engine::{Answers, Engine, Event, Life, StartedBy};
use trellisd::families::{self, Registered};
use trellisd::http::listen::Standing;
use trellisd::tools::{Answer, Found, Registry, Run, Session};

/// A project and a state directory.
pub(crate) struct Ground {
    directory: TempDir,
}

/// A daemon without sockets.
pub(crate) struct Desk {
    pub(crate) engine: Arc<Engine>,
    project: PathBuf,
}

/// Every file below the project with its bytes; a directory has none.
pub(crate) type Tree = BTreeMap<String, Option<String>>;

impl Ground {
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("trellis-").tempdir().expect("a temporary directory");
        fs::create_dir_all(directory.path().join("project/.git")).expect("a project");
        Self { directory }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// Writes a file below the project, and the directories above it.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// A daemon on this ground, after it has gone through the journal and swept.
    pub(crate) fn open(&self, calls: Arc<dyn Calls>) -> io::Result<Desk> {
        let told: Arc<keeper::Told> = Arc::new(|_: &OsStr, _: &OsStr| {});
        let state = self.directory.path().join("state");
        let now = SystemTime::now();
        let (scribe, recovered) = recover::take_up(&state.join("journal"), &calls, &told, now)?;
        recover::sweep(&scribe, calls.as_ref());
        let at = |name: &str| state.join(name);
        let places = Places {
            state: state.clone(),
            cache: at("cache"),
            config: at("config"),
            log: at("log"),
            socket: at("socket"),
        };
        let (socket, gateway) = (String::new(), Standing::Off);
        let life =
            Life { since: Instant::now(), socket, places, started_by: StartedBy::Hand, started_in: None, gateway };
        let mut families = families::all();
        families.push(Registered::of::<Rehearsal>());
        let registry = Registry::new(families);
        let answers = Answers::of(recovered);
        let engine = Engine::start(registry, Default::default(), life, scribe, answers, Vec::new());
        Ok(Desk { engine, project: self.project() })
    }

    /// The next daemon, on a machine that works.
    pub(crate) fn reopen(&self) -> Desk {
        self.open(Arc::new(System)).expect("the journal opens")
    }

    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(&self.project(), "", &mut tree);
        tree.remove(".git");
        tree
    }
}

fn collect(directory: &Path, above: &str, tree: &mut Tree) {
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

impl Desk {
    /// Calls a writing tool as the request with this number of one session.
    pub(crate) fn call(&self, tool: &str, arguments: &Value, sequence: u64) -> Result<Answer, Failure> {
        let catalogue = self.engine.registry.catalogue(&Surface::default()).expect("a catalogue");
        let Found::Tool(family, tool) = catalogue.find(tool) else { panic!("no tool `{tool}`") };
        let Run::Write(halves) = &tool.run else { panic!("it does not write") };
        let mut session = Session::default();
        session.key = Some("session".to_owned());
        session.directory = Some(self.project.clone());
        session.umask = 0o022;
        let call = Some(CallId { session: "session".to_owned(), sequence });
        let arguments = arguments.as_object().expect("an object");
        let writing = Writing { family, halves, arguments, call, key: None };
        self.engine.commit(&writing, &session, &Reporter::default())
    }

    /// Lets the daemon finish, and go.
    pub(crate) fn close(self) {
        self.engine.scribe.finish();
        self.engine.post(Event::Leave(Why::Signal));
    }
}

/// Files alone: a crash may leave empty directories.
pub(crate) fn files(tree: &Tree) -> Tree {
    tree.iter().filter(|(_, text)| text.is_some()).map(|(path, text)| (path.clone(), text.clone())).collect()
}
