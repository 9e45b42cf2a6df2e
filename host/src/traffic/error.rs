// SPDX-License-Identifier: Apache-2.0
//! Why traffic cannot be made.

use std::fmt;

use super::CaptureError;

/// A traffic entry that cannot be made.
#[derive(Debug)]
pub enum TrafficError {
    /// The capture cannot be used.
    Capture {
        /// Name of the traffic entry.
        traffic: String,
        /// What is wrong with the file.
        error: CaptureError,
    },
    /// The entry's values do not go together.
    Entry {
        /// Name of the traffic entry.
        traffic: String,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// The device's clock or link cannot be simulated.
    Device {
        /// What is wrong, and what would be right.
        message: String,
    },
}

impl TrafficError {
    pub(super) fn entry(traffic: &str, message: impl Into<String>) -> TrafficError {
        TrafficError::Entry { traffic: traffic.to_owned(), message: message.into() }
    }
}

impl fmt::Display for TrafficError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrafficError::Capture { traffic, error } => write!(f, "traffic {traffic:?}: {error}"),
            TrafficError::Entry { traffic, message } => write!(f, "traffic {traffic:?}: {message}"),
            TrafficError::Device { message } => write!(f, "device: {message}"),
        }
    }
}

impl std::error::Error for TrafficError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TrafficError::Capture { error, .. } => Some(error),
            TrafficError::Entry { .. } | TrafficError::Device { .. } => None,
        }
    }
}
