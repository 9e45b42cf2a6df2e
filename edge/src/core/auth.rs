// SPDX-License-Identifier: Apache-2.0
//! The site's shared key, and the tag with which each datagram ends.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of the tag: HMAC-SHA-256 cut to its first half (RFC 2104, section 5).
pub const TAG_BYTES: usize = 16;

/// Who has it belongs to the site.
#[derive(Clone)]
pub struct SiteKey(Hmac<Sha256>);

impl SiteKey {
    /// Of 32 bytes.
    pub fn new(key: &[u8; 32]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    /// Of 64 hexadecimal digits, as a key file has them.
    pub fn from_hex(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || format!("a site key is 64 hexadecimal digits; this has {} characters", text.len());
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut key = [0; 32];
        for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
        }
        Ok(Self::new(&key))
    }

    /// Appends the tag of what is there.
    pub fn seal(&self, datagram: &mut Vec<u8>) {
        let tag = self.0.clone().chain_update(&*datagram).finalize().into_bytes();
        datagram.extend_from_slice(&tag[..TAG_BYTES]);
    }

    /// A number that nobody without the key can tell from a random one.
    pub fn number(&self, of: &[u8]) -> u64 {
        let tag = self.0.clone().chain_update(of).finalize().into_bytes();
        tag[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// What was sealed, if it was with this key. Takes the same time wherever a tag is wrong.
    pub fn open<'a>(&self, datagram: &'a [u8]) -> Option<&'a [u8]> {
        let (sealed, tag) = datagram.split_at_checked(datagram.len().checked_sub(TAG_BYTES)?)?;
        self.0.clone().chain_update(sealed).verify_truncated_left(tag).ok()?;
        Some(sealed)
    }
}

impl fmt::Debug for SiteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SiteKey(..)")
    }
}
