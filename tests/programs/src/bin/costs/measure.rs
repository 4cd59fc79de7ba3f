// SPDX-License-Identifier: MIT OR Apache-2.0

//! Times as multiples of a floor that is measured in between, and what a request caused.
//!
//! The floor is a request that the driver refuses at once since there is no such number (ENOTTY): what entering the
//! kernel, finding the process and leaving cost. Steps are measured in turn, each beside its floor, and a figure is
//! the median of all its samples over the median of all floors. So what else the host does moves both.
//!
//! Where drivers are compared ([`Pace::RIVAL`]) the floor is the same request of `/dev/null`, which knows none of either
//! driver, and nothing is counted, since only our driver counts.
//!
//! A line `cost NAME ...` or `point CURVE NUMBER ...` has `ratio`, the figure; `floor`, in nanoseconds; `samples`;
//! `calls`, of which there are the counts of [`Counts`]: these were made for counting only, after the samples, since
//! listening takes time.

use std::fmt;
use std::fs::File;
use std::time::{Duration, Instant};

use crate::counts::{Counter, Counts, Listening};
use rkfd_programs::{raw, Failure};
use rkfd_uapi::device::GetVersionArgs;
use rustix::io::Errno;

/// Floors of a sample.
const FLOORS: u32 = 32;

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Pace {
    /// So many samples at least and at most.
    samples: (usize, usize),
    /// No further sample is begun after so long.
    each: Duration,
    /// Nothing more is made for a curve after so long.
    pub curve: Duration,
    /// As little as possible.
    pub is_brief: bool,
    /// Whichever driver it is.
    pub is_of_any_driver: bool,
}

impl Pace {
    /// For figures that count.
    pub const FULL: Self = Self {
        samples: (7, 101),
        each: Duration::from_secs(2),
        curve: Duration::from_secs(100),
        is_brief: false,
        is_of_any_driver: false,
    };
    /// For a look at whether it works; the two or three points of each curve are measured however slow the machine is.
    pub const BRIEF: Self = Self {
        samples: (2, 2),
        each: Duration::ZERO,
        curve: Duration::MAX,
        is_brief: true,
        is_of_any_driver: false,
    };
    /// For figures to compare with another driver's, of the same requests as a look.
    pub const RIVAL: Self = Self {
        samples: Self::FULL.samples,
        each: Self::FULL.each,
        is_of_any_driver: true,
        ..Self::BRIEF
    };

    /// One of two, such as how far a curve goes.
    pub fn pick<T>(self, full: T, brief: T) -> T {
        match self.is_brief {
            true => brief,
            false => full,
        }
    }
}

/// What a step does the n-th time.
type Work<'a, S> = Box<dyn FnMut(&mut S, usize) -> Result<(), Failure> + 'a>;

/// One of the requests of a cycle, which is made so many times in a row.
pub struct Step<'a, S> {
    name: String,
    times: usize,
    work: Work<'a, S>,
}

/// A step of a cycle that shares an `S`.
pub fn step<'a, S>(
    name: impl Into<String>,
    times: usize,
    work: impl FnMut(&mut S, usize) -> Result<(), Failure> + 'a,
) -> Step<'a, S> {
    Step {
        name: name.into(),
        times,
        work: Box::new(work),
    }
}

impl<S> Step<'_, S> {
    fn run(&mut self, state: &mut S) -> Result<(), Failure> {
        (0..self.times).try_for_each(|n| (self.work)(state, n))
    }
}

/// What a step costs.
pub struct Cost {
    /// The step's name.
    pub name: String,
    ratio: f64,
    floor: f64,
    samples: usize,
    calls: usize,
    counts: Option<Counts>,
}

impl Cost {
    /// Prints it as the cost of a request.
    pub fn print(&self) {
        println!("cost {} {self}", self.name);
    }

    /// Prints it as a point of a curve, which is named for the step and what there is `n` times.
    pub fn print_at(&self, beside: &str, n: usize) {
        println!("point {}/{beside} {n} {self}", self.name);
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ratio={:.3} floor={:.0} samples={} calls={}",
            self.ratio, self.floor, self.samples, self.calls
        )?;
        match &self.counts {
            Some(counts) => write!(f, "{counts}"),
            None => Ok(()),
        }
    }
}

/// Measures.
pub struct Meter<'a> {
    kfd: &'a File,
    /// What the floor is asked of where drivers are compared.
    null: Option<File>,
    counter: Option<Counter>,
    /// How much.
    pub pace: Pace,
}

impl<'a> Meter<'a> {
    /// Measures with this descriptor's floor.
    pub fn new(kfd: &'a File, pace: Pace) -> Result<Self, Failure> {
        let (null, counter) = match pace.is_of_any_driver {
            true => (Some(File::open("/dev/null").map_err(Failure::new)?), None),
            false => (None, Some(Counter::new()?)),
        };
        Ok(Self {
            kfd,
            null,
            counter,
            pace,
        })
    }

    /// Listens, if anything is counted.
    fn listen(&self) -> Result<Option<Listening<'_>>, Failure> {
        self.counter.as_ref().map(Counter::listen).transpose()
    }

    /// Nanoseconds of a floor.
    fn floor(&self) -> Result<f64, Failure> {
        let of = self.null.as_ref().unwrap_or(self.kfd);
        let begin = Instant::now();
        for _ in 0..FLOORS {
            let answer = raw::call(of, &raw::NOTHING, &mut GetVersionArgs::default());
            if answer != Err(Errno::NOTTY) {
                return Err(Failure::new(format_args!(
                    "a request that there is not got {answer:?}"
                )));
            }
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(FLOORS))
    }

    /// Measures the steps of a cycle, each of which finds what those before have left. The first round isn't counted.
    pub fn cycle<S>(
        &self,
        state: &mut S,
        mut steps: Vec<Step<'_, S>>,
    ) -> Result<Vec<Cost>, Failure> {
        steps.iter_mut().try_for_each(|step| step.run(state))?;
        let (least, most) = self.pace.samples;
        let begin = Instant::now();
        let mut floors = Vec::new();
        let mut times = vec![Vec::new(); steps.len()];
        for round in 0..most {
            if round >= least && begin.elapsed() > self.pace.each {
                break;
            }
            for (step, times) in steps.iter_mut().zip(&mut times) {
                floors.push(self.floor()?);
                let begin = Instant::now();
                step.run(state)?;
                times.push(begin.elapsed().as_nanos() as f64 / step.times as f64);
            }
        }
        let floor = median(&mut floors);
        let listening = self.listen()?;
        let costs = steps.into_iter().zip(times).map(|(mut step, mut times)| {
            let counts = listening.as_ref().map(|l| l.around(|| step.run(state)));
            let counts = counts.transpose()?;
            Ok(Cost {
                name: step.name,
                ratio: median(&mut times) / floor,
                floor,
                samples: times.len(),
                calls: step.times,
                counts,
            })
        });
        costs.collect()
    }

    /// Measures what can be done only once at a time, `samples` times: `make` prepares it and says when it began. What
    /// it caused is counted the last time.
    pub fn single(
        &self,
        name: &str,
        samples: usize,
        mut make: impl FnMut() -> Result<(), Failure>,
        mut work: impl FnMut() -> Result<(), Failure>,
    ) -> Result<Cost, Failure> {
        let (mut floors, mut times) = (Vec::new(), Vec::new());
        for _ in 0..samples {
            make()?;
            floors.push(self.floor()?);
            let begin = Instant::now();
            work()?;
            times.push(begin.elapsed().as_nanos() as f64);
            floors.push(self.floor()?);
        }
        make()?;
        let listening = self.listen()?;
        let counts = listening.map(|l| l.around(&mut work)).transpose()?;
        let floor = median(&mut floors);
        Ok(Cost {
            name: name.into(),
            ratio: median(&mut times) / floor,
            floor,
            samples,
            calls: 1,
            counts,
        })
    }
}

/// The middle one; 0 of none.
fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(0.0)
}
