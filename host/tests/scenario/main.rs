// SPDX-License-Identifier: Apache-2.0
//! What users rely on when they write a scenario.

mod common;
mod files;
mod nic_rules;
mod overrides;
mod reference;
mod refused;
mod rendered;
mod robustness;
mod sweeps;
mod values;
mod warnings;
