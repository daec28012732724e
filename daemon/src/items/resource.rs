//! Resources that are no items, read by their addresses: lists of projects, a project's `task.md` as a whole.

use std::path::{Path, PathBuf};

use crate::clock::Now;
use crate::disk::{DiskRequest as _, ReadError, ReadFile, RelativePath, SymlinkPolicy};
use crate::families::address::Address;
use crate::families::item_set::{ItemsError, OpenedResource};
use crate::families::need::ReadContext;
use crate::families::{FamilyDescriptor, uri};
use crate::projects::ProjectNames;

/// The text behind an address that names no item.
pub(crate) fn read(
    text: &str,
    address: &Address,
    names: &ProjectNames,
    families: &[FamilyDescriptor],
    context: &ReadContext<'_>,
) -> Result<OpenedResource, ItemsError> {
    // A resource of each project is known to its family in the session's own, where the name is left out.
    let own =
        text.split_once("://").and_then(|(scheme, rest)| Some(format!("{scheme}:///{}", rest.split_once('/')?.1)));
    let matching = |spelling: &str| {
        let mut resources = families.iter().flat_map(|family| &family.resources);
        resources.find_map(|resource| Some((resource, uri::matches(resource.uri, spelling)?)))
    };
    let of_own = own.as_deref().and_then(matching);
    if of_own.is_some()
        && let Some(project) = other_project(address, names)?
    {
        return in_tree(text, address, &project, families, context);
    }
    let found = matching(text).or(of_own);
    let (resource, variables) = found.ok_or(ItemsError::InvalidAddress)?;
    let now = Now::read(&context.session.zone.0);
    let content = resource.read.run(&variables, context, &now).map_err(|_| ItemsError::Read(ReadError::Missing))?;
    Ok(OpenedResource { uri: text.to_owned(), title: resource.title.to_owned(), text: content.text })
}

/// The directory of the project that is meant, if it is another than the session's own.
fn other_project(address: &Address, names: &ProjectNames) -> Result<Option<PathBuf>, ItemsError> {
    let name = &address.project;
    if name.is_empty() {
        return Ok(None);
    }
    let project = names.find(name).map_err(|error| ItemsError::name(name, error, names))?;
    Ok((names.own() != Some(project)).then(|| project.to_owned()))
}

fn in_tree(
    text: &str,
    address: &Address,
    project: &Path,
    families: &[FamilyDescriptor],
    context: &ReadContext<'_>,
) -> Result<OpenedResource, ItemsError> {
    let face = families.iter().find(|family| family.name == address.family).and_then(|family| family.items);
    let face = face.ok_or(ItemsError::InvalidAddress)?;
    let name = text.rsplit('/').next().unwrap_or_default();
    let path = RelativePath::from_components(name).ok_or(ItemsError::InvalidAddress)?;
    let place = (face.tree)(context.session, Some(project)).place;
    let request = ReadFile { place, path, links: SymlinkPolicy::Refuse, size_limit: face.size_limit };
    let content = request.read(&context.disk).map_err(ItemsError::Read)?;
    let content = String::from_utf8_lossy(&content.bytes).into_owned();
    Ok(OpenedResource { uri: text.to_owned(), title: name.to_owned(), text: content })
}
