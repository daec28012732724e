//! Resources and prompts: tables like the tools', with their completions.

use std::collections::BTreeMap;

use trellis_protocol::Failure;

use super::TwoPhase;

/// One kind of resource: a fixed URI, or a template with the ones that exist now.
#[derive(Debug)]
pub struct Resource {
    /// `vine://spec/brief`, or with variables `todo:///contexts/{name}`.
    pub uri: &'static str,
    /// Short and unique.
    pub name: &'static str,
    /// Shown to people, not to models.
    pub title: &'static str,
    pub description: &'static str,
    /// What the content is.
    pub mime: &'static str,
    /// The ones that exist now; not asked for a fixed URI.
    pub list: Option<TwoPhase<(), Vec<ResourceEntry>>>,
    /// The content of one, by the variables of its URI.
    pub read: TwoPhase<UriVariables, ResourceContent>,
    /// Values that fit a variable so far.
    pub complete: Option<TwoPhase<CompletionRequest, Vec<String>>>,
    /// Where it is listed. It is understood everywhere.
    pub listed_on: ListedOn,
}

/// Addresses that are read as resources, and the templates that are listed for them, after all others.
#[derive(Debug)]
pub struct AddressSpace {
    pub templates: Vec<AddressTemplate>,
    /// The content behind one.
    pub read: TwoPhase<String, ResourceContent>,
}

/// How addresses of one kind look.
#[derive(Debug, Clone, Copy)]
pub struct AddressTemplate {
    pub uri: &'static str,
    pub name: &'static str,
    pub title: &'static str,
}

/// On which surfaces a resource is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedOn {
    /// On every one that shows its family.
    EverySurface,
    /// Where its family is alone: clients of the family know the URI, other hosts may refuse a list with it.
    OwnSurface,
}

/// The variables of a URI.
pub type UriVariables = BTreeMap<String, String>;

/// One resource that exists now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceEntry {
    pub uri: String,
    /// Shown to people, not to models.
    pub name: String,
    /// When it last changed, RFC 3339.
    pub last_modified: Option<String>,
}

/// The content of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceContent {
    pub text: String,
    /// When it last changed, RFC 3339.
    pub last_modified: Option<String>,
}

/// A value that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    /// Which argument or variable.
    pub name: String,
    /// What is there so far.
    pub value: String,
    /// The others, as far as they are known.
    pub others: BTreeMap<String, String>,
}

/// A prompt: a text that a person asks for by name.
#[derive(Debug)]
pub struct Prompt {
    /// Short and ASCII: hosts make a command of it.
    pub name: &'static str,
    /// Shown to people, not to models.
    pub title: &'static str,
    /// Shown to people, not to models.
    pub description: &'static str,
    /// What it takes.
    pub arguments: Vec<PromptArgument>,
    pub get: TwoPhase<BTreeMap<String, String>, PromptText>,
    /// Values that fit an argument so far.
    pub complete: Option<TwoPhase<CompletionRequest, Vec<String>>>,
}

/// One argument of a prompt.
#[derive(Debug)]
pub struct PromptArgument {
    pub name: &'static str,
    /// Shown to people, not to models.
    pub description: &'static str,
    /// Whether the prompt makes no sense without it.
    pub required: bool,
}

/// The text of a prompt, said as the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    pub text: String,
}

impl Resource {
    /// One that is listed on every surface, without a list of its own and without completions.
    pub fn new(
        (uri, name): (&'static str, &'static str),
        (title, description): (&'static str, &'static str),
        mime: &'static str,
        read: TwoPhase<UriVariables, ResourceContent>,
    ) -> Self {
        let listed_on = ListedOn::EverySurface;
        Self { uri, name, title, description, mime, list: None, read, complete: None, listed_on }
    }
}

impl Prompt {
    /// The first required argument that was not given.
    pub fn missing(&self, given: &BTreeMap<String, String>) -> Option<&'static str> {
        self.arguments.iter().find(|argument| argument.required && !given.contains_key(argument.name)).map(|a| a.name)
    }
}

/// A resource with this URI does not exist.
pub fn no_such_resource(uri: &str) -> Failure {
    Failure::new("not_found", trellis_protocol::FailureKind::Missing, format!("there is no resource `{uri}`"))
        .with_hint("ask for resources/list or resources/templates/list")
        .with_details(serde_json::json!({ "uri": uri }))
}
