// SPDX-License-Identifier: Apache-2.0
//! The datagrams: version 1, all numbers with the most significant byte first, times in nanoseconds.
//!
//! ```text
//!  0        2     3     4        12       20         28        36
//!  +--------+-----+-----+--------+--------+----------+---------+------ - - ------+----------+
//!  | "WE"   | 1   | type| sender | token  | sequence | sent at | body            | tag (16) |
//!  +--------+-----+-----+--------+--------+----------+---------+------ - - ------+----------+
//! ```
//!
//! `sender` is the session of the sender, random for each start. `token` is what its receiver gave it: a node gives each
//! client one of its own with [`Message::Welcome`]; to a client and between nodes it is the receiver's session. `sequence`
//! counts what the sender sent. `sent at` is the sender's clock. The tag is of all that is before it ([`SiteKey`]).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::{Buf, BufMut, TryGetError};

use super::auth::{SiteKey, TAG_BYTES};
use super::task::{Exit, Refusal, Task, TaskId};
use super::time::{Instant, nanoseconds};

/// No datagram is longer: it passes an Ethernet in one frame.
pub const DATAGRAM_BYTES_MAX: usize = 1_400;
/// A task's input, and its output.
pub const PAYLOAD_BYTES_MAX: usize = 1_200;
/// A program's name.
pub const PROGRAM_BYTES_MAX: usize = 32;
/// Other nodes that a welcome names.
pub const OTHERS_MAX: usize = 8;

const MAGIC: u16 = u16::from_be_bytes(*b"WE");
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 36;

/// What every datagram begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's session.
    pub sender: u64,
    /// What its receiver gave it.
    pub token: u64,
    /// The sender's count.
    pub sequence: u64,
    /// When it was sent, in the sender's clock.
    pub sent_at: Instant,
}

/// What is said. The comments give the direction: C is a client, N a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// C to N: are you there? Asks for a token, or shows it, and measures the link.
    Hello,
    /// N to C: yes.
    Welcome {
        /// `sent_at` of the hello.
        asked_at: Instant,
        /// With what the client is to prove that it is not somebody's recording.
        token: u64,
        /// The node's density in thousandths.
        density: u32,
        /// Other nodes, at most [`OTHERS_MAX`]; none for who showed no token.
        others: Vec<SocketAddr>,
    },
    /// C to N: a task. `client` of it is where the datagram came from and is not sent.
    Submit(Task),
    /// C to N: all attempts up to this one are given up.
    Cancel {
        /// Which of the client's tasks.
        number: u32,
        /// The last attempt that is given up.
        attempt: u8,
    },
    /// N to C: it will be back in time.
    Accept {
        /// Which of the client's tasks.
        number: u32,
        /// Which attempt.
        attempt: u8,
        /// The node that runs it.
        holder: SocketAddr,
    },
    /// N to C: it will not be done.
    Reject {
        /// Which of the client's tasks.
        number: u32,
        /// Which attempt.
        attempt: u8,
        /// Why.
        reason: Refusal,
    },
    /// N to C: what came of it. Sent again until it is acknowledged.
    Result {
        /// Which of the client's tasks.
        number: u32,
        /// How the program ended.
        exit: Exit,
        /// How long it executed.
        execution: Duration,
        /// What it wrote.
        output: Vec<u8>,
    },
    /// C to N: the result is here.
    ResultAck {
        /// Which of the client's tasks.
        number: u32,
    },
    /// N to N: the membership protocol's own bytes.
    Membership(Vec<u8>),
    /// N to N: the answer to what has no token, or another session's: this one is mine. It is in the header.
    Session,
    /// N to N: how much there is to do.
    Load {
        /// The node's density in thousandths.
        density: u32,
    },
    /// N to N: run this. The sender keeps a copy until it is finished.
    Forward(Task),
    /// N to N: the answer to [`Message::Forward`] and to [`Message::Guard`]; refused if there is a reason.
    ForwardAnswer {
        /// Which task.
        id: TaskId,
        /// Which attempt.
        attempt: u8,
        /// Why not.
        refused: Option<Refusal>,
    },
    /// N to N: I run this; should I fall silent, see to it that somebody does. Sent again until it is answered.
    Guard(Task),
    /// N to N: this is given up and need not be run.
    Withdraw {
        /// Which task.
        id: TaskId,
        /// The last attempt that is given up.
        attempt: u8,
    },
    /// N to N: this is done, and its copy may go.
    Finished {
        /// Which task.
        id: TaskId,
        /// How long it executed.
        execution: Duration,
    },
}

/// Why a datagram was dropped. Each is counted, and changes nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dropped {
    /// Shorter than a header and its tag, or longer than any message.
    Length,
    /// Not of this protocol, or of a version that is not known.
    Version,
    /// Its tag is not the site key's: forged, or damaged.
    Forged,
    /// Sealed with the key, but no message: cut, too long, of an unknown type, or with a number out of its range.
    Malformed,
    /// Seen before.
    Replayed,
    /// From one who has no token of ours, or not any more.
    Stranger,
    /// A message that its sender has no business to send to us.
    Unexpected,
    /// More than what is kept at once.
    Limit,
}

/// Writes one sender's datagrams.
#[derive(Debug)]
pub struct Pen {
    key: SiteKey,
    session: u64,
    sequence: u64,
}

impl Pen {
    /// The sender's; `session` is random.
    pub fn new(key: SiteKey, session: u64) -> Self {
        Self { key, session, sequence: 0 }
    }

    /// The sender's session.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// The key that it seals with.
    pub fn key(&self) -> &SiteKey {
        &self.key
    }

    /// A datagram for one receiver, who gave us `token`.
    pub fn write(&mut self, now: Instant, token: u64, message: &Message) -> Vec<u8> {
        self.sequence += 1;
        let mut out = Vec::with_capacity(256);
        out.put_u16(MAGIC);
        out.put_u8(VERSION);
        out.put_u8(kind(message));
        out.put_u64(self.session);
        out.put_u64(token);
        out.put_u64(self.sequence);
        out.put_u64(now.0);
        body(&mut out, message);
        self.key.seal(&mut out);
        debug_assert!(out.len() <= DATAGRAM_BYTES_MAX, "{message:?}");
        out
    }
}

/// Reads a datagram; `from` is its source.
pub fn read(key: &SiteKey, from: SocketAddr, datagram: &[u8]) -> Result<(Header, Message), Dropped> {
    if datagram.len() < HEADER_BYTES + TAG_BYTES || datagram.len() > DATAGRAM_BYTES_MAX {
        return Err(Dropped::Length);
    }
    if datagram[..3] != [b'W', b'E', VERSION] {
        return Err(Dropped::Version);
    }
    let mut sealed = key.open(datagram).ok_or(Dropped::Forged)?;
    let sealed = &mut sealed;
    let parsed = (|| {
        sealed.advance(3);
        let kind = sealed.try_get_u8()?;
        let header = Header {
            sender: sealed.try_get_u64()?,
            token: sealed.try_get_u64()?,
            sequence: sealed.try_get_u64()?,
            sent_at: Instant(sealed.try_get_u64()?),
        };
        let message = parse(kind, header.sender, from, sealed)?;
        if sealed.has_remaining() { Err(Malformed) } else { Ok((header, message)) }
    })();
    parsed.map_err(|Malformed| Dropped::Malformed)
}

fn kind(message: &Message) -> u8 {
    match message {
        Message::Hello => 1,
        Message::Welcome { .. } => 2,
        Message::Submit(_) => 3,
        Message::Cancel { .. } => 4,
        Message::Accept { .. } => 5,
        Message::Reject { .. } => 6,
        Message::Result { .. } => 7,
        Message::ResultAck { .. } => 8,
        Message::Membership(_) => 16,
        Message::Load { .. } => 17,
        Message::Forward(_) => 18,
        Message::ForwardAnswer { .. } => 19,
        Message::Guard(_) => 20,
        Message::Withdraw { .. } => 21,
        Message::Finished { .. } => 22,
        Message::Session => 23,
    }
}

fn body(out: &mut Vec<u8>, message: &Message) {
    match message {
        Message::Hello | Message::Session => {}
        Message::Welcome { asked_at, token, density, others } => {
            out.put_u64(asked_at.0);
            out.put_u64(*token);
            out.put_u32(*density);
            out.put_u8(others.len() as u8);
            others.iter().for_each(|address| put_address(out, *address));
        }
        Message::Submit(task) => {
            out.put_u32(task.id.number);
            put_task(out, task);
        }
        Message::Cancel { number, attempt } => {
            out.put_u32(*number);
            out.put_u8(*attempt);
        }
        Message::Accept { number, attempt, holder } => {
            out.put_u32(*number);
            out.put_u8(*attempt);
            put_address(out, *holder);
        }
        Message::Reject { number, attempt, reason } => {
            out.put_u32(*number);
            out.put_u8(*attempt);
            out.put_u8(*reason as u8);
        }
        Message::Result { number, exit, execution, output } => {
            out.put_u32(*number);
            out.put_u8(*exit as u8);
            out.put_u64(nanoseconds(*execution));
            put_bytes(out, output);
        }
        Message::ResultAck { number } => out.put_u32(*number),
        Message::Membership(bytes) => put_bytes(out, bytes),
        Message::Load { density } => out.put_u32(*density),
        Message::Forward(task) | Message::Guard(task) => {
            put_id(out, task.id);
            put_address(out, task.client);
            put_task(out, task);
        }
        Message::ForwardAnswer { id, attempt, refused } => {
            put_id(out, *id);
            out.put_u8(*attempt);
            out.put_u8(refused.map_or(0, |reason| reason as u8));
        }
        Message::Withdraw { id, attempt } => {
            put_id(out, *id);
            out.put_u8(*attempt);
        }
        Message::Finished { id, execution } => {
            put_id(out, *id);
            out.put_u64(nanoseconds(*execution));
        }
    }
}

fn put_id(out: &mut Vec<u8>, id: TaskId) {
    out.put_u64(id.client);
    out.put_u32(id.number);
}

fn put_task(out: &mut Vec<u8>, task: &Task) {
    out.put_u8(task.attempt);
    out.put_u64(task.leave_by.0);
    out.put_u64(nanoseconds(task.wcet));
    out.put_u8(task.program.len() as u8);
    out.put_slice(task.program.as_bytes());
    put_bytes(out, &task.payload);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.put_u16(bytes.len() as u16);
    out.put_slice(bytes);
}

fn put_address(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.put_u8(4);
            out.put_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.put_u8(6);
            out.put_slice(&ip.octets());
        }
    }
    out.put_u16(address.port());
}

struct Malformed;

impl From<TryGetError> for Malformed {
    fn from(_: TryGetError) -> Self {
        Self
    }
}

type Parsed<T> = Result<T, Malformed>;

fn parse(kind: u8, sender: u64, from: SocketAddr, body: &mut &[u8]) -> Parsed<Message> {
    Ok(match kind {
        1 => Message::Hello,
        2 => {
            let (asked_at, token) = (Instant(body.try_get_u64()?), body.try_get_u64()?);
            let density = body.try_get_u32()?;
            let count = body.try_get_u8()? as usize;
            if count > OTHERS_MAX {
                return Err(Malformed);
            }
            let others = (0..count).map(|_| get_address(body)).collect::<Parsed<_>>()?;
            Message::Welcome { asked_at, token, density, others }
        }
        3 => {
            let id = TaskId { client: sender, number: body.try_get_u32()? };
            Message::Submit(get_task(body, id, from)?)
        }
        4 => Message::Cancel { number: body.try_get_u32()?, attempt: body.try_get_u8()? },
        5 => Message::Accept { number: body.try_get_u32()?, attempt: body.try_get_u8()?, holder: get_address(body)? },
        6 => Message::Reject {
            number: body.try_get_u32()?,
            attempt: body.try_get_u8()?,
            reason: Refusal::from_wire(body.try_get_u8()?).ok_or(Malformed)?,
        },
        7 => Message::Result {
            number: body.try_get_u32()?,
            exit: Exit::from_wire(body.try_get_u8()?).ok_or(Malformed)?,
            execution: Duration::from_nanos(body.try_get_u64()?),
            output: get_bytes(body, PAYLOAD_BYTES_MAX)?.to_vec(),
        },
        8 => Message::ResultAck { number: body.try_get_u32()? },
        16 => Message::Membership(get_bytes(body, DATAGRAM_BYTES_MAX)?.to_vec()),
        17 => Message::Load { density: body.try_get_u32()? },
        18 => Message::Forward(get_foreign_task(body)?),
        19 => {
            let (id, attempt, reason) = (get_id(body)?, body.try_get_u8()?, body.try_get_u8()?);
            let refused = match reason {
                0 => None,
                reason => Some(Refusal::from_wire(reason).ok_or(Malformed)?),
            };
            Message::ForwardAnswer { id, attempt, refused }
        }
        20 => Message::Guard(get_foreign_task(body)?),
        21 => Message::Withdraw { id: get_id(body)?, attempt: body.try_get_u8()? },
        22 => Message::Finished { id: get_id(body)?, execution: Duration::from_nanos(body.try_get_u64()?) },
        23 => Message::Session,
        _ => return Err(Malformed),
    })
}

fn get_foreign_task(body: &mut &[u8]) -> Parsed<Task> {
    let id = get_id(body)?;
    let client = get_address(body)?;
    get_task(body, id, client)
}

fn get_task(body: &mut &[u8], id: TaskId, client: SocketAddr) -> Parsed<Task> {
    let attempt = body.try_get_u8()?;
    let leave_by = Instant(body.try_get_u64()?);
    let wcet = Duration::from_nanos(body.try_get_u64()?);
    let length = body.try_get_u8()? as usize;
    if length > PROGRAM_BYTES_MAX || length > body.remaining() {
        return Err(Malformed);
    }
    let program = std::str::from_utf8(&body[..length]).map_err(|_| Malformed)?.to_owned();
    body.advance(length);
    let payload = get_bytes(body, PAYLOAD_BYTES_MAX)?.to_vec();
    Ok(Task { id, attempt, client, leave_by, wcet, program, payload })
}

fn get_id(body: &mut &[u8]) -> Parsed<TaskId> {
    Ok(TaskId { client: body.try_get_u64()?, number: body.try_get_u32()? })
}

fn get_bytes<'a>(body: &mut &'a [u8], max: usize) -> Parsed<&'a [u8]> {
    let length = body.try_get_u16()? as usize;
    if length > max || length > body.remaining() {
        return Err(Malformed);
    }
    let (bytes, rest) = body.split_at(length);
    *body = rest;
    Ok(bytes)
}

fn get_address(body: &mut &[u8]) -> Parsed<SocketAddr> {
    let ip = match body.try_get_u8()? {
        4 => IpAddr::V4(Ipv4Addr::from_bits(body.try_get_u32()?)),
        6 => IpAddr::V6(Ipv6Addr::from_bits(body.try_get_u128()?)),
        _ => return Err(Malformed),
    };
    Ok(SocketAddr::new(ip, body.try_get_u16()?))
}
