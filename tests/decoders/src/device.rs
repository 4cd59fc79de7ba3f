// SPDX-License-Identifier: MIT OR Apache-2.0

//! The messages of vfio-user, behind the socket: accesses to regions, and what of the guest's memory
//! the device may reach.

use rkfd_emulator::chip::device::{Checks, Config, Device};
use rkfd_emulator::chip::mi308x::CPX;
use rkfd_emulator::report::Report;
use rkfd_emulator::rules::Rules;
use rkfd_emulator::trace::Trace;
use rkfd_emulator::transport::Transport;
use std::cell::RefCell;
use vfio_user::{DmaMapFlags, DmaUnmapFlags, ServerBackend};

/// Bytes of VRAM.
const VRAM: u64 = 16 << 20;
/// Configuration space, the only region whose content survives whatever is stored to the others.
const CONFIG: u32 = 7;

thread_local! {
    /// A device takes long to make, and none of this may break it.
    static DEVICE: RefCell<Option<Transport>> = RefCell::new(transport());
}

fn transport() -> Option<Transport> {
    let device = Device::new(Config {
        chip: &CPX,
        vram_size: VRAM,
        serial: 0,
        rules: Rules::none(),
        report: Report::new(None),
        trace: Trace::off(),
        checks: Checks::default(),
    });
    Some(Transport::new(device.ok()?))
}

/// Numbers out of bytes; 0 when there are no more.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self, bytes: usize) -> u64 {
        let (now, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        let all = now.iter().rev();
        all.fold(0, |number, byte| (number << 8) | u64::from(*byte))
    }
}

/// Messages, one after the other, to a device that was told others before. The vendor's number stays.
pub fn device(bytes: &[u8]) {
    DEVICE.with_borrow_mut(|device| {
        let device = device.as_mut().expect("a device can be made");
        let mut numbers = Numbers(bytes);
        while !numbers.0.is_empty() {
            let message = numbers.next(1);
            let (region, width) = (numbers.next(1) as u32 % 10, 1 << ((message >> 4) & 3));
            let offset = match message >> 6 {
                // Near the beginning, or the end, of what there is.
                0 => numbers.next(1),
                1 => numbers.next(2),
                2 => 0u64.wrapping_sub(numbers.next(1)),
                _ => numbers.next(8),
            };
            let mut data = numbers.next(8).to_le_bytes();
            let data = &mut data[..width];
            let size = numbers.next(1) << 12;
            let done = match message & 7 {
                0..=2 => device.region_read(region, offset, data),
                3..=5 => device.region_write(region, offset, data),
                6 => device.dma_map(DmaMapFlags::READ_WRITE, 0, offset, size, None),
                _ => device.dma_unmap(DmaUnmapFlags::empty(), offset, size),
            };
            assert!(done.is_ok());
        }
        let mut vendor = [0; 2];
        assert!(device.region_read(CONFIG, 0, &mut vendor).is_ok());
        assert_eq!(vendor, [0x02, 0x10]);
    });
}
