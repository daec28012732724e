//! What the system is asked to forbid us: to execute files, to make devices, and, where the kernel knows that (from
//! Linux 6.7 on), to open TCP connections. We never do any of it, so that only somebody who has taken us over would
//! notice. Files stay reachable everywhere, because trees come with each session; what keeps tools inside of them is
//! `disk`. Best effort: a daemon that cannot be restricted serves all the same, and `status` says so.

/// What has been forbidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landlock {
    /// To execute files, to make devices, to connect over TCP.
    Full,
    /// The same without connections.
    FilesOnly,
    /// Nothing, and why.
    Nothing(String),
}

impl Landlock {
    /// One line of `trellisd status`.
    pub fn describe(&self) -> String {
        match self {
            Self::Full => "forbids programs, devices and outgoing TCP".to_owned(),
            Self::FilesOnly => "forbids programs and devices; this kernel cannot forbid outgoing TCP".to_owned(),
            Self::Nothing(why) => format!("forbids nothing: {why}"),
        }
    }
}

/// Restricts the calling thread, and every thread and process that it starts from now on.
#[cfg(target_os = "linux")]
pub fn restrict() -> Landlock {
    match linux::restrict() {
        Ok(landlock) => landlock,
        Err(error) => Landlock::Nothing(error.to_string()),
    }
}

/// Restricts nothing: only Linux has it.
#[cfg(not(target_os = "linux"))]
pub fn restrict() -> Landlock {
    Landlock::Nothing("this system has no Landlock".to_owned())
}

#[cfg(target_os = "linux")]
mod linux {
    use landlock::{
        AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
        RulesetCreatedAttr as _, RulesetStatus,
    };

    use super::Landlock;

    pub(super) fn restrict() -> Result<Landlock, Box<dyn std::error::Error>> {
        // Every ruleset forbids to move a file to another directory unless this right is granted, and the first version
        // could not grant it: there, it is nothing or our own renames.
        let rules =
            Ruleset::default().set_compatibility(CompatLevel::SoftRequirement).handle_access(AccessFs::Refer)?;
        let status = rules
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock)?
            .handle_access(AccessNet::ConnectTcp)?
            .create()?
            .add_rule(PathBeneath::new(PathFd::new("/")?, AccessFs::Refer))?
            .restrict_self()?;
        Ok(match status.ruleset {
            RulesetStatus::FullyEnforced => Landlock::Full,
            RulesetStatus::PartiallyEnforced => Landlock::FilesOnly,
            RulesetStatus::NotEnforced => {
                Landlock::Nothing("this kernel has no Landlock, or its first version".to_owned())
            }
        })
    }
}
