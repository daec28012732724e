//! The snippet of a hit: a cut of the text around the densest matches, with `**` around each.
//!
//! The text of a chunk and a query come in. The text is scanned in windows of a few kilobytes and only until
//! something matches; nothing is escaped, nothing is changed.

use std::ops::Range;

use super::prefilter::Prefilter;
use super::query::{Clause, Query};
use super::stems::{StemCache, StemPair};
use super::tokenize::{TextToken, TextTokenizer, TokenKind, is_unsegmented};

/// A snippet has at most so many words, or so many signs of a script without blanks.
const SNIPPET_MAX_WORDS: usize = 64;
const SNIPPET_MAX_IDEOGRAPHS: usize = 300;
/// Looked at in one go.
const SCAN_WINDOW_BYTES: usize = 4096;
/// A word longer than this is cut.
const MAX_UNIT_BYTES: usize = 64;
/// Between two pieces that something unread parts: no phrase reaches so far.
const POSITION_GAP: u32 = 1 << 10;

/// Makes snippets for one query.
#[derive(Debug)]
pub struct Highlighter<'a> {
    clauses: Vec<(&'a Clause, StemPair)>,
    leads: Prefilter,
    stems: &'a mut StemCache,
    reader: TextTokenizer,
    tokens: Vec<SnippetToken>,
    folded: String,
}

/// A piece of the text.
#[derive(Debug)]
struct SnippetToken {
    folded: Range<usize>,
    position: u32,
    span: Range<usize>,
    kind: TokenKind,
}

/// A match: where it is, and which clause it is of.
type Highlight = (Range<usize>, usize);

impl<'a> Highlighter<'a> {
    /// For all snippets of a query.
    pub fn new(query: &'a Query, stems: &'a mut StemCache) -> Self {
        let clauses = clauses(query, stems);
        let leads = Prefilter::of(&clauses);
        Self { clauses, leads, stems, reader: TextTokenizer::default(), tokens: Vec::new(), folded: String::new() }
    }

    pub fn snippet(&mut self, content: &str, heading: Option<&str>) -> String {
        self.cut(content, heading, SnippetLimit::Words)
    }

    /// At most so many characters, marks included.
    pub fn short_snippet(&mut self, content: &str, heading: Option<&str>, characters: usize) -> String {
        self.cut(content, heading, SnippetLimit::Characters(characters))
    }

    fn cut(&mut self, content: &str, heading: Option<&str>, limit: SnippetLimit) -> String {
        let mut start = 0;
        while start < content.len() {
            let end = content.floor_char_boundary(start + SCAN_WINDOW_BYTES);
            let window = &content[start..end];
            let matches = self.matches(window);
            if !matches.is_empty() {
                return cut_snippet(window, &matches, start > 0, end < content.len(), limit);
            }
            start = end;
        }
        let content = content.trim_end();
        if !content.trim_start().is_empty() {
            let window = &content[..content.floor_char_boundary(SCAN_WINDOW_BYTES)];
            return cut_snippet(window, &[], false, window.len() < content.len(), limit);
        }
        let heading = heading.unwrap_or_default().trim_start_matches('#').trim();
        let matches = self.matches(heading);
        cut_snippet(heading, &matches, false, false, limit)
    }

    /// Everything in a text that the query looks for, in order. Only what may be some of it is analysed.
    fn matches(&mut self, text: &str) -> Vec<Highlight> {
        let Self { clauses, leads, stems, reader, tokens, folded } = self;
        tokens.clear();
        folded.clear();
        let mut position = 0;
        leads.candidates(text, |span, apart| {
            let start = span.start;
            let from = position + if apart { POSITION_GAP } else { 0 };
            position = reader.read(&text[span], from, &mut |token: TextToken<'_>| {
                let from = folded.len();
                folded.push_str(token.folded);
                let span = start + token.span.start..start + token.span.end;
                let (position, kind) = (token.position, token.kind);
                tokens.push(SnippetToken { folded: from..folded.len(), position, span, kind });
            });
        });
        let mut found: Vec<Highlight> = Vec::new();
        for (number, (clause, both)) in clauses.iter().enumerate() {
            match clause {
                Clause::Word { folded: word, .. } => {
                    let is_match = |token: &&SnippetToken| {
                        let text_token = &folded[token.folded.clone()];
                        text_token == word || token.kind == TokenKind::Word && is_related(word, both, text_token, stems)
                    };
                    found.extend(tokens.iter().filter(is_match).map(|token| (token.span.clone(), number)));
                }
                Clause::Prefix(prefix) => {
                    let begins = |token: &&SnippetToken| folded[token.folded.clone()].starts_with(prefix.as_str());
                    let words =
                        tokens.iter().filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Compound));
                    found.extend(words.filter(begins).map(|token| (token.span.clone(), number)));
                }
                Clause::Phrase { parts, open, joined } => {
                    let spans = tokens.iter().enumerate();
                    let spans = spans.filter_map(|(first, _)| phrase_at(tokens, folded, first, parts, *open));
                    found.extend(spans.map(|span| (span, number)));
                    if let Some(joined) = joined {
                        let is_match = |token: &&SnippetToken| folded[token.folded.clone()] == **joined;
                        found.extend(tokens.iter().filter(is_match).map(|token| (token.span.clone(), number)));
                    }
                }
            }
        }
        found.sort_by_key(|(span, number)| (span.start, span.end, *number));
        found
    }
}

/// Everything of a query that may be marked in a text, each with its stems.
pub(crate) fn clauses<'a>(query: &'a Query, stems: &mut StemCache) -> Vec<(&'a Clause, StemPair)> {
    let mut both = |clause: &Clause| match clause {
        Clause::Word { folded, .. } => stems.of(folded).clone(),
        _ => StemPair::default(),
    };
    query.required.iter().flatten().map(|clause| (clause, both(clause))).collect()
}

/// Whether two words have a stem in common.
fn is_related(word: &str, both: &StemPair, text_token: &str, stems: &mut StemCache) -> bool {
    let shared = both.shared_prefix_len(word);
    if text_token.len() < 3 || word.len() < 3 || text_token.as_bytes().get(..shared) != word.as_bytes().get(..shared) {
        return false;
    }
    let other = stems.of(text_token);
    let is_same = |mine: &Option<Box<str>>, theirs: &Option<Box<str>>| match (mine, theirs) {
        (None, None) => false,
        (mine, theirs) => mine.as_deref().unwrap_or(word) == theirs.as_deref().unwrap_or(text_token),
    };
    is_same(&both.english, &other.english) || is_same(&both.spanish, &other.spanish)
}

/// The span of a phrase whose first part is this token.
fn phrase_at(
    tokens: &[SnippetToken],
    folded: &str,
    first: usize,
    parts: &[(u32, String)],
    open: bool,
) -> Option<Range<usize>> {
    let is_part = |token: &SnippetToken, place: usize| {
        let (text_token, part) = (&folded[token.folded.clone()], parts[place].1.as_str());
        if open && place + 1 == parts.len() { text_token.starts_with(part) } else { text_token == part }
    };
    let start = &tokens[first];
    if !is_part(start, 0) {
        return None;
    }
    let mut span = start.span.clone();
    for (place, (distance, _)) in parts.iter().enumerate().skip(1) {
        let position = start.position + distance;
        let near = tokens[first..].iter().take_while(|token| token.position <= position + 1);
        let part = near.filter(|token| token.position == position).find(|token| is_part(token, place))?;
        span.end = span.end.max(part.span.end);
    }
    Some(span)
}

/// A stretch of text that is not cut further, and what all stretches before it cost.
struct SnippetUnit {
    start: usize,
    end: usize,
    before: usize,
}

/// The limits of words and of signs, in one currency.
const WORD_COST: usize = SNIPPET_MAX_IDEOGRAPHS;
const IDEOGRAPH_COST: usize = SNIPPET_MAX_WORDS;
const SNIPPET_BUDGET: usize = SNIPPET_MAX_WORDS * SNIPPET_MAX_IDEOGRAPHS;

/// How long a snippet may be.
#[derive(Debug, Clone, Copy)]
enum SnippetLimit {
    /// As many words, or signs, as a snippet usually has.
    Words,
    /// So many characters, marks included.
    Characters(usize),
}

fn cut_snippet(text: &str, matches: &[Highlight], before: bool, after: bool, limit: SnippetLimit) -> String {
    let SnippetLimit::Characters(most) = limit else { return cut_by_words(text, matches, before, after) };
    let mut units = Vec::new();
    let mut all = 0;
    for (span, _) in SnippetUnits(text, 0) {
        let cost = text[span.clone()].chars().count() + 1;
        units.push(SnippetUnit { start: span.start, end: span.end, before: all });
        all += cost;
    }
    if units.is_empty() {
        return String::new();
    }
    let mut budget = most;
    loop {
        let range = match all <= budget {
            true => 0..units.len(),
            false => best_window(&units, all, matches, budget),
        };
        let is_cut = (before || range.start > 0, after || range.end < units.len());
        let span = units[range.start].start..units[range.end - 1].end;
        let snippet = marked(text, span, matches, is_cut);
        let length = snippet.chars().count();
        if length <= most {
            return snippet;
        }
        if budget < most / 4 {
            // One very long word.
            let plain: String = snippet.replace("**", "").chars().take(most.saturating_sub(3)).collect();
            return format!("{}...", plain.trim_end_matches('.'));
        }
        budget = budget.saturating_sub((length - most).max(4));
    }
}

fn marked(text: &str, span: Range<usize>, matches: &[Highlight], (before, after): (bool, bool)) -> String {
    let mut snippet = String::with_capacity(span.len() + 64);
    if before {
        snippet.push_str("...");
    }
    mark(text, span, matches, &mut snippet);
    if after {
        snippet.push_str("...");
    }
    snippet
}

fn cut_by_words(text: &str, matches: &[Highlight], before: bool, after: bool) -> String {
    let mut atoms = Vec::new();
    let mut all = 0;
    let (span, ends) = match all_of_plain(text).or_else(|| all_of_any(text)) {
        Some(span) => (span, (false, false)),
        None => {
            for (span, cost) in SnippetUnits(text, 0) {
                atoms.push(SnippetUnit { start: span.start, end: span.end, before: all });
                all += cost;
            }
            let range = best_window(&atoms, all, matches, SNIPPET_BUDGET);
            let span = atoms[range.start].start..atoms[range.end - 1].end;
            (span, (range.start > 0, range.end < atoms.len()))
        }
    };
    if span.is_empty() {
        return String::new();
    }
    marked(text, span, matches, (before || ends.0, after || ends.1))
}

/// Where the first stretch of a text begins and the last one ends, if none of them must be left out; for a plain text
/// with few blanks, which tell how many words there are at most.
fn all_of_plain(text: &str) -> Option<Range<usize>> {
    let blanks = text.bytes().filter(|byte| *byte <= b' ').count();
    if blanks + 1 + text.len() / MAX_UNIT_BYTES > SNIPPET_MAX_WORDS || !text.is_ascii() {
        return None;
    }
    let is_blank = |sign: char| sign.is_ascii_whitespace() || sign == '\u{b}';
    let end = text.trim_end_matches(is_blank).len();
    Some(end - text[..end].trim_start_matches(is_blank).len()..end)
}

/// The same for any text.
fn all_of_any(text: &str) -> Option<Range<usize>> {
    let mut whole: Option<Range<usize>> = None;
    let mut all = 0;
    for (span, cost) in SnippetUnits(text, 0) {
        all += cost;
        if all > SNIPPET_BUDGET {
            return None;
        }
        whole = Some(whole.map_or(span.start, |whole| whole.start)..span.end);
    }
    Some(whole.unwrap_or_default())
}

/// Words between blanks, every sign of a script without blanks for itself; and what each costs.
struct SnippetUnits<'a>(&'a str, usize);

impl Iterator for SnippetUnits<'_> {
    type Item = (Range<usize>, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let Self(text, at) = self;
        let bytes = text.as_bytes();
        let mut start = None;
        while let Some(byte) = bytes.get(*at) {
            let (end, is_blank, is_sign) = if byte.is_ascii() {
                (*at + 1, byte.is_ascii_whitespace() || *byte == 0x0b, false)
            } else {
                let sign = text[*at..].chars().next().unwrap_or_default();
                (*at + sign.len_utf8(), sign.is_whitespace(), is_unsegmented(sign))
            };
            match start {
                Some(start) if is_blank || is_sign || *at - start >= MAX_UNIT_BYTES => {
                    return Some((start..*at, WORD_COST));
                }
                None if is_sign => {
                    let span = *at..end;
                    *at = end;
                    return Some((span, IDEOGRAPH_COST));
                }
                None if !is_blank => start = Some(*at),
                _ => {}
            }
            *at = end;
            // Most of a text is words of plain letters and signs.
            if let Some(start) = start {
                let rest = bytes.get(end..bytes.len().min(start + MAX_UNIT_BYTES)).unwrap_or_default();
                *at += rest.iter().take_while(|byte| matches!(byte, b'!'..=b'~')).count();
            }
        }
        start.map(|start| (start..*at, WORD_COST))
    }
}

/// Which units to show: the window in which most different terms match closest to each other.
fn best_window(atoms: &[SnippetUnit], all: usize, matches: &[Highlight], budget: usize) -> Range<usize> {
    let atom_of = |byte: usize| atoms.partition_point(|atom| atom.end <= byte).min(atoms.len() - 1);
    let places: Vec<(usize, usize, usize)> = matches
        .iter()
        .map(|(span, clause)| (atom_of(span.start), atom_of(span.end.saturating_sub(1)), *clause))
        .collect();
    let before = |atom: usize| atoms.get(atom).map_or(all, |atom| atom.before);
    let cost = |start: usize, end: usize| before(end) - before(start);
    let mut best = (0, 0, 0..1.min(atoms.len()));
    let mut seen = Vec::new();
    for (number, (first, ..)) in places.iter().enumerate() {
        let inside = places[number..].iter().take_while(|(_, last, _)| cost(*first, last + 1) <= budget);
        let (mut count, mut end) = (0, first + 1);
        seen.clear();
        for (_, last, clause) in inside {
            count += 1;
            end = end.max(last + 1);
            if !seen.contains(clause) {
                seen.push(*clause);
            }
        }
        if (seen.len(), count) > (best.0, best.1) {
            best = (seen.len(), count, *first..end);
        }
    }
    let Range { mut start, mut end } = best.2;
    // What is left of the budget goes to both sides, a little less in front.
    let lead = (budget.saturating_sub(cost(start, end))) / 3;
    let middle = start;
    while start > 0 && cost(start - 1, middle) <= lead && cost(start - 1, end) <= budget {
        start -= 1;
    }
    while end < atoms.len() && cost(start, end + 1) <= budget {
        end += 1;
    }
    while start > 0 && cost(start - 1, end) <= budget {
        start -= 1;
    }
    start..end
}

fn mark(text: &str, range: Range<usize>, matches: &[Highlight], snippet: &mut String) {
    let mut at = range.start;
    let mut inside = matches.iter().filter(|(span, _)| span.start >= range.start && span.end <= range.end).peekable();
    while let Some((span, _)) = inside.next() {
        if span.start < at {
            continue;
        }
        let mut end = span.end;
        // Matches that overlap, or that only blanks part, share their marks.
        while let Some((next, _)) = inside.peek() {
            let is_near = next.start <= end || text[end..next.start].chars().all(|sign| sign == ' ');
            if !is_near {
                break;
            }
            end = end.max(next.end);
            inside.next();
        }
        snippet.push_str(&text[at..span.start]);
        snippet.push_str("**");
        snippet.push_str(&text[span.start..end]);
        snippet.push_str("**");
        at = end;
    }
    snippet.push_str(&text[at..range.end]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn snippet(query: &str, content: &str, heading: Option<&str>) -> String {
        Highlighter::new(&Query::read(query), &mut StemCache::default()).snippet(content, heading)
    }

    fn check(query: &str, content: &str, expected: &str) {
        assert_eq!(snippet(query, content, None), expected, "{query:?}");
    }

    #[test]
    fn matches_are_marked_as_they_are_spelt() {
        check("busqueda", "La Búsqueda <b>rápida</b>", "La **Búsqueda** <b>rápida</b>");
        check("error budget", "an error budget.\nNo error", "an **error budget**.\nNo **error**");
        check("\"error budget\"", "error, then error budget", "error, then **error budget**");
        check("retry-policy", "the retryPolicy of retry-policy", "the **retryPolicy** of **retry-policy**");
        check("検索", "全文検索は検討", "全文**検索**は検討");
        check("kuber*", "Kubernetes and kubectl", "**Kubernetes** and kubectl");
        check("run", "she was running", "she was **running**");
        check("canciones", "una canción", "una **canción**");
    }

    #[test]
    fn a_long_text_is_cut_around_the_densest_place() {
        let filler = |count: usize| (0..count).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
        let text = format!("alpha {} alpha beta {}", filler(200), filler(200));
        let found = snippet("alpha beta", &text, None);
        assert!(found.starts_with("...") && found.ends_with("..."), "{found}");
        assert!(found.contains("**alpha beta**"), "{found}");
        assert_eq!(found.split_whitespace().count(), SNIPPET_MAX_WORDS, "{found}");

        let text = format!("{}検索{}", "あ".repeat(1000), "い".repeat(1000));
        let found = snippet("検索", &text, None);
        let signs = found.chars().filter(|sign| is_unsegmented(*sign)).count();
        assert!(found.contains("あ**検索**い") && (250..=SNIPPET_MAX_IDEOGRAPHS).contains(&signs), "{signs}: {found}");

        let text = format!("{} needle {}", filler(3000), filler(10));
        let found = snippet("needle", &text, None);
        assert!(found.starts_with("...") && found.contains("**needle**") && !found.ends_with("..."), "{found}");
    }

    /// Every match of a query, found by analysing all of the text.
    fn thorough(query: &Query, text: &str) -> Vec<Highlight> {
        let mut stems = StemCache::default();
        let mut marker = Highlighter::new(query, &mut stems);
        marker.leads = Prefilter::everything();
        marker.matches(text)
    }

    #[test]
    fn nothing_is_missed_by_looking_only_at_what_may_match() {
        let texts = [
            "the retryPolicy of retry-policy, RETRY policy and retry\npolicy; retry — policy, retry x policy",
            "XMLHttpRequest http_request HTTPRequest httpRequest2 v2Request",
            "La Búsqueda rápida, búsquedas Éxito éxito aÉxito conexión conexiones",
            "全文検索は、検索 と全文。か\u{3099}き ｶﾞｷ がき API検索 第3章",
            "E_TIMEOUT_17 e.timeout/17 ﬁne ½ ① naïve “quoted” it’s its don't",
            "a\u{301}b \u{301}x x\u{301} --- ... \u{feff}# x\u{0}x 𠮷x й ή",
        ];
        for query in [
            "retry-policy",
            "\"retry policy\"",
            "policy",
            "retry",
            "http request",
            "httprequest",
            "request",
            "busqueda",
            "búsqueda",
            "exito",
            "conexion",
            "検索",
            "全文検索",
            "がき",
            "ガキ",
            "章",
            "api",
            "e_timeout_17",
            "timeout*",
            "17",
            "fine",
            "1",
            "naive",
            "its",
            "dont",
            "quoted",
            "x",
            "a",
            "й",
            "ñ",
            "𠮷",
            "\"検索 と\"",
            "3",
            "2",
            "v2*",
        ] {
            let query = Query::read(query);
            for text in texts {
                let mut stems = StemCache::default();
                assert_eq!(
                    Highlighter::new(&query, &mut stems).matches(text),
                    thorough(&query, text),
                    "{query:?} in {text:?}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn a_plain_text_fits_if_any_text_would(text in "([!-~]{0,70}[ \t\n\u{b}\u{1}]{0,3}){0,40}") {
            if let Some(span) = all_of_plain(&text) {
                prop_assert_eq!(Some(span), all_of_any(&text));
            }
        }

        #[test]
        fn nothing_is_missed_in_any_text(
            text in "[aAbBeEéÉrRtTyYsßñ12 ._'、検索文がｶﾞ\u{301}\u{3099}ﬁ\n-]{0,40}",
            query in "[abeErtyséñ12検索文がガ*\" -]{1,10}",
        ) {
            let query = Query::read(&query);
            let mut stems = StemCache::default();
            prop_assert_eq!(Highlighter::new(&query, &mut stems).matches(&text), thorough(&query, &text), "{:?}", query);
        }
    }

    #[test]
    fn where_only_the_heading_matches() {
        assert_eq!(snippet("objective", "some text", Some("## Objective")), "some text");
        assert_eq!(snippet("objective", "\n", Some("## Objective")), "**Objective**");
        assert_eq!(snippet("other", "", None), "");
        let long = "word ".repeat(100);
        let found = snippet("objective", &long, Some("## Objective"));
        assert_eq!((found.split_whitespace().count(), found.ends_with("...")), (SNIPPET_MAX_WORDS, true));
    }

    #[test]
    fn odd_texts_do_no_harm() {
        check("x", &"y".repeat(10_000), &format!("{}...", "y".repeat(4096)));
        let long = format!("{}ñ…{} x", "y".repeat(62), "ñ".repeat(70));
        for text in ["\u{301}x", "\u{feff}# x", "x\u{0}x", "𠮷x𠮷", &long] {
            let plain = snippet("x", text, None).replace("**", "");
            assert_eq!(plain, text);
        }
    }
}
