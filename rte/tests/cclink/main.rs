// SPDX-License-Identifier: Apache-2.0
//! CC-Link IE Field Basic as others see it: against captured traffic, in a network in virtual time, and under fire.

mod captures;
mod device;
mod endurance;
mod hostile;
mod master_replay;
mod network;
mod properties;
mod replay;
mod wire;
