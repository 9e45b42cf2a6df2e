// SPDX-License-Identifier: Apache-2.0
//! How densely the frames of a queue can come.

/// What comes at random can come at any rate: this is how improbable a denser arrival is that nobody prepares for.
const CHANCE_MAX: f64 = 1e-9;
/// Halvings of an interval: as exact as the numbers are.
const HALVINGS: u32 = 64;

/// Frames of the longest queue: as many as a threshold can ask for.
const FRAMES_MAX: u32 = 64;

/// What the rules want to know of the senders of a queue.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Density {
    /// `R_max`; of what comes at random, the mean.
    pub(super) rate_pps: f64,
    /// `t_qf` of 0, 1, 2, ... frames.
    fill_us: Vec<f64>,
}

impl Density {
    /// `t_qf`.
    pub(super) fn fill_us(&self, frames: u32) -> f64 {
        self.fill_us[frames.min(FRAMES_MAX) as usize]
    }
}

/// The senders of a queue.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// Rates of senders whose frames keep their distance.
    spaced_pps: Vec<f64>,
    /// Rate of those together whose frames come at random (a sum of Poisson processes is one).
    random_pps: f64,
}

impl Arrivals {
    /// A sender with at least `1 / pps` between two frames.
    pub(super) fn add_spaced(&mut self, pps: f64) {
        if pps > 0.0 {
            self.spaced_pps.push(pps);
        }
    }

    /// A sender with exponential distances.
    pub(super) fn add_random(&mut self, pps: f64) {
        self.random_pps += pps;
    }

    /// What follows of it.
    pub(super) fn density(&self) -> Density {
        let fill_us = (0..=FRAMES_MAX).map(|frames| self.fill_us(frames)).collect();
        Density { rate_pps: self.rate_pps(), fill_us }
    }

    fn rate_pps(&self) -> f64 {
        self.spaced_pps.iter().sum::<f64>() + self.random_pps
    }

    /// `t_qf`: the longest time in which no more than `frames` come; endless if nobody sends. With one sender that
    /// keeps its distance this is `frames / R_max`. Several can begin together, which the quotient forgets.
    fn fill_us(&self, frames: u32) -> f64 {
        match (&self.spaced_pps[..], self.random_pps > 0.0) {
            ([], false) => return f64::INFINITY,
            ([pps], false) => return f64::from(frames) / pps * 1e6,
            _ => {}
        }
        let (mut fits, mut fills) = (0.0, f64::from(frames) / self.rate_pps());
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(fits, fills);
            if self.is_filled(middle, frames) { fills = middle } else { fits = middle }
        }
        fits * 1e6
    }

    /// Whether more than so many frames can come in so many seconds.
    fn is_filled(&self, seconds: f64, frames: u32) -> bool {
        let spaced: f64 = self.spaced_pps.iter().map(|pps| (seconds * pps).ceil()).sum();
        let left = f64::from(frames) - spaced;
        left < 0.0 || chance_of_more(left, self.random_pps * seconds) > CHANCE_MAX
    }
}

/// The chance that a Poisson variable of this mean is above `count`: the sum of the rarer side, smallest part last.
fn chance_of_more(count: f64, mean: f64) -> f64 {
    if mean == 0.0 {
        return 0.0;
    }
    let mut of_one = libm::exp(-mean);
    let mut k = 0.0;
    let mut sum = 0.0;
    while k <= count || of_one > CHANCE_MAX * 1e-6 || k < mean {
        k += 1.0;
        of_one *= mean / k;
        if k > count {
            sum += of_one;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sender_fills_a_queue_in_the_quotient() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.fill_us(10), f64::INFINITY);
        arrivals.add_spaced(4000.0);
        assert_eq!(arrivals.fill_us(10), 2500.0);
    }

    #[test]
    fn several_can_begin_together() {
        let mut arrivals = Arrivals::default();
        (0..4).for_each(|_| arrivals.add_spaced(100.0));
        assert_eq!(arrivals.rate_pps(), 400.0);
        assert!(arrivals.fill_us(3) < 1e-6, "four can come at once");
        assert!((arrivals.fill_us(4) - 10_000.0).abs() < 0.01);
        assert!((arrivals.fill_us(7) - 10_000.0).abs() < 0.01, "and the next four, one period later");
    }

    #[test]
    fn what_comes_at_random_fills_it_sooner_than_its_mean() {
        let mut arrivals = Arrivals::default();
        arrivals.add_random(1000.0);
        let fill_us = arrivals.fill_us(10);
        assert!((chance_of_more(10.0, fill_us / 1e3) - CHANCE_MAX).abs() < 1e-12, "{fill_us}");
        assert!(fill_us < 10_000.0 / 5.0);
        assert!((chance_of_more(0.0, 1.0) - (1.0 - libm::exp(-1.0))).abs() < 1e-12);
        assert!((chance_of_more(2.0, 1.0) - (1.0 - 2.5 * libm::exp(-1.0))).abs() < 1e-12);
    }
}
