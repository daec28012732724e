//! Worktrees of one repository, read off the files that git keeps; no program is run.
//!
//! A directory comes in; the repository that it is a checkout of, and the other checkouts of that, go out. A checkout
//! counts only if it leads to its repository and the repository leads back to it.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::canonical;

/// What links a checkout with its repository.
const GIT: &str = ".git";
const WORKTREES: &str = "worktrees";
/// A file that names a directory is no longer than this.
const MAX_LINK_BYTES: u64 = 8 << 10;
/// So many worktrees of one repository count.
const MAX_WORKTREES: usize = 1000;

/// A tree, known by what is the same in all worktrees of its repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId {
    /// The directory that all worktrees of the repository share; none outside of repositories.
    pub repository: Option<PathBuf>,
    /// Its place in a checkout; outside of repositories, where it is.
    pub path: PathBuf,
}

impl TreeId {
    /// Of a tree at this absolute path, which need not be there.
    pub fn of(tree: &Path) -> Self {
        let alone = || Self { repository: None, path: tree.to_owned() };
        let checkout = tree.ancestors().find(|above| fs::symlink_metadata(above.join(GIT)).is_ok());
        let Some(checkout) = checkout else { return alone() };
        match (repository_of(checkout), tree.strip_prefix(checkout)) {
            (Some(repository), Ok(path)) => Self { repository: Some(repository), path: path.to_owned() },
            _ => alone(),
        }
    }

    /// The tree in every worktree, whether or not anything is there.
    pub fn trees(&self) -> Vec<PathBuf> {
        match &self.repository {
            Some(repository) => worktrees(repository).into_iter().map(|root| root.join(&self.path)).collect(),
            None => vec![self.path.clone()],
        }
    }

    /// The directory that says where the tree is.
    pub fn directory(&self) -> &Path {
        self.repository.as_deref().unwrap_or(&self.path)
    }

    /// Whether a tree at this path may be it, which is cheap to tell.
    pub fn may_be(&self, tree: &Path) -> bool {
        match self.repository {
            Some(_) => tree.ends_with(&self.path),
            None => tree == self.path,
        }
    }
}

/// The directory that a checkout shares with all others of its repository. A submodule has one of its own, but says
/// nothing about where others are: it is none.
fn repository_of(checkout: &Path) -> Option<PathBuf> {
    let link = checkout.join(GIT);
    if fs::metadata(&link).is_ok_and(|found| found.is_dir()) {
        return canonical(&link);
    }
    let own = canonical(&checkout.join(read_link(&link)?.strip_prefix("gitdir:")?.trim()))?;
    let common = canonical(&own.join(read_link(&own.join("commondir"))?.trim()))?;
    (own.parent() == Some(&common.join(WORKTREES)) && checkout_of(&own)? == canonical(checkout)?).then_some(common)
}

/// The checkout that an entry of a repository's `worktrees` leads to.
fn checkout_of(entry: &Path) -> Option<PathBuf> {
    let link = entry.join(read_link(&entry.join("gitdir"))?.trim());
    canonical(link.parent().filter(|_| link.ends_with(GIT))?)
}

/// Every checkout of a repository: the main one, if it has one, and those that lead back to it.
fn worktrees(repository: &Path) -> Vec<PathBuf> {
    let main = repository.parent().filter(|_| repository.ends_with(GIT)).map(Path::to_owned);
    let entries = fs::read_dir(repository.join(WORKTREES)).into_iter().flatten().flatten();
    let mut linked: Vec<PathBuf> = entries
        .take(MAX_WORKTREES)
        .filter_map(|entry| checkout_of(&entry.path()))
        .filter(|checkout| repository_of(checkout).as_deref() == Some(repository))
        .collect();
    linked.sort();
    main.into_iter().chain(linked).collect()
}

fn read_link(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_LINK_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    /// A repository `main` with worktrees `one` and `two`, as git makes them; the second by relative paths.
    fn repository() -> (TempDir, PathBuf) {
        let directory = TempDir::new().expect("a directory");
        let home = fs::canonicalize(directory.path()).expect("its own path");
        for (name, link, back) in [
            ("one", format!("{}/main/.git/worktrees/one", home.display()), format!("{}/one/.git", home.display())),
            ("two", "../main/.git/worktrees/two".to_owned(), "../../../../two/.git".to_owned()),
        ] {
            write(&home.join(name).join(".git"), &format!("gitdir: {link}\n"));
            write(&home.join("main/.git/worktrees").join(name).join("gitdir"), &format!("{back}\n"));
            write(&home.join("main/.git/worktrees").join(name).join("commondir"), "../..\n");
        }
        (directory, home)
    }

    #[test]
    fn a_tree_is_the_same_in_all_worktrees() {
        let (_directory, home) = repository();
        let id = TreeId::of(&home.join("main/pkg/.todo"));
        assert_eq!(id, TreeId { repository: Some(home.join("main/.git")), path: "pkg/.todo".into() });
        for name in ["one", "two"] {
            assert_eq!(TreeId::of(&home.join(name).join("pkg/.todo")), id, "{name}");
            assert!(id.may_be(&home.join(name).join("pkg/.todo")) && !id.may_be(&home.join(name).join(".todo")));
        }
        assert_eq!(id.trees(), ["main", "one", "two"].map(|name| home.join(name).join("pkg/.todo")));
    }

    #[test]
    fn who_is_not_led_back_to_stands_alone() {
        let (_directory, home) = repository();
        let alone = |name: &str| {
            let tree = home.join(name).join(".todo");
            let id = TreeId::of(&tree);
            assert_eq!((id.trees(), id.may_be(&tree)), (vec![tree.clone()], true), "{name}");
            assert_eq!(id, TreeId { repository: None, path: tree }, "{name}");
        };
        alone("plain");
        write(&home.join("copy/.git"), &format!("gitdir: {}/main/.git/worktrees/one\n", home.display()));
        alone("copy");
        write(&home.join("module/.git"), "gitdir: ../main/.git/modules/module\n");
        fs::create_dir_all(home.join("main/.git/modules/module")).expect("a directory");
        alone("module");
        write(&home.join("broken/.git"), "nothing");
        alone("broken");
        write(&home.join("main/.git/worktrees/gone/gitdir"), "/nowhere/.git\n");
        fs::write(home.join("two/.git"), "gitdir: elsewhere").expect("a file");
        alone("two");
        let trees = TreeId::of(&home.join("one/x")).trees();
        assert_eq!(trees, [home.join("main/x"), home.join("one/x")]);
    }

    #[test]
    fn a_bare_repository_has_worktrees_and_no_main_one() {
        let home = TempDir::new().expect("a directory");
        let home = fs::canonicalize(home.path()).expect("its own path");
        write(&home.join("a/.git"), "gitdir: ../bare.git/worktrees/a\n");
        write(&home.join("bare.git/worktrees/a/gitdir"), &format!("{}/a/.git\n", home.display()));
        write(&home.join("bare.git/worktrees/a/commondir"), "../..\n");
        assert_eq!(TreeId::of(&home.join("a/.todo")).trees(), [home.join("a/.todo")]);
    }
}
