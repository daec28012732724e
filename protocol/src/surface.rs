//! What a session may see: which families, which single tools, and whether it may write.
//!
//! The proxy takes it from its flags and sends it in the greeting; the daemon applies it.

use serde::{Deserialize, Serialize};

use crate::endpoint::fingerprint;

/// The flags of one session. Equal surfaces see equal lists, in equal order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Surface {
    /// The families that are on; empty means all of them.
    pub families: Vec<String>,
    /// Single tools, by the name they are shown under.
    pub tools: Vec<ToolChoice>,
    /// Leaves out, and refuses, every tool that writes a user's files.
    pub read_only: bool,
}

/// One word of `--tools`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ToolChoice {
    /// Written `+name` in `--tools`.
    Add(String),
    /// Written `-name` in `--tools`.
    Hide(String),
}

/// The family over all others, which is shown beside any of them.
pub const COMMON_FAMILY: &str = "trellis";

/// The profile with the tools of a day. It travels as the name of a family, so that a daemon which does not know it
/// refuses it by its name.
pub const CORE_PROFILE: &str = "core";

/// A flag that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SurfaceError {
    /// Neither `+name` nor `-name`.
    #[error("`{0}` in --tools is neither +name nor -name")]
    BadTool(String),
    /// A name that no family has, by its form.
    #[error("`{0}` is not the name of a family: use small letters, as in --only vault")]
    BadFamily(String),
    /// A word that no profile has.
    #[error("`{0}` is no profile: there is `core`")]
    BadProfile(String),
}

impl Surface {
    /// Takes the value of `--only a`, or several names.
    pub fn with_families(mut self, list: &str) -> Result<Self, SurfaceError> {
        for name in words(list) {
            if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
                return Err(SurfaceError::BadFamily(name.to_owned()));
            }
            if !self.families.iter().any(|known| known == name) {
                self.families.push(name.to_owned());
            }
        }
        Ok(self)
    }

    /// Takes the value of `--families a,b`: these beside the family over all of them.
    pub fn with_families_and_common(self, list: &str) -> Result<Self, SurfaceError> {
        self.with_families(COMMON_FAMILY)?.with_families(list)
    }

    /// Takes the value of `--profile`.
    pub fn with_profile(mut self, name: &str) -> Result<Self, SurfaceError> {
        if name != CORE_PROFILE {
            return Err(SurfaceError::BadProfile(name.to_owned()));
        }
        if !self.is_core() {
            self.families.push(name.to_owned());
        }
        Ok(self)
    }

    /// Whether only the tools of a day are shown.
    pub fn is_core(&self) -> bool {
        self.families.iter().any(|name| name == CORE_PROFILE)
    }

    /// Takes the value of `--tools +x,-y`.
    pub fn with_tools(mut self, list: &str) -> Result<Self, SurfaceError> {
        for word in words(list) {
            let choice = match word.split_at_checked(1) {
                Some(("+", name)) if !name.is_empty() => ToolChoice::Add(name.to_owned()),
                Some(("-", name)) if !name.is_empty() => ToolChoice::Hide(name.to_owned()),
                _ => return Err(SurfaceError::BadTool(word.to_owned())),
            };
            self.tools.push(choice);
        }
        Ok(self)
    }

    /// A name for this surface that fits into a file name and stays the same between builds.
    pub fn key(&self) -> String {
        let mut families = self.families.clone();
        families.sort_unstable();
        let tools = self.tools.iter().map(|choice| match choice {
            ToolChoice::Add(name) => format!("+{name}"),
            ToolChoice::Hide(name) => format!("-{name}"),
        });
        let words = format!("{};{};{}", families.join(","), tools.collect::<Vec<_>>().join(","), self.read_only);
        format!("{:016x}", fingerprint(words.as_bytes()))
    }
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_become_a_surface() {
        let surface = Surface::default()
            .with_families("vault, vine,vault")
            .and_then(|surface| surface.with_tools("+search,-vault_ls"))
            .expect("good flags");
        assert_eq!(surface.families, ["vault", "vine"]);
        assert_eq!(surface.tools, [ToolChoice::Add("search".into()), ToolChoice::Hide("vault_ls".into())]);
        assert_eq!(Surface::default().with_tools("x"), Err(SurfaceError::BadTool("x".into())));
        assert_eq!(Surface::default().with_tools("+"), Err(SurfaceError::BadTool("+".into())));
        let beside = Surface::default().with_families_and_common("vault").expect("good flags");
        assert_eq!(beside.families, ["trellis", "vault"]);
        let core = Surface::default().with_profile("core").expect("a profile");
        assert!(core.is_core() && !beside.is_core());
        assert_eq!(Surface::default().with_profile("all"), Err(SurfaceError::BadProfile("all".into())));
        assert_eq!(Surface::default().with_families("Vault"), Err(SurfaceError::BadFamily("Vault".into())));
    }

    #[test]
    fn the_key_tells_surfaces_apart_and_forgets_the_order_of_families() {
        let of = |list| Surface::default().with_families(list).expect("good flags");
        assert_eq!(of("a,b").key(), of("b,a").key());
        assert_ne!(of("a").key(), of("b").key());
        assert_ne!(of("a").key(), Surface { read_only: true, ..of("a") }.key());
    }
}
