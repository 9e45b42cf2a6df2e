// SPDX-License-Identifier: Apache-2.0
//! Counters by name.

/// How often what happened. Names are literals of the program, so that there are only so many.
#[derive(Clone, Debug, Default)]
pub struct Counters(Vec<(&'static str, u64)>);

impl Counters {
    /// It happened once more.
    pub fn count(&mut self, name: &'static str) {
        self.add(name, 1);
    }

    /// It happened that often more.
    pub fn add(&mut self, name: &'static str, times: u64) {
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, count)) => *count += times,
            None => self.0.push((name, times)),
        }
    }

    /// How often it happened.
    pub fn get(&self, name: &str) -> u64 {
        self.0.iter().find(|(other, _)| *other == name).map_or(0, |(_, count)| *count)
    }

    /// All of them.
    pub fn all(&self) -> Vec<(&'static str, u64)> {
        self.0.clone()
    }
}
