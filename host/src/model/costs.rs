// SPDX-License-Identifier: Apache-2.0
//! What a stretch of software costs: names, the calibration file, look-up.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;

use crate::scenario::Variant;
use crate::soc::Image;

/// The shipped calibration: CPU `imac`, link order 0.
const SHIPPED: &str = include_str!("imac.toml");

macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($(#[$what:meta])* $item:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $kind { $($(#[$what])* $item,)* }
        impl $kind {
            /// The name in the calibration file.
            pub fn name(self) -> &'static str {
                match self { $($kind::$item => $name,)* }
            }
            fn named(name: &str) -> Option<$kind> {
                match name { $($name => Some($kind::$item),)* _ => None }
            }
        }
    };
}

named! {
    /// Who spends the cycles.
    Role {
        /// The NIC: no CPU cycles, but a delay.
        Nic = "nic",
        /// An interrupt handler.
        Isr = "isr",
        /// The stock driver's task.
        Driver = "driver",
        /// lwIP's thread.
        Tcpip = "tcpip",
        /// The library's network task.
        Network = "network",
        /// The library's task that raises the network task's priority.
        Booster = "booster",
        /// A task that receives.
        Receiver = "receiver",
        /// A task released by the clock.
        Periodic = "periodic",
        /// A task that never blocks.
        Background = "background",
    }
}

named! {
    /// Where a stretch begins and ends.
    Mark {
        /// A task runs after it has waited; a handler begins; the last bit of a frame.
        In = "in",
        /// The driver takes a frame up.
        Driver = "driver",
        /// The IP stack begins with a frame.
        Stack = "stack",
        /// It has found the frame's socket.
        Socket = "socket",
        /// It is done with the frame.
        Done = "done",
        /// A frame's buffer is free.
        Freed = "freed",
        /// A job begins.
        JobStart = "job",
        /// A job ends.
        JobEnd = "end",
        /// The eager half has kept a frame.
        Queued = "queued",
        /// The eager half has discarded one for its flow's limit, or as refused.
        Limited = "limited",
        /// It has discarded one that waited.
        Recycled = "recycled",
        /// It has discarded one for want of buffers.
        Short = "short",
        /// A task calls the kernel to wait or to yield; a handler returns.
        Out = "out",
    }
}

named! {
    /// What the stretch is about.
    Class {
        /// Nothing in particular.
        Any = "any",
        /// A datagram for a socket.
        Udp = "udp",
        /// A datagram for nobody, which is answered so.
        Closed = "closed",
        /// A datagram for nobody, to everybody or to others: no answer.
        Unanswered = "unanswered",
        /// An ARP packet for the device.
        Arp = "arp",
        /// An echo request.
        Icmp = "icmp",
        /// A part of a datagram.
        Fragment = "fragment",
        /// Any other frame.
        Other = "other",
        /// An interrupt of the NIC.
        NicLine = "nic",
        /// Of the tick.
        Tick = "tick",
        /// Of both.
        NicAndTick = "nic+tick",
        /// Of another timer.
        Timer = "timer",
        /// A job of binomial coefficients.
        Binomial = "binomial",
        /// A job that answers.
        Reply = "reply",
    }
}

named! {
    /// What went before.
    Regime {
        /// A task waited before, its code is not in the cache. A handler: the same task goes on.
        First = "first",
        /// A task has just done the same. A handler: another task goes on.
        Next = "next",
    }
}

/// One stretch of software.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stretch {
    /// Whose.
    pub role: Role,
    /// From this mark
    pub from: Mark,
    /// to this one.
    pub to: Mark,
    /// About what.
    pub class: Class,
    /// After what.
    pub regime: Regime,
}

impl Stretch {
    fn name(self) -> String {
        let words = [self.role.name(), self.from.name(), self.to.name(), self.class.name(), self.regime.name()];
        words.join(" ")
    }

    fn named(name: &str) -> Option<Stretch> {
        let words: Vec<&str> = name.split(' ').collect();
        let [role, from, to, class, regime] = words[..] else { return None };
        Some(Stretch {
            role: Role::named(role)?,
            from: Mark::named(from)?,
            to: Mark::named(to)?,
            class: Class::named(class)?,
            regime: Regime::named(regime)?,
        })
    }
}

/// What was measured of a stretch: sums, from which mean and slope follow. `x` is what the cost may grow with: bytes of
/// the frame, tasks released, steps of the work.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    count: u64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    min: f64,
    max: f64,
    runs: Vec<String>,
}

impl Samples {
    /// One more: `y` cycles.
    pub fn add(&mut self, x: f64, y: f64) {
        self.min = if self.count == 0 { y } else { self.min.min(y) };
        self.max = self.max.max(y);
        self.count += 1;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    /// Those of another run.
    pub fn merge(&mut self, other: &Samples, run: &str) {
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.xy += other.xy;
        if !self.runs.iter().any(|known| known == run) {
            self.runs.push(run.to_string());
        }
    }

    /// The straight line with the least squares; a mean where `x` is always the same.
    fn line(&self) -> (f64, f64) {
        let n = self.count as f64;
        let spread = self.xx - self.x * self.x / n;
        // Where all are nearly alike, the line would be drawn through noise.
        let alike = spread / n < (self.x / n / 4.0).powi(2).max(1e-9);
        let slope = if alike { 0.0 } else { ((self.xy - self.x * self.y / n) / spread).max(0.0) };
        ((self.y - slope * self.x) / n, slope)
    }
}

/// A cost: `cycles + per_unit * x`, within what was seen.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cost {
    cycles: f64,
    per_unit: f64,
    min: f64,
    max: f64,
    count: u64,
    /// The runs that it was read off.
    #[serde(rename = "from")]
    _from: String,
}

#[derive(Deserialize)]
struct File {
    cpu: String,
    firmware: String,
    #[serde(flatten)]
    variants: BTreeMap<String, BTreeMap<String, Cost>>,
}

/// A calibration.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// Of the firmware that the costs were read off.
    pub firmware: String,
    costs: BTreeMap<&'static str, BTreeMap<Stretch, Cost>>,
}

/// The costs of one receive path.
#[derive(Debug, Clone)]
pub struct Costs {
    stretches: BTreeMap<Stretch, Cost>,
    zero: bool,
}

impl Calibration {
    /// The one that comes with weir.
    ///
    /// # Errors
    /// When the file was changed by hand and is none any more.
    pub fn shipped() -> Result<Calibration, String> {
        Calibration::parse(SHIPPED)
            .map_err(|problem| format!("host/src/model/imac.toml: {problem}; run `weir calibrate`"))
    }

    fn parse(text: &str) -> Result<Calibration, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string().trim_end().replace('\n', " "))?;
        if file.cpu != "imac" {
            return Err(format!("`cpu` is \"{}\"; it must be \"imac\"", file.cpu));
        }
        let mut costs = BTreeMap::new();
        for (name, stretches) in file.variants {
            let variant = Variant::ALL.iter().find(|variant| variant.name() == name);
            let variant = variant.ok_or_else(|| format!("there is no variant `{name}`"))?;
            let mut known = BTreeMap::new();
            for (words, cost) in stretches {
                let stretch =
                    Stretch::named(&words).ok_or_else(|| format!("`{words}` names no stretch of software"))?;
                known.insert(stretch, cost);
            }
            costs.insert(variant.name(), known);
        }
        Ok(Calibration { firmware: file.firmware, costs })
    }

    /// Of a receive path.
    pub fn of(&self, variant: Variant) -> Costs {
        Costs { stretches: self.costs.get(variant.name()).cloned().unwrap_or_default(), zero: false }
    }
}

impl Costs {
    /// Software that costs nothing: what is left is the NIC.
    pub fn nothing() -> Costs {
        Costs { stretches: BTreeMap::new(), zero: true }
    }

    /// Cycles of a stretch. Where just this one was not seen: with the other regime, then about anything, then up to the
    /// same mark from anywhere; so that what a rare order of events costs is taken from the usual ones.
    ///
    /// # Errors
    /// When nothing like it was ever measured.
    pub fn cycles(&self, stretch: Stretch, x: f64) -> Result<u64, String> {
        if self.zero {
            return Ok(0);
        }
        if let Some(cost) = self.stretches.get(&stretch) {
            return Ok((cost.cycles + cost.per_unit * x).clamp(cost.min, cost.max).round() as u64);
        }
        let alike: [fn(&Stretch, &Stretch) -> bool; 4] = [
            |a, b| a.from == b.from && a.class == b.class,
            |a, b| a.from == b.from && a.regime == b.regime,
            |a, b| a.from == b.from,
            |_, _| true,
        ];
        for alike in alike {
            let same_end = |other: &&Stretch| other.role == stretch.role && other.to == stretch.to;
            let found: Vec<&Cost> = self
                .stretches
                .keys()
                .filter(same_end)
                .filter(|other| alike(&stretch, other))
                .map(|s| &self.stretches[s])
                .collect();
            let count: u64 = found.iter().map(|cost| cost.count).sum();
            if count > 0 {
                let sum: f64 = found
                    .iter()
                    .map(|cost| (cost.cycles + cost.per_unit * x).clamp(cost.min, cost.max) * cost.count as f64)
                    .sum();
                return Ok((sum / count as f64).round() as u64);
            }
        }
        Err(format!("the calibration has no cost of `{}`", stretch.name()))
    }

    /// Whether just this stretch was ever seen, in whatever regime.
    pub fn knows(&self, role: Role, from: Mark, to: Mark) -> bool {
        self.stretches.keys().any(|known| (known.role, known.from, known.to) == (role, from, to))
    }
}

/// What tells one firmware from another: a hash over all that is loaded of it.
pub fn fingerprint(image: &Image) -> String {
    // FNV-1a: the standard library's hash may change from one compiler to the next.
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = image.segments.iter().fold(0xcbf2_9ce4_8422_2325, |hash, (address, bytes)| {
        address.to_le_bytes().iter().chain(bytes).fold(hash, fold)
    });
    format!("{hash:016x}")
}

/// The calibration file.
pub fn write(firmware: &str, measured: &BTreeMap<&'static str, BTreeMap<Stretch, Samples>>) -> String {
    let mut text = String::from(
        "# SPDX-License-Identifier: Apache-2.0\n\
         # What the firmware's software costs on the platform `soc`. Made by `weir calibrate`; not to be changed by hand.\n\
         #\n\
         # \"WHO FROM TO ABOUT AFTER\": CPU cycles of WHO from mark FROM to mark TO (docs/reference/model.md). The cost is\n\
         # cycles + per_unit * x, within min and max; x: bytes of the frame, tasks released, or steps of the work.\n\
         # count: how often it was measured; from: the runs, as CALIBRATION-SCENARIO.toml and its swept values.\n\n\
         cpu = \"imac\"\n",
    );
    let _ = writeln!(text, "firmware = \"{firmware}\"");
    for (variant, stretches) in measured {
        let _ = writeln!(text, "\n[{variant}]");
        for (stretch, samples) in stretches {
            let (cycles, per_unit) = samples.line();
            let _ = writeln!(
                text,
                "\"{}\" = {{ cycles = {cycles:.1}, per_unit = {per_unit:.4}, min = {:.1}, max = {:.1}, count = {}, from = \"{}\" }}",
                stretch.name(),
                samples.min,
                samples.max,
                samples.count,
                samples.runs.join(" ")
            );
        }
    }
    text
}
