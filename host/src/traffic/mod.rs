// SPDX-License-Identifier: Apache-2.0
//! What the network does: frames and when they are on the wire.
