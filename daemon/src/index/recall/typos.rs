//! Words that somebody may have meant: those that are known, begin with the same letter and differ in one or two
//! places. Two letters in each other's place are one fault.

use std::collections::BTreeMap;
use std::io;

use crate::index::main_index::IndexSnapshot;
use crate::index::overlay::TextField;

/// A word stands for at most so many others.
const MAX_ALTERNATIVES: usize = 12;

/// How many faults a word may have, by its letters.
pub(super) fn allowed_faults(word: &str) -> usize {
    match word.chars().count() {
        0..=4 => 0,
        5..=8 => 1,
        _ => 2,
    }
}

/// Known words that are near a word which is not known, the nearest first, with their faults.
pub(super) fn alternatives(word: &str, snapshot: &IndexSnapshot) -> io::Result<Vec<(String, usize)>> {
    let most = allowed_faults(word);
    let Some(first) = word.chars().next().filter(|_| most > 0) else { return Ok(Vec::new()) };
    let letters: Vec<char> = word.chars().collect();
    let mut found: BTreeMap<(usize, String), ()> = BTreeMap::new();
    let mut consider = |known: &str| {
        if let Some(faults) = faults(&letters, known, most).filter(|faults| *faults > 0) {
            found.insert((faults, known.to_owned()), ());
        }
    };
    let mut buffer = [0; 4];
    let prefix = &*first.encode_utf8(&mut buffer);
    for field in [TextField::Body, TextField::Labels] {
        for segment in &snapshot.main.segments {
            let mut stream = segment.inverted(field).terms().range().ge(prefix).into_stream()?;
            while stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
                let length = stream.key().len();
                if length <= word.len() + most * 4 && length + most * 4 >= word.len() {
                    std::str::from_utf8(stream.key()).map(&mut consider).unwrap_or_default();
                }
            }
        }
        for overlay in &*snapshot.overlay {
            overlay.terms_beginning(field, prefix).for_each(&mut consider);
        }
    }
    Ok(found.into_keys().take(MAX_ALTERNATIVES).map(|(faults, known)| (known, faults)).collect())
}

/// In how many places two words differ, if these are few: letters more, less, other, or swapped with their neighbour.
fn faults(word: &[char], known: &str, most: usize) -> Option<usize> {
    let known: Vec<char> = known.chars().take(word.len() + most + 1).collect();
    if known.len().abs_diff(word.len()) > most {
        return None;
    }
    let width = known.len() + 1;
    let (mut before, mut last, mut row) = (vec![0; width], (0..width).collect::<Vec<usize>>(), vec![0; width]);
    for (place, letter) in word.iter().enumerate() {
        row[0] = place + 1;
        for (other, known_letter) in known.iter().enumerate() {
            let replaced = last[other] + usize::from(letter != known_letter);
            let mut least = replaced.min(last[other + 1] + 1).min(row[other] + 1);
            if place > 0 && other > 0 && *letter == known[other - 1] && word[place - 1] == *known_letter {
                least = least.min(before[other - 1] + 1);
            }
            row[other + 1] = least;
        }
        if row.iter().all(|faults| *faults > most) {
            return None;
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    Some(last[width - 1]).filter(|faults| *faults <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, known: &str, expected: Option<usize>) {
        let letters: Vec<char> = word.chars().collect();
        assert_eq!(faults(&letters, known, allowed_faults(word)), expected, "{word} {known}");
    }

    #[test]
    fn faults_are_counted_as_people_make_them() {
        check("retyr", "retry", Some(1));
        check("rety", "retry", None);
        check("migraton", "migration", Some(1));
        check("migratoin", "migration", Some(1));
        check("migratiom", "migrations", Some(2));
        check("kuberntes", "kubernetes", Some(1));
        check("kubrentes", "kubernetes", Some(2));
        check("payment", "payments", Some(1));
        check("payment", "paymentss", None);
        check("despliege", "despliegue", Some(1));
    }
}
