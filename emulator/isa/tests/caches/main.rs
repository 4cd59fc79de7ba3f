// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches: what programs read and what others see of their stores, with and without what LLVM's AMDGPUUsage says is
//! needed ("Memory Model gfx942", "Memory Model gfx12").

use rkfd_isa::*;
use rkfd_isa_testkit::*;

mod first;
mod second;
mod traffic;

/// What the other agent stores, and where it was 0.
const NEW: u32 = 7;

/// A device whose memory another agent changes whenever the program sends a message.
struct Shared {
    flat: Flat,
    data: u64,
}

impl Env for Shared {
    fn epoch(&self) -> u64 {
        self.flat.epoch()
    }
    fn translate(&mut self, vmid: u8, va: u64, access: Access) -> Result<HostPage, Reason> {
        self.flat.translate(vmid, va, access)
    }
    fn clock(&mut self) -> u64 {
        0
    }
    fn interrupt(&mut self, _: u16, _: u32, _: bool) {
        self.flat.write(self.data, &NEW.to_le_bytes());
    }
}

/// A device and a page of data, of which programs get the address in s[0:1].
struct Machine {
    device: Shared,
    code: u64,
    /// Work-items of a program.
    items: u16,
}

impl Machine {
    fn new() -> Self {
        let mut flat = Flat::new(1 << 16);
        let code = flat.alloc(8192);
        let data = flat.alloc(4096);
        Self {
            device: Shared { flat, data },
            code,
            items: 1,
        }
    }

    /// Runs a program of one work-group to its end on a compute unit.
    fn run(&mut self, cu: &mut ComputeUnit, text: &str) {
        let target = cu.target();
        let lanes = if target.name == "gfx942" { 64 } else { 32 };
        let descriptor = match lanes {
            32 => descriptor_gfx1201(32, 256),
            _ => {
                let mut kd = [0; 64];
                let mut put = |at: usize, v: u32| kd[at..at + 4].copy_from_slice(&v.to_le_bytes());
                put(16, 256);
                put(48, 7 | (0xf0 << 12) | (1 << 21) | (1 << 23));
                put(52, 2 << 1);
                put(56, 8);
                kd
            }
        };
        self.device.flat.write(self.code, &descriptor);
        let text = format!("{text}\ns_endpgm");
        let words = assemble(target, lanes, &text);
        self.device.flat.write(self.code + 256, &words);
        cu.invalidate_code();
        let kernel = cu.kernel(&mut self.device, 0, self.code);
        let kernel = &kernel.expect("descriptor");
        let dispatch = Dispatch {
            workgroup_size: [self.items, 1, 1],
            grid_size: [self.items.into(), 1, 1],
            kernarg_address: self.device.data,
            apertures: APERTURES,
            ..Dispatch::default()
        };
        let none = Scratch::default();
        let outcome = match kernel.lanes {
            32 => Workgroup::<32>::launch(cu, kernel, &dispatch, [0; 3], none, &[])
                .expect("launch")
                .run(cu, &mut self.device, 1 << 20),
            _ => Workgroup::<64>::launch(cu, kernel, &dispatch, [0; 3], none, &[])
                .expect("launch")
                .run(cu, &mut self.device, 1 << 20),
        };
        assert_eq!(outcome, Outcome::Done);
    }

    /// A word that memory has, from the data on.
    fn word(&self, at: u64) -> u32 {
        self.device.flat.words(self.device.data + 4 * at, 1)[0]
    }
}
