// SPDX-License-Identifier: Apache-2.0
//! The program by which the kernel keeps only a lane's frames, so that a flood of others costs the lane nothing.

use std::ops::RangeInclusive;

use libc::sock_filter;

use crate::protocol::Mac;

const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const LOAD_HALF: u16 = (libc::BPF_LD | libc::BPF_H | libc::BPF_ABS) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const IF_ABOVE: u16 = (libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const KEEP: u32 = u32::MAX;
const DROP: u32 = 0;

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Goes on with the next step if the condition holds, else leaves out `skip` of them.
fn unless_skip(code: u16, k: u32, skip: u8) -> sock_filter {
    sock_filter { code, jt: 0, jf: skip, k }
}

/// Keeps frames to one of `addresses` whose first word after the EtherType is within `first_word`. The EtherType itself
/// is the socket's, and the kernel has taken a VLAN tag away.
pub fn program(addresses: &[Mac], first_word: &RangeInclusive<u16>) -> Vec<sock_filter> {
    let mut steps = vec![
        step(LOAD_HALF, 14),
        unless_skip(IF_AT_LEAST, u32::from(*first_word.start()), 1),
        sock_filter { code: IF_ABOVE, jt: 0, jf: 1, k: u32::from(*first_word.end()) },
        step(RETURN, DROP),
    ];
    for Mac([a, b, c, d, e, f]) in addresses {
        steps.extend([
            step(LOAD_WORD, 0),
            unless_skip(IF_EQUAL, u32::from_be_bytes([*a, *b, *c, *d]), 3),
            step(LOAD_HALF, 4),
            unless_skip(IF_EQUAL, u32::from(u16::from_be_bytes([*e, *f])), 1),
            step(RETURN, KEEP),
        ]);
    }
    steps.push(step(RETURN, DROP));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine, as far as the program uses it.
    fn keeps(program: &[sock_filter], frame: &[u8]) -> bool {
        let (mut at, mut accumulator) = (0, 0_u32);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let bytes = |count: usize| frame.get(k as usize..k as usize + count);
            let holds = match code {
                LOAD_WORD | LOAD_HALF => {
                    let Some(bytes) = bytes(if code == LOAD_WORD { 4 } else { 2 }) else { return false };
                    accumulator = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
                    false
                }
                IF_EQUAL => accumulator == k,
                IF_AT_LEAST => accumulator >= k,
                IF_ABOVE => accumulator > k,
                RETURN => return k == KEEP,
                _ => unreachable!("{code:#x}"),
            };
            at += 1 + usize::from(if holds { jt } else { jf });
        }
    }

    fn frame(to: Mac, word: u16) -> Vec<u8> {
        [&to.0[..], &[2; 6], &[0x88, 0x92], &word.to_be_bytes(), &[0; 40]].concat()
    }

    #[test]
    fn frames_to_its_addresses_with_a_first_word_in_the_range_are_kept() {
        let (own, group) = (Mac([2, 0, 0, 0, 0, 1]), Mac([1, 0x0e, 0xcf, 0, 0, 0]));
        let program = program(&[own, group, Mac::BROADCAST], &(0x8000..=0xF7FF));
        for to in [own, group, Mac::BROADCAST] {
            for (word, kept) in [(0x7FFF, false), (0x8000, true), (0xF7FF, true), (0xF800, false)] {
                assert_eq!(keeps(&program, &frame(to, word)), kept, "{to} {word:#x}");
            }
        }
        assert!(!keeps(&program, &frame(Mac([2, 0, 0, 0, 0, 2]), 0x8000)));
        assert!(!keeps(&program, &frame(Mac([2, 0, 0, 0, 1, 1]), 0x8000)));
        assert!(!keeps(&program, &frame(own, 0x8000)[..15]));
    }

    #[test]
    fn the_whole_range_keeps_all_words() {
        let program = program(&[Mac::BROADCAST], &(0..=u16::MAX));
        assert!([0, 1, u16::MAX].into_iter().all(|word| keeps(&program, &frame(Mac::BROADCAST, word))));
    }
}
