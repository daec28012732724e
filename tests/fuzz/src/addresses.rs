//! Addresses of resources: any text can be asked for, and a name survives its way through an address.

use std::sync::OnceLock;

use trellisd::families::{self, uri};
use trellisd::text::percent;

fn templates() -> &'static [&'static str] {
    static TEMPLATES: OnceLock<Vec<&'static str>> = OnceLock::new();
    TEMPLATES.get_or_init(|| {
        families::all().iter().flat_map(|family| &family.resources).map(|resource| resource.uri).collect()
    })
}

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    for template in templates() {
        let _ = uri::matches(template, text);
    }
    let address = format!("vibe://projects/{}/status", percent::encoded(text));
    let found = uri::matches("vibe://projects/{name}/status", &address);
    if !text.is_empty() && address.len() <= 4096 {
        assert_eq!(found.expect("it matches")["name"], text);
    }
}
