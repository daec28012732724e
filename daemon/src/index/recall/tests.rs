//! What a recall must hold to, rung by rung, on documents in memory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::super::document::ParsedDocument;
use super::super::overlay::OverlayDocument;
use super::super::source::IndexSource;
use super::super::state::IndexState;
use super::*;
use crate::disk::{FileContent, FileStamp};
use crate::families::item::{ItemKind, ItemLane};
use crate::families::recall::{LaneFilter, OwnItems, RecallTree, Worktree};
use crate::families::{FamilyDescriptor, all};

const STAMP: FileStamp = FileStamp { device: 1, inode: 1, size: 1, modified_ns: 0, changed_ns: 0 };

/// Files of some trees, all in the overlay.
#[derive(Debug)]
struct TestCorpus {
    trees: Vec<RecallTree>,
    files: Vec<(usize, &'static str, String, i128)>,
    replacements: HashMap<(usize, String), (usize, String)>,
}

impl ItemLinks for TestCorpus {
    fn replacement(&self, place: &ItemPlace) -> Option<ItemPlace> {
        let (tree, path) = self.replacements.get(&(place.tree, place.path.to_string()))?;
        Some(ItemPlace { tree: *tree, path: path.as_str().into(), item: 0 })
    }

    fn address(&self, place: &ItemPlace) -> String {
        format!("{}:{}:{}", place.tree, place.path, place.item)
    }

    fn title(&self, _: &ItemPlace) -> String {
        "a title".to_owned()
    }
}

impl TestCorpus {
    fn new() -> Self {
        let tree = |family: &'static str, root: &str| RecallTree {
            family,
            root: PathBuf::from(root),
            files: Arc::default(),
            projects: None,
            own: OwnItems::None,
            worktree: None,
        };
        let trees = vec![tree("vibe", "/vibe"), tree("todo", "/a"), tree("todo", "/b"), tree("vault", "/v")];
        Self { trees, files: Vec::new(), replacements: HashMap::new() }
    }

    fn vibe(self, path: &'static str, text: &str) -> Self {
        self.file(0, path, text, 0)
    }

    fn todo(self, path: &'static str, text: &str) -> Self {
        self.file(1, path, text, 0)
    }

    fn file(mut self, tree: usize, path: &'static str, text: &str, seconds: i128) -> Self {
        self.files.push((tree, path, text.to_owned(), seconds));
        self
    }

    fn search(&self) -> IndexSearch {
        let search = IndexSearch::default();
        let mut state = IndexState::default();
        let families: HashMap<&str, FamilyDescriptor> = all().into_iter().map(|family| (family.name, family)).collect();
        for tree in &self.trees {
            state.tree(tree.family, &tree.root);
        }
        for (tree, path, text, seconds) in &self.files {
            let source = IndexSource::of(&families[self.trees[*tree].family]).expect("a source");
            let stamp = FileStamp { modified_ns: seconds * 1_000_000_000, ..STAMP };
            let path: Arc<str> = (*path).into();
            let content = FileContent { bytes: text.clone().into_bytes(), stamp };
            let document = ParsedDocument::read(*tree as TreeId, &path, content, source, &search.names);
            let overlay = OverlayDocument::new(document, &mut Default::default());
            state.set_document(*tree as TreeId, &path, Some(Arc::new(overlay)));
        }
        search.snapshot.store(Arc::new(state.snapshot()));
        search
    }

    fn ask(&self, request: RecallRequest) -> RecallHits {
        let request = RecallRequest { trees: self.trees.clone(), ..request };
        let search = self.search();
        let trees = (0..self.trees.len()).map(|tree| Some(tree as TreeId)).collect();
        search.recall(&search.view(&request, trees, self), MissingText::IsEmpty).expect("hits")
    }

    fn recall(&self, query: &str) -> RecallHits {
        self.ask(RecallRequest { query: query.to_owned(), limit: 8, ..RecallRequest::default() })
    }

    /// Hits as `rung:tree/path#item`.
    #[track_caller]
    fn check(&self, query: &str, expected: &[&str]) -> &Self {
        assert_eq!(shown(&self.recall(query)), expected, "{query}");
        self
    }
}

fn shown(hits: &RecallHits) -> Vec<String> {
    let shown = |hit: &RecallHit| {
        let ItemPlace { tree, path, item } = &hit.place;
        let item = if *item == 0 { String::new() } else { format!("#{item}") };
        format!("{}:{tree}/{path}{item}", hit.rung)
    };
    hits.hits.iter().map(shown).collect()
}

#[test]
fn the_rungs_come_one_behind_the_other() {
    let shelf = TestCorpus::new()
        .vibe("p/references/a.md", "# Retry policy\n\nnone\n")
        .vibe("p/references/b.md", "# Other\n\nabout the retry policy of clients\n")
        .vibe("p/references/c.md", "# Policy\n\nsome words\n\n## More\n\nwe retry often\n")
        .vibe("p/references/d.md", "# Only\n\nretrying is fine\n");
    shelf.check("retry policy", &["1:0/p/references/a.md", "2:0/p/references/b.md", "3:0/p/references/c.md"]);
    for path in ["a.md", "p/references/a.md", "RETRY  Policy"] {
        assert_eq!(shown(&shelf.recall(path))[0], "1:0/p/references/a.md", "{path}");
    }
    // Too few are filled up with what has some of the words.
    let few = shelf.recall("p/references/b.md");
    assert_eq!((few.total, few.hits.len(), few.hits[2].rung), (1, 3, 5), "{few:?}");
    let few = shelf.recall("retry polic");
    assert_eq!((few.total, few.hits[0].rung, few.hits[0].is_relaxed()), (3, 4, true), "{few:?}");
    shelf.check(
        "retrying",
        &["2:0/p/references/d.md", "3:0/p/references/a.md", "3:0/p/references/b.md", "3:0/p/references/c.md"],
    );
}

#[test]
fn typos_are_known_words_with_the_same_first_letter() {
    let shelf = TestCorpus::new()
        .vibe("p/references/a.md", "# Migration\n\nof the kubernetes cluster\n")
        .vibe("p/references/b.md", "# Other\n\nnothing\n");
    for typed in ["migratoin", "migratio", "kuberntes", "kubrentes", "clutser", "migration kuberntes"] {
        let hits = shelf.recall(typed);
        assert_eq!(shown(&hits), ["4:0/p/references/a.md"], "{typed}");
        assert!(hits.hits[0].snippet.contains("**") || typed.starts_with("migrat"), "{hits:?}");
    }
    for typed in ["xluster", "othe r", "nthing", "\"kuberntes\"", "kubern7777"] {
        let hits = shelf.recall(typed);
        assert!(typed == "othe r" || typed == "nthing" || hits.hits.is_empty(), "{typed}: {hits:?}");
    }
}

#[test]
fn a_rare_word_beats_words_that_most_items_have() {
    let mut shelf = TestCorpus::new().vibe("p/references/rare.md", "# Note\n\nthe zeppelin\n");
    for path in ["p/references/1.md", "p/references/2.md", "p/references/3.md", "p/references/4.md"] {
        shelf = shelf.vibe(path, "# How to\n\nhow do we handle the system when it is in the way of what we do\n");
    }
    let hits = shelf.recall("how do we handle the zeppelin when it is in the way of what we never do");
    assert_eq!(shown(&hits)[0], "5:0/p/references/rare.md");
    assert_eq!((hits.total, hits.hits.len()), (5, 5));
}

#[test]
fn identifiers_and_joined_words_find_each_other() {
    let spellings = ["fooBar", "foo_bar", "foo-bar", "FOO_BAR", "foo bar", "foobar"];
    let mut shelf = TestCorpus::new();
    let paths = [
        "p/references/1.md",
        "p/references/2.md",
        "p/references/3.md",
        "p/references/4.md",
        "p/references/5.md",
        "p/references/6.md",
    ];
    for (path, spelling) in paths.iter().zip(spellings) {
        shelf = shelf.vibe(path, &format!("# Note\n\nuse {spelling} there\n"));
    }
    for spelling in spellings {
        let hits = shelf.recall(spelling);
        assert_eq!(hits.total, 6, "{spelling}: {hits:?}");
        assert!(hits.hits.iter().all(|hit| hit.rung <= 3), "{spelling}: {hits:?}");
    }
    let shelf = TestCorpus::new()
        .vibe("p/references/a.md", "# Note\n\nthe data base\n")
        .vibe("p/references/b.md", "# Note\n\nthe database\n");
    for typed in ["data base", "database"] {
        assert_eq!(shelf.recall(typed).total, 2, "{typed}");
    }
}

#[test]
fn accents_are_folded_and_the_typed_spelling_comes_first() {
    let shelf = TestCorpus::new()
        .vibe("p/references/a.md", "# Nota\n\nla busqueda\n")
        .vibe("p/references/b.md", "# Nota\n\nla búsqueda\n");
    shelf.check("búsqueda", &["2:0/p/references/b.md", "2:0/p/references/a.md"]);
    shelf.check("busqueda", &["2:0/p/references/a.md", "2:0/p/references/b.md"]);
}

#[test]
fn sentences_without_blanks_fall_into_pieces() {
    let shelf = TestCorpus::new()
        .vibe("p/references/a.md", "# 検索\n\n全文検索が遅い原因は索引の断片化です。\n")
        .vibe("p/references/b.md", "# 会議\n\n会議は明日ですか。どうしてですか。\n")
        .vibe("p/references/c.md", "# 請求\n\n請求書はPDFで送る。\n");
    let hits = shelf.recall("どうして全文検索が遅いのですか");
    assert_eq!(shown(&hits)[0], "5:0/p/references/a.md");
    assert!(hits.hits[0].snippet.contains("**全文検索が遅"), "{hits:?}");
    assert_eq!(shown(&shelf.recall("請求書の送付方法"))[0], "5:0/p/references/c.md");
    assert_eq!(shown(&shelf.recall("PDFの請求書はどこですか"))[0], "5:0/p/references/c.md");
    assert_eq!(shown(&shelf.recall("deploy 索引の断片化について"))[0], "5:0/p/references/a.md");
    shelf.check("全文検索", &["2:0/p/references/a.md"]);
}

#[test]
fn what_no_longer_holds_stands_last_behind_what_replaced_it() {
    let old = "# ADR-001: Use Redis\n\nStatus: Deprecated\n\n## Context\n\nsessions need redis sessions\n";
    let mut shelf = TestCorpus::new()
        .todo("adr/adr-001-use-redis.md", old)
        .todo("adr/adr-002-use-postgres.md", "# ADR-002: Use Postgres\n\nStatus: Accepted\n\n## Context\n\nno more\n")
        .vibe("p/references/a.md", "# Note\n\nredis is mentioned, and sessions are elsewhere\n");
    let outdated = shelf.recall("redis sessions").hits.iter().any(|hit| hit.outdated);
    assert!(outdated, "{:?}", shelf.recall("redis sessions"));
    shelf.replacements.insert((1, "adr/adr-001-use-redis.md".into()), (1, "adr/adr-002-use-postgres.md".into()));
    shelf.check(
        "redis sessions",
        &["2:1/adr/adr-002-use-postgres.md", "3:0/p/references/a.md", "2:1/adr/adr-001-use-redis.md"],
    );
    // Later rungs leave it out.
    assert!(shelf.recall("redis nowhere").hits.iter().all(|hit| !hit.outdated));
}

#[test]
fn equal_texts_are_ordered_by_lane_project_and_age() {
    let task = |mark: &str| format!("# Tasks\n\n## Now\n\n- [{mark}] Paint the fence #T001\n");
    let shelf = TestCorpus::new().file(1, "task.md", &task("x"), 9).file(2, "task.md", &task(" "), 1);
    shelf.check("fence", &["2:2/task.md", "2:1/task.md"]);
    let mut shelf = TestCorpus::new().file(1, "task.md", &task(" "), 9).file(2, "task.md", &task(" "), 1);
    shelf.check("fence", &["2:1/task.md", "2:2/task.md"]);
    shelf.trees[2].own = OwnItems::All;
    shelf.check("fence", &["2:2/task.md", "2:1/task.md"]);
    let shelf = TestCorpus::new().file(1, "task.md", &task(" "), 9).file(2, "task.md", &task(" "), 9);
    shelf.check("fence", &["2:1/task.md", "2:2/task.md"]);
}

#[test]
fn worktrees_show_an_equal_item_once() {
    let task = |title: &str| format!("# Tasks\n\n## Now\n\n- [ ] {title} #T001\n");
    let mut shelf = TestCorpus::new().file(1, "task.md", &task("Paint"), 1).file(2, "task.md", &task("Paint"), 9);
    shelf.trees[1].worktree = Some(Worktree { repository: "/r".into(), is_main: true });
    shelf.trees[2].worktree = Some(Worktree { repository: "/r".into(), is_main: false });
    shelf.check("paint", &["1:1/task.md"]);
    shelf.trees[2].own = OwnItems::All;
    shelf.check("paint", &["1:2/task.md"]);
    let mut shelf = TestCorpus::new().file(1, "task.md", &task("Paint"), 1).file(2, "task.md", &task("Paint all"), 9);
    shelf.trees[1].worktree = Some(Worktree { repository: "/r".into(), is_main: true });
    shelf.trees[2].worktree = Some(Worktree { repository: "/r".into(), is_main: false });
    assert_eq!(shelf.recall("paint").total, 2);
}

#[test]
fn a_context_is_found_as_its_task() {
    let shelf = TestCorpus::new()
        .todo("task.md", "# Tasks\n\n## Now\n\n- [ ] First #T001\n- [ ] Login form #T002\n")
        .todo("context/T002.md", "# Context for T002\n\n## Notes\n\nthe timeout is flaky\n")
        .todo("context/T009.md", "# Context for T009\n\n## Notes\n\nan orphan\n");
    let hits = shelf.recall("login timeout");
    assert_eq!(shown(&hits), ["3:1/task.md#1"]);
    assert_eq!(hits.hits[0].heading.as_deref(), Some("## Notes"));
    assert_eq!(hits.hits[0].snippet, "the **timeout** is flaky");
    shelf.check("orphan", &["2:1/context/T009.md"]);
    shelf.check("T002", &["1:1/task.md#1"]);
    let context = shelf.ask(RecallRequest {
        query: "timeout".to_owned(),
        kind: Some(ItemKind::Context),
        limit: 8,
        ..RecallRequest::default()
    });
    assert_eq!(shown(&context), ["2:1/context/T002.md"]);
}

#[test]
fn operators_filters_and_pages() {
    let shelf = TestCorpus::new()
        .todo(
            "task.md",
            "# Tasks\n\n## Now\n\n- [ ] alpha beta #T001\n- [x] alpha gamma #T002\n- [-] alpha delta #T003\n",
        )
        .vibe("p/references/a.md", "# alpha\n\nbeta gamma\n");
    assert_eq!(shelf.recall("alpha -gamma").total, 2);
    assert_eq!(shelf.recall("\"alpha gamma\"").total, 1);
    assert_eq!(shelf.recall("\"beta gamma\" nowhere").hits[0].rung, 5);
    assert_eq!(shelf.recall("\"gamma beta\" alpha").total, 0, "a quoted term is never left out");
    assert_eq!(shelf.recall("zzz* alpha").total, 0);
    assert_eq!(shelf.recall("alp*").total, 4);
    assert_eq!(shelf.recall("beta OR delta").total, 3);
    assert_eq!(shelf.recall("*** !?").total, 0);
    let of = |kind, lane| {
        let request = RecallRequest { query: "alpha".to_owned(), kind, lane, limit: 8, ..RecallRequest::default() };
        shelf.ask(request).total
    };
    assert_eq!(of(Some(ItemKind::Task), None), 3);
    assert_eq!(of(None, Some(LaneFilter::Open)), 2);
    assert_eq!(of(None, Some(LaneFilter::One(ItemLane::Done))), 1);
    let mut pages = Vec::new();
    for offset in 0..4 {
        let page = shelf.ask(RecallRequest { query: "alpha".into(), limit: 1, offset, ..RecallRequest::default() });
        assert_eq!((page.total, page.has_more), (4, offset < 3));
        pages.extend(shown(&page));
    }
    assert_eq!(pages, shown(&shelf.recall("alpha")));
}
