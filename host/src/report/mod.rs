// SPDX-License-Identifier: Apache-2.0
//! What the user sees: a table in the terminal, `report.html`, Perfetto timelines.
//!
//! All three are functions of [`crate::results::Results`] and [`crate::timeline::Timeline`] alone, so the same run
//! gives the same bytes.

mod data;
mod format;
mod grid;
mod html;
mod peers;
mod perfetto;
mod perfetto_arrows;
pub mod perfetto_proto;
mod perfetto_write;
mod phrase;
mod sweep;
mod table;
mod verdict;

pub use html::html;
pub use perfetto::perfetto;
pub use table::table;
pub use verdict::{Conservation, Verdict, conservation, verdicts};
