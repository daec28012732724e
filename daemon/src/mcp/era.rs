//! Which era a request belongs to: with a handshake, or with the version in each request.
//!
//! Decided per request and in the order of arrival. After `initialize` both eras may follow; a
//! session whose first request was modern stays modern until it says `initialize`.

/// What the session has shown so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Era {
    /// Nothing but probes.
    #[default]
    Fresh,
    /// The first request carried its version.
    Modern,
    /// There was a handshake.
    Both,
}

impl Era {
    /// Whether a request may pass. `declares`: it carries a protocol version in its `_meta`.
    pub fn admits(&mut self, method: &str, declares: bool) -> bool {
        match (method, declares, *self) {
            ("initialize", _, _) => *self = Self::Both,
            // A probe decides nothing: a host may still choose the handshake.
            ("server/discover", true, _) | ("ping", false, _) | (_, _, Self::Both) => {}
            (_, true, Self::Fresh) => *self = Self::Modern,
            (_, true, Self::Modern) => {}
            (_, false, Self::Fresh | Self::Modern) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(requests: &[(&str, bool, bool)]) {
        let mut era = Era::default();
        for (method, declares, passes) in requests {
            assert_eq!(era.admits(method, *declares), *passes, "{method} {declares} in {requests:?}");
        }
    }

    #[test]
    fn after_a_handshake_both_eras_may_follow() {
        check(&[("initialize", false, true), ("tools/list", false, true), ("tools/list", true, true)]);
    }

    #[test]
    fn a_modern_session_stays_modern() {
        check(&[("tools/list", true, true), ("tools/list", false, false), ("tools/list", true, true)]);
        check(&[("tools/list", true, true), ("initialize", false, true), ("tools/list", false, true)]);
    }

    #[test]
    fn probes_decide_nothing() {
        check(&[("server/discover", true, true), ("tools/list", false, false), ("initialize", false, true)]);
        check(&[("server/discover", false, false), ("ping", false, true), ("tools/list", true, true)]);
    }
}
