// SPDX-License-Identifier: MIT OR Apache-2.0

//! How many work-groups of a dispatch may have begun and not ended.

use crate::device::facts::GcShape;

/// What a work-group takes of its compute unit, and of what its queue has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Waves that a compute unit holds, and those of a work-group.
    unit_waves: u32,
    waves: u32,
    /// Work-groups for which a compute unit's LDS is enough.
    by_lds: u32,
    /// Those for which the queue's scratch memory is enough.
    by_scratch: u32,
}

impl Limits {
    /// Of work-groups with so many waves and bytes of LDS, where scratch memory is enough for some waves or isn't
    /// needed.
    pub fn new(shape: &GcShape, waves: u32, lds: u32, scratch_waves: Option<u32>) -> Self {
        Self {
            unit_waves: shape.simds_per_cu * shape.waves_per_simd,
            waves: waves.max(1),
            by_lds: shape.lds_size.checked_div(lds).unwrap_or(u32::MAX),
            by_scratch: scratch_waves.map_or(u32::MAX, |all| all / waves.max(1)),
        }
    }

    /// Work-groups on so many compute units: at least one, if there is a unit.
    pub fn of(&self, units: u32) -> u32 {
        let by_waves = units * self.unit_waves / self.waves;
        let most = by_waves.min(units.saturating_mul(self.by_lds));
        most.min(self.by_scratch).max(units.min(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::mi308x;

    #[test]
    fn the_scarcest_counts() {
        // 4 SIMDs of 8 waves, 64 KiB of LDS.
        let shape = &mi308x::SPX.gc;
        assert_eq!(Limits::new(shape, 4, 0, None).of(20), 20 * 8);
        assert_eq!(Limits::new(shape, 4, 0, None).of(1), 8);
        assert_eq!(Limits::new(shape, 4, 32 << 10, None).of(20), 20 * 2);
        assert_eq!(Limits::new(shape, 4, 0, Some(30)).of(20), 7);
        // What fits nowhere is refused elsewhere.
        assert_eq!(Limits::new(shape, 4, 0, Some(3)).of(20), 1);
        assert_eq!(Limits::new(shape, 4, 0, None).of(0), 0);
    }
}
