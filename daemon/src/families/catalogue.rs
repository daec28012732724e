//! Which tools a surface shows, under which names, in which order.
//!
//! Alone, a family keeps its own names; beside others it may carry its own name in front. A call by
//! the family's own name still works in the union as long as only one family has it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use dashmap::DashMap;
use serde_json::{Map, Value, json};
use trellis_protocol::surface::{COMMON_FAMILY, CORE_PROFILE, ToolChoice};
use trellis_protocol::{Failure, FailureKind, Surface};

use super::{ListedOn, Prompt, Resource, Tool, ToolEffect};
use crate::families::{FamilyDescriptor, ToolNaming};

/// The tools of a day, in the order in which they are listed.
const CORE_TOOLS: [&str; 15] = [
    "trellis_recall",
    "trellis_open",
    "trellis_list",
    "trellis_edit",
    "trellis_brief",
    "trellis_recent",
    "trellis_undo",
    "trellis_claim",
    "vibe_create_doc",
    "vibe_log_session",
    "todo_create_task",
    "todo_create_adr",
    "vine_next",
    "vine_write",
    "vbm_create_task",
];

/// Every family, and the catalogues that were asked for so far.
#[derive(Debug)]
pub struct Registry {
    families: Arc<[FamilyDescriptor]>,
    catalogues: DashMap<Surface, Arc<Catalogue>>,
}

/// What one surface shows. Equal surfaces share one.
#[derive(Debug)]
pub struct Catalogue {
    families: Arc<[FamilyDescriptor]>,
    enabled: Vec<usize>,
    exposed: Vec<ListedTool>,
    by_name: HashMap<String, usize>,
    read_only: bool,
    is_core: bool,
    key: String,
    /// Words of `--tools` that name nothing.
    pub unknown_tools: Vec<String>,
}

/// A tool as a surface shows it.
#[derive(Debug, Clone)]
pub struct ListedTool {
    /// The name it is called by.
    pub name: String,
    family: usize,
    tool: usize,
}

/// A tool that may run.
#[derive(Debug, Clone)]
pub struct FoundTool {
    families: Arc<[FamilyDescriptor]>,
    family: usize,
    tool: usize,
    /// The name it was called by.
    pub name: String,
}

impl FoundTool {
    pub fn family(&self) -> &FamilyDescriptor {
        &self.families[self.family]
    }

    pub fn tool(&self) -> &Tool {
        &self.family().tools[self.tool]
    }
}

/// What a name in a call leads to.
#[derive(Debug)]
pub enum ToolLookup<'a> {
    Tool(FoundTool),
    /// A tool that writes, in a session that must not.
    ReadOnly(&'a FamilyDescriptor),
    /// More than one family has a tool of that name.
    Ambiguous(Vec<String>),
    Unknown,
}

impl Registry {
    /// Takes the families in the order in which their tools are listed.
    pub fn new(families: Vec<FamilyDescriptor>) -> Self {
        Self { families: families.into(), catalogues: DashMap::new() }
    }

    pub fn families(&self) -> &[FamilyDescriptor] {
        &self.families
    }

    pub fn shared_families(&self) -> Arc<[FamilyDescriptor]> {
        Arc::clone(&self.families)
    }

    /// What a surface shows; a family that does not exist is a failure with the names of those that do.
    pub fn catalogue(&self, surface: &Surface) -> Result<Arc<Catalogue>, Failure> {
        if let Some(known) = self.catalogues.get(surface) {
            return Ok(Arc::clone(&known));
        }
        let catalogue = Arc::new(Catalogue::of(&self.families, surface)?);
        // Flags are a host's configuration: there are few. A flood of them is not kept.
        if self.catalogues.len() < 256 {
            self.catalogues.insert(surface.clone(), Arc::clone(&catalogue));
        }
        Ok(catalogue)
    }
}

impl Catalogue {
    fn of(families: &Arc<[FamilyDescriptor]>, surface: &Surface) -> Result<Self, Failure> {
        let listed: Vec<&String> = surface.families.iter().filter(|name| *name != CORE_PROFILE).collect();
        for name in &listed {
            if !families.iter().any(|family| family.name == *name) {
                return Err(no_such_family(families, name));
            }
        }
        let is_core = surface.is_core();
        // Older proxies know nothing of the family that stands beside any two others.
        let is_on = |family: &FamilyDescriptor| {
            listed.is_empty()
                || is_core
                || listed.iter().any(|name| *name == family.name)
                || (listed.len() > 1 && family.name == COMMON_FAMILY)
        };
        let on: Vec<usize> = (0..families.len()).filter(|&index| is_on(&families[index])).collect();
        let core_place = |family: &FamilyDescriptor, tool: &Tool| {
            let name = union_name(family, tool);
            CORE_TOOLS.iter().position(|core| *core == name)
        };
        let mut exposed = Vec::new();
        for (family, registered) in families.iter().enumerate() {
            for (tool, row) in registered.tools.iter().enumerate() {
                let name = if on == [family] { row.name.to_owned() } else { union_name(registered, row) };
                let chosen = surface.tools.iter().rev().find_map(|choice| match choice {
                    ToolChoice::Add(word) if named(word, registered, row) => Some(true),
                    ToolChoice::Hide(word) if named(word, registered, row) => Some(false),
                    _ => None,
                });
                let is_shown = on.contains(&family) && (!is_core || core_place(registered, row).is_some());
                if chosen.unwrap_or(is_shown) {
                    exposed.push(ListedTool { name, family, tool });
                }
            }
        }
        if is_core {
            let place = |tool: &ListedTool| {
                let family = &families[tool.family];
                core_place(family, &family.tools[tool.tool]).unwrap_or(usize::MAX)
            };
            exposed.sort_by_key(place);
        }
        let by_name = exposed.iter().enumerate().map(|(index, tool)| (tool.name.clone(), index)).collect();
        let unknown_tools = surface.tools.iter().filter_map(|choice| {
            let (ToolChoice::Add(word) | ToolChoice::Hide(word)) = choice;
            let known = families.iter().any(|family| family.tools.iter().any(|tool| named(word, family, tool)));
            (!known).then(|| word.clone())
        });
        Ok(Self {
            unknown_tools: unknown_tools.collect(),
            families: Arc::clone(families),
            is_core,
            enabled: on,
            exposed,
            by_name,
            read_only: surface.read_only,
            key: surface.key(),
        })
    }

    /// The tools that are listed, in their fixed order.
    pub fn tools(&self) -> impl Iterator<Item = (&ListedTool, &FamilyDescriptor, &Tool)> {
        self.exposed
            .iter()
            .map(|exposed| {
                let family = &self.families[exposed.family];
                (exposed, family, &family.tools[exposed.tool])
            })
            .filter(|(_, _, tool)| !self.is_read_only_violation(tool))
    }

    /// A name for the surface that fits into a file name.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What a name leads to.
    pub fn find(&self, name: &str) -> ToolLookup<'_> {
        if let Some(&index) = self.by_name.get(name) {
            return self.allowed(&self.exposed[index], name);
        }
        let own: Vec<&ListedTool> = self
            .exposed
            .iter()
            .filter(|exposed| self.families[exposed.family].tools[exposed.tool].name == name)
            .collect();
        match own.as_slice() {
            [] => ToolLookup::Unknown,
            [one] => self.allowed(one, name),
            many => ToolLookup::Ambiguous(many.iter().map(|exposed| exposed.name.clone()).collect()),
        }
    }

    /// Whether a family stands alone, under its own names.
    pub fn is_alone(&self) -> bool {
        self.enabled.len() == 1
    }

    /// Families whose items are seen here; none are named where all are.
    pub fn item_families(&self) -> Vec<&'static str> {
        let families: Vec<&'static str> =
            self.families().filter(|family| family.items.is_some()).map(|family| family.name).collect();
        if self.is_core { Vec::new() } else { families }
    }

    /// Whether items have addresses here that can be read as resources.
    pub fn shows_items(&self) -> bool {
        self.families().any(|family| family.name == COMMON_FAMILY)
    }

    /// A text of a family in which tools stand in backticks under the family's own names, with the names they have here.
    pub fn speak<'t>(&self, family: &FamilyDescriptor, text: &'t str) -> Cow<'t, str> {
        if self.is_alone() || !text.contains('`') {
            return text.into();
        }
        let exposed = |word: &str| {
            let tool = family.tools.iter().find(|tool| tool.name == word)?;
            Some(union_name(family, tool)).filter(|name| name != word)
        };
        let mut parts: Vec<Cow<'_, str>> = text.split('`').map(Cow::Borrowed).collect();
        for part in parts.iter_mut().skip(1).step_by(2) {
            if let Some(name) = exposed(part) {
                *part = name.into();
            }
        }
        parts.join("`").into()
    }

    /// A tool's schema, with descriptions that name tools as they are called here.
    pub fn schema(&self, family: &FamilyDescriptor, tool: &Tool) -> Map<String, Value> {
        if self.is_core {
            return tool.core_schema();
        }
        let mut schema = tool.schema.clone();
        for field in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
            if let Some(Value::String(about)) = field.get_mut("description") {
                *about = self.speak(family, about).into_owned();
            }
        }
        schema
    }

    /// The same for a text with words of users in it: a tool with a plain word for a name stays as it is.
    pub fn speak_text(&self, family: &FamilyDescriptor, text: &str) -> String {
        let is_plain = |tool: &&Tool| tool.name.contains('_') && text.contains(tool.name);
        let tools = family.tools.iter().filter(is_plain).filter(|_| !self.is_alone());
        tools.fold(text.to_owned(), |text, tool| {
            text.replace(&format!("`{}`", tool.name), &format!("`{}`", union_name(family, tool)))
        })
    }

    /// The families that are on.
    pub fn families(&self) -> impl Iterator<Item = &FamilyDescriptor> {
        self.enabled.iter().map(|&index| &self.families[index])
    }

    pub fn resources(&self) -> impl Iterator<Item = (&FamilyDescriptor, &Resource)> {
        self.families().flat_map(|family| family.resources.iter().map(move |resource| (family, resource)))
    }

    /// Those that are listed here.
    pub fn listed_resources(&self) -> impl Iterator<Item = &Resource> {
        let is_alone = self.is_alone();
        self.resources().map(|(_, resource)| resource).filter(move |resource| match resource.listed_on {
            ListedOn::EverySurface => true,
            ListedOn::OwnSurface => is_alone,
        })
    }

    pub fn prompts(&self) -> impl Iterator<Item = (&FamilyDescriptor, &Prompt)> {
        self.families().flat_map(|family| family.prompts.iter().map(move |prompt| (family, prompt)))
    }

    fn allowed(&self, exposed: &ListedTool, name: &str) -> ToolLookup<'_> {
        let family = &self.families[exposed.family];
        let tool = &family.tools[exposed.tool];
        if self.is_read_only_violation(tool) {
            return ToolLookup::ReadOnly(family);
        }
        let families = Arc::clone(&self.families);
        let &ListedTool { family, tool, .. } = exposed;
        ToolLookup::Tool(FoundTool { families, family, tool, name: name.to_owned() })
    }

    fn is_read_only_violation(&self, tool: &Tool) -> bool {
        self.read_only && matches!(tool.effect, ToolEffect::Writes { .. })
    }
}

/// The name a tool has beside other families'.
fn union_name(family: &FamilyDescriptor, tool: &Tool) -> String {
    match family.tool_naming {
        ToolNaming::Own => tool.name.to_owned(),
        ToolNaming::Prefixed => format!("{}_{}", family.name, tool.name),
    }
}

/// Whether a word of `--tools` means this tool: by its name in the union or by its own.
fn named(word: &str, family: &FamilyDescriptor, tool: &Tool) -> bool {
    word == tool.name || word == union_name(family, tool)
}

fn no_such_family(families: &[FamilyDescriptor], name: &str) -> Failure {
    let names: Vec<&str> = families.iter().map(|family| family.name).collect();
    Failure::new("unknown_family", FailureKind::Input, format!("there is no family `{name}`"))
        .with_hint(format!("use one of: {}", names.join(", ")))
        .with_details(json!({ "family": name, "families": names }))
}

/// The failure for a name that two families share.
pub fn ambiguous(name: &str, candidates: &[String]) -> Failure {
    Failure::new("AMBIGUOUS_TOOL", FailureKind::Input, format!("`{name}` is a tool of more than one family"))
        .with_hint(format!("call {}", candidates.join(" or ")))
        .with_details(json!({ "tool": name, "candidates": candidates }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::uri::is_template;

    fn check(families: &str, expected: &[&str]) {
        let surface = Surface::default().with_families(families).expect("good names");
        let catalogue = Registry::new(crate::families::all()).catalogue(&surface).expect("families that exist");
        let templates = catalogue.listed_resources().map(|resource| resource.uri).filter(|uri| is_template(uri));
        let templates: Vec<&str> = templates.filter(|uri| !uri.starts_with("vibe:")).collect();
        assert_eq!(templates, expected, "{families}");
    }

    #[test]
    fn the_seed_s_templates_are_listed_where_their_family_is_alone() {
        let ours = ["todo:///adr/{adr_id}.md", "todo:///context/{task_id}.md"];
        let all = [ours, ["file://.todo/adr/{adr-id}.md", "file://.todo/context/{task-id}.md"]].concat();
        check("todo", &all);
        check("todo,vault", &ours);
        check("", &ours);
        check("vault", &[]);
    }
}
