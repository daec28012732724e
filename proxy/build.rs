//! Links the program at a fixed place: every host runs one, and one that need not be relocated starts
//! sooner and shares more of its memory with the others.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bin=trellis-mcp=-no-pie");
    }
}
