//! Pages of a text: whole lines, ended before a heading if one is near. All pages joined are the text.

use crate::families::address::OutlineHeading;

/// Where the page ends that begins at a place, with at most so many characters. The headings are those of the text.
pub fn page_end(text: &str, start: usize, budget: usize, headings: &[OutlineHeading]) -> usize {
    let rest = &text[start..];
    let Some((limit, _)) = rest.char_indices().nth(budget) else { return text.len() };
    let limit = start + limit;
    let Some(last_line) = text[start..limit].rfind('\n').map(|at| start + at + 1) else { return limit };
    let middle = start + (last_line - start) / 2;
    let in_second_half = |heading: &&OutlineHeading| heading.start > middle && heading.start < last_line;
    headings.iter().rfind(in_second_half).map_or(last_line, |heading| heading.start)
}

/// The number of the line in which a place is, from 1.
pub fn line_of(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}

/// How many lines a text has.
pub fn line_count(text: &str) -> usize {
    text.matches('\n').count() + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::families::address::outline;

    fn pages(text: &str, budget: usize) -> Vec<&str> {
        let headings = outline(text);
        let (mut pages, mut start) = (Vec::new(), 0);
        while start < text.len() {
            let end = page_end(text, start, budget, &headings);
            pages.push(&text[start..end]);
            start = end;
        }
        pages
    }

    #[test]
    fn a_page_ends_before_a_heading_in_its_second_half_or_after_a_line() {
        assert_eq!(pages("short", 10), ["short"]);
        assert_eq!(pages("one\ntwo\nthree\n", 9), ["one\ntwo\n", "three\n"]);
        assert_eq!(pages("one\ntwo\n# A\nx\nyyyyyyyyyy\n", 17), ["one\ntwo\n", "# A\nx\nyyyyyyyyyy\n"]);
        assert_eq!(pages("# A\nlong text here\nmore\n", 20), ["# A\nlong text here\n", "more\n"]);
        assert_eq!(pages("éééééééé\nx", 5), ["ééééé", "ééé\nx"]);
        assert_eq!((line_of("a\nb\n", 2), line_count("a\nb\n"), line_count("a\nb"), line_count("")), (2, 2, 2, 0));
    }

    proptest! {
        #[test]
        fn all_pages_joined_are_the_text(text in "([a-zé#` \\n]|\\r\\n|# A\\n|```\\n){0,80}", budget in 1_usize..40) {
            let pages = pages(&text, budget);
            prop_assert_eq!(&pages.concat(), &text);
            prop_assert!(pages.iter().all(|page| !page.is_empty() && page.chars().count() <= budget));
        }
    }
}
