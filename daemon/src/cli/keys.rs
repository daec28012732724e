//! `trellisd http key`: keys for programs that call over HTTP. Needs no running daemon; one that runs sees changes.

use clap::Subcommand;
use comfy_table::{Table, presets};
use trellis_protocol::endpoint::TrellisPaths;
use trellis_protocol::{Failure, FailureKind};
use trellis_proxy::surroundings;

use crate::http::keys;

/// What can be done with keys.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key and show it, this once
    New {
        /// What it is for
        #[arg(long, default_value = "")]
        name: String,
    },
    /// List the keys that were made; none is shown
    List,
    /// Make a key void at once
    Revoke {
        /// As `list` shows it
        id: String,
    },
}

pub fn run(command: KeyCommand) -> Result<(), Failure> {
    let path = keys::path(&TrellisPaths::of(&surroundings::gather()).state);
    match command {
        KeyCommand::New { name } => {
            let (made, key) = keys::create(&path, &name)?;
            anstream::println!("{}", *key);
            anstream::eprintln!("this is key `{}`; it is not shown again", made.id);
        }
        KeyCommand::List => {
            let keys = keys::list(&path)?;
            if keys.is_empty() {
                anstream::println!("no keys were made; make one with `trellisd http key new`");
                return Ok(());
            }
            let mut table = Table::new();
            table.load_style(presets::NOTHING).set_header(["key", "made", "name"]);
            for key in &keys {
                table.add_row([&key.id, &key.created, &key.name]);
            }
            anstream::println!("{table}");
        }
        KeyCommand::Revoke { id } => {
            if !keys::revoke(&path, &id)? {
                return Err(Failure::new("not_found", FailureKind::Missing, format!("there is no key `{id}`"))
                    .with_hint("list them with `trellisd http key list`"));
            }
            anstream::println!("key `{id}` is void");
        }
    }
    Ok(())
}
