//! The notes that are searched in: the same for the same number, three languages, of the size people's notes have.
//!
//! 10,000 of them are about 23 MB in about 49,000 chunks: 60 % English, 20 % Spanish, 20 % Japanese.

use std::fmt::Write as _;

/// A language of the notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Six of ten.
    English,
    /// Two of ten.
    Spanish,
    /// Two of ten.
    Japanese,
}

#[derive(Debug)]
pub struct Note {
    /// As in `project/folder/name.md`.
    pub path: String,
    pub text: String,
}

/// Words by a fixed chance: the n-th is about n times rarer than the first.
#[derive(Debug)]
pub struct Corpus {
    state: u64,
    english: Vec<String>,
    spanish: Vec<String>,
    japanese: Vec<String>,
}

impl Default for Corpus {
    fn default() -> Self {
        let mut corpus =
            Self { state: 0x2545_f491_4f6c_dd1d, english: Vec::new(), spanish: Vec::new(), japanese: Vec::new() };
        let english =
            ["re", "con", "sta", "tion", "ing", "er", "lo", "ma", "pre", "sid", "ment", "fa", "cu", "ble", "tor"];
        let spanish = ["ca", "ción", "ro", "des", "mié", "to", "ñ", "ar", "pú", "bli", "co", "que", "ría", "lan", "te"];
        let japanese = [
            "設計",
            "検索",
            "全文",
            "実装",
            "作業",
            "計画",
            "記録",
            "確認",
            "エラー",
            "サーバー",
            "データ",
            "ログ",
            "変更",
            "手順",
            "再試行",
        ];
        corpus.english = (0..8000).map(|_| corpus.word(&english)).collect();
        corpus.spanish = (0..6000).map(|_| corpus.word(&spanish)).collect();
        corpus.japanese = (0..4000).map(|_| corpus.word(&japanese)).collect();
        corpus
    }
}

impl Corpus {
    fn chance(&mut self, below: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % below.max(1) as u64) as usize
    }

    fn word(&mut self, parts: &[&str]) -> String {
        let count = 1 + self.chance(3);
        (0..=count).map(|_| parts[self.chance(parts.len())]).collect()
    }

    fn words(&self, language: Language) -> &[String] {
        match language {
            Language::English => &self.english,
            Language::Spanish => &self.spanish,
            Language::Japanese => &self.japanese,
        }
    }

    /// A word of a language; common ones are common.
    fn common(&mut self, language: Language) -> String {
        let length = self.words(language).len();
        let share = self.chance(1 << 20) as f64 / f64::from(1 << 20);
        let place = ((length as f64).powf(share) as usize).saturating_sub(1).min(length - 1);
        self.words(language)[place].clone()
    }

    /// A word that somebody would look for: neither one of the commonest nor one that nobody uses.
    fn sought(&mut self, language: Language) -> String {
        let place = 30 + self.chance(1000);
        self.words(language)[place].clone()
    }

    fn language(number: usize) -> Language {
        match number % 10 {
            0..6 => Language::English,
            6 | 7 => Language::Spanish,
            _ => Language::Japanese,
        }
    }

    /// So many notes.
    pub fn notes(&mut self, count: usize) -> Vec<Note> {
        (0..count).map(|number| self.note(number)).collect()
    }

    fn note(&mut self, number: usize) -> Note {
        let language = Self::language(number);
        let path = format!("project{}/folder{}/{number:05}-note.md", number % 17, number % 8);
        let mut text = format!("# {} {}\n\n", self.common(language), self.common(language));
        for section in 0..4 {
            let _ = writeln!(text, "## {} {section}\n", self.common(language));
            let words = match language {
                Language::Japanese => 26,
                _ => 42,
            } + self.chance(12);
            for word in 0..words {
                text.push_str(&self.common(language));
                match language {
                    Language::Japanese => text.push_str(if word % 9 == 8 { "。" } else { "の" }),
                    _ => text.push_str(if word % 14 == 13 { ".\n" } else { " " }),
                }
            }
            let _ = writeln!(
                text,
                "\nerror-code E_{}_{} in lib/{}.rs\n",
                number % 400,
                section,
                self.common(Language::English)
            );
        }
        Note { path, text }
    }

    /// So many queries: words, several words, phrases, beginnings, names.
    pub fn queries(&mut self, count: usize) -> Vec<(Language, String)> {
        let query = |number: usize, corpus: &mut Self| {
            let language = Self::language(number);
            let word = corpus.sought(language);
            let query = match number % 7 {
                0..3 => word,
                3 | 4 => format!("{word} {}", corpus.sought(language)),
                5 => format!("{word} {} {}", corpus.sought(language), corpus.sought(language)),
                _ if language == Language::English => format!("E_{}_{}", number % 400, number % 4),
                _ => format!("{word} -{}", corpus.sought(language)),
            };
            (language, query)
        };
        (0..count).map(|number| query(number, self)).collect()
    }
}
