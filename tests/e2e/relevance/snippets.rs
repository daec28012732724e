//! What is shown of a hit: a piece of the document as it stands there, the words that were found marked, the ends
//! where something was cut.

use serde_json::json;

use super::{Hit, RelevanceFixture};

const MOST_WORDS: usize = 64;
/// A run without blanks has no words; about three hundred signs are shown, and a little more is no harm.
const MOST_SIGNS: usize = 340;

/// What holds for every snippet.
#[track_caller]
pub(super) fn is_sound(library: &RelevanceFixture, hit: &Hit) {
    let text = library.text(&hit.path);
    let bare = bare(&hit.snippet);
    // Bold words of the document itself keep their stars, so these are left out on both sides.
    assert!(text.replace("**", "").contains(&bare), "not as it stands in the document: {hit:?}");
    let is_closed = hit.snippet.matches("**").count().is_multiple_of(2);
    assert!(is_closed || text.contains("**"), "an open mark: {hit:?}");
    assert!(bare.split_whitespace().count() <= MOST_WORDS, "too many words: {hit:?}");
    let is_wide = |sign: &char| ('\u{3040}'..='\u{9fff}').contains(sign);
    assert!(bare.chars().filter(is_wide).count() <= MOST_SIGNS, "too many signs: {hit:?}");
}

/// A snippet without its marks and ends.
fn bare(snippet: &str) -> String {
    let snippet = snippet.replace("**", "");
    let snippet = snippet.strip_prefix("...").unwrap_or(&snippet);
    snippet.strip_suffix("...").unwrap_or(snippet).trim().to_owned()
}

/// The snippet of the first hit, which must be of this document.
#[track_caller]
fn first(library: &mut RelevanceFixture, query: &str, path: &str) -> String {
    let hit = library.hits(query).into_iter().next().unwrap_or_else(|| panic!("nothing for {query}"));
    assert_eq!(hit.path, path, "{query}: {hit:?}");
    is_sound(library, &hit);
    hit.snippet
}

#[test]
fn long_texts_are_cut_around_the_words() {
    let mut library = RelevanceFixture::new();
    let path = "harbor/references/http-headers.md";
    let middle = first(&mut library, "gangway", path);
    assert!(middle.starts_with("...") && middle.ends_with("...") && middle.contains("**gangway**"), "{middle}");
    let beginning = first(&mut library, "\"x-budget-ms\"", path);
    assert!(beginning.starts_with("The header") && beginning.ends_with("..."), "{beginning}");
    let end = first(&mut library, "rounds down full seconds", path);
    assert!(end.starts_with("...") && end.ends_with("treated as missing."), "{end}");
    // `reserve` stands twice: alone, and beside the other word.
    let dense = first(&mut library, "reserve gangway", path);
    assert!(dense.contains("**reserve** is called the\n**gangway**"), "{dense}");
}

#[test]
fn short_texts_are_shown_whole() {
    let mut library = RelevanceFixture::new();
    let whole = first(&mut library, "enclavamiento", "señales/status.md");
    assert_eq!(
        whole.trim(),
        "Dieciocho estaciones conectadas. El **enclavamiento** de la bifurcación sigue siendo el punto débil."
    );
}

#[test]
fn neighbours_may_share_their_marks() {
    let mut library = RelevanceFixture::new();
    let snippet = first(&mut library, "\"token bucket\"", "harbor/tasks/003-rate-limits.md");
    assert!(snippet.contains("**token bucket**") || snippet.contains("**token** **bucket**"), "{snippet}");
    let snippet = first(&mut library, "jitter", "harbor/tasks/001-retry-policy.md");
    assert!(snippet.contains("with full **jitter** between") && snippet.matches("**").count() == 2, "{snippet}");
}

#[test]
fn only_whole_words_are_marked() {
    let mut library = RelevanceFixture::new();
    let hits = library.hits("ring");
    assert!(hits.iter().any(|hit| hit.snippet.contains("leaves the **ring**")), "{hits:#?}");
    for hit in hits {
        let marked = |(at, _): (usize, &str)| hit.snippet[..at].ends_with(char::is_alphanumeric);
        assert!(!hit.snippet.match_indices("**ring**").any(marked), "{hit:?}");
    }
}

#[test]
fn spelling_and_case_stay() {
    let mut library = RelevanceFixture::new();
    let mut check = |query: &str, path: &str, expected: &str| {
        let snippet = first(&mut library, query, path);
        assert!(snippet.contains(expected), "{query}: {snippet}");
    };
    check("enclavamiento bifurcacion", "señales/status.md", "**bifurcación**");
    check("anso coro", "cancionero/sessions/2025-06-09-coro.md", "modo nocturno");
    check("sigterm", "harbor/tasks/004-graceful-shutdown.md", "On **SIGTERM** the");
    check("pinguino", "cancionero/scratch/ocurrencias.md", "voz de **pingüino** para");
    check("ヨミトリ", "図書館/references/機器.md", "**ﾖﾐﾄﾘ**");
    check("参政権", "図書館/reports/選書会議.md", "外国人**参政権**をめぐる");
    check("certificate expire*", "harbor/tasks/006-tls-renewal.md", "**certificate**");
}

#[test]
fn nothing_is_escaped_and_nothing_becomes_markup() {
    let mut library = RelevanceFixture::new();
    let snippet = first(&mut library, "dashboard escape", "harbor/references/http-headers.md");
    for part in ["A **dashboard** that shows them must **escape** `<script>` and `R&D` itself", "`&lt;script&gt;`"] {
        assert!(snippet.contains(part), "{snippet}");
    }
}

#[test]
fn runs_without_blanks_are_cut_too() {
    let mut library = RelevanceFixture::new();
    let path = "図書館/references/歴史.md";
    let middle = first(&mut library, "目録", path);
    assert!(middle.contains("**目録**") && (middle.starts_with("...") || middle.ends_with("...")), "{middle}");
    let end = first(&mut library, "背比べ", path);
    assert!(end.starts_with("...") && end.contains("**背比べ**") && end.ends_with("探しに来る。"), "{end}");
}

#[test]
fn a_heading_alone_shows_what_follows_it_or_itself() {
    let mut library = RelevanceFixture::new();
    let path = "atlas/references/style-rules.md";
    let snippet = first(&mut library, "kerning", path);
    assert!(snippet.starts_with("Names of oceans are set wide.") && !snippet.contains("**"), "{snippet}");
    let snippet = first(&mut library, "kestrel", "harbor/scratch/kestrel.md");
    assert!(snippet.starts_with("The next thing after the gateway") && !snippet.contains("**"), "{snippet}");
    let snippet = first(&mut library, "hachures", path);
    assert!(snippet.trim_start_matches('#').trim() == "**Hachures**", "{snippet}");
}

#[test]
fn the_answer_has_the_promised_fields() {
    let mut library = RelevanceFixture::new();
    let answer = library.search(json!({ "query": "topology" }));
    let keys = |value: &serde_json::Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&answer), ["query", "total_matches", "results"]);
    let hit = &answer["results"][0];
    let expected = ["project", "folder", "filename", "path", "heading", "snippet", "score", "metadata"];
    assert_eq!(keys(hit), expected);
    assert_eq!(keys(&hit["metadata"]), ["type", "status", "updated"]);
    assert_eq!(hit["filename"], "diagrams/topology.md");
    assert_eq!(hit["path"], "harbor/assets/diagrams/topology.md");
    let score = hit["score"].as_f64().expect("a number") * 10_000.0;
    assert!((score - score.round()).abs() < 1e-6, "{score}");
}
