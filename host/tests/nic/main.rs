// SPDX-License-Identifier: Apache-2.0
//! What users rely on of the multiqueue NIC's model and `weir nic-trace`.

mod command;
mod moderation;
mod published;
mod settings;
