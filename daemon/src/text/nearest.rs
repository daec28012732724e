//! Which of several names was probably meant by one that none of them is.

/// A slip of the pen away, or with a word in common; the first of those that are equally near.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = names.filter_map(|other| Some((distance(name, other)?, other)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// The nearest of all, at most so many, nearest first.
pub fn nearest_few<'a>(name: &str, names: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> = names.filter_map(|other| Some((distance(name, other)?, other))).collect();
    near.sort();
    near.dedup();
    near.into_iter().map(|(_, other)| other).take(most).collect()
}

fn distance(name: &str, other: &str) -> Option<usize> {
    let (words, others) = (words(name), words(other));
    let (name, other) = (words.concat(), others.concat());
    let (slips, shorter) = (strsim::osa_distance(&name, &other), name.chars().count().min(other.chars().count()));
    match () {
        // In a short name every letter counts.
        () if slips <= 2 && 2 * slips < shorter => Some(slips),
        () if shorter >= 3 && (name.starts_with(&other) || other.starts_with(&name)) => Some(3),
        () if words.iter().any(|word| word.len() >= 2 && others.contains(word)) => Some(4),
        () => None,
    }
}

/// `startLine` and `start_line` are the same two words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 8] = ["project", "filename", "content", "start_line", "end_line", "task_id", "tags", "lane"];

    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(nearest(name, NAMES.into_iter()), expected, "{name}");
    }

    #[test]
    fn slips_and_common_words_are_near() {
        for (name, expected) in [
            ("contnet", "content"),
            ("conten", "content"),
            ("Content", "content"),
            ("startLine", "start_line"),
            ("start-line", "start_line"),
            ("start", "start_line"),
            ("file", "filename"),
            ("file_name", "filename"),
            ("project_root", "project"),
            ("id", "task_id"),
            ("taskId", "task_id"),
            ("tag", "tags"),
            ("lanes", "lane"),
            ("line", "lane"),
        ] {
            check(name, Some(expected));
        }
    }

    #[test]
    fn other_names_are_not() {
        for name in ["append", "date", "to", "x", "", "_", "検索", "if_match"] {
            check(name, None);
        }
    }
}
