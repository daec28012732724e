//! The verbs: what was seen and the arguments come in, an answer and, where something is to change, an edit go out.
//! Pure; the order of the checks is what callers know: the file, its text, its soundness, then what was asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::answers::{self, WithDependencies};
use super::apply::GraphDraft;
use super::arguments::{Action, ExpandArgs, ReadArgs, WriteArgs};
use super::edges::Edges;
use super::error::VineError;
use super::expand::{Expanded, expand as expanded};
use super::frontier::{Frontier, frontier, frontier_after};
use super::model::{Graph, Status, VERSION};
use super::operations::Operation;
use super::paths::{PlanLookup, PlanSearchPaths, is_vine, new_file};
use super::plan::Plan;
use super::query;
use super::render::render;
use super::validate::{validate, validate_in};
use crate::disk::{LoadedModel, ReadError, RelativePath, ResolvedPath, SymlinkPolicy, TreeLocation};
use crate::families::Answer;
use crate::families::edit::Edit;

/// Under which name answers carry the hash of the file.
const HASH: &str = "trellis/hash";

/// What looking for a file gives: where the first candidate is, and what is there.
pub type PlanRead = (Option<ResolvedPath>, Option<Result<LoadedModel<Plan>, ReadError>>);

/// A file that was found and may be shown.
#[derive(Debug)]
pub struct OpenPlan {
    place: TreeLocation,
    path: RelativePath,
    seen: LoadedModel<Plan>,
}

impl OpenPlan {
    /// A file that does not call itself a plan must begin as one, or nothing of it is shown.
    pub fn of(lookup: &PlanLookup, (found, seen): PlanRead) -> Result<Self, VineError> {
        let read_error = |why: ReadError| {
            let resolved = match &found {
                Some(found) => lookup.candidates.get(found.which),
                None => lookup.reported_path.as_ref(),
            };
            let resolved = resolved.map(|path| path.to_string_lossy().into_owned());
            let file = lookup.argument.clone();
            let lacks_base = lookup.lacks_base;
            VineError::Read { resolved: resolved.filter(|path| *path != file), file, why, lacks_base }
        };
        let (place, path) = match &found {
            Some(ResolvedPath { file, .. }) => file.clone().map_err(&read_error)?,
            None => match seen {
                // A link that leads nowhere; or it came into being between two looks.
                None | Some(Ok(_) | Err(ReadError::SymlinkRefused)) => return Err(read_error(ReadError::Missing)),
                Some(Err(why)) => return Err(read_error(why)),
            },
        };
        let seen = seen.unwrap_or(Err(ReadError::Missing)).map_err(&read_error)?;
        if !is_vine(path.as_str()) && !seen.model.has_magic {
            return Err(VineError::NotVine(lookup.argument.clone()));
        }
        Ok(Self { place, path, seen })
    }

    fn plan(&self) -> &Plan {
        &self.seen.model
    }

    /// Refuses a file that the caller does not know, or that a write would damage.
    fn check_writable(&self, file: &str, if_match: Option<&str>) -> Result<(), VineError> {
        let is_another = |expected: &&str| !expected.eq_ignore_ascii_case(self.plan().hash());
        if let Some(expected) = if_match.filter(is_another) {
            let (file, expected, actual) = (file.to_owned(), expected.to_owned(), self.plan().hash().to_owned());
            return Err(VineError::Changed { file, expected, actual });
        }
        if self.plan().is_text { Ok(()) } else { Err(VineError::NotText(file.to_owned())) }
    }

    fn replaced_by(self, edit: Edit, plan: Plan) -> Edit {
        let (plan, LoadedModel { digest, stamp, model: before }) = (Arc::new(plan), self.seen);
        edit.replace_digest(self.place, self.path, SymlinkPolicy::Refuse, digest, text_of(&plan))
            .expect_stamp(stamp)
            .expect_bytes((!before.text().is_empty()).then(|| text_of(&before)))
            .with_model(Arc::clone(&plan))
            .with_deferred_meta(HASH, move || plan.hash_after(&before).to_owned())
    }
}

/// The text of a plan that we are about to write, without another copy of it.
fn text_of(plan: &Arc<Plan>) -> Bytes {
    struct Text(Arc<Plan>);
    impl AsRef<[u8]> for Text {
        fn as_ref(&self) -> &[u8] {
            self.0.text().as_bytes()
        }
    }
    Bytes::from_owner(Text(Arc::clone(plan)))
}

/// What `vine_read` tells.
pub fn read(opened: &OpenPlan, args: &ReadArgs) -> Result<Answer, VineError> {
    let (graph, edges) = opened.plan().validated()?;
    let all = || graph.nodes().iter().map(|node| &**node);
    let at = |action: &str| {
        let none = || VineError::Operation(format!("id is required for action \"{action}\"."));
        let id = args.id.as_deref().filter(|id| !id.is_empty()).ok_or_else(none)?;
        graph.position(id).ok_or_else(|| VineError::NoTask(id.to_owned()))
    };
    let answer = match args.action {
        Action::Validate => Answer::text(format!("Valid — {} task(s).", graph.nodes().len())),
        Action::Summary => Answer::text(answers::summary(graph, &query::summary(graph))),
        Action::List => Answer::pretty(match (&args.status, &args.query) {
            (Some(word), _) => {
                let valid = Status::WORDS;
                let wrong = || VineError::Operation(format!("Invalid status \"{word}\". Valid values: {valid}"));
                answers::nodes(query::with_status(graph, Status::parse(word).ok_or_else(wrong)?))
            }
            (None, Some(words)) => answers::nodes(query::search(graph, words)),
            (None, None) => answers::nodes(all()),
        }),
        Action::Task => Answer::pretty(answers::node(&graph.nodes()[at("task")?])),
        Action::Context => Answer::pretty(answers::context(graph, edges, at("context")?)),
        Action::Descendants => {
            let below = query::descendants(edges, at("descendants")?, graph.nodes().len());
            Answer::pretty(answers::names(below.into_iter().map(|at| &*graph.nodes()[at])))
        }
        Action::Search => {
            let none = || VineError::Operation("query is required for action \"search\".".to_owned());
            let words = args.query.as_deref().filter(|words| !words.is_empty()).ok_or_else(none)?;
            Answer::pretty(answers::nodes(query::search(graph, words)))
        }
        Action::Refs => Answer::pretty(answers::refs(all())),
    };
    Ok(answer.with_meta(HASH, opened.plan().hash()))
}

/// What can be done next.
pub fn next(opened: &OpenPlan) -> Result<Answer, VineError> {
    let (graph, frontier) = opened.plan().frontier()?;
    Ok(Answer::pretty(answers::next(graph, frontier)).with_meta(HASH, opened.plan().hash()))
}

/// Which files a batch of operations is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    /// The plan that is changed; none if it is to be created.
    pub lookup: Option<PlanLookup>,
    /// The plan that is created, as it was named and where it shall be.
    pub new: Option<(String, Option<PathBuf>)>,
}

impl Targets {
    /// Of a batch.
    pub fn of(args: &WriteArgs, search_paths: &PlanSearchPaths) -> Result<Self, VineError> {
        let new = |name: &str| Some((name.to_owned(), new_file(name, search_paths)));
        if matches!(args.operations.first(), Some(Operation::Create { .. })) {
            return Ok(Self { lookup: None, new: new(&args.file) });
        }
        let mut extracted = args.operations.iter().filter_map(|operation| match operation {
            Operation::ExtractToRef { vine, .. } => Some(vine),
            _ => None,
        });
        let child = extracted.next();
        if extracted.next().is_some() {
            let words = "At most one extract_to_ref operation is allowed per batch.";
            return Err(VineError::Operation(words.to_owned()));
        }
        Ok(Self { lookup: Some(PlanLookup::of(&args.file, search_paths)), new: child.and_then(|child| new(child)) })
    }
}

/// Applies a batch: all of it, or nothing.
pub fn write(
    targets: &Targets,
    looked: Option<PlanRead>,
    is_taken: bool,
    args: &WriteArgs,
) -> Result<(Answer, Edit), VineError> {
    let new = |(name, path): &(String, Option<PathBuf>)| new_place(name, path.as_deref(), is_taken);
    let (Some(lookup), Some(looked)) = (&targets.lookup, looked) else {
        let (plan, answer) = created(args)?;
        let (place, path) = targets.new.as_ref().map_or_else(|| Err(no_file()), new)?;
        let plan = Arc::new(plan);
        let edit =
            Edit::nothing().create(place, path, SymlinkPolicy::Refuse, text_of(&plan)).with_model(Arc::clone(&plan));
        return Ok((answer, edit.with_deferred_meta(HASH, move || plan.hash().to_owned())));
    };
    let opened = OpenPlan::of(lookup, looked)?;
    opened.check_writable(&args.file, args.if_match.as_deref())?;
    let mut draft = GraphDraft::of(opened.plan().graph()?);
    let mut child = None;
    let mut rest: Vec<&Operation> = Vec::with_capacity(args.operations.len());
    for operation in &args.operations {
        match (operation, &targets.new) {
            (Operation::ExtractToRef { id, vine, ref_name }, Some(target)) => {
                let graph = draft.extract(id, vine, ref_name.as_deref())?;
                child = Some((graph, new(target)?));
            }
            _ => rest.push(operation),
        }
    }
    rest.into_iter().try_for_each(|operation| draft.apply(operation))?;
    let drafted = draft.finish();
    let sound = match &drafted.changed {
        Some(changed) => {
            let edges = opened.plan().validated()?.1;
            let frontier = frontier_after(opened.plan().frontier()?.1, &drafted.graph, edges, changed);
            (Arc::clone(edges), Arc::new(frontier))
        }
        None => validated(&drafted.graph)?,
    };
    let claimed = match child {
        Some(_) => None,
        None => claimed(&drafted.graph, &args.operations),
    };
    let (plan, answer) = finished(&drafted.graph, sound, Some(opened.plan()), &args.operations, claimed)?;
    let mut edit = Edit::nothing();
    if let Some((graph, (place, path))) = child {
        let (child, _) = finished(&graph, self::validated(&graph)?, None, &[], None)?;
        let child = Arc::new(child);
        edit = edit.create(place, path, SymlinkPolicy::Refuse, text_of(&child)).with_model(child);
    }
    Ok((answer, opened.replaced_by(edit, plan)))
}

/// Puts a plan in the place of a reference. The child's file stays as it is.
pub fn expand(
    (parent, child): (&PlanLookup, &PlanLookup),
    (parent_looked, child_looked): (PlanRead, PlanRead),
    args: &ExpandArgs,
) -> Result<(Answer, Edit), VineError> {
    let parent = OpenPlan::of(parent, parent_looked)?;
    parent.check_writable(&args.file, args.if_match.as_deref())?;
    let (graph, _) = parent.plan().validated()?;
    let child = OpenPlan::of(child, child_looked)?;
    let (child, _) = child.plan().validated()?;
    let Expanded { graph, order } = expanded(graph, child, &args.ref_id)?;
    let edges = Arc::new(validate_in(&graph, &order)?);
    let (written, read_back) = render(&graph, parent.plan().before())?;
    let frontier = Arc::new(frontier(&read_back, &edges));
    let plan = Plan::made(read_back, written, edges, frontier);
    let answer = Answer::text(format!("Ref \"{}\" expanded.", args.ref_id));
    Ok((answer, parent.replaced_by(Edit::nothing(), plan)))
}

/// A new plan out of nothing.
fn created(args: &WriteArgs) -> Result<(Plan, Answer), VineError> {
    let Some((Operation::Create { version }, rest)) = args.operations.split_first() else { return Err(no_file()) };
    let (mut draft, mut rest) = GraphDraft::created(version.as_deref().unwrap_or(VERSION), rest)?;
    rest.try_for_each(|operation| draft.apply(operation))?;
    let graph = draft.finish().graph;
    finished(&graph, validated(&graph)?, None, &args.operations, None)
}

/// A batch that leads nowhere cannot be: every one has a file to change or to make.
fn no_file() -> VineError {
    VineError::Argument { field: "file".to_owned(), wanted: "a path".into() }
}

/// What follows from a graph, if it is sound.
type ValidGraph = (Arc<Edges>, Arc<Frontier>);

fn validated(graph: &Graph) -> Result<ValidGraph, VineError> {
    let edges = validate(graph)?;
    let frontier = frontier(graph, &edges);
    Ok((Arc::new(edges), Arc::new(frontier)))
}

/// The text of a sound graph, and what to say about it. The answer shows lists as they were given.
fn finished(
    graph: &Graph,
    (edges, frontier): ValidGraph,
    before: Option<&Plan>,
    operations: &[Operation],
    claimed: Option<Vec<WithDependencies<'_>>>,
) -> Result<(Plan, Answer), VineError> {
    let (written, read_back) = render(graph, before.and_then(Plan::before))?;
    let phrases: Vec<String> = operations.iter().map(Operation::phrase).collect();
    let summary = format!("{} operation(s) applied: {}.", operations.len(), phrases.join("; "));
    let answer = Answer::pretty(answers::written(summary, graph, &frontier, claimed));
    Ok((Plan::made(read_back, written, edges, frontier), answer))
}

/// One entry for each claim, as things are after the batch; what the batch removed again is left out.
fn claimed<'a>(graph: &'a Graph, operations: &[Operation]) -> Option<Vec<WithDependencies<'a>>> {
    let claimed = |operation: &Operation| match operation {
        Operation::Claim { id, .. } => Some(graph.node(id)),
        _ => None,
    };
    let mut nodes = operations.iter().filter_map(claimed).peekable();
    nodes.peek()?;
    Some(nodes.flatten().map(|node| answers::with_dependencies(graph, node)).collect())
}

/// Where a new file goes, if it may.
fn new_place(name: &str, path: Option<&Path>, is_taken: bool) -> Result<(TreeLocation, RelativePath), VineError> {
    let path = path.ok_or_else(|| VineError::NoDirectory(name.to_owned()))?;
    let names = path.file_name().and_then(|name| name.to_str()).filter(|name| is_vine(name));
    let names = names.and_then(RelativePath::from_components).zip(path.parent());
    let (file, directory) = names.ok_or_else(|| VineError::NotVine(name.to_owned()))?;
    if is_taken {
        return Err(VineError::Exists(path.to_string_lossy().into_owned()));
    }
    Ok((TreeLocation::Fixed(directory.to_owned()), file))
}
