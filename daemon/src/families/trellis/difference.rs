//! Two texts, compared line by line, as `diff -u` shows them, within a budget.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

/// Texts that have little in common are compared no longer than this; then the difference is coarser.
const TIMEOUT: Duration = Duration::from_millis(100);
const CONTEXT_LINES: usize = 3;
/// Shown in place of what is no text.
const NOT_TEXT: &str = "(not text)";

/// The difference of one file.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    pub path: &'a str,
    pub before: &'a [u8],
    pub after: &'a [u8],
}

/// What is different in several files, with what the two sides are called. Cut at a line, then it is said how many are
/// left out.
pub fn difference(files: &[Compared<'_>], (before, after): (&str, &str), most_characters: usize) -> String {
    let mut all = String::new();
    for file in files {
        // One file needs no name.
        let name = |side: &str| if files.len() == 1 { side.to_owned() } else { format!("{side}\t{}", file.path) };
        let (old, new) = (std::str::from_utf8(file.before), std::str::from_utf8(file.after));
        let (Ok(old), Ok(new)) = (old, new) else {
            all.push_str(&format!("--- {}\n+++ {}\n{NOT_TEXT}\n", name(before), name(after)));
            continue;
        };
        let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(TIMEOUT).diff_lines(old, new);
        let mut unified = diff.unified_diff();
        all.push_str(&unified.context_radius(CONTEXT_LINES).header(&name(before), &name(after)).to_string());
    }
    cut(&all, most_characters)
}

fn cut(text: &str, most_characters: usize) -> String {
    if text.chars().count() <= most_characters {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let (mut shown, mut used) = (0, 0);
    for line in &lines {
        let length = line.chars().count() + 1;
        // With the line that says how many are missing.
        if used + length + format!("… {} more lines", lines.len()).chars().count() > most_characters {
            break;
        }
        used += length;
        shown += 1;
    }
    format!("{}\n… {} more lines", lines[..shown].join("\n"), lines.len() - shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(before: &[u8], after: &[u8], most: usize) -> String {
        difference(&[Compared { path: "a.md", before, after }], ("now", "after undo"), most)
    }

    #[test]
    fn lines_are_compared_with_three_around_them() {
        let text = |word: &str| format!("1\n2\n3\n4\n{word}\n6\n7\n8\n9\n");
        assert_eq!(
            of(text("five").as_bytes(), text("5").as_bytes(), 4000),
            "--- now\n+++ after undo\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-five\n+5\n 6\n 7\n 8\n"
        );
        assert_eq!(of(b"\xff", b"x", 4000), "--- now\n+++ after undo\n(not text)\n");
        assert!(of(b"", b"new\n", 4000).ends_with("@@ -0,0 +1 @@\n+new\n"));
    }

    #[test]
    fn a_long_difference_is_cut_at_a_line() {
        let new: String = (0..500).map(|number| format!("line {number}\n")).collect();
        let cut = of(b"", new.as_bytes(), 300);
        assert!(cut.chars().count() <= 300, "{}", cut.len());
        let (shown, rest) = cut.rsplit_once('\n').expect("lines");
        let left: usize = rest.split(' ').nth(1).and_then(|number| number.parse().ok()).expect("a number");
        assert_eq!((rest.starts_with("… "), shown.lines().count() + left), (true, 503));
    }

    #[test]
    fn several_files_are_told_apart() {
        let file = |path| Compared { path, before: b"a\n", after: b"b\n" };
        let all = difference(&[file("one.md"), file("two.md")], ("now", "after undo"), 4000);
        assert!(all.contains("--- now\tone.md\n+++ after undo\tone.md\n") && all.contains("\ttwo.md\n"), "{all}");
    }
}
