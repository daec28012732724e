//! The names of known projects: the end of each path, with as many directories in front as make it unique. Paths come
//! in, names go out, and the other way round; the disk is not asked.

use std::path::{Path, PathBuf};

/// Known projects by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectNames {
    /// Each with its name, sorted by name.
    projects: Vec<(String, PathBuf)>,
    /// The session's own.
    own: Option<PathBuf>,
}

/// Why a name means no project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectNameError {
    /// Several fit; their names.
    Ambiguous(Vec<String>),
    Unknown,
}

impl ProjectNames {
    /// Of these directories and the session's own.
    pub fn new(mut known: Vec<PathBuf>, own: Option<PathBuf>) -> Self {
        known.extend(own.clone());
        known.sort();
        known.dedup();
        let parts: Vec<Vec<String>> = known.iter().map(|path| parts(path)).collect();
        let name = |place: usize| {
            let mine = &parts[place];
            let is_unique = |end: &[String]| parts.iter().filter(|other| other.ends_with(end)).count() == 1;
            let start = (0..mine.len()).rev().find(|start| is_unique(&mine[*start..])).unwrap_or(0);
            mine[start..].join("/")
        };
        let mut projects: Vec<(String, PathBuf)> =
            known.iter().enumerate().map(|(place, path)| (name(place), path.clone())).collect();
        projects.sort();
        Self { projects, own }
    }

    pub fn own(&self) -> Option<&Path> {
        self.own.as_deref()
    }

    /// Every project with its name, sorted by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.projects.iter().map(|(name, path)| (name.as_str(), path.as_path()))
    }

    /// The name of a known project.
    pub fn name(&self, project: &Path) -> Option<&str> {
        self.all().find(|(_, path)| *path == project).map(|(name, _)| name)
    }

    /// Names that may have been meant by one that none is.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        let near = |known: &&(String, PathBuf)| {
            let distance = strsim::osa_distance(&known.0.to_lowercase(), &name.to_lowercase());
            distance <= 2 && 2 * distance < name.chars().count()
        };
        self.projects.iter().filter(near).map(|(name, _)| name.clone()).take(3).collect()
    }

    /// The project that is meant: the session's own if its path ends so, else the one that does.
    pub fn find(&self, name: &str) -> Result<&Path, ProjectNameError> {
        let wanted: Vec<String> = name.split('/').map(str::to_owned).collect();
        if let Some(own) = self.own().filter(|own| parts(own).ends_with(&wanted)) {
            return Ok(own);
        }
        let exact: Vec<_> = self.projects.iter().filter(|(_, path)| parts(path).ends_with(&wanted)).collect();
        if let Some((_, path)) = exact.iter().find(|(known, _)| known == name) {
            return Ok(path);
        }
        let folded = |parts: Vec<String>| parts.iter().map(|part| part.to_lowercase()).collect::<Vec<_>>();
        let lower = folded(wanted);
        let any_case = || self.projects.iter().filter(|(_, path)| folded(parts(path)).ends_with(&lower)).collect();
        let fitting: Vec<&(String, PathBuf)> = if exact.is_empty() { any_case() } else { exact };
        match fitting.as_slice() {
            [] => Err(ProjectNameError::Unknown),
            [(_, path)] => Ok(path),
            several => Err(ProjectNameError::Ambiguous(several.iter().map(|(name, _)| name.clone()).collect())),
        }
    }
}

fn parts(path: &Path) -> Vec<String> {
    let normal = path.components().filter(|part| matches!(part, std::path::Component::Normal(_)));
    normal.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(known: &[&str], own: Option<&str>) -> ProjectNames {
        ProjectNames::new(known.iter().map(PathBuf::from).collect(), own.map(PathBuf::from))
    }

    #[test]
    fn a_name_is_as_long_as_it_must_be() {
        let names = names(&["/h/a/app", "/h/b/app", "/h/web", "/srv/x/a/lib", "/a/lib"], None);
        let seen: Vec<(&str, &str)> = names.all().map(|(name, path)| (name, path.to_str().expect("text"))).collect();
        let expected = [
            ("a/app", "/h/a/app"),
            ("a/lib", "/a/lib"),
            ("b/app", "/h/b/app"),
            ("web", "/h/web"),
            ("x/a/lib", "/srv/x/a/lib"),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_name_finds_its_project() {
        let check = |own: Option<&str>, name: &str, expected: Result<&str, ProjectNameError>| {
            let names = names(&["/h/a/app", "/h/b/app", "/h/Web", "/h/a/lib", "/x/h/a/lib"], own);
            assert_eq!(names.find(name), expected.map(Path::new), "{name}");
        };
        let both = || Err(ProjectNameError::Ambiguous(vec!["a/app".into(), "b/app".into()]));
        check(None, "app", both());
        check(Some("/h/b/app"), "app", Ok("/h/b/app"));
        check(Some("/h/b/app/"), "b/app", Ok("/h/b/app"));
        check(None, "a/app", Ok("/h/a/app"));
        check(None, "h/a/app", Ok("/h/a/app"));
        check(None, "web", Ok("/h/Web"));
        check(None, "APP", both());
        check(None, "pp", Err(ProjectNameError::Unknown));
        check(None, "h/a/lib", Ok("/h/a/lib"));
        check(None, "x/h/a/lib", Ok("/x/h/a/lib"));
    }
}
