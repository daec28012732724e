//! Puts what unwinds a panic into the program where the C compiler has it as an archive: one library less to load,
//! which is a tenth of a millisecond whenever a host starts.

#![expect(clippy::disallowed_methods, reason = "a build script is no part of the program")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The linker looks for `-lgcc_s`, finds this script, and takes the archives in its place.
const LINKER_SCRIPT: &str = "GROUP ( libgcc_eh.a libgcc.a )\n";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    // A cross compiler may keep its archives elsewhere; then the library is loaded as in any program.
    let is_native = std::env::var("HOST") == std::env::var("TARGET");
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && is_native && has_archives() {
        replace_shared_library();
    }
}

fn has_archives() -> bool {
    ["libgcc_eh.a", "libgcc.a"].iter().all(|name| {
        let output = Command::new("cc").arg(format!("-print-file-name={name}")).output();
        output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_absolute())
    })
}

fn replace_shared_library() {
    let Some(directory) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    if std::fs::write(directory.join("libgcc_s.so"), LINKER_SCRIPT).is_ok() {
        println!("cargo:rustc-link-arg-bin=trellis-mcp=-L{}", directory.display());
    }
}
