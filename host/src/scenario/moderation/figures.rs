// SPDX-License-Identifier: Apache-2.0
//! The symbols of the rules, for one setting of every queue.

use super::announces_at_once;
use super::demand::{Demand, Flow, Frames};
use crate::scenario::model::NicQueue;

/// Room before each frame (`WEIR_NIC_HEADROOM_BYTES` of the firmware), and what frames are rounded up to.
const HEADROOM_BYTES: u32 = 48;
const UNIT_BYTES: u32 = 16;

/// Frames that a socket takes before its task has fetched any (`DEFAULT_UDP_RECVMBOX_SIZE` of the firmware, and its TCP
/// twin): more of a burst than that finds no room either.
const SOCKET_FRAMES: u32 = 16;

/// All figures.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Frames of one burst of every queue.
    pub burst_frames: u32,
    /// The worst-case packet processing delay: the protocol work of that burst.
    pub wcpd_us: f64,
    /// Whether any queue holds frames back.
    pub moderates: bool,
    /// Those of each flow, in the order of the file.
    pub flows: Vec<FlowFigures>,
}

/// Figures of a flow.
#[derive(Debug, Clone)]
pub struct FlowFigures {
    /// Frames that one buffer holds: of the longest, and of the shortest that come. 0: nobody sends any.
    pub frames: (u32, u32),
    /// `R_max`, if it is known.
    pub rate_pps: Option<f64>,
    /// `t_qf`, if it is known: until the buffer is full, or the socket would be.
    pub fill_us: Option<f64>,
    /// `t_d`; `None`: no deadline.
    pub deadline_us: Option<f64>,
    /// `t_J`: what jobs that come first may take of the smaller of both; `None`: there is neither.
    pub jobs_us: Option<f64>,
    /// `t_P`, if it is known: between two packets.
    pub distance_us: Option<f64>,
    /// `t_abs`: how long a frame waits at most.
    pub wait: Wait,
    /// The setting.
    pub queue: NicQueue,
}

/// How long a frame waits until it is announced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wait {
    /// Not at all.
    No,
    /// At most so many microseconds.
    AtMost(f64),
    /// Until further frames come.
    Endless,
}

impl Wait {
    fn of(queue: &NicQueue) -> Self {
        match queue.absolute_timer_us {
            0 if announces_at_once(queue) => Self::No,
            0 => Self::Endless,
            us => Self::AtMost(f64::from(us)),
        }
    }

    /// In microseconds.
    pub fn us(self) -> f64 {
        match self {
            Self::No => 0.0,
            Self::AtMost(us) => us,
            Self::Endless => f64::INFINITY,
        }
    }
}

impl FlowFigures {
    /// What t_abs may be at most; `None`: nothing limits it. Below 0: not even "at once" is early enough.
    pub fn bound_us(&self, wcpd_us: f64) -> Option<f64> {
        Some(limit_us(self.deadline_us, self.fill_us)? - wcpd_us - self.jobs_us?)
    }
}

/// The smaller of t_d and t_qf: after the smaller one, something is too late or finds no room, whatever the other is.
fn limit_us(deadline_us: Option<f64>, fill_us: Option<f64>) -> Option<f64> {
    let least_us = deadline_us.unwrap_or(f64::INFINITY).min(fill_us.unwrap_or(f64::INFINITY));
    least_us.is_finite().then_some(least_us)
}

/// What jobs may take of so much time: those of periodic tasks, and those of one burst.
fn jobs_us(flow: &Flow, frames: &[(u32, u32)], time_us: f64) -> f64 {
    let periodic = flow.periodic.iter().map(|(period_us, us)| (time_us / period_us).ceil() * us);
    let receiving = flow.jobs.iter().map(|(other, us)| us * f64::from(frames[*other].1));
    periodic.sum::<f64>() + receiving.sum::<f64>()
}

/// The figures of a scenario with these settings, one for each flow.
pub fn figures(demand: &Demand, settings: &[NicQueue]) -> Figures {
    let frames: Vec<(u32, u32)> = demand
        .flows
        .iter()
        .zip(settings)
        .map(|(flow, queue)| flow.frames.map_or((0, 0), |of| held(queue, of)))
        .collect();
    let system: u32 = demand.system.iter().map(|of| held(&demand.system_queue, *of).1).sum();
    let burst_frames = system + frames.iter().map(|(_, most)| most).sum::<u32>();
    let of_flow = |(index, (flow, queue)): (usize, (&Flow, &NicQueue))| {
        let arrivals = flow.arrivals.as_ref().ok();
        let rate_pps = arrivals.map(|arrivals| arrivals.rate_pps);
        let fill_us = arrivals.map(|arrivals| arrivals.fill_us(frames[index].0.min(SOCKET_FRAMES)));
        // Who is sent nothing has nothing to lose.
        let limit_us = limit_us(flow.deadline_us, fill_us).filter(|_| frames[index].1 > 0);
        FlowFigures {
            frames: frames[index],
            rate_pps,
            fill_us,
            deadline_us: flow.deadline_us,
            jobs_us: limit_us.map(|limit_us| jobs_us(flow, &frames, limit_us)),
            distance_us: rate_pps.filter(|pps| *pps > 0.0).map(|pps| 1e6 / pps),
            wait: Wait::of(queue),
            queue: *queue,
        }
    };
    Figures {
        burst_frames,
        wcpd_us: demand.netstack_us * f64::from(burst_frames),
        moderates: settings.iter().any(|queue| !announces_at_once(queue)),
        flows: demand.flows.iter().zip(settings).enumerate().map(of_flow).collect(),
    }
}

/// `n_q` of the longest and of the shortest frames. A threshold announces what would be more.
fn held(queue: &NicQueue, of: Frames) -> (u32, u32) {
    let fit = |bytes: u32| queue.bytes / room_bytes(bytes);
    let threshold = if queue.frames == 0 { u32::MAX } else { queue.frames };
    (fit(of.longest).min(threshold), fit(of.shortest).min(threshold))
}

/// What a frame takes of a buffer.
pub(super) fn room_bytes(frame_bytes: u32) -> u32 {
    HEADROOM_BYTES + frame_bytes.next_multiple_of(UNIT_BYTES)
}
