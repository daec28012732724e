//! Links the program so that it starts soon: every host runs one.
//!
//! It gets a fixed place, so that it need not be relocated and shares more of its memory with the others. And what
//! unwinds a panic is put into it where the C compiler has that as an archive: one library less to load.

#![expect(clippy::disallowed_methods, reason = "a build script is no part of the program")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The linker looks for `-lgcc_s`, finds this, and takes the archives in its place.
const ARCHIVES: &str = "GROUP ( libgcc_eh.a libgcc.a )\n";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bin=trellis-mcp=-no-pie");
        // For another machine another compiler knows; then the library is loaded as everywhere.
        if std::env::var("HOST") == std::env::var("TARGET") && has_archives() {
            put_in_place();
        }
    }
}

fn has_archives() -> bool {
    ["libgcc_eh.a", "libgcc.a"].iter().all(|name| {
        let asked = Command::new("cc").arg(format!("-print-file-name={name}")).output();
        asked.is_ok_and(|told| Path::new(String::from_utf8_lossy(&told.stdout).trim()).is_absolute())
    })
}

fn put_in_place() {
    let Some(directory) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    if std::fs::write(directory.join("libgcc_s.so"), ARCHIVES).is_ok() {
        println!("cargo:rustc-link-arg-bin=trellis-mcp=-L{}", directory.display());
    }
}
