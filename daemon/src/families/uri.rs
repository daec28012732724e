//! URI templates, matched: `todo:///contexts/{name}` against `todo:///contexts/api`.
//!
//! The small part of RFC 6570 that resources need: `{name}` stands for one segment, `{+name}` for
//! anything. Values are percent-decoded.

use super::resource::UriVariables;
use crate::text::percent::decoded;

/// Longer URIs name nothing of ours, and matching is not linear.
const MAX_URI_BYTES: usize = 4096;

/// The variables that make the template equal to the URI, or none.
pub fn matches(template: &str, uri: &str) -> Option<UriVariables> {
    if uri.len() > MAX_URI_BYTES { None } else { matched(template, uri) }
}

fn matched(template: &str, uri: &str) -> Option<UriVariables> {
    let Some((before, rest)) = template.split_once('{') else {
        return (template == uri).then(UriVariables::new);
    };
    let (name, after) = rest.split_once('}')?;
    let uri = uri.strip_prefix(before)?;
    let (name, may_cross) = match name.strip_prefix('+') {
        Some(name) => (name, true),
        None => (name, false),
    };
    // The longest value that lets the rest match; a value is never empty.
    let ends = (1..=uri.len()).rev().filter(|&end| uri.is_char_boundary(end));
    for end in ends {
        let (value, tail) = uri.split_at(end);
        if !may_cross && value.contains('/') {
            continue;
        }
        if let Some(mut variables) = matched(after, tail) {
            variables.insert(name.to_owned(), decoded(value)?);
            return Some(variables);
        }
    }
    None
}

/// Whether a URI has variables.
pub fn is_template(uri: &str) -> bool {
    uri.contains('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let expected = expected.map(|pairs| pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect());
        assert_eq!(matches(template, uri), expected, "{template} {uri}");
    }

    #[test]
    fn templates_match_segments() {
        check("a://b", "a://b", Some(&[]));
        check("a://b", "a://c", None);
        check("a://{x}", "a://b", Some(&[("x", "b")]));
        check("a://{x}", "a://", None);
        check("a://{x}", "a://b/c", None);
        check("a://{+x}", "a://b/c", Some(&[("x", "b/c")]));
        check("a://{x}/t/{y}.md", "a://p/t/n.md.md", Some(&[("x", "p"), ("y", "n.md")]));
        check("a://{x}", "a://caf%C3%A9%2F", Some(&[("x", "café/")]));
        check("a://{x}", "a://%E3%83%A1%E3%83%A2", Some(&[("x", "メモ")]));
        check("a://{x}", "a://%ff", None);
        check("a://{x}", "a://%", None);
    }
}
