// SPDX-License-Identifier: Apache-2.0
//! The programs that a simulated machine runs: each needs its execution time, and stands still when it is told to.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::core::task::TaskId;

struct Program {
    execution: Duration,
    left: Duration,
    since: Option<Duration>,
    /// How often it was started or continued: an end that was foreseen before does not come.
    run: u32,
}

/// Of one machine.
#[derive(Default)]
pub struct Programs(BTreeMap<TaskId, Program>);

impl Programs {
    /// Begins one; returns when it will have ended and in which run, if nothing comes between.
    pub fn start(&mut self, now: Duration, id: TaskId, execution: Duration) -> (Duration, u32) {
        self.0.insert(id, Program { execution, left: execution, since: Some(now), run: 0 });
        (now + execution, 0)
    }

    /// Lets one stand still.
    pub fn stop(&mut self, now: Duration, id: TaskId) {
        if let Some(program) = self.0.get_mut(&id)
            && let Some(since) = program.since.take()
        {
            program.left = program.left.saturating_sub(now.saturating_sub(since));
        }
    }

    /// Goes on with one; like [`Programs::start`].
    pub fn go_on(&mut self, now: Duration, id: TaskId) -> Option<(Duration, u32)> {
        let program = self.0.get_mut(&id)?;
        program.since = Some(now);
        program.run += 1;
        Some((now + program.left, program.run))
    }

    /// Ends one.
    pub fn kill(&mut self, id: TaskId) {
        self.0.remove(&id);
    }

    /// The end that was foreseen for this run: returns the execution time if it is the end.
    pub fn end(&mut self, id: TaskId, run: u32) -> Option<Duration> {
        let ended = self.0.get(&id).is_some_and(|p| p.run == run && p.since.is_some());
        ended.then(|| self.0.remove(&id).map(|p| p.execution))?
    }
}
