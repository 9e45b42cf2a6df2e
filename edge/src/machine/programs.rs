// SPDX-License-Identifier: Apache-2.0
//! The jobs that are under way, by task and by file descriptor.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};

use super::interpreter;
use super::job::{Ended, Job};
use super::orphans::Orphans;
use super::spawn::{Place, Program};
use crate::core::task::{Exit, Task, TaskId};
use crate::core::time::Instant;

/// Which of a job's descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Process = 1,
    Output = 2,
    Complaint = 3,
}

/// Tells jobs' descriptors from others in what epoll reports: the job's number above, the part below.
pub fn token(number: u32, part: Part) -> EventData {
    EventData::new_u64(u64::from(number) << 8 | part as u64)
}

/// The number and the part of a token that [`token`] made.
pub fn job_of(token: u64) -> Option<(u32, Part)> {
    let part = [Part::Process, Part::Output, Part::Complaint].into_iter().find(|part| *part as u64 == token & 0xff);
    Some((u32::try_from(token >> 8).ok()?, part?))
}

struct UnderWay {
    id: TaskId,
    job: Job,
    /// Whether the node waits for its end; of a killed job it does not.
    awaited: bool,
}

/// All jobs of a machine.
pub struct Programs {
    programs: BTreeMap<String, Program>,
    /// Of each worker.
    places: Vec<Place>,
    jobs: HashMap<u32, UnderWay>,
    by_task: HashMap<TaskId, u32>,
    started: u32,
    orphans: Orphans,
}

impl Programs {
    /// None under way yet.
    pub fn new(programs: BTreeMap<String, Program>, places: Vec<Place>) -> Self {
        Self { programs, places, jobs: HashMap::new(), by_task: HashMap::new(), started: 0, orphans: Orphans::adopt() }
    }

    /// Starts a task's program.
    pub fn start(&mut self, epoll: BorrowedFd, now: Instant, worker: usize, task: &Task) -> Result<(), Ended> {
        let failed = |why: String| Ended { exit: Exit::Failed, execution: Duration::ZERO, output: why.into_bytes() };
        let Some(program) = self.programs.get(&task.program) else {
            return Err(failed(format!("there is no program {:?}", task.program)));
        };
        let started = Job::start(now, program, &self.places[worker], task);
        let mut job = started.map_err(|error| {
            let why = (error.kind() == io::ErrorKind::NotFound).then(|| interpreter::missing(&program.path)).flatten();
            failed(why.unwrap_or_else(|| format!("{}: {error}", program.path.display())))
        })?;
        self.started = self.started.wrapping_add(1);
        let number = self.started;
        if let Err(error) = watch(epoll, number, &job) {
            job.kill();
            job.end(now);
            return Err(failed(format!("{}: cannot be watched: {error}", program.path.display())));
        }
        self.jobs.insert(number, UnderWay { id: task.id, job, awaited: true });
        self.by_task.insert(task.id, number);
        Ok(())
    }

    /// Lets a task's program stand still.
    pub fn stop(&mut self, now: Instant, id: TaskId) {
        if let Some(job) = self.job(id) {
            job.stop(now);
        }
    }

    /// Goes on with it.
    pub fn go_on(&mut self, now: Instant, id: TaskId) {
        if let Some(job) = self.job(id) {
            job.go_on(now);
        }
    }

    /// Ends it. Its end is not reported.
    pub fn kill(&mut self, id: TaskId) {
        if let Some(under_way) = self.by_task.remove(&id).and_then(|number| self.jobs.get_mut(&number)) {
            under_way.awaited = false;
            under_way.job.kill();
        }
    }

    /// Ends all.
    pub fn kill_all(&mut self, now: Instant) {
        for (_, mut under_way) in self.jobs.drain() {
            under_way.job.kill();
            under_way.job.end(now);
            self.orphans.end(&under_way.id.to_string(), &HashSet::new());
        }
        self.by_task.clear();
    }

    /// One of a job's descriptors became readable: which task ended by it, if one did.
    pub fn readable(
        &mut self,
        epoll: BorrowedFd,
        now: Instant,
        number: u32,
        part: Part,
    ) -> io::Result<Option<(TaskId, Ended)>> {
        let Some(under_way) = self.jobs.get_mut(&number) else { return Ok(None) };
        let job = &mut under_way.job;
        match part {
            Part::Output => {
                if !job.read_output() {
                    epoll::delete(epoll, job.stdout())?;
                }
                if job.wrote_too_much() {
                    job.kill();
                }
                Ok(None)
            }
            Part::Complaint => {
                if !job.read_complaint() {
                    epoll::delete(epoll, job.stderr())?;
                }
                Ok(None)
            }
            Part::Process => {
                // Its descriptors leave the epoll as they are closed.
                let Some(UnderWay { id, job, awaited }) = self.jobs.remove(&number) else { return Ok(None) };
                let ended = job.end(now);
                let others = self.jobs.values().map(|other| other.job.pid()).collect();
                self.orphans.end(&id.to_string(), &others);
                if awaited {
                    self.by_task.remove(&id);
                }
                Ok(awaited.then_some((id, ended)))
            }
        }
    }

    fn job(&mut self, id: TaskId) -> Option<&mut Job> {
        let number = self.by_task.get(&id)?;
        self.jobs.get_mut(number).map(|under_way| &mut under_way.job)
    }
}

fn watch(epoll: BorrowedFd, number: u32, job: &Job) -> rustix::io::Result<()> {
    epoll::add(epoll, job.pidfd(), token(number, Part::Process), EventFlags::IN)?;
    epoll::add(epoll, job.stdout(), token(number, Part::Output), EventFlags::IN)?;
    epoll::add(epoll, job.stderr(), token(number, Part::Complaint), EventFlags::IN)
}
