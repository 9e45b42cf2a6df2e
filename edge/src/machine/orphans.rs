// SPDX-License-Identifier: Apache-2.0
//! Processes that left their program's group and lost their parent: since this process is their subreaper, they are its
//! children then, and none can be taken for another one, for their numbers are not given away before they are waited
//! for. Whose they are is said by the environment that their program was started with.

use std::collections::HashSet;
use std::fs;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};

/// The variable that names a process's task.
pub const TASK_VARIABLE: &str = "WEIR_TASK_ID";
/// So many generations are looked for: each time the children of those that were ended come to light.
const ROUNDS_MAX: usize = 64;

/// Of one machine.
pub struct Orphans {
    /// Children from before, of who became this machine by `exec`. They are none of ours.
    foreign: HashSet<Pid>,
}

impl Orphans {
    /// From now on orphans come to this process.
    pub fn adopt() -> Self {
        // Older kernels than those with it do not have what else is needed.
        let _ = set_child_subreaper(Some(getpid()));
        Self { foreign: children().into_iter().collect() }
    }

    /// Ends those of a task whose own process was waited for; `others` are the processes of other tasks. Those that do not
    /// say whose they are end if there is no other task that they may belong to.
    pub fn end(&self, task: &str, others: &HashSet<Pid>) {
        // The first process of a container gets everybody's orphans.
        let alone = others.is_empty() && getpid() != Pid::INIT;
        let name = format!("{TASK_VARIABLE}={task}");
        for _ in 0..ROUNDS_MAX {
            let orphans =
                children().into_iter().filter(|child| !others.contains(child) && !self.foreign.contains(child));
            let theirs: Vec<Pid> = orphans.filter(|orphan| is_of(*orphan, &name, alone)).collect();
            if theirs.is_empty() {
                return;
            }
            for orphan in &theirs {
                let _ = kill_process(*orphan, Signal::KILL);
            }
            for orphan in theirs {
                // Only a child is waited for. It was killed: this does not take long.
                let _ = waitpid(Some(orphan), WaitOptions::empty());
            }
        }
    }
}

fn is_of(orphan: Pid, name: &str, alone: bool) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", orphan.as_raw_nonzero())).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    let said = variables.clone().any(|variable| variable.starts_with(TASK_VARIABLE.as_bytes()));
    if said { variables.any(|variable| variable == name.as_bytes()) } else { alone }
}

fn children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).unwrap_or_default();
    let numbers: Vec<String> = threads.flatten().map(of_thread).collect();
    numbers.iter().flat_map(|text| text.split_whitespace()).filter_map(|n| Pid::from_raw(n.parse().ok()?)).collect()
}
