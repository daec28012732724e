//! Plans of vine: what parses can be checked, and what is written of it reads back as itself.

use trellisd::disk::FileModel as _;
use trellisd::families::vine::{parse, plan::Plan, render, validate};

pub(crate) fn run(bytes: &[u8]) {
    Plan::read(bytes);
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(graph) = parse::parse(text) else { return };
    let _ = validate::validate(&graph);
    if let Ok((written, read_back)) = render::render(&graph, None) {
        assert_eq!(parse::parse(&written.text).expect("it reads"), read_back);
    }
}
