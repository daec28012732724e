//! What we promise, measured: `cargo run --release -p trellis-tests --bin bench`.
//!
//! Each figure stands beside its goal and, where there is one, beside an anchor that was measured in
//! the same minute on the same machine. Machines are noisy: read ratios, not absolutes.
#![allow(clippy::disallowed_methods, reason = "a bench reads files of the system")]

use trellis_tests::bench;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for (name, part) in bench::PARTS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            println!("{name}");
            for measurement in part() {
                println!("  {measurement}");
            }
        }
    }
}
