//! A query → what a recall looks for: one term for every word, quoted phrase or run of signs, with everything that
//! counts as finding it; and what each may be relaxed to.

use std::io;

use super::typos;
use super::weight::{JOINED_WEIGHT, LABEL_WEIGHT, PREFIX_WEIGHT, STEM_WEIGHT, TYPO_WEIGHTS, is_function_word};
use crate::index::main_index::IndexSnapshot;
use crate::index::overlay::TextField;
use crate::index::plan::{AccentMatch, Matcher, Pattern};
use crate::index::query::{Clause, Query};
use crate::index::schema::{ENGLISH, EXACT_NAME, EXACT_SPELLING, HAS_ACCENTS, LABEL_VARIANT, SPANISH};
use crate::index::stems::StemCache;

/// More are left out.
pub(super) const MAX_TERMS: usize = 120;
/// The last word may be the beginning of another one if it has so many characters.
const MIN_PREFIX_CHARS: usize = 3;
/// A word is only taken apart into two others if it has so many letters, and each of them so many.
const MIN_JOINED_LETTERS: usize = 5;
const MIN_PART_LETTERS: usize = 2;
/// In longer questions only words that are nowhere are taken apart.
const MAX_SPLIT_TERMS: usize = 3;

/// Something that is looked for.
#[derive(Debug)]
pub(super) struct Term {
    /// How it was typed, folded; by it a word of the language itself is told from others.
    pub(super) text: String,
    pub(super) matchers: Vec<Matcher>,
    /// Meant to the letter: without it nothing is a hit.
    pub(super) is_literal: bool,
    /// What it looks for, to be marked in snippets.
    pub(super) clauses: Vec<Clause>,
}

/// What a term may be instead.
#[derive(Debug)]
pub(super) enum Relaxation {
    /// The same with faults, or as the beginning of a word.
    Instead(Term),
    /// The beginning of a word, where the word itself is known, too.
    Beginning(Term),
    /// All of these.
    Pieces(Vec<Term>),
}

/// Makes terms of clauses.
pub(super) struct TermPlanner<'a> {
    pub(super) snapshot: &'a IndexSnapshot,
    pub(super) stems: &'a mut StemCache,
}

impl TermPlanner<'_> {
    /// The terms of a query, in its order.
    pub(super) fn terms(&mut self, query: &Query) -> io::Result<Vec<Term>> {
        let mut terms = Vec::with_capacity(query.required.len());
        for (group, is_literal) in query.required.iter().zip(&query.literal).take(MAX_TERMS) {
            terms.push(self.term(group.clone(), *is_literal)?);
        }
        self.add_joined(&mut terms)?;
        if terms.len() <= MAX_SPLIT_TERMS {
            for term in terms.iter_mut().filter(|term| !term.is_literal) {
                self.add_split(term)?;
            }
        }
        Ok(terms)
    }

    pub(super) fn term(&mut self, clauses: Vec<Clause>, is_literal: bool) -> io::Result<Term> {
        let mut matchers = Vec::new();
        for clause in &clauses {
            self.matchers_of(clause, &mut matchers);
        }
        for matcher in &mut matchers {
            matcher.locate(self.snapshot)?;
        }
        matchers.retain(|matcher| matcher.doc_freq > 0);
        let text = match clauses.as_slice() {
            [Clause::Word { folded, .. }] => folded.clone(),
            [Clause::Phrase { parts, .. }] if parts.len() == 1 => parts[0].1.clone(),
            _ => String::new(),
        };
        Ok(Term { text, matchers, is_literal, clauses })
    }

    fn matchers_of(&mut self, clause: &Clause, matchers: &mut Vec<Matcher>) {
        let mut push = |place, weight, what| matchers.push(Matcher::new(place, weight, what));
        match clause {
            Clause::Word { folded, spelt } => {
                for (place, weight, mark) in
                    [(TextField::Body, 1.0, ""), (TextField::Labels, LABEL_WEIGHT, LABEL_VARIANT)]
                {
                    let accent = match spelt {
                        Some(spelt) => Some((AccentMatch::Spelt, format!("{mark}{EXACT_SPELLING}{spelt}"))),
                        None if folded.is_ascii() => Some((AccentMatch::Plain, format!("{mark}{HAS_ACCENTS}{folded}"))),
                        None => None,
                    };
                    push(place, weight, Pattern::Term(folded.clone(), accent));
                    if folded.len() < 3 || !folded.bytes().all(|byte| byte.is_ascii_lowercase()) {
                        continue;
                    }
                    let both = self.stems.of(folded);
                    for (tag, stem) in [(ENGLISH, &both.english), (SPANISH, &both.spanish)] {
                        let text = format!("{mark}{tag}{}", stem.as_deref().unwrap_or(folded));
                        push(place.variants(), weight * STEM_WEIGHT, Pattern::Term(text, None));
                    }
                    let (english, spanish) = (both.english.as_deref(), both.spanish.as_deref());
                    for stem in english.into_iter().chain(spanish.filter(|spanish| Some(*spanish) != english)) {
                        if stem.len() >= 3 {
                            push(place, weight * STEM_WEIGHT, Pattern::Term(stem.to_owned(), None));
                        }
                    }
                }
            }
            Clause::Prefix(prefix) => {
                push(TextField::Body, 1.0, Pattern::Beginning(prefix.clone()));
                push(TextField::Labels, LABEL_WEIGHT, Pattern::Beginning(prefix.clone()));
            }
            Clause::Phrase { parts, open, joined } => {
                for (place, weight) in [(TextField::Body, 1.0), (TextField::Labels, LABEL_WEIGHT)] {
                    push(place, weight, phrase(parts, *open));
                    if let Some(joined) = joined {
                        push(place, weight, Pattern::Term(joined.clone(), None));
                    }
                }
            }
        }
    }

    /// Two or more neighbouring words may be written as one, which then is all of them.
    fn add_joined(&self, terms: &mut [Term]) -> io::Result<()> {
        let words: Vec<Option<String>> = terms.iter().map(|term| plain_word(term).map(str::to_owned)).collect();
        for first in 0..words.len() {
            for count in 2..=3 {
                let Some(parts) = words.get(first..first + count) else { continue };
                let Some(parts) = parts.iter().map(Option::as_deref).collect::<Option<Vec<_>>>() else { continue };
                let joined = parts.concat();
                if joined.len() < MIN_JOINED_LETTERS || parts.iter().all(|part| is_function_word(part)) {
                    continue;
                }
                for term in &mut terms[first..first + count] {
                    self.add(term, Pattern::Term(joined.clone(), None), JOINED_WEIGHT, || word(&joined))?;
                }
            }
        }
        Ok(())
    }

    /// A word may be written as two.
    pub(super) fn add_split(&self, term: &mut Term) -> io::Result<()> {
        let is_worth_it = |text: &&str| text.len() >= MIN_JOINED_LETTERS && !is_function_word(text);
        let Some(text) = plain_word(term).filter(is_worth_it).map(str::to_owned) else {
            return Ok(());
        };
        for (place, _) in text.char_indices() {
            let (front, back) = text.split_at(place);
            if front.chars().count() < MIN_PART_LETTERS || back.chars().count() < MIN_PART_LETTERS {
                continue;
            }
            let parts = vec![(0, front.to_owned()), (1, back.to_owned())];
            let clause = || Clause::Phrase { parts: parts.clone(), open: false, joined: None };
            self.add(term, Pattern::Phrase(parts.clone(), false), JOINED_WEIGHT, clause)?;
        }
        Ok(())
    }

    /// Adds another way to find a term, if it is known at all.
    fn add(&self, term: &mut Term, what: Pattern, weight: f32, clause: impl Fn() -> Clause) -> io::Result<()> {
        let mut is_known = false;
        for (place, field_weight) in [(TextField::Body, 1.0), (TextField::Labels, LABEL_WEIGHT)] {
            let mut matcher = Matcher::new(place, weight * field_weight, what.clone());
            matcher.locate(self.snapshot)?;
            if matcher.doc_freq > 0 {
                is_known = true;
                term.matchers.push(matcher);
            }
        }
        if is_known {
            term.clauses.push(clause());
        }
        Ok(())
    }

    /// What a term may be instead, which so many items have; in the order of preference.
    pub(super) fn relaxations(&mut self, term: &Term, items: usize, is_last: bool) -> io::Result<Vec<Relaxation>> {
        let mut all = Vec::new();
        let [clause, ..] = term.clauses.as_slice() else { return Ok(all) };
        if term.is_literal {
            return Ok(all);
        }
        match clause {
            Clause::Word { folded, .. } => {
                let folded = folded.clone();
                if items == 0 && !is_function_word(&folded) {
                    all.extend(self.typos(&folded)?.map(Relaxation::Instead));
                }
                if is_last && folded.chars().count() >= MIN_PREFIX_CHARS {
                    let mut term = self.term(vec![Clause::Prefix(folded)], false)?;
                    scale(&mut term, PREFIX_WEIGHT);
                    all.push(if items == 0 { Relaxation::Instead(term) } else { Relaxation::Beginning(term) });
                }
            }
            Clause::Phrase { parts, joined, open: false } if items == 0 => {
                let words = || parts.iter().map(|(_, part)| word(part)).collect();
                let pieces = clause.in_pieces().or_else(|| joined.is_some().then(words));
                let mut terms = Vec::new();
                for piece in pieces.unwrap_or_default() {
                    terms.push(self.term(vec![piece], false)?);
                }
                if is_last && joined.is_some() {
                    let open = Clause::Phrase { parts: parts.clone(), open: true, joined: None };
                    let mut term = self.term(vec![open], false)?;
                    scale(&mut term, PREFIX_WEIGHT);
                    all.push(Relaxation::Instead(term));
                }
                if !terms.is_empty() {
                    all.push(Relaxation::Pieces(terms));
                }
            }
            _ => {}
        }
        Ok(all)
    }

    /// Known words that are nearly the same; none if there are none.
    pub(super) fn typos(&mut self, folded: &str) -> io::Result<Option<Term>> {
        let mut found: Option<Term> = None;
        for (known, faults) in typos::alternatives(folded, self.snapshot)? {
            let mut term = self.term(vec![word(&known)], false)?;
            scale(&mut term, TYPO_WEIGHTS[faults.clamp(1, TYPO_WEIGHTS.len()) - 1]);
            match &mut found {
                Some(found) => {
                    found.matchers.append(&mut term.matchers);
                    found.clauses.append(&mut term.clauses);
                }
                None => found = Some(term),
            }
        }
        Ok(found)
    }

    /// Items of which the whole query is a name.
    pub(super) fn exact_name(&self, name: &str) -> io::Result<Matcher> {
        let mut matcher = Matcher::new(TextField::Labels, 1.0, Pattern::Term(format!("{EXACT_NAME}{name}"), None));
        matcher.locate(self.snapshot)?;
        Ok(matcher)
    }

    /// All words of a query side by side; none if there are none.
    pub(super) fn side_by_side(&self, typed: &str) -> io::Result<Vec<Matcher>> {
        let Some(Clause::Phrase { parts, .. }) = Clause::phrase(typed) else { return Ok(Vec::new()) };
        let mut matchers = Vec::new();
        for place in [TextField::Body, TextField::Labels] {
            let mut matcher = Matcher::new(place, 1.0, phrase(&parts, false));
            matcher.locate(self.snapshot)?;
            matchers.push(matcher);
        }
        Ok(matchers)
    }
}

fn phrase(parts: &[(u32, String)], open: bool) -> Pattern {
    match parts {
        [(_, only)] if !open => Pattern::Term(only.clone(), None),
        _ => Pattern::Phrase(parts.to_vec(), open),
    }
}

fn word(folded: &str) -> Clause {
    Clause::Word { folded: folded.to_owned(), spelt: None }
}

fn plain_word(term: &Term) -> Option<&str> {
    match term.clauses.first()? {
        Clause::Word { folded, .. } if !term.is_literal => Some(folded),
        _ => None,
    }
}

fn scale(term: &mut Term, factor: f32) {
    term.matchers.iter_mut().for_each(|matcher| matcher.weight *= factor);
}
