// SPDX-License-Identifier: Apache-2.0
//! What the command can do.

pub mod sim;
