//! The table of resources: the format in brief and in full, as texts of our own that are part of the program.

use crate::tools::offer::Variables;
use crate::tools::{Contents, ListedOn, Resource, halves};

/// All resources.
pub fn table() -> Vec<Resource> {
    vec![
        text(
            "vine://spec/brief",
            "vine-spec-brief",
            "VINE in brief",
            "The .vine format, the work loop and the four tools on a few pages; read this before working on a plan.",
            include_str!("spec_brief.md"),
        ),
        text(
            "vine://spec/full",
            "vine-spec-full",
            "VINE in full",
            "The whole .vine format: grammar, parsing, constraints, canonical form, expansion, examples.",
            include_str!("spec_full.md"),
        ),
    ]
}

fn text(
    uri: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
    text: &'static str,
) -> Resource {
    Resource {
        uri,
        name,
        title,
        description,
        mime: "text/markdown",
        list: None,
        read: halves(
            |_: &Variables, _| Ok(()),
            move |(), _, _| Ok(Contents { text: text.to_owned(), last_modified: None }),
        ),
        complete: None,
        listed_on: ListedOn::EverySurface,
    }
}
