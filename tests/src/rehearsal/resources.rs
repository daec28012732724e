//! The table of resources: a programme, the plays, and more scenes than fit on a page.

use trellisd::tools::offer::{Variables, no_such_resource};
use trellisd::tools::{Contents, Listed, ListedOn, Partial, Resource, halves};

use super::model::{PLAYS, SCENES, play, play_uri, scene_uri};

/// When the plays were printed.
const PRINTED: &str = "2026-01-02T03:04:05Z";

/// All resources.
pub fn table() -> Vec<Resource> {
    vec![programme(), plays(), scenes()]
}

fn programme() -> Resource {
    Resource {
        uri: "rehearsal://programme",
        name: "programme",
        title: "Programme",
        description: "What is being rehearsed.",
        mime: "text/plain",
        list: None,
        read: halves(
            |_: &Variables, _| Ok(()),
            |(), _, _| {
                let names: Vec<&str> = PLAYS.iter().map(|play| play.name).collect();
                Ok(Contents { text: names.join("\n"), last_modified: None })
            },
        ),
        complete: None,
        listed_on: ListedOn::EverySurface,
    }
}

fn plays() -> Resource {
    Resource {
        uri: "rehearsal://plays/{name}",
        name: "plays",
        title: "Play",
        description: "The lines of one play.",
        mime: "text/markdown",
        listed_on: ListedOn::EverySurface,
        list: Some(halves(
            |(): &(), _| Ok(()),
            |(), (), _| {
                let listed = |play: &super::model::Play| Listed {
                    uri: play_uri(play.name),
                    name: play.name.to_owned(),
                    last_modified: Some(PRINTED.to_owned()),
                };
                Ok(PLAYS.iter().map(listed).collect())
            },
        )),
        read: halves(
            |_: &Variables, _| Ok(()),
            |(), variables, _| {
                let name = variables.get("name").map_or("", String::as_str);
                let play = play(name).ok_or_else(|| no_such_resource(&play_uri(name)))?;
                Ok(Contents { text: play.lines.join("\n"), last_modified: Some(PRINTED.to_owned()) })
            },
        ),
        complete: Some(halves(
            |_: &Partial, _| Ok(()),
            |(), partial, _| {
                let names = PLAYS.iter().map(|play| play.name);
                Ok(names.filter(|name| name.starts_with(&partial.value)).map(str::to_owned).collect())
            },
        )),
    }
}

fn scenes() -> Resource {
    Resource {
        uri: "rehearsal://scenes/{number}",
        name: "scenes",
        title: "Scene",
        description: "One scene, by its number.",
        mime: "text/plain",
        listed_on: ListedOn::EverySurface,
        list: Some(halves(
            |(): &(), _| Ok(()),
            |(), (), _| {
                let listed = |number| Listed { uri: scene_uri(number), name: number.to_string(), last_modified: None };
                Ok((1..=SCENES).map(listed).collect())
            },
        )),
        read: halves(
            |_: &Variables, _| Ok(()),
            |(), variables, _| {
                let number = variables.get("number").map_or("", String::as_str);
                match number.parse::<u32>() {
                    Ok(number) if (1..=SCENES).contains(&number) => {
                        Ok(Contents { text: format!("Scene {number}"), last_modified: None })
                    }
                    _ => Err(no_such_resource(&format!("rehearsal://scenes/{number}"))),
                }
            },
        ),
        complete: Some(halves(
            |_: &Partial, _| Ok(()),
            |(), partial, _| {
                let numbers = (1..=SCENES).map(|number| number.to_string());
                Ok(numbers.filter(|number| number.starts_with(&partial.value)).collect())
            },
        )),
    }
}
