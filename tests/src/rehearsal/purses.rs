//! Purses: files with a number in the first line and a word in each further one. Two are always written
//! together, so that a test sees whether both were, or neither.

use std::path::PathBuf;

use serde_json::json;
use trellisd::disk::{Digest, RelativePath};
use trellisd::families::edit::Edit;
use trellisd::families::need::{Carried, FileAt, FileSeen, Links, Place, Unseen, WhichProject};
use trellisd::tools::Answer;

use super::arguments::PursesArgs;
use super::error::RehearsalError;

/// What is in a new purse.
pub const FULL: i64 = 1_000_000;

/// What a tool looks at: both purses.
pub type Both = (Carried<Place>, (FileAt, FileAt));

/// What it sees of one.
type Purse = Result<FileSeen, Unseen>;

/// Both purses, below `stage/` of the project.
pub fn both(args: &PursesArgs) -> Both {
    let place = Place::InProject { unless: None, project: WhichProject::Session, below: PathBuf::from("stage") };
    let file = |path: &RelativePath| {
        let (place, path) = (place.clone(), path.clone());
        FileAt { place, path, links: Links::Never, size_limit: 8 << 20 }
    };
    let files = (file(&args.one), file(&args.other));
    (Carried(place), files)
}

/// Two full purses.
pub fn pair(
    (place, (one, other)): (Place, (Purse, Purse)),
    args: &PursesArgs,
) -> Result<(Answer, Edit), RehearsalError> {
    let mut edit = Edit::nothing();
    for (path, seen) in [(&args.one, one), (&args.other, other)] {
        if !matches!(seen, Err(Unseen::Missing | Unseen::NoTree)) {
            return Err(RehearsalError::PurseExists { path: path.to_string() });
        }
        let text = format!("{FULL}\n{}\n", args.word);
        edit = edit.create(place.clone(), path.clone(), Links::Never, text.into_bytes());
    }
    Ok((Answer::object(json!({ "word": args.word })), edit))
}

/// All coins of one purse into the other; the empty one goes, and a shelf is there for more.
pub fn pour(
    (place, (one, other)): (Place, (Purse, Purse)),
    args: &PursesArgs,
) -> Result<(Answer, Edit), RehearsalError> {
    let read = |path: &RelativePath, seen: Purse| {
        let missing = || RehearsalError::NoSuchPurse { path: path.to_string() };
        let seen = seen.map_err(|_| missing())?;
        let text = String::from_utf8_lossy(&seen.bytes).into_owned();
        let (count, book) = text.split_once('\n').ok_or_else(missing)?;
        Ok((count.parse::<i64>().map_err(|_| missing())?, book.to_owned(), seen))
    };
    let ((poured, _, empty), (count, book, full)) = (read(&args.one, one)?, read(&args.other, other)?);
    let text = format!("{}\n{book}{}\n", poured + count, args.word);
    let shelf = RelativePath::of_names("shelf/new").expect("plain names");
    let edit = Edit::nothing()
        .remove(place.clone(), args.one.clone(), Links::Never, Digest::of(&empty.bytes))
        .replace(place.clone(), args.other.clone(), Links::Never, &full, text.into_bytes())
        .directory(place, shelf);
    Ok((Answer::object(json!({ "coins": poured + count })), edit))
}

/// One coin from one purse into the other, and a word into both books.
pub fn pay(
    (place, (one, other)): (Place, (Purse, Purse)),
    args: &PursesArgs,
) -> Result<(Answer, Edit), RehearsalError> {
    let mut edit = Edit::nothing();
    let mut coins = Vec::new();
    for (path, seen, change) in [(&args.one, one, -1), (&args.other, other, 1)] {
        let missing = || RehearsalError::NoSuchPurse { path: path.to_string() };
        let seen = seen.map_err(|_| missing())?;
        let text = String::from_utf8_lossy(&seen.bytes).into_owned();
        let (count, book) = text.split_once('\n').ok_or_else(missing)?;
        let count = count.parse::<i64>().map_err(|_| missing())? + change;
        let text = format!("{count}\n{book}{}\n", args.word);
        edit = edit.replace(place.clone(), path.clone(), Links::Never, &seen, text.into_bytes());
        coins.push(count);
    }
    Ok((Answer::object(json!({ "coins": coins })), edit))
}
