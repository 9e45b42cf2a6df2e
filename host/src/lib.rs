// SPDX-License-Identifier: Apache-2.0
//! Weir: what does a network do to the deadlines of a small real-time device?
//!
//! A scenario ([`scenario`]) names tasks and traffic; [`traffic`] puts frames on a simulated wire; the device runs
//! cycle by cycle; what happened becomes [`results`] and a [`timeline`], which [`report`] shows.

pub mod commands;
pub mod model;
pub mod nic;
pub mod observe;
pub mod report;
pub mod results;
pub mod scenario;
pub mod soc;
pub mod timeline;
pub mod traffic;
pub mod workshop;
