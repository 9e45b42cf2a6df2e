// SPDX-License-Identifier: Apache-2.0
//! Scenario files: the user's whole input.

mod model;

pub use model::*;
