//! The program an AI host starts: hands its arguments to the library and returns its exit status.

use std::process::ExitCode;

fn main() -> ExitCode {
    trellis_proxy::run("trellis-mcp", std::env::args_os().skip(1))
}
