//! Carries out what a tool needs to look at.
//!
//! A need comes in, what is there goes out, or why it could not be seen. Nothing is decided here:
//! codes and words are the families'.

use std::path::PathBuf;

use super::Eyes;
use crate::families::need::{Entry, FileAt, FileSeen, ListingAt, Look, Place, Unseen};

impl Look for FileAt {
    type Seen = Result<FileSeen, Unseen>;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        let root = eyes.roots.open(&self.place.tree(eyes)?)?;
        let file = match root.open_file(&self.path, self.links) {
            Err(Unseen::Missing) => {
                let path = root.respelt(&self.path, self.links).ok_or(Unseen::Missing)?;
                root.open_file(&path, self.links)
            }
            opened => opened,
        };
        file?.read(self.size_limit)
    }
}

impl Look for ListingAt {
    type Seen = Result<Vec<Entry>, Unseen>;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        let root = eyes.roots.open(&self.place.tree(eyes)?)?;
        match (root.list(self.path.as_ref(), self.links), &self.path) {
            (Err(Unseen::Missing), Some(path)) => {
                let path = root.respelt(path, self.links).ok_or(Unseen::Missing)?;
                root.list(Some(&path), self.links)
            }
            (listed, _) => listed,
        }
    }
}

impl Place {
    /// Where the tree is now; it need not exist.
    pub fn tree(&self, eyes: &Eyes<'_>) -> Result<PathBuf, Unseen> {
        match self {
            Self::Fixed(path) => Ok(path.clone()),
            Self::InProject { unless: Some(path), .. } if path.is_dir() => Ok(path.clone()),
            Self::InProject { project, below, .. } => project.tree(below, eyes),
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;
    use crate::disk::project::Known;
    use crate::disk::{RelativePath, Reporter, Roots};
    use crate::families::need::{Links, WhichProject};
    use crate::tools::Session;

    fn home() -> TempDir {
        let home = TempDir::new().expect("a temporary directory");
        for name in ["near/vault", "project/vault", "project/.git", "project/bare", "bare"] {
            fs::create_dir_all(home.path().join(name)).expect("a directory");
        }
        fs::write(home.path().join("near/vault/\u{304b}\u{3099}.md"), "near").expect("a file");
        fs::write(home.path().join("project/vault/\u{304c}.md"), "project").expect("a file");
        home
    }

    /// Looks from a directory for a file, and for the listing in which it must be.
    fn check(place: impl Fn(&Path) -> Place, directory: &str, expected: Result<&str, Unseen>) {
        let home = home();
        let session = Session { directory: Some(home.path().join(directory)), ..Session::default() };
        let eyes = Eyes {
            roots: &Roots::default(),
            projects: &Known::outside(None),
            session: &session,
            reporter: &Reporter::default(),
        };
        let place = place(home.path());
        let path = RelativePath::parse("\u{304c}.md").expect("a path");
        let file = FileAt { place: place.clone(), path, links: Links::Never, size_limit: 100 }.look(&eyes);
        let listing = ListingAt { place, path: None, links: Links::Never }.look(&eyes);
        assert_eq!(file.map(|file| file.bytes), expected.clone().map(|text| text.as_bytes().to_vec()));
        assert_eq!(listing.map(|entries| entries.len()), expected.map(|_| 1));
    }

    fn in_project(unless: Option<PathBuf>) -> Place {
        Place::InProject { unless, project: WhichProject::Session, below: PathBuf::from("vault") }
    }

    #[test]
    fn a_place_is_found_when_it_is_asked_for() {
        check(|home| Place::Fixed(home.join("near/vault")), "bare", Ok("near"));
        check(|home| Place::Fixed(home.join("none")), "bare", Err(Unseen::NoTree));
        check(|home| in_project(Some(home.join("near/vault"))), "project", Ok("near"));
        check(|home| in_project(Some(home.join("none"))), "project/bare", Ok("project"));
        check(|_| in_project(None), "near", Ok("near"));
        check(|_| in_project(None), "bare", Err(Unseen::NoTree));
        check(|_| in_project(None), "gone", Err(Unseen::NoProject));
    }
}
