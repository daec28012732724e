//! The bridge file of a board: a board that is read and written stays the same, however often.

use trellisd::families::board::{parse, render};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(board) = parse::parse(bytes) else { return };
    for (lane, task) in board.tasks() {
        task.shown(lane);
    }
    let written = render::render(&board);
    let again = parse::parse(&written).expect("what was written reads");
    assert_eq!(render::render(&again), written);
    assert_eq!(again.ids(), board.ids());
}
