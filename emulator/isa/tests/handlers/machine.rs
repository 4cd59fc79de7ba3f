// SPDX-License-Identifier: MIT OR Apache-2.0
//! A work-group on a compute unit whose process has such a handler, and the two ways of its waves: off, and
//! back.

use rkfd_isa::*;
use rkfd_isa_testkit::*;
use std::process::Command;

pub const DOORBELL: u32 = 0x123;
/// Bytes that a work-group is stored in, at most.
pub const AREA: u64 = 512 * 1024;

/// Where the handlers are.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rust/chip/handlers");

/// The words of a chip's handler.
pub fn handler(chip: &str) -> Vec<u8> {
    code_of(chip, chip)
}

/// The words of a file there, for a chip.
pub fn code_of(file: &str, chip: &str) -> Vec<u8> {
    let out = std::env::temp_dir().join(format!("rkfd-handler-{file}-{}", std::process::id()));
    let object = out.with_extension(format!("{:?}.o", std::thread::current().id()));
    let binary = object.with_extension("bin");
    let done = Command::new("clang-19")
        .args([
            "-target",
            "amdgcn-amd-amdhsa",
            &format!("-mcpu={chip}"),
            "-c",
        ])
        .arg(format!("{FOLDER}/{file}.s"))
        .arg("-o")
        .arg(&object)
        .status();
    assert!(done.expect("clang-19 runs").success(), "{file}.s");
    let done = Command::new("llvm-objcopy")
        .args(["-O", "binary", "-j", ".text"])
        .args([&object, &binary])
        .status();
    assert!(done.expect("llvm-objcopy runs").success(), "{file}.s");
    let bytes = std::fs::read(&binary).expect("the handler's words");
    let _ = (std::fs::remove_file(&object), std::fs::remove_file(&binary));
    bytes
}

/// A work-group that runs a program, and the handler that its waves enter.
pub struct Machine<const L: usize> {
    pub memory: Flat,
    pub cu: ComputeUnit,
    pub group: Workgroup<L>,
    pub program: u64,
    pub handler: Handler,
    pub area: u64,
}

impl<const L: usize> Machine<L>
where
    Workgroup<L>: Run,
{
    /// With so many work-items and bytes of LDS.
    pub fn new(target: &'static Target, items: u16, lds: u32, program: &str) -> Self {
        let mut memory = Flat::new(2 << 20);
        let mut cu = ComputeUnit::for_target(target);
        let entry = memory.alloc(8192);
        memory.write(entry, &handler(target.name));
        let at = memory.alloc(4096);
        let text = format!("{program}\ns_endpgm");
        memory.write(at + 256, &assemble(target, L, &text));
        let mut kd = descriptor_gfx1201(L, 256);
        if target.name == "gfx942" {
            // 32 vector registers, of which the last 20 are for accumulation.
            kd[48..52].copy_from_slice(&(3u32 | (0xf0 << 12)).to_le_bytes());
            kd[44..48].copy_from_slice(&2u32.to_le_bytes());
        }
        memory.write(at, &kd);
        let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
        let handler = Handler {
            entry,
            memory: entry + 4096 + 2048,
        };
        let dispatch = Dispatch {
            workgroup_size: [items, 1, 1],
            grid_size: [items.into(), 1, 1],
            group_segment_size: lds,
            kernarg_address: memory.alloc(4096),
            apertures: APERTURES,
            handler,
            doorbell: DOORBELL,
            ..Dispatch::default()
        };
        let group = Workgroup::launch(&mut cu, &kernel, &dispatch, [0; 3], Scratch::default(), &[])
            .expect("launch");
        let area = memory.alloc(AREA as usize);
        Self {
            memory,
            cu,
            group,
            program: at + 256,
            handler,
            area,
        }
    }

    /// Sets the program's handler and its memory in the memory of the driver's, as a driver does.
    pub fn second(&mut self, entry: u64, memory: u64) {
        let at = self.handler.memory;
        self.memory.write(at, &entry.to_le_bytes());
        self.memory.write(at + 8, &memory.to_le_bytes());
    }

    pub fn run(&mut self, budget: u64) -> Outcome {
        self.group.run(&mut self.cu, &mut self.memory, budget)
    }

    /// Takes the work-group off, to the area.
    pub fn save(&mut self) -> Relaunch {
        let asked = self.group.ask_to_save(self.cu.target(), self.area);
        assert!(asked.is_some(), "there is a handler");
        assert!(self.group.is_moving());
        assert_eq!(self.run(100_000), Outcome::Done, "all are saved");
        Relaunch {
            id: self.group.id(),
            vmid: 0,
            lds: self.group.lds().len() as u32,
            handler: self.handler,
            doorbell: DOORBELL,
            apertures: APERTURES,
            waves: self.group.saved(),
        }
    }

    /// Brings it back; its waves are those of the program again.
    pub fn restore(&mut self, saved: &Relaunch) {
        self.group = Workgroup::relaunch(&mut self.cu, saved).expect("a handler, and registers");
        for _ in 0..100_000 {
            if self.group.waves().iter().all(|w| !w.trap.privileged) {
                assert!(!self.group.is_moving());
                return;
            }
            assert_eq!(self.run(1), Outcome::Budget);
        }
        panic!("a wave stays in its handler");
    }
}
