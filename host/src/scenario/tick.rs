// SPDX-License-Identifier: Apache-2.0
//! The RTOS tick: every period is a multiple of it.

use super::device::empty_table;
use super::keys::Section;
use super::model::{Task, TaskKind};
use super::reader::Reader;
use super::report::Problem;
use super::tree::Table;

/// The tick unless a period asks for a finer one.
const TICK_US: u32 = 1000;

/// Finer ticks take a noticeable part of the CPU for themselves.
const TICK_US_MIN: u32 = 50;

/// The tick that is given, if it divides every period; otherwise the coarsest that does.
pub(super) fn choose(top: &Reader<'_>, tasks: &[(Task, &Table)]) -> u32 {
    let empty = empty_table();
    let device = Reader::new(Section::Device, top.table_under("device").unwrap_or(&empty), top.sink());
    let periods = tasks.iter().filter_map(|(task, table)| match task.kind {
        TaskKind::Periodic { period_us, .. } => Some((period_us, *table)),
        _ => None,
    });
    if device.given("tick_us") {
        let Some(tick_us) = device.u32("tick_us") else {
            return TICK_US;
        };
        for (period_us, table) in periods.filter(|(period_us, _)| period_us % tick_us != 0) {
            let message = format!("`period_us` is no multiple of the tick of {tick_us} us");
            let place = table.place_of("period_us");
            let below = period_us - period_us % tick_us;
            let help = format!("for example {}; or leave `tick_us` out", if below > 0 { below } else { tick_us });
            top.sink().push(Problem::error(message).at(place, "the tick has to divide it").help(help));
        }
        return tick_us;
    }
    let mut tick_us = TICK_US;
    for (period_us, table) in periods {
        let finer_us = greatest_common_divisor(tick_us, period_us);
        if finer_us < TICK_US_MIN {
            let message = format!("`period_us` asks for a tick of {finer_us} us");
            let label = format!("the tick divides {TICK_US} us and all periods, and is at least {TICK_US_MIN} us");
            let help = "round the periods, or give `tick_us` in [device]";
            top.sink().push(Problem::error(message).at(table.place_of("period_us"), label).help(help));
        } else {
            tick_us = finer_us;
        }
    }
    tick_us
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::greatest_common_divisor;

    #[test]
    fn the_tick_of_1000_and_250_is_250() {
        assert_eq!(greatest_common_divisor(1000, 250), 250);
        assert_eq!(greatest_common_divisor(1000, 1300), 100);
        assert_eq!(greatest_common_divisor(1000, 999), 1);
    }
}
