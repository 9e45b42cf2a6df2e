// SPDX-License-Identifier: Apache-2.0
//! The `weir` command.

fn main() {}
