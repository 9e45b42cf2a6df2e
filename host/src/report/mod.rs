// SPDX-License-Identifier: Apache-2.0
//! What the user sees: a table in the terminal, `report.html`, Perfetto timelines.
