//! The table of prompts: one, with an argument that it needs and one that it can do without.

use std::collections::BTreeMap;

use trellisd::tools::{Argument, Partial, Prompt, PromptText, halves};

use super::error::RehearsalError;
use super::model::{PLAYS, play};

/// The languages in which plays are recited.
const LANGUAGES: [&str; 3] = ["English", "Español", "日本語"];

/// All prompts.
pub fn table() -> Vec<Prompt> {
    vec![Prompt {
        name: "audition",
        title: "Audition for a play",
        description: "Recite the first line of a play.",
        arguments: vec![
            Argument { name: "play", description: "Name of the play.", required: true },
            Argument { name: "language", description: "The language to recite in.", required: false },
        ],
        get: halves(
            |_: &BTreeMap<String, String>, _| Ok(()),
            |(), given, _| {
                let name = given.get("play").map_or("", String::as_str);
                let play = play(name).ok_or_else(|| RehearsalError::NoSuchPlay { name: name.to_owned() })?;
                let language = given.get("language").map_or(play.language, String::as_str);
                Ok(PromptText { text: format!("Recite in {language}: {}", play.lines.first().unwrap_or(&"")) })
            },
        ),
        complete: Some(halves(|_: &Partial, _| Ok(()), |(), partial, _| Ok(completed(partial)))),
    }]
}

/// Plays in the language that was chosen already, or languages.
fn completed(partial: &Partial) -> Vec<String> {
    let values: Vec<&str> = match partial.name.as_str() {
        "language" => LANGUAGES.to_vec(),
        "play" => {
            let language = partial.others.get("language");
            let fits = |play: &&super::model::Play| language.is_none_or(|language| play.language == language);
            PLAYS.iter().filter(fits).map(|play| play.name).collect()
        }
        _ => Vec::new(),
    };
    values.into_iter().filter(|value| value.starts_with(&partial.value)).map(str::to_owned).collect()
}
