//! Resources, prompts and their completions, served from the families' tables.

use std::sync::Arc;

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{
    Annotations, CacheScope, CompleteRequestParams, CompleteResult, CompletionInfo, ErrorCode, GetPromptRequestParams,
    GetPromptResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, MetaObject, Prompt,
    PromptArgument, PromptMessage, ReadResourceResult, Reference, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::json;
use trellis_protocol::{Failure, FailureKind};

use super::tool_list::page;
use crate::families::resource::{UriVariables, no_such_resource};
use crate::families::uri::{is_template, matches};
use crate::families::{
    AddressSpace, AddressTemplate, Catalogue, CompletionRequest, FamilyDescriptor, ProgressReporter,
};
use crate::present;
use crate::tools::ClientSession;

/// Entries on one page.
const RESOURCES_PER_PAGE: usize = 200;

/// The resources that exist now.
pub async fn resources(session: &Arc<ClientSession>, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let mut entries = Vec::new();
    for resource in session.catalogue.listed_resources() {
        let entry = |uri: &str, name: &str| {
            Resource::new(uri, name)
                .with_title(resource.title)
                .with_description(resource.description)
                .with_mime_type(resource.mime)
        };
        match &resource.list {
            None if is_template(resource.uri) => {}
            None => entries.push(entry(resource.uri, resource.name).with_annotations(annotations(None))),
            Some(list) => {
                // One family's trouble must not hide the others' resources.
                let listed = session.run_two_phase(list, (), ProgressReporter::default()).await.unwrap_or_default();
                entries.extend(listed.into_iter().map(|listed| {
                    entry(&listed.uri, &listed.name).with_annotations(annotations(listed.last_modified))
                }));
            }
        }
    }
    let (entries, next_cursor) = page(entries, cursor, RESOURCES_PER_PAGE)?;
    let mut result = ListResourcesResult::with_all_items(entries).with_ttl_ms(0).with_cache_scope(CacheScope::Private);
    result.next_cursor = next_cursor;
    Ok(result)
}

fn annotations(last_modified: Option<String>) -> Annotations {
    let mut annotations = Annotations::default().with_audience(vec![Role::Assistant, Role::User]).with_priority(0.5);
    annotations.last_modified = last_modified;
    annotations
}

pub fn templates(catalogue: &Catalogue, cursor: Option<&str>) -> Result<ListResourceTemplatesResult, ErrorData> {
    let template = |resource: &crate::families::Resource| {
        ResourceTemplate::new(resource.uri, resource.name)
            .with_title(resource.title)
            .with_description(resource.description)
            .with_mime_type(resource.mime)
    };
    let item =
        |template: &AddressTemplate| ResourceTemplate::new(template.uri, template.name).with_title(template.title);
    let items = address_space(catalogue).into_iter().flat_map(|addresses| addresses.templates.iter().map(item));
    let templates = catalogue.listed_resources().filter(|resource| is_template(resource.uri)).map(template);
    let templates = templates.chain(items).collect();
    let (templates, next_cursor) = page(templates, cursor, RESOURCES_PER_PAGE)?;
    let mut result =
        ListResourceTemplatesResult::with_all_items(templates).with_ttl_ms(0).with_cache_scope(CacheScope::Private);
    result.next_cursor = next_cursor;
    Ok(result)
}

/// The resource that a URI names, with the values of its variables.
fn find_resource<'a>(catalogue: &'a Catalogue, uri: &str) -> Option<(&'a crate::families::Resource, UriVariables)> {
    catalogue.resources().find_map(|(_, resource)| Some((resource, matches(resource.uri, uri)?)))
}

/// Addresses that are read as resources besides.
fn address_space(catalogue: &Catalogue) -> Option<&AddressSpace> {
    catalogue.families().find_map(|family| family.addresses.as_ref())
}

/// Whether a URI may name a resource of this surface.
pub fn check_uri(catalogue: &Catalogue, uri: &str) -> Result<(), ErrorData> {
    find_resource(catalogue, uri).map(drop).ok_or_else(|| missing(catalogue, uri))
}

/// Nothing has this URI. A family may have its own mind about what kind of mistake that is.
fn missing(catalogue: &Catalogue, uri: &str) -> ErrorData {
    let scheme = |uri: &str| uri.split_once(':').map(|(scheme, _)| scheme.to_owned());
    let failure = no_such_resource(uri);
    let mut resources = catalogue.resources();
    match resources.find(|(_, resource)| scheme(resource.uri) == scheme(uri)) {
        Some((family, _)) if family.unknown_uri_is_invalid_params => error_of_arguments(&failure),
        _ => error(&failure),
    }
}

/// The content of a resource.
pub async fn read(session: &Arc<ClientSession>, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let reporter = ProgressReporter::default();
    let (contents, mime) = match (find_resource(&session.catalogue, uri), address_space(&session.catalogue)) {
        (Some((resource, variables)), _) => {
            (session.run_two_phase(&resource.read, variables, reporter).await, resource.mime)
        }
        (None, Some(addresses)) => {
            let contents = session.run_two_phase(&addresses.read, uri.to_owned(), reporter).await;
            let is_json = contents.as_ref().is_ok_and(|contents| contents.text.starts_with('{'));
            (contents, if is_json { "application/json" } else { "text/markdown" })
        }
        (None, None) => return Err(missing(&session.catalogue, uri)),
    };
    let contents = contents.map_err(|failure| match failure.kind {
        // What no family has is missing, whatever is wrong with its name.
        FailureKind::Input | FailureKind::Missing if find_resource(&session.catalogue, uri).is_none() => {
            missing(&session.catalogue, uri)
        }
        _ => error(&failure),
    })?;
    let mut meta = MetaObject::default();
    if let Ok(value) = serde_json::to_value(annotations(contents.last_modified)) {
        meta.insert("annotations".to_owned(), value);
    }
    let text = ResourceContents::text(contents.text, uri).with_mime_type(mime).with_meta(meta);
    Ok(ReadResourceResult::new(vec![text]).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

pub fn prompts(catalogue: &Catalogue, cursor: Option<&str>) -> Result<ListPromptsResult, ErrorData> {
    let prompt = |(_, prompt): (_, &crate::families::Prompt)| {
        let argument = |argument: &crate::families::PromptArgument| {
            PromptArgument::new(argument.name).with_description(argument.description).with_required(argument.required)
        };
        let arguments = prompt.arguments.iter().map(argument).collect();
        Prompt::new(prompt.name, Some(prompt.description), Some(arguments)).with_title(prompt.title)
    };
    let (prompts, next_cursor) = page(catalogue.prompts().map(prompt).collect(), cursor, RESOURCES_PER_PAGE)?;
    let mut result = ListPromptsResult::with_all_items(prompts).with_ttl_ms(0).with_cache_scope(CacheScope::Private);
    result.next_cursor = next_cursor;
    Ok(result)
}

/// The text of a prompt.
pub async fn prompt(
    session: &Arc<ClientSession>,
    request: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let given: BTreeMap<String, String> = request
        .arguments
        .unwrap_or_default()
        .into_iter()
        .map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let Some((family, prompt)) = prompt_named(&session.catalogue, &request.name) else {
        let sentence = format!("there is no prompt `{}`: ask for prompts/list", request.name);
        return Err(ErrorData::invalid_params(sentence, Some(json!({ "code": "not_found" }))));
    };
    if let Some(missing) = prompt.missing(&given) {
        let sentence = format!("the prompt `{}` needs the argument `{missing}`", request.name);
        let data = json!({ "code": "invalid_argument", "argument": missing });
        return Err(ErrorData::invalid_params(sentence, Some(data)));
    }
    let text = session.run_two_phase(&prompt.get, given, ProgressReporter::default()).await;
    let text = text.map_err(|failure| error_of_arguments(&failure))?;
    let text = session.catalogue.speak_text(family, &text.text);
    let mut result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
    result.description = Some(prompt.description.to_owned());
    Ok(result)
}

fn prompt_named<'a>(
    catalogue: &'a Catalogue,
    name: &str,
) -> Option<(&'a FamilyDescriptor, &'a crate::families::Prompt)> {
    catalogue.prompts().find(|(_, prompt)| prompt.name == name)
}

/// Values that fit an argument so far.
pub async fn complete(
    session: &Arc<ClientSession>,
    request: CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let others = request.context.and_then(|context| context.arguments).unwrap_or_default().into_iter().collect();
    let partial = CompletionRequest { name: request.argument.name, value: request.argument.value, others };
    let complete = match &request.r#ref {
        Reference::Prompt(reference) => {
            let prompt = prompt_named(&session.catalogue, &reference.name);
            prompt.map(|(_, prompt)| &prompt.complete).ok_or_else(|| reference.name.clone())
        }
        Reference::Resource(reference) => {
            let resource = session.catalogue.resources().find(|(_, resource)| resource.uri == reference.uri);
            resource.map(|(_, resource)| &resource.complete).ok_or_else(|| reference.uri.clone())
        }
        _ => Err("this kind of reference".to_owned()),
    };
    let complete = complete.map_err(|name| {
        ErrorData::invalid_params(format!("there is no `{name}` to complete"), Some(json!({ "code": "not_found" })))
    })?;
    let values = match complete {
        Some(complete) => session.run_two_phase(complete, partial, ProgressReporter::default()).await,
        None => Ok(Vec::new()),
    };
    let values = values.map_err(|failure| error_of_arguments(&failure))?;
    let total = values.len();
    let shown = values.into_iter().take(CompletionInfo::MAX_VALUES).collect();
    let info = CompletionInfo::with_pagination(shown, Some(total as u32), total > CompletionInfo::MAX_VALUES);
    info.map(CompleteResult::new).map_err(|what| ErrorData::internal_error(what, None))
}

/// A failure outside of tools is an error of the protocol, with the code beside it.
fn error(failure: &Failure) -> ErrorData {
    let code = match failure.kind {
        FailureKind::Missing => ErrorCode::RESOURCE_NOT_FOUND,
        FailureKind::Internal | FailureKind::Unavailable => ErrorCode::INTERNAL_ERROR,
        _ => ErrorCode::INVALID_PARAMS,
    };
    let message = present::sentence(failure);
    let data = json!({ "code": failure.code, "message": message, "details": failure.details });
    ErrorData::new(code, message, Some(data))
}

/// The same where no resource was asked for: what an argument names is missing, not what the request names.
fn error_of_arguments(failure: &Failure) -> ErrorData {
    let mut error = error(failure);
    if error.code == ErrorCode::RESOURCE_NOT_FOUND {
        error.code = ErrorCode::INVALID_PARAMS;
    }
    error
}
