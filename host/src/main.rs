// SPDX-License-Identifier: Apache-2.0
//! The `weir` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    weir::commands::main()
}
