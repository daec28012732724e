//! The programs, built once per run with the profile of the test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where the programs of this run are.
fn directory() -> &'static PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let test = std::env::current_exe().expect("a test is a program");
        let directory = profile_directory(&test);
        let profile = match directory.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["build", "--quiet", "--workspace", "--bins", "--profile", profile])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .status()
            .expect("cargo runs");
        assert!(built.success(), "the programs must build");
        directory
    })
}

pub fn proxy() -> PathBuf {
    directory().join("trellis-mcp")
}

pub fn daemon() -> PathBuf {
    directory().join("trellisd")
}

/// The daemon with the family that exists only in tests.
pub fn fixture_daemon() -> PathBuf {
    directory().join("trellisd-fixture")
}

/// A test is in `target/<profile>/deps`, a bench in `target/<profile>`.
fn profile_directory(program: &Path) -> PathBuf {
    let beside = program.parent().expect("a program has a directory");
    let is_deps = beside.file_name().is_some_and(|name| name == "deps");
    if is_deps { beside.parent().expect("target/<profile>").to_owned() } else { beside.to_owned() }
}
