// SPDX-License-Identifier: Apache-2.0
//! On-wire cycle times, as in section VII of the paper: which cyclic flows are in a capture, and how evenly they come.

pub mod capture;
pub mod flows;
pub mod live;
pub mod statistics;
