// SPDX-License-Identifier: Apache-2.0
//! How late the kernel wakes a thread that wants to run at a time: the paper's measurement of scheduling policies
//! (section VII-B).

use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, Timespec};

use super::Error;
use super::policy::{deadline, fifo};
use super::system::now;
use crate::configuration::Policy;
use crate::protocol::Nanos;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Under which policy. `Auto` is not one.
    pub policy: Policy,
    /// On which CPU alone. `SCHED_DEADLINE` takes that of the process's cpuset, and no other.
    pub cpu: Option<usize>,
    /// The thread wants to run each time that this has passed: 500 us in the paper.
    pub period: Nanos,
    /// How often: 1,000,000 in the paper.
    pub samples: usize,
}

/// The relative errors in the order of time, in nanoseconds: each is the difference between when the thread wanted to
/// run and when it ran. It is measured in a thread of its own, which does nothing else.
///
/// # Errors
/// If the policy or the CPU cannot be had, with the way out.
pub fn errors(trial: Trial) -> Result<Vec<u32>, Error> {
    let measure = move || {
        if let Some(cpu) = trial.cpu {
            pin(cpu)?;
        }
        match trial.policy {
            Policy::Deadline => deadline((trial.period / 2).min(100_000), trial.period)?,
            Policy::Fifo => fifo()?,
            Policy::Auto | Policy::Other => {}
        }
        Ok(sample(trial.period, trial.samples))
    };
    thread::spawn(measure).join().expect("it does not panic")
}

fn pin(cpu: usize) -> Result<(), Error> {
    let failed = |error| Error::new(format!("CPU {cpu} cannot be had: {error}"));
    let mut set = CpuSet::new();
    set.set(cpu);
    // Setting what is there already would take SCHED_DEADLINE away where the set of CPUs is a partition.
    if sched_getaffinity(None).map_err(failed)? == set {
        return Ok(());
    }
    sched_setaffinity(None, &set).map_err(failed)
}

fn sample(period: Nanos, samples: usize) -> Vec<u32> {
    // Touched before, so that no page is missing in the loop.
    let mut errors = vec![u32::MAX; samples];
    let mut expected = now() + period;
    for error in &mut errors {
        let at = Timespec { tv_sec: (expected / 1_000_000_000) as i64, tv_nsec: (expected % 1_000_000_000) as i64 };
        while rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(rustix::io::Errno::INTR) {}
        *error = now().abs_diff(expected).min(u64::from(u32::MAX)) as u32;
        expected += period;
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_woken_at_its_times_and_not_before() {
        let begin = now();
        let trial = Trial { policy: Policy::Other, cpu: Some(0), period: 200_000, samples: 500 };
        let errors = errors(trial).unwrap();
        assert_eq!(errors.len(), 500);
        assert!(now() - begin >= 100_000_000);
        // An overloaded machine may be late; a clock that is read wrongly would be seconds away.
        assert!(errors.iter().all(|error| *error < 1_000_000_000));
    }
}
