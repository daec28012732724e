//! The table of resources: the format in brief and in full, as texts of our own that are part of the program.

use crate::families::resource::UriVariables;
use crate::families::{Resource, ResourceContent, two_phase};

pub fn table() -> Vec<Resource> {
    vec![
        text(
            ("vine://spec/brief", "vine-spec-brief"),
            (
                "VINE in brief",
                "The .vine format, the work loop and the four tools on a few pages; read this before working on a plan.",
            ),
            include_str!("spec_brief.md"),
        ),
        text(
            ("vine://spec/full", "vine-spec-full"),
            (
                "VINE in full",
                "The whole .vine format: grammar, parsing, constraints, canonical form, expansion, examples.",
            ),
            include_str!("spec_full.md"),
        ),
    ]
}

fn text(names: (&'static str, &'static str), words: (&'static str, &'static str), text: &'static str) -> Resource {
    let read = two_phase(
        |_: &UriVariables, _| Ok(()),
        move |(), _, _| Ok(ResourceContent { text: text.to_owned(), last_modified: None }),
    );
    Resource::new(names, words, "text/markdown", read)
}
