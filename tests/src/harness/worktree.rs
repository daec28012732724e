//! Further worktrees of the project's repository, with the files that git keeps for them. No git is needed.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Client, Home};

impl Home {
    /// A worktree of the project beside it. Nothing is in it yet.
    pub fn worktree(&self, name: &str) -> PathBuf {
        let (root, entry) = (self.path().join(name), self.project().join(".git/worktrees").join(name));
        for directory in [&root, &entry] {
            fs::create_dir_all(directory).expect("a directory");
        }
        let link = |path: PathBuf, text: String| fs::write(path, text + "\n").expect("a file");
        link(root.join(".git"), format!("gitdir: {}", entry.display()));
        link(entry.join("gitdir"), root.join(".git").display().to_string());
        link(entry.join("commondir"), "../..".to_owned());
        link(entry.join("HEAD"), format!("ref: refs/heads/{name}"));
        root
    }

    /// A host that works in another directory.
    pub fn host_in(&self, directory: &Path, flags: &[&str]) -> Client {
        let directory = directory.to_str().expect("text");
        self.host(&[&["--cwd", directory], flags].concat())
    }
}
