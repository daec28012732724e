//! What a person typed → what is looked for. Pure, and never an error: what is no syntax is plain text.

use std::collections::{BTreeMap, HashSet};

use unicode_normalization::char::is_combining_mark;

use super::tokenize::{TextToken, TokenKind, is_connector, is_unsegmented, tokenize};

/// More terms than this are left out, and so is what is beyond this many bytes.
const MAX_QUERY_TERMS: usize = 256;
const MAX_QUERY_BYTES: usize = 4096;
/// A phrase has at most so many parts.
const MAX_PHRASE_PARTS: usize = 64;

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// All of these, or as many as possible.
    pub(crate) required: Vec<Alternatives>,
    /// For each of these, whether it is meant to the letter: quoted, or the beginning of words.
    pub(crate) literal: Vec<bool>,
    /// None of these.
    pub(crate) excluded: Vec<Clause>,
}

/// Any of these.
pub(crate) type Alternatives = Vec<Clause>;

/// One thing to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Clause {
    /// A word, in any of its shades.
    Word {
        /// In lower case, without accents.
        folded: String,
        /// With them, if it was typed so.
        spelt: Option<String>,
    },
    /// Everything that begins so.
    Prefix(String),
    /// Pieces that follow each other.
    Phrase {
        /// Each with its distance from the first.
        parts: Vec<(u32, String)>,
        /// The last part is only the beginning of a word.
        open: bool,
        /// The same as one word.
        joined: Option<String>,
    },
}

/// What stands between blanks and quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueryToken<'a> {
    Or,
    Not,
    And,
    Text { text: &'a str, is_quoted: bool, minus: bool },
}

impl Query {
    pub fn read(typed: &str) -> Self {
        let mut tokens = tokens(&typed[..typed.floor_char_boundary(MAX_QUERY_BYTES)]);
        tokens.truncate(MAX_QUERY_TERMS);
        let query = Self::of(&tokens);
        if !query.required.is_empty() {
            return query;
        }
        // Nothing to find but what was excluded, or words of the syntax: then they were plain text.
        let plain = |token: &QueryToken<'_>| match token {
            QueryToken::Or => clause("or", false),
            QueryToken::Not => clause("not", false),
            QueryToken::And => clause("and", false),
            QueryToken::Text { text, is_quoted, .. } => clause(text, *is_quoted),
        };
        let required: Vec<Alternatives> = tokens.iter().filter_map(plain).map(|clause| vec![clause]).collect();
        Self { literal: vec![false; required.len()], required, excluded: Vec::new() }
    }

    /// The same, and whatever its runs without blanks fall into.
    pub(crate) fn with_pieces(&self) -> Self {
        let mut query = self.clone();
        for (group, _) in query.required.iter_mut().zip(&self.literal).filter(|(_, literal)| !**literal) {
            let pieces: Vec<Clause> = group.iter().filter_map(Clause::in_pieces).flatten().collect();
            group.extend(pieces);
        }
        query
    }

    fn of(tokens: &[QueryToken<'_>]) -> Self {
        let mut query = Self::default();
        let (mut or, mut not) = (false, false);
        for token in tokens {
            let (found, is_literal, minus) = match *token {
                QueryToken::Or => {
                    or = !query.required.is_empty();
                    continue;
                }
                QueryToken::Not => {
                    not = true;
                    continue;
                }
                QueryToken::And => continue,
                QueryToken::Text { text, is_quoted, minus } => {
                    (clause(text, is_quoted), is_quoted || text.ends_with('*'), minus)
                }
            };
            let excluded = std::mem::take(&mut not) || minus;
            let Some(found) = found else { continue };
            match (excluded, std::mem::take(&mut or)) {
                (true, _) => query.excluded.push(found),
                (false, true) => {
                    query.required.last_mut().map(|group| group.push(found)).unwrap_or_default();
                    query.literal.last_mut().map(|literal| *literal |= is_literal).unwrap_or_default();
                }
                (false, false) => {
                    query.required.push(vec![found]);
                    query.literal.push(is_literal);
                }
            }
        }
        query
    }
}

fn tokens(typed: &str) -> Vec<QueryToken<'_>> {
    let mut tokens = Vec::new();
    let mut rest = typed;
    loop {
        rest = rest.trim_start_matches(is_blank);
        let Some(first) = rest.chars().next() else { return tokens };
        let after = &rest[first.len_utf8()..];
        let minus = first == '-' && after.starts_with(|next: char| !is_blank(next) && next != '-');
        let body = if minus { after } else { rest };
        if let Some(text) = body.strip_prefix(is_quote) {
            // If nobody closes it, it is a blank.
            rest = text;
            if let Some((quoted, after)) = text.split_once(is_quote) {
                tokens.push(QueryToken::Text { text: quoted, is_quoted: true, minus });
                rest = after;
            }
            continue;
        }
        let end = body.find(|sign| is_blank(sign) || is_quote(sign)).unwrap_or(body.len());
        tokens.push(match &body[..end] {
            "OR" if !minus => QueryToken::Or,
            "NOT" if !minus => QueryToken::Not,
            "AND" if !minus => QueryToken::And,
            text => QueryToken::Text { text, is_quoted: false, minus },
        });
        rest = &body[end..];
    }
}

fn is_quote(sign: char) -> bool {
    matches!(sign, '"' | '“' | '”' | '„' | '＂')
}

/// Everything between terms: not only blanks, but whatever can neither be found nor join what can.
fn is_blank(sign: char) -> bool {
    !(sign.is_alphanumeric()
        || is_connector(sign)
        || is_unsegmented(sign)
        || is_quote(sign)
        || is_combining_mark(sign)
        || sign == '*')
}

/// What one token looks for, if anything in it can be found.
fn clause(text: &str, quoted: bool) -> Option<Clause> {
    let open = !quoted && text.ends_with('*');
    let mut words: Vec<(u32, String, Option<String>, TokenKind)> = Vec::new();
    let mut joined = Vec::new();
    tokenize(text, 0, &mut |TextToken { kind, folded, spelt, position, .. }| match kind {
        TokenKind::Compound => joined.push(folded.to_owned()),
        _ => words.push((position, folded.to_owned(), spelt.map(str::to_owned), kind)),
    });
    words.sort_by_key(|(position, _, _, kind)| (*position, *kind != TokenKind::Bigram));
    let mut kept = minimal_cover(&words);
    kept.truncate(MAX_PHRASE_PARTS);
    let ends_in_word = words.last().is_some_and(|(.., kind)| *kind == TokenKind::Word);
    let open = open && ends_in_word && kept.len() < MAX_PHRASE_PARTS;
    match kept.as_slice() {
        [] => None,
        [only] if words[*only].3 == TokenKind::Word && open => Some(Clause::Prefix(words[*only].1.clone())),
        [only] if words[*only].3 == TokenKind::Word && !quoted => {
            let (_, folded, spelt, _) = words.swap_remove(*only);
            Some(Clause::Word { folded, spelt })
        }
        many => {
            let first = words[many[0]].0;
            let parts = many.iter().map(|place| (words[*place].0 - first, words[*place].1.clone())).collect();
            let is_one_name = joined.len() == 1 && words.iter().all(|(.., kind)| *kind == TokenKind::Word);
            let joined = joined.pop().filter(|_| is_one_name && !open && !quoted);
            Some(Clause::Phrase { parts, open, joined })
        }
    }
}

/// A run without blanks has to be this long to fall into pieces, in signs.
const MIN_SIGNS_IN_PIECES: usize = 4;

impl Clause {
    /// All words of a text, one behind the other; operators and quotes are none.
    pub(crate) fn phrase(typed: &str) -> Option<Self> {
        clause(&typed[..typed.floor_char_boundary(MAX_QUERY_BYTES)], true)
    }

    /// The words and the pairs of signs of a run that is nowhere as it is; none if it is no such run.
    pub(crate) fn in_pieces(&self) -> Option<Vec<Self>> {
        let Self::Phrase { parts, open: false, joined: None } = self else { return None };
        let mut signs: BTreeMap<u32, char> = BTreeMap::new();
        let mut pieces: Vec<(u32, Self)> = Vec::new();
        let mut length = 0;
        for (position, part) in parts {
            if part.chars().all(is_unsegmented) {
                signs.extend((*position..).zip(part.chars()));
            } else {
                length += part.chars().count();
                pieces.push((*position, Self::Word { folded: part.clone(), spelt: None }));
            }
        }
        if signs.is_empty() || length + signs.len() < MIN_SIGNS_IN_PIECES {
            return None;
        }
        for (position, sign) in &signs {
            let is_alone = !signs.contains_key(&(position + 1)) && !signs.contains_key(&position.wrapping_sub(1));
            let part: String = [Some(sign), signs.get(&(position + 1))].into_iter().flatten().collect();
            if is_alone || part.chars().count() == 2 {
                pieces.push((*position, Self::Phrase { parts: vec![(0, part)], open: false, joined: None }));
            }
        }
        pieces.sort_by_key(|(position, _)| *position);
        Some(pieces.into_iter().map(|(_, piece)| piece).collect())
    }
}

/// Which pieces are enough: every word, and of a run of signs as few pairs as cover it. They come in the order of
/// their positions, a pair before the sign that it begins with.
fn minimal_cover(words: &[(u32, String, Option<String>, TokenKind)]) -> Vec<usize> {
    let pairs: HashSet<u32> =
        words.iter().filter(|(.., kind)| *kind == TokenKind::Bigram).map(|(at, ..)| *at).collect();
    let mut kept = Vec::new();
    let mut covered = 0;
    for (place, (position, _, _, kind)) in words.iter().enumerate() {
        let is_last_pair = !pairs.contains(&(position + 1)) && *position + 2 > covered;
        let is_in_pair = pairs.contains(position) || *position > 0 && pairs.contains(&(position - 1));
        match kind {
            TokenKind::Bigram if *position >= covered || is_last_pair => {
                kept.push(place);
                covered = position + 2;
            }
            TokenKind::Word => kept.push(place),
            TokenKind::Ideograph if !is_in_pair => kept.push(place),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(clause: &Clause) -> String {
        match clause {
            Clause::Word { folded, spelt: None } => folded.clone(),
            Clause::Word { folded, spelt: Some(spelt) } => format!("{folded}={spelt}"),
            Clause::Prefix(prefix) => format!("{prefix}*"),
            Clause::Phrase { parts, open, joined } => {
                let parts: Vec<String> = parts.iter().map(|(at, part)| format!("{at}:{part}")).collect();
                let joined = joined.as_ref().map(|joined| format!("|{joined}")).unwrap_or_default();
                format!("({}{}{joined})", parts.join(" "), if *open { "*" } else { "" })
            }
        }
    }

    fn check(typed: &str, expected: &str) {
        let query = Query::read(typed);
        let group = |group: &Alternatives| group.iter().map(shown).collect::<Vec<_>>().join("/");
        let mut all: Vec<String> = query.required.iter().map(group).collect();
        all.extend(query.excluded.iter().map(|clause| format!("-{}", shown(clause))));
        assert_eq!(all.join(" "), expected, "{typed:?}");
    }

    #[test]
    fn words_phrases_prefixes_and_operators() {
        check("Error budget", "error budget");
        check("\"error budget\" slo", "(0:error 1:budget) slo");
        check("kuber* fail-ov*", "kuber* (0:fail 1:ov*)");
        check("a OR b c", "a/b c");
        check("deploy -staging NOT old", "deploy -staging -old");
        check("búsqueda", "busqueda=búsqueda");
        check("retry-policy", "(0:retry 1:policy|retrypolicy)");
        check("\"running\"", "(0:running)");
    }

    #[test]
    fn scripts_without_blanks_are_adjacent_pairs() {
        check("検索", "(0:検索)");
        check("検", "(0:検)");
        check("全文検索", "(0:全文 2:検索)");
        check("検索機", "(0:検索 1:索機)");
        check("全文検索機能化", "(0:全文 2:検索 4:機能 5:能化)");
        check("APIキー", "(0:api 1:キー)");
        check("第3章", "(0:第 1:3 2:章)");
        check("検索*", "(0:検索)");
    }

    #[test]
    fn a_long_run_has_pieces() {
        let check = |typed: &str, expected: &str| {
            let pieces = Query::read(typed).required[0][0].in_pieces();
            let pieces = pieces.map(|pieces| pieces.iter().map(shown).collect::<Vec<_>>().join(" "));
            assert_eq!(pieces.unwrap_or_default(), expected, "{typed:?}");
        };
        check("全文検索機", "(0:全文) (0:文検) (0:検索) (0:索機)");
        check("APIキーの値", "api (0:キー) (0:ーの) (0:の値)");
        check("全文検", "");
        check("retry-policy", "");
        check("\"retry policy plan\"", "");
    }

    #[test]
    fn what_is_no_syntax_is_plain_text() {
        check("", "");
        check("*** () -- \" : ^", "");
        check("\"open phrase", "open phrase");
        check("OR", "or");
        check("OR a", "a");
        check("a OR", "a");
        check("NOT", "not");
        check("-only", "only");
        check("NEAR(a b) [x] c:d ^e f\\g", "near a b x (0:c 1:d|cd) e (0:f 1:g|fg)");
        check("a AND b", "a b");
        check("a - b", "a b");
        check("say \"\" it", "say it");
    }
}
