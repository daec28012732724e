//! Text of `task.md` → tasks, with the places of all that may be changed. Parsing never fails: what is no task is
//! somebody's text and stays where it is.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

use super::fold::Folded;
use super::lines::{Line, NonTaskLines, begin, lines, lines_from};
use super::model::{DEFAULT_CATEGORY, Status, TaskId};
use crate::disk::FileModel;
use crate::text::hash::hash_of;
use crate::text::headings::heading;

/// A `task.md`, read.
#[derive(Debug, Default)]
pub struct TaskFile {
    /// All of it; empty if it is no text.
    pub text: String,
    /// So many bytes are good, if it is no text.
    pub not_text: Option<usize>,
    /// As users see it.
    pub hash: String,
    /// The tasks, in their order in the file.
    pub tasks: Vec<Task>,
    /// The headings that name categories, in their order.
    pub sections: Vec<Section>,
    /// Ids that stand on more than one line, once each.
    pub duplicates: Vec<TaskId>,
    /// Boxes at the beginning of a line that have no id, in their order.
    pub unnumbered: Vec<UnnumberedTask>,
    searched: OnceLock<Vec<SearchableText>>,
}

/// A main task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    /// Where the title is; empty, and before the id, if there is none.
    pub title_span: Range<usize>,
    pub status: Status,
    /// Where the mark in its box is.
    pub mark: Range<usize>,
    pub category: String,
    /// From 1, among the tasks of its category.
    pub rank: usize,
    /// All its lines.
    pub block: Range<usize>,
    /// Where the line below the main line begins.
    pub below: usize,
    /// What is checked off below it.
    pub subtasks: Vec<SubTask>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubTask {
    pub title: String,
    pub status: Status,
    /// Where the mark in its box is.
    pub mark: Range<usize>,
    pub line: Range<usize>,
}

/// A box without an id: somebody's own, which the tools neither show nor change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnnumberedTask {
    /// Its number, from 1.
    pub line: usize,
    pub title: String,
    pub status: Status,
    pub category: String,
    /// All its lines.
    pub block: Range<usize>,
}

/// A heading that names a category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    /// Where its first task goes as long as it has none.
    pub first: usize,
}

/// What a search looks at, of one task.
#[derive(Debug)]
pub struct SearchableText {
    pub title: Folded,
    /// Sub-task titles and notes.
    pub content: Folded,
}

impl FileModel for TaskFile {
    fn read(bytes: &[u8]) -> Self {
        let hash = hash_of(bytes);
        match str::from_utf8(bytes) {
            Ok(text) => Self { hash, ..Self::parse(text) },
            Err(error) => Self { hash, not_text: Some(error.valid_up_to()), ..Self::parse("") },
        }
    }

    fn memory_bytes(&self) -> usize {
        // The folded copies come with the first search.
        3 * self.text.len() + self.tasks.len() * size_of::<Task>()
    }
}

impl TaskFile {
    /// Of a text that has no hash yet.
    pub fn parse(text: &str) -> Self {
        let mut reader = TaskFileParser::default();
        let mut skipper = NonTaskLines::new(text);
        for line in lines(text) {
            let skipped = skipper.is_ignored_line(&line, reader.block != Block::None);
            reader.line += 1;
            reader.take(&line, skipped);
        }
        let TaskFileParser { tasks, sections, duplicates, unnumbered, .. } = reader;
        Self { text: text.to_owned(), tasks, sections, duplicates, unnumbered, ..Self::default() }
    }

    /// The task with this id.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// The tasks of a category, in order.
    pub fn in_category<'a>(&'a self, category: &'a str) -> impl DoubleEndedIterator<Item = &'a Task> {
        self.tasks.iter().filter(move |task| task.category == category)
    }

    /// What a search looks at, for each task; made once.
    pub fn searched(&self) -> &[SearchableText] {
        self.searched.get_or_init(|| {
            let searched = |task: &Task| SearchableText {
                title: Folded::of(task.title.clone()),
                content: Folded::of(self.content(task)),
            };
            self.tasks.iter().map(searched).collect()
        })
    }

    /// The rest of a task's block: sub-task titles and notes, a line each.
    fn content(&self, task: &Task) -> String {
        let mut content = String::new();
        for line in lines_from(&self.text[..task.block.end], task.below) {
            let subtask = task.subtasks.iter().find(|subtask| subtask.line.start == line.start);
            let text = subtask.map_or(line.text.trim(), |subtask| subtask.title.as_str());
            if !text.is_empty() {
                content.push_str(if content.is_empty() { "" } else { "\n" });
                content.push_str(text);
            }
        }
        content
    }
}

/// To whom indented lines belong.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
enum Block {
    #[default]
    None,
    /// The last task.
    Task,
    /// The last box without an id.
    Unnumbered,
    /// A line that is no task.
    Other,
}

#[derive(Debug, Default)]
struct TaskFileParser {
    tasks: Vec<Task>,
    sections: Vec<Section>,
    duplicates: Vec<TaskId>,
    unnumbered: Vec<UnnumberedTask>,
    /// Of the line that is read, from 1.
    line: usize,
    known: HashSet<TaskId>,
    ranks: HashMap<String, usize>,
    block: Block,
    /// The last section has nothing but a blank line yet.
    fresh: NewBlock,
}

/// What has been seen below a heading.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
enum NewBlock {
    #[default]
    No,
    Heading,
    Blank,
}

impl TaskFileParser {
    fn take(&mut self, line: &Line<'_>, skipped: bool) {
        if line.is_blank() {
            if self.fresh == NewBlock::Heading && !skipped {
                self.first_after(line);
                self.fresh = NewBlock::Blank;
            }
            return;
        }
        if line.is_indented() && (self.block != Block::None || skipped || heading(line.text).is_none()) {
            self.indented(line, skipped);
            return;
        }
        self.block = Block::None;
        self.fresh = NewBlock::No;
        if skipped {
            return;
        }
        if let Some((level, name)) = heading(line.text) {
            if level == 2 {
                self.sections.push(Section { name: name.to_owned(), first: line.next });
                self.fresh = NewBlock::Heading;
            }
            return;
        }
        self.block =
            if line.text.starts_with(['-', '*', '+']) || numbered(line.text) { Block::Other } else { Block::None };
        if let Some((boxed, id, title)) = main_task(line) {
            self.main(line, &boxed, id, title);
        } else if let Some(boxed) = checkbox(line.text, line.start).filter(|boxed| !boxed.rest.trim().is_empty()) {
            let (title, category) = (boxed.rest.trim().to_owned(), self.category());
            let task = UnnumberedTask { line: self.line, title, status: boxed.status, category, block: line.span() };
            self.unnumbered.push(task);
            self.block = Block::Unnumbered;
        }
    }

    fn category(&self) -> String {
        self.sections.last().map_or(DEFAULT_CATEGORY, |section| section.name.as_str()).to_owned()
    }

    /// Indented lines right below a heading belong to nobody; a task that is put above them would take them over.
    fn indented(&mut self, line: &Line<'_>, skipped: bool) {
        if self.fresh != NewBlock::No {
            self.first_after(line);
        }
        if let Some(task) = self.unnumbered.last_mut().filter(|_| self.block == Block::Unnumbered) {
            task.block.end = line.next;
        }
        let Some(task) = self.tasks.last_mut().filter(|_| self.block == Block::Task) else { return };
        task.block.end = line.next;
        let (indent, text) = line.text.split_at(line.text.len() - line.text.trim_start_matches([' ', '\t']).len());
        if let Some(boxed) = checkbox(text, line.start + indent.len()).filter(|_| !skipped) {
            let CheckboxLine { mark, status, rest, .. } = boxed;
            task.subtasks.push(SubTask { title: rest.trim().to_owned(), status, mark, line: line.span() });
        }
    }

    fn first_after(&mut self, line: &Line<'_>) {
        if let Some(section) = self.sections.last_mut() {
            section.first = line.next;
        }
    }

    fn main(&mut self, line: &Line<'_>, boxed: &CheckboxLine<'_>, id: TaskId, title: &str) {
        if !self.known.insert(id) {
            if !self.duplicates.contains(&id) {
                self.duplicates.push(id);
            }
            return;
        }
        let start = boxed.rest_at + (title.as_ptr() as usize - boxed.rest.as_ptr() as usize);
        let category = self.category();
        let rank = self.ranks.entry(category.clone()).or_default();
        *rank += 1;
        self.tasks.push(Task {
            id,
            title: title.to_owned(),
            title_span: start..start + title.len(),
            status: boxed.status,
            mark: boxed.mark.clone(),
            category,
            rank: *rank,
            block: line.span(),
            below: line.next,
            subtasks: Vec::new(),
        });
        self.block = Block::Task;
    }
}

fn numbered(text: &str) -> bool {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < text.len() && rest.starts_with(['.', ')'])
}

/// A bullet with a box.
struct CheckboxLine<'a> {
    mark: Range<usize>,
    status: Status,
    /// Behind the box.
    rest: &'a str,
    rest_at: usize,
}

/// Reads a bullet with a box; where the text begins in the file.
fn checkbox(text: &str, at: usize) -> Option<CheckboxLine<'_>> {
    let after_bullet = text.strip_prefix(['-', '*', '+'])?;
    let after_space = after_bullet.trim_start_matches([' ', '\t']);
    let mut letters = after_space.strip_prefix('[').filter(|_| after_space.len() < after_bullet.len())?.chars();
    let mark = letters.next()?;
    let rest = letters.as_str().strip_prefix(']')?;
    if !(rest.is_empty() || rest.starts_with(char::is_whitespace)) {
        return None;
    }
    let mark_at = at + (text.len() - after_space.len()) + 1;
    let rest_at = at + (text.len() - rest.len());
    Some(CheckboxLine { mark: mark_at..mark_at + mark.len_utf8(), status: Status::marked(mark), rest, rest_at })
}

/// A main task: its last word is an id, everything between box and id is its title.
fn main_task<'a>(line: &Line<'a>) -> Option<(CheckboxLine<'a>, TaskId, &'a str)> {
    let boxed = checkbox(line.text, line.start)?;
    let words = boxed.rest.trim_end();
    let (before, word) = words.split_at(words.rfind(char::is_whitespace)?);
    let word = word.trim_start();
    let id = TaskId::parse(word.strip_prefix('#')?)?;
    // Without a title, it would stand right before the id.
    let title = match before.trim() {
        "" => &words[words.len() - word.len()..words.len() - word.len()],
        title => title,
    };
    Some((boxed, id, title))
}

/// Whether there is nothing in a text but perhaps a byte-order mark.
pub fn is_empty(text: &str) -> bool {
    text.len() == begin(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `id status category/rank title (subtasks)`, a line each.
    fn check(text: &str, expected: &[&str]) {
        for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
            let file = TaskFile::parse(&text);
            let subtask = |subtask: &SubTask| {
                assert_eq!(Status::marked(text[subtask.mark.clone()].chars().next().expect("a mark")), subtask.status);
                format!("{}{}", subtask.status.mark(), subtask.title)
            };
            let shown = |task: &Task| {
                assert_eq!(&text[task.title_span.clone()], task.title);
                assert_eq!(Status::marked(text[task.mark.clone()].chars().next().expect("a mark")), task.status);
                let subtasks: Vec<String> = task.subtasks.iter().map(subtask).collect();
                let Task { id, title, status, category, rank, .. } = task;
                format!("{id} {} {category}/{rank} {title} ({})", status.word(), subtasks.join(","))
            };
            let seen: Vec<String> = file.tasks.iter().map(shown).collect();
            assert_eq!(seen, expected, "{text:?}");
        }
    }

    #[test]
    fn the_contract_s_example_is_read() {
        let text =
            "# Task\n\n## SPEC\n- [ ] 受入条件を書く #T001\n  - [ ] 画面の確認\n  - [x] 設計\n- [-] 用語集 #T002\n";
        check(text, &["T001 todo SPEC/1 受入条件を書く ( 画面の確認,x設計)", "T002 in_progress SPEC/2 用語集 ()"]);
    }

    #[test]
    fn only_the_last_word_is_an_id() {
        check("- [ ] a #T002 b #T001", &["T001 todo Default/1 a #T002 b ()"]);
        check("- [ ] a　#T001  ", &["T001 todo Default/1 a ()"]);
        check("- [ ] #T001", &["T001 todo Default/1  ()"]);
        check("* [X]   a\t#T001\n+ [?] b #T002", &["T001 done Default/1 a ()", "T002 todo Default/2 b ()"]);
        for other in [
            "- [ ] a #T001 b",
            "- [ ] a#T001",
            "- [ ] a #T0011",
            "- [ ] a #t001",
            "-[ ] a #T001",
            "- [] a #T001",
            "- [ ]a #T001",
            "- [xx] a #T001",
            "  - [ ] a #T001",
            "1. [ ] a #T001",
            "> - [ ] a #T001",
            "- a #T001",
            "- [ ] a",
        ] {
            check(other, &[]);
        }
    }

    #[test]
    fn blocks_end_where_a_line_is_not_indented() {
        let text = "- [ ] a #T001\n\n  note\n\t- [-] deep\n\n      * [x] deeper\nprose\n  - [ ] not its own\n";
        check(text, &["T001 todo Default/1 a (-deep,xdeeper)"]);
        let file = TaskFile::parse(text);
        assert_eq!(&text[file.tasks[0].block.clone()], &text[..text.find("prose").expect("prose")]);
        let text = "- [ ] a #T001\n- [ ] somebody's note\n  - [ ] its child\n\n\n- [ ] b #T002\n  x\n\nend";
        check(text, &["T001 todo Default/1 a ()", "T002 todo Default/2 b ()"]);
        let file = TaskFile::parse(text);
        assert_eq!(&text[file.tasks[1].block.clone()], "- [ ] b #T002\n  x\n");
    }

    #[test]
    fn categories_are_headings_of_level_two() {
        let text = "- [ ] a #T001\n## A\n- [ ] b #T002\n### deeper\n# higher\n- [ ] c #T003\n## B ##\n- [ ] d #T004\n## A\n- [ ] e #T005\nx\n  ## C\n- [ ] f #T006\n  ## no\n- [ ] g #T007";
        check(
            text,
            &[
                "T001 todo Default/1 a ()",
                "T002 todo A/1 b ()",
                "T003 todo A/2 c ()",
                "T004 todo B/1 d ()",
                "T005 todo A/3 e ()",
                "T006 todo C/1 f ()",
                "T007 todo C/2 g ()",
            ],
        );
    }

    #[test]
    fn what_is_not_parsed_holds_no_task() {
        check("---\nx: 1\n- [ ] a #T001\n---\n- [ ] b #T002", &["T002 todo Default/1 b ()"]);
        check("```\n- [ ] a #T001\n## A\n```\n- [ ] b #T002", &["T002 todo Default/1 b ()"]);
        check("<!--\n- [ ] a #T001\n-->\n- [ ] b #T002", &["T002 todo Default/1 b ()"]);
        check(
            "- [ ] a #T001\n  ```\n  - [ ] no\n- [ ] b #T002",
            &["T001 todo Default/1 a ()", "T002 todo Default/2 b ()"],
        );
        check("- [ ] a #T001\n  <!--\n  - [ ] no\n  -->\n  - [ ] yes", &["T001 todo Default/1 a ( yes)"]);
    }

    #[test]
    fn the_first_of_two_lines_is_the_task() {
        let text = "- [ ] a #T001\n- [x] b #T001\n  - [ ] of b\n- [x] c #T001\n- [ ] d #T002";
        check(text, &["T001 todo Default/1 a ()", "T002 todo Default/2 d ()"]);
        assert_eq!(TaskFile::parse(text).duplicates, [TaskId::of(1).expect("an id")]);
    }

    #[test]
    fn sections_say_where_a_first_task_goes() {
        for (text, before) in [
            ("## A\nprose", "prose"),
            ("## A\n\nprose", "prose"),
            ("## A\n\n\nprose", "\nprose"),
            ("## A\n\n  indented\n  more\nprose", "prose"),
            ("## A\n  - [ ] x\n\n  more\nprose", "prose"),
            ("## A", ""),
            ("## A\n```\n\n```\nb", "```\n\n```\nb"),
        ] {
            assert_eq!(&text[TaskFile::parse(text).sections[0].first..], before, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_said() {
        let file = TaskFile::read(b"- [ ] a #T001\n\xff");
        assert_eq!((file.not_text, file.tasks.len()), (Some(14), 0));
        assert_eq!(file.hash.len(), 64);
    }

    #[test]
    fn the_rest_of_a_block_is_its_content() {
        let file = TaskFile::parse("- [ ] a #T001\n  - [x] Ｂ\n\n    note\n- [ ] c #T002\n");
        assert_eq!(file.searched()[0].content.original, "Ｂ\nnote");
        assert_eq!(file.searched()[1].content.original, "");
    }
}
