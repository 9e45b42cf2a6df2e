// SPDX-License-Identifier: Apache-2.0
//! PNIOStatus: what became of a call, or why a connection ended. ErrorCode, ErrorDecode, ErrorCode1, ErrorCode2 of
//! IEC 61158-6-10, in this order in the four bytes.

use std::fmt;

/// What became of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Status(pub u32);

/// Which call failed: ErrorCode.
const CONNECT: u32 = 0xdb;
const RELEASE: u32 = 0xdc;
const CONTROL: u32 = 0xdd;
const READ: u32 = 0xde;
const WRITE: u32 = 0xdf;
const RTA: u32 = 0xcf;

/// A block of a Connect request, as ErrorCode1 names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Fault {
    Ar = 1,
    Iocr = 2,
    Expected = 3,
    AlarmCr = 4,
    ControlConnect = 20,
    Release = 40,
}

/// ErrorCode2 where the connection's RPC (CMRPC, ErrorCode1 0x40) names the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Rpc {
    ArgsLength = 0,
    UnknownBlocks = 1,
    IocrMissing = 2,
    AlarmCrCount = 3,
    NoArLeft = 4,
    UnknownAr = 5,
    WrongState = 6,
}

/// Which call a status is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Call {
    Connect,
    Release,
    Control,
    Read,
    Write,
}

impl Call {
    fn code(self) -> u32 {
        match self {
            Self::Connect => CONNECT,
            Self::Release => RELEASE,
            Self::Control => CONTROL,
            Self::Read => READ,
            Self::Write => WRITE,
        }
    }
}

impl Status {
    /// It worked.
    pub const OK: Self = Self(0);
    /// Application: the record cannot be read.
    pub const READ_ERROR: u8 = 0xa0;
    /// Access: there is no such record.
    pub const INVALID_INDEX: u8 = 0xb0;
    /// Access: a record of that index has another length.
    pub const WRITE_LENGTH: u8 = 0xb1;
    /// Access: there is no such slot or subslot.
    pub const INVALID_SLOT: u8 = 0xb2;
    /// Access: there is no such API.
    pub const INVALID_AREA: u8 = 0xb4;
    /// Access: not in this state.
    pub const STATE_CONFLICT: u8 = 0xb5;
    /// Access: it is somebody else's, or may not be written.
    pub const ACCESS_DENIED: u8 = 0xb6;
    /// Access: a field of the record has a wrong value.
    pub const INVALID_PARAMETER: u8 = 0xb8;

    /// The consumer got no data for the time that data is held.
    pub const DATA_HOLD_EXPIRED: Self = Self(0xcf81_fd05);
    /// The controller did not go on with the start.
    pub const ACTIVITY_TIMEOUT: Self = Self(0xcf81_fd06);
    /// An alarm was not acknowledged.
    pub const ALARM_NOT_SENT: Self = Self(0xcf81_fd08);
    /// The controller sent an ERR PDU.
    pub const ALARM_ERROR: Self = Self(0xcf81_fd0b);
    /// The controller did not confirm ApplicationReady.
    pub const CALL_FAILED: Self = Self(0xcf81_fd0c);
    /// The controller connects anew.
    pub const CONNECTED_ANEW: Self = Self(0xcf81_fd0e);
    /// The controller wants no more.
    pub const RELEASED: Self = Self(0xcf81_fd0f);
    /// The device is stopped.
    pub const DEVICE_DEACTIVATED: Self = Self(0xcf81_fd10);
    /// The device was reset to what it was like when it left the factory.
    pub const RESET: Self = Self(0xcf81_fd20);
    /// The device's address was changed.
    pub const ADDRESS_CHANGED: Self = Self(0xcf81_fd25);

    fn new(code: u32, decode: u8, code1: u8, code2: u8) -> Self {
        Self(code << 24 | u32::from(decode) << 16 | u32::from(code1) << 8 | u32::from(code2))
    }

    /// A field of a block of a Connect, Release or Control request is wrong: counted from 0, where 0 is the block's
    /// type, 1 its length, 2 and 3 its version.
    pub fn block(call: Call, fault: Fault, field: u8) -> Self {
        Self::new(call.code(), 0x81, fault as u8, field)
    }

    /// The call as such does not fit.
    pub fn rpc(call: Call, cause: Rpc) -> Self {
        Self::new(call.code(), 0x81, 0x40, cause as u8)
    }

    /// A record could not be read or written.
    pub fn record(call: Call, code1: u8) -> Self {
        Self::new(call.code(), 0x80, code1, 0)
    }

    /// Why a connection ended, as it stands in an ERR PDU.
    pub fn is_abort(self) -> bool {
        self.0 >> 24 == RTA
    }

    /// In words, for messages.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::OK => "all right",
            Self::DATA_HOLD_EXPIRED => "no data came for the time that data is held",
            Self::ACTIVITY_TIMEOUT => "the controller did not go on with the start in its time",
            Self::ALARM_NOT_SENT => "the controller did not acknowledge an alarm",
            Self::ALARM_ERROR => "ended by the controller",
            Self::CALL_FAILED => "the controller did not confirm that the device is ready",
            Self::CONNECTED_ANEW => "the controller connects anew",
            Self::RELEASED => "released by the controller",
            Self::DEVICE_DEACTIVATED => "the device is stopped",
            Self::RESET => "the device was reset over the network",
            Self::ADDRESS_CHANGED => "the device's address was changed",
            Self(0xcf81_fd00..=0xcf81_fdff) => "aborted",
            _ => "refused",
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [code, decode, code1, code2] = self.0.to_be_bytes();
        write!(f, "{code:02X} {decode:02X} {code1:02X} {code2:02X}")
    }
}
