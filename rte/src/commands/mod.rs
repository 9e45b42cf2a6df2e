// SPDX-License-Identifier: Apache-2.0
//! What the user can ask `weir-io` to do.

pub mod alarm;
pub mod cclink_master;
pub mod dcp;
pub mod demo;
pub mod describe;
pub mod experiment;
pub mod measure;
pub mod profinet_controller;
pub mod run;
pub mod switch;
pub mod tune;
pub mod wakeups;
