// SPDX-License-Identifier: MIT OR Apache-2.0

//! The GPU's clock and the host's, and times of the one in terms of the other.
//!
//! The GPU counts ticks of a clock of its own, whose frequency nobody states. So both clocks are
//! read twice, when the first queue with timestamps is made and when a time is asked for; the line through these two
//! points converts ticks. The points are read by the driver together, as close as it can; a time is
//! therefore about as exact as one request takes, and durations are as exact as the line is long.
//!
//! Source: the same is done by HSA Runtime, `GpuAgent::TranslateTime`.

use std::time::Duration;

/// The clocks of GPU and host, read together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Clocks {
    /// Ticks of the GPU's clock.
    pub gpu: u64,
    /// The host's time since its start, suspension included (`CLOCK_BOOTTIME`).
    pub host: Duration,
    /// The host's raw monotonic time (`CLOCK_MONOTONIC_RAW`).
    pub raw: Duration,
}

/// When a dispatch ran, by the host's clock since the machine's start (`CLOCK_BOOTTIME`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Times {
    /// When its first wave began.
    pub start: Duration,
    /// When its last wave had ended.
    pub end: Duration,
}

impl Times {
    /// How long it ran.
    pub fn elapsed(&self) -> Duration {
        self.end.saturating_sub(self.start)
    }
}

/// The host's time for a tick of the GPU's clock, by two readings of both.
pub(crate) fn host_time(first: &Clocks, last: &Clocks, tick: u64) -> Option<Duration> {
    let ticks = i128::from(last.gpu) - i128::from(first.gpu);
    let nanos = last.host.as_nanos() as i128 - first.host.as_nanos() as i128;
    let since = i128::from(tick) - i128::from(first.gpu);
    let moved = since.checked_mul(nanos)?.checked_div(ticks)?;
    let nanos = first.host.as_nanos() as i128 + moved;
    Some(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(gpu: u64, micros: u64) -> Clocks {
        Clocks {
            gpu,
            host: Duration::from_micros(micros),
            raw: Duration::ZERO,
        }
    }

    #[test]
    fn ticks_lie_on_the_line_through_two_readings() {
        // 100 ticks a microsecond.
        let (first, last) = (at(1_000_000, 50), at(1_100_000, 1050));
        let micros = |tick| host_time(&first, &last, tick).map(|time| time.as_micros());
        assert_eq!(micros(1_000_000), Some(50));
        assert_eq!(micros(1_050_000), Some(550));
        assert_eq!(micros(1_200_000), Some(2050), "behind the second reading");
        assert_eq!(micros(999_000), Some(40), "before the first one");
        assert_eq!(micros(0), None, "before the host's start");
        assert_eq!(host_time(&first, &first, 1_000_000), None, "no line");
    }
}
