//! The command line: arguments in, exit status out.

/// `trellisd run`: the daemon itself.
pub mod serve;

/// `trellisd run --on-demand`: a daemon that is nobody's child.
mod detach;

/// What the system is asked to forbid us.
pub mod landlock;

/// `up`, `stop` and `status`: what is asked of a daemon that runs.
pub mod control;

/// `http key`: keys for programs that call over HTTP.
pub mod keys;

/// Where log lines go.
pub mod log;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};
use trellis_protocol::{Failure, FailureKind};

use crate::families::FamilyDescriptor;
use crate::present;

/// Keeps the memory and tasks of your AI tools hot, in plain files on your own machine.
///
/// AI hosts start `trellis-mcp`, which starts this daemon when it is needed. You rarely need to call it
/// yourself.
#[derive(Debug, Parser)]
#[command(name = "trellisd", version, propagate_version = true, after_help = PLACES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const PLACES: &str = "\
Places (Linux; macOS uses ~/Library):
  config  $XDG_CONFIG_HOME/trellis/config.toml   every setting has a default
  state   $XDG_STATE_HOME/trellis/               lock, log, keys
  cache   $XDG_CACHE_HOME/trellis/               delete it at any time
  socket  $TRELLIS_SOCKET, else $XDG_RUNTIME_DIR/trellis/daemon.sock, else below the state directory

Exit status: 0 done, 1 a fault of ours, 2 wrong arguments, 7 no daemon to be had.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the daemon in the background, wait until it has caught up, and say how to connect a host
    Up,
    /// Let the daemon finish what it is doing and leave
    Stop,
    /// Show what the daemon is doing
    Status {
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
        /// Show every setting and where its value comes from
        #[arg(long)]
        settings: bool,
    },
    /// Be the daemon, in the foreground; for service managers
    Run {
        /// Leave at once, and leave a daemon behind that logs to a file and leaves when nobody needs it
        #[arg(long, hide = true)]
        on_demand: bool,
        /// Be that daemon
        #[arg(long, hide = true, requires = "on_demand")]
        detached: bool,
    },
    /// Keys for programs that call over HTTP
    #[command(after_help = HTTP)]
    Http {
        #[command(subcommand)]
        command: HttpCommand,
    },
    /// Be the proxy that an AI host starts, like `trellis-mcp`
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Mcp {
        /// See `trellisd mcp --help`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

#[derive(Debug, Subcommand)]
enum HttpCommand {
    /// Make, list or revoke keys
    Key {
        #[command(subcommand)]
        command: keys::KeyCommand,
    },
}

const HTTP: &str = "\
The gateway is off until ENABLE_HTTP=true is in the daemon's environment, or `enabled = true` stands under [http] in
config.toml. It listens at 127.0.0.1:4001; `trellisd status` shows where, or why not.";

/// What other programs call the same thing.
const SYNONYMS: [(&[&str], &str); 3] =
    [(&["start", "serve"], "up"), (&["ps", "health"], "status"), (&["config", "settings"], "status --settings")];

/// Runs the program with these families.
pub fn main(families: Vec<FamilyDescriptor>) -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => match unknown_command(&error) {
            Some(failure) => return fail(&failure),
            None => error.exit(),
        },
    };
    let outcome = match arguments.command {
        Command::Up => control::up(),
        Command::Stop => control::stop(),
        Command::Status { json: true, .. } => {
            let outcome = control::status(control::StatusForm::Json);
            outcome.inspect_err(|failure| anstream::println!("{}", present::text::failure_as_json(failure)))
        }
        Command::Status { settings: true, .. } => control::status(control::StatusForm::Settings),
        Command::Status { .. } => control::status(control::StatusForm::Screen),
        Command::Run { on_demand: true, detached: false } => detach::run(),
        Command::Run { on_demand, .. } => serve::run(families, on_demand),
        Command::Http { command: HttpCommand::Key { command } } => keys::run(command),
        Command::Mcp { arguments } => return trellis_proxy::run("trellisd mcp", arguments.into_iter()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

/// A command that another program would have; clap knows only words that look alike.
fn unknown_command(error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let (_, ours) = SYNONYMS.iter().find(|(words, _)| words.contains(&given.as_str()))?;
    let failure = Failure::new("unknown_command", FailureKind::Input, format!("there is no command `{given}`"));
    Some(failure.with_hint(format!("`trellisd {ours}` does that")))
}

fn fail(failure: &Failure) -> ExitCode {
    anstream::eprintln!("{}", present::text::failure(failure));
    ExitCode::from(failure.kind.exit_status())
}
