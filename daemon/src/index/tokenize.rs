//! Text → tokens: the one tokenizer of index, overlay, queries and snippets.
//!
//! Compatibility forms are folded, capitals lowered. Latin words lose their accents and remember how they were
//! spelt; compound names come as their parts and as a whole; unsegmented scripts come as ideographs and bigrams.
//! Every token knows its position and its span in the text. Nothing here allocates for a plain word.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// Longer words are cut, so that a blob of data does not become a term of its size.
const MAX_WORD_BYTES: usize = 96;
/// Names of more parts than this are found by their parts alone.
const MAX_COMPOUND_PARTS: usize = 12;

/// What kind of piece it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A word, or a part of a name.
    Word,
    /// All parts of a name, without its joints; stands where the first part stands.
    Compound,
    /// One sign of a script without blanks.
    Ideograph,
    /// Two neighbouring signs; stands where the first stands.
    Bigram,
}

/// Something that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextToken<'a> {
    pub(crate) kind: TokenKind,
    /// How it is looked for.
    pub(crate) folded: &'a str,
    /// How it was spelt, if accents were dropped.
    pub(crate) spelt: Option<&'a str>,
    /// Neighbours have neighbouring positions.
    pub(crate) position: u32,
    /// Where it stands in the text, in bytes.
    pub(crate) span: Range<usize>,
}

/// Reads a text from a position on; the next free position comes back.
pub(crate) fn tokenize(text: &str, position: u32, each: &mut dyn FnMut(TextToken<'_>)) -> u32 {
    TextTokenizer::default().read(text, position, each)
}

/// One part of a name: where it is in the two buffers, and in the text.
#[derive(Debug)]
struct Part {
    folded: Range<usize>,
    spelt: Range<usize>,
    span: Range<usize>,
}

/// Reads texts, and keeps its memory for the next one.
#[derive(Debug, Default)]
pub(crate) struct TextTokenizer {
    position: u32,
    /// The name that is being read, without accents and joints.
    folded: String,
    /// The same with accents; empty as long as there are none.
    spelt: String,
    parts: Vec<Part>,
    /// The part that is being read.
    open: bool,
    /// The letter before was a small one.
    small: bool,
    /// Joints that were seen after the last part.
    joint: Option<(char, u8)>,
    /// The sign before this one, if nothing stands between them.
    sign: Option<(char, usize)>,
}

impl TextTokenizer {
    /// Reads a text from a position on; the next free position comes back.
    pub(crate) fn read(&mut self, text: &str, position: u32, each: &mut dyn FnMut(TextToken<'_>)) -> u32 {
        self.position = position;
        self.sign = None;
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            if byte < 0x80 && bytes.get(at + 1).is_none_or(|next| *next < 0x80) {
                self.ascii(byte, at, each);
                at += 1;
                continue;
            }
            let end = cluster(text, at);
            self.cluster(&text[at..end], at..end, each);
            at = end;
        }
        self.flush(each);
        self.position
    }

    #[inline]
    fn ascii(&mut self, byte: u8, at: usize, each: &mut dyn FnMut(TextToken<'_>)) {
        if byte.is_ascii_alphanumeric() {
            let is_capital = byte.is_ascii_uppercase();
            self.letter(is_capital, at, each);
            let low = byte.to_ascii_lowercase() as char;
            self.folded.push(low);
            if !self.spelt.is_empty() {
                self.spelt.push(low);
            }
            self.grow(at + 1);
            self.small = !is_capital;
        } else {
            self.other(byte as char, each);
        }
    }

    /// Signs that belong together: a letter and its marks.
    fn cluster(&mut self, cluster: &str, span: Range<usize>, each: &mut dyn FnMut(TextToken<'_>)) {
        let mut chars = cluster.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) if is_normalized_ideograph(only) => self.gram(only, span, each),
            _ => {
                for normal in cluster.nfkc() {
                    self.normal(normal, span.clone(), each);
                }
            }
        }
    }

    fn normal(&mut self, normal: char, span: Range<usize>, each: &mut dyn FnMut(TextToken<'_>)) {
        if is_unsegmented(normal) {
            self.gram(normal, span, each);
        } else if normal.is_alphanumeric() || (self.open && is_combining_mark(normal)) {
            let is_capital = normal.is_uppercase();
            self.letter(is_capital, span.start, each);
            for low in normal.to_lowercase() {
                self.low(low);
            }
            self.grow(span.end);
            self.small = normal.is_lowercase();
        } else {
            self.other(normal, each);
        }
    }

    /// One small letter goes into both buffers, into one of them without its accents.
    fn low(&mut self, low: char) {
        let before = self.folded.len();
        if !low.is_ascii() && (is_latin(low) || is_combining_mark(low)) {
            let is_latin_before = self.folded.chars().next_back().is_some_and(is_latin);
            match low {
                'ß' => self.folded.push_str("ss"),
                'æ' => self.folded.push_str("ae"),
                'œ' => self.folded.push_str("oe"),
                'ø' => self.folded.push('o'),
                'đ' => self.folded.push('d'),
                'ł' => self.folded.push('l'),
                'ı' => self.folded.push('i'),
                mark if is_combining_mark(mark) && !is_latin_before => self.folded.push(mark),
                _ => {
                    let folded = &mut self.folded;
                    decompose_canonical(low, |base| {
                        if !is_combining_mark(base) {
                            folded.push(base);
                        }
                    });
                }
            }
        } else {
            self.folded.push(low);
        }
        let differs = !self.folded[before..].chars().eq([low]);
        if differs && self.spelt.is_empty() {
            self.spelt.push_str(&self.folded[..before]);
            // What was read before has the same length in both.
        }
        if differs || !self.spelt.is_empty() {
            self.spelt.push(low);
        }
    }

    /// A letter begins a part, or a name, or goes on.
    fn letter(&mut self, is_capital: bool, at: usize, each: &mut dyn FnMut(TextToken<'_>)) {
        if self.sign.take().is_some() {
            self.flush(each);
        }
        if self.open && !(is_capital && self.small) {
            return;
        }
        self.joint = None;
        let (folded, spelt) = (self.folded.len(), self.spelt.len());
        self.parts.push(Part { folded: folded..folded, spelt: spelt..spelt, span: at..at });
        self.open = true;
    }

    fn grow(&mut self, end: usize) {
        let (folded, spelt) = (self.folded.len(), self.spelt.len());
        if let Some(part) = self.parts.last_mut() {
            part.folded.end = folded;
            part.spelt.end = spelt;
            part.span.end = end;
        }
    }

    /// Neither letter nor sign: a joint inside a name, or its end.
    fn other(&mut self, other: char, each: &mut dyn FnMut(TextToken<'_>)) {
        self.sign = None;
        if self.parts.is_empty() {
            return;
        }
        self.open = false;
        let joint = if is_connector(other) { other } else { '\0' };
        match self.joint {
            _ if joint == '\0' => self.flush(each),
            None => self.joint = Some((joint, 1)),
            Some((before, 1)) if before == joint => self.joint = Some((joint, 2)),
            Some(_) => self.flush(each),
        }
    }

    fn gram(&mut self, sign: char, span: Range<usize>, each: &mut dyn FnMut(TextToken<'_>)) {
        self.flush(each);
        let mut buffer = [0; 8];
        if let Some((before, start)) = self.sign {
            let first = before.encode_utf8(&mut buffer).len();
            let whole = first + sign.encode_utf8(&mut buffer[first..]).len();
            let folded = std::str::from_utf8(&buffer[..whole]).unwrap_or_default();
            let position = self.position - 1;
            each(TextToken { kind: TokenKind::Bigram, folded, spelt: None, position, span: start..span.end });
        }
        let start = span.start;
        let folded = &*sign.encode_utf8(&mut buffer);
        each(TextToken { kind: TokenKind::Ideograph, folded, spelt: None, position: self.position, span });
        self.position += 1;
        self.sign = Some((sign, start));
    }

    /// The name ends: its parts, and all of it.
    fn flush(&mut self, each: &mut dyn FnMut(TextToken<'_>)) {
        let first = self.position;
        for part in &self.parts {
            let folded = short(&self.folded[part.folded.clone()]);
            let spelt = self.spelt.get(part.spelt.clone()).filter(|spelt| !spelt.is_empty()).map(short);
            let spelt = spelt.filter(|spelt| *spelt != folded);
            each(TextToken { kind: TokenKind::Word, folded, spelt, position: self.position, span: part.span.clone() });
            self.position += 1;
        }
        if let (2..=MAX_COMPOUND_PARTS, Some(start), Some(end)) =
            (self.parts.len(), self.parts.first(), self.parts.last())
        {
            let span = start.span.start..end.span.end;
            let folded = short(&self.folded);
            each(TextToken { kind: TokenKind::Compound, folded, spelt: None, position: first, span });
        }
        self.parts.clear();
        self.folded.clear();
        self.spelt.clear();
        self.joint = None;
        self.open = false;
        self.small = false;
    }
}

/// The end of the letter that begins here, with its marks.
fn cluster(text: &str, at: usize) -> usize {
    let mut chars = text[at..].char_indices();
    chars.next();
    let end = chars.find(|(_, next)| !is_combining_mark(*next) && !matches!(next, '\u{ff9e}' | '\u{ff9f}'));
    end.map_or(text.len(), |(length, _)| at + length)
}

fn short(word: &str) -> &str {
    &word[..word.floor_char_boundary(MAX_WORD_BYTES)]
}

/// What joins the parts of a name.
pub(crate) fn is_connector(other: char) -> bool {
    matches!(other, '-' | '_' | '.' | '/' | '\\' | ':' | '@' | '+' | '\'' | '’' | '#' | '&' | '\u{2010}' | '\u{2011}')
}

fn is_latin(letter: char) -> bool {
    letter.is_ascii_alphabetic()
        || matches!(letter, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') && !matches!(letter, '×' | '÷')
}

/// Signs that no normal form changes, which are nearly all.
pub(crate) fn is_normalized_ideograph(sign: char) -> bool {
    matches!(sign, '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fe}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// Scripts that are written without blanks, or whose words carry endings: found by their signs.
#[inline]
pub(crate) fn is_unsegmented(sign: char) -> bool {
    // Nearly every sign of most texts is in front of them all.
    sign >= '\u{e01}'
        && match sign {
            '\u{3005}' | '\u{3006}' | '\u{3007}' | '\u{303b}' => true,
            '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' => {
                true
            }
            '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => {
                true
            }
            '\u{20000}'..='\u{3ffff}' => true,
            '\u{1100}'..='\u{11ff}' | '\u{3105}'..='\u{312f}' | '\u{3131}'..='\u{318e}' | '\u{ac00}'..='\u{d7a3}' => {
                true
            }
            // Thai, Lao, Tibetan, Myanmar, Khmer: letters and their vowel signs.
            '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{e81}'..='\u{ece}' | '\u{f40}'..='\u{fbc}' => true,
            '\u{1000}'..='\u{103f}' | '\u{1780}'..='\u{17d3}' => true,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces as `position:folded[=spelt]`, joined ones with `+`, in order of positions.
    fn check(text: &str, expected: &str) {
        let mut found = Vec::new();
        tokenize(text, 0, &mut |text_token| {
            assert!(
                text.get(text_token.span.clone()).is_some_and(|there| !there.is_empty()),
                "{text_token:?} in {text:?}"
            );
            let joined = if text_token.kind == TokenKind::Compound { "+" } else { "" };
            let spelt = text_token.spelt.map(|spelt| format!("={spelt}")).unwrap_or_default();
            found.push((text_token.position, format!("{}:{joined}{}{spelt}", text_token.position, text_token.folded)));
        });
        found.sort_by_key(|(position, _)| *position);
        let found: Vec<String> = found.into_iter().map(|(_, text_token)| text_token).collect();
        assert_eq!(found.join(" "), expected, "{text:?}");
    }

    #[test]
    fn latin_words_lose_their_accents_and_remember_them() {
        check("La BÚSQUEDA rápida", "0:la 1:busqueda=búsqueda 2:rapida=rápida");
        check("an\u{303}o año ano", "0:ano=año 1:ano=año 2:ano");
        check("Straße Ærø", "0:strasse=straße 1:aero=ærø");
        check("Ｆｕｌｌ ﬁne ①", "0:full 1:fine 2:1");
        check("й ή", "0:й 1:ή");
    }

    #[test]
    fn names_come_as_parts_and_joined() {
        check("retry-policy", "0:retry 0:+retrypolicy 1:policy");
        check("E_TIMEOUT_17", "0:e 0:+etimeout17 1:timeout 2:17");
        check("lib/a/b.rs!", "0:lib 0:+libabrs 1:a 2:b 3:rs");
        check("retryPolicy std::fs", "0:retry 0:+retrypolicy 1:policy 2:std 2:+stdfs 3:fs");
        check("don't -- stop. Next", "0:don 0:+dont 1:t 2:stop 3:next");
        check("https://a.b", "0:https 1:a 1:+ab 2:b");
        check("diseño-rápido", "0:diseno=diseño 0:+disenorapido 1:rapido=rápido");
    }

    #[test]
    fn scripts_without_blanks_come_as_signs_and_pairs() {
        check("全文検索", "0:全 0:全文 1:文 1:文検 2:検 2:検索 3:索");
        check("ｶﾞｷﾞ", "0:ガ 0:ガギ 1:ギ");
        check("か\u{3099}き", "0:が 0:がき 1:き");
        check("APIキー 第3章", "0:api 1:キ 1:キー 2:ー 3:第 4:3 5:章");
        check("検、索", "0:検 1:索");
    }

    #[test]
    fn nothing_is_too_odd() {
        check("", "");
        check("---*** \u{0} \u{301}", "");
        check("a\u{301}\u{301}", "0:a=á\u{301}");
        tokenize(&"x".repeat(100_000), 0, &mut |text_token| assert_eq!(text_token.folded.len(), MAX_WORD_BYTES));
    }
}
