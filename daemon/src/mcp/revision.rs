//! Which protocol revision a request belongs to: one with a handshake, or one with the version in each request.
//!
//! Decided per request and in the order of arrival. After `initialize` both kinds may follow; a session whose first
//! request carried its version stays with that until it sends `initialize`.

/// What the session has shown so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Revision {
    /// Nothing but probes.
    #[default]
    Fresh,
    /// The first request carried its version.
    Modern,
    /// There was a handshake, or a client that knows of none.
    Handshake,
}

/// What a request says about itself in its `_meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meta {
    Absent,
    WithoutVersion,
    WithVersion,
}

impl Revision {
    /// Whether a request may pass. `meta` is asked for only where it decides.
    pub fn admits(&mut self, method: &str, meta: impl FnOnce() -> Meta) -> bool {
        if method == "initialize" {
            *self = Self::Handshake;
        }
        if *self == Self::Handshake {
            return true;
        }
        match (method, meta(), *self) {
            // A probe decides nothing: a host may still choose the handshake.
            ("server/discover", Meta::WithVersion, _) | ("ping", Meta::Absent | Meta::WithoutVersion, _) => {}
            (_, Meta::WithVersion, _) => *self = Self::Modern,
            (_, Meta::Absent, Self::Fresh) => *self = Self::Handshake,
            (_, Meta::Absent | Meta::WithoutVersion, _) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(requests: &[(&str, Meta, bool)]) {
        let mut revision = Revision::default();
        for (method, meta, passes) in requests {
            assert_eq!(revision.admits(method, || *meta), *passes, "{method} {meta:?} in {requests:?}");
        }
    }

    use Meta::{Absent, WithVersion, WithoutVersion};

    #[test]
    fn after_a_handshake_both_eras_may_follow() {
        for meta in [Absent, WithVersion, WithoutVersion] {
            check(&[("initialize", Absent, true), ("tools/list", meta, true)]);
        }
    }

    #[test]
    fn a_modern_session_stays_modern() {
        for meta in [Absent, WithoutVersion] {
            check(&[("tools/list", WithVersion, true), ("tools/list", meta, false), ("tools/list", WithVersion, true)]);
        }
        check(&[("tools/list", WithVersion, true), ("initialize", Absent, true), ("tools/list", Absent, true)]);
    }

    #[test]
    fn a_client_that_knows_of_no_handshake_is_served() {
        check(&[("tools/call", Absent, true), ("tools/call", Absent, true), ("initialize", Absent, true)]);
        check(&[("server/discover", Absent, true), ("tools/list", WithVersion, true)]);
        check(&[("tools/call", WithoutVersion, false), ("tools/call", Absent, true)]);
    }

    #[test]
    fn probes_decide_nothing() {
        check(&[("server/discover", WithVersion, true), ("tools/list", WithoutVersion, false)]);
        check(&[("server/discover", WithVersion, true), ("tools/list", Absent, true)]);
        check(&[("server/discover", WithoutVersion, false), ("ping", Absent, true), ("tools/list", WithVersion, true)]);
    }
}
