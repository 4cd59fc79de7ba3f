// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wave with a program and a trap handler, on either chip.

use rkfd_isa::Launch;
use rkfd_isa::*;
use rkfd_isa_testkit::*;

/// A chip's hardware registers and bits for traps.
pub struct Chip {
    pub target: &'static Target,
    /// hwreg numbers: where HALT and SCC are, and exceptions.
    pub state: u32,
    pub flags: u32,
    pub halt: u32,
    pub scc: u32,
    /// The trap's number in TTMP1.
    pub id: u32,
    pub illegal: u32,
    pub violation: u32,
    /// Beside it: an address that does not translate.
    pub translation: u32,
    /// Instructions whose words differ: an atomic of LDS, and a load of scratch with its size.
    pub lds: &'static str,
    pub scratch: (&'static str, u64),
}

pub static CHIPS: [Chip; 2] = [
    Chip {
        target: &GFX942,
        state: 2,
        flags: 3,
        halt: 13,
        scc: 0,
        id: 16,
        illegal: 11,
        violation: 8,
        translation: 28,
        lds: "ds_add_u32 v0, v1",
        scratch: ("scratch_load_dword v1, v0, off", 8),
    },
    Chip {
        target: &GFX1201,
        state: 4,
        flags: 17,
        halt: 14,
        scc: 9,
        id: 28,
        illegal: 6,
        violation: 4,
        translation: 12,
        lds: "ds_add_u32 v0, v1",
        scratch: ("scratch_load_b32 v1, v0, off", 12),
    },
];

/// Words that are no instruction, on both chips.
pub const ILLEGAL: &str = ".long 0xffffffff";
/// Goes on behind an instruction of 4 bytes.
pub const BEHIND: &str = "s_add_u32 ttmp0, ttmp0, 4\ns_addc_u32 ttmp1, ttmp1, 0\n\
    s_and_b32 ttmp1, ttmp1, 0xffff\ns_rfe_b64 [ttmp0, ttmp1]\n";
/// Where the handler is behind the program, in the same page.
pub const HANDLER: u64 = 2048;
pub const MEMORY: u64 = 0x7abc_0000_1200;
pub const DOORBELL: u32 = 0x123;

pub struct Machine {
    pub memory: Flat,
    pub cu: ComputeUnit,
    pub group: Workgroup<64>,
    pub program: u64,
}

/// The words of a text, of which `.long` gives some.
pub fn code(target: &Target, text: &str) -> Vec<u8> {
    let line = |line: &str| match line.strip_prefix(".long 0x") {
        Some(hex) => u32::from_str_radix(hex, 16)
            .expect("hex")
            .to_le_bytes()
            .to_vec(),
        None => assemble(target, 64, line),
    };
    // Together where possible: each llvm-mc costs time.
    let mut out = Vec::new();
    let mut plain = String::new();
    for l in text.lines() {
        if l.starts_with(".long") {
            out.extend(assemble(target, 64, &std::mem::take(&mut plain)));
            out.extend(line(l));
        } else {
            plain += l;
            plain += "\n";
        }
    }
    out.extend(assemble(target, 64, &plain));
    out
}

pub fn machine_with(chip: &Chip, program: &str, handler: Option<&str>) -> Machine {
    machine_of(chip, 64, program, handler)
}

/// With a work-group of so many work-items.
pub fn machine_of(chip: &Chip, items: u16, program: &str, handler: Option<&str>) -> Machine {
    machine_begun(chip, items, program, handler, Launch::default())
}

/// Whose waves begin as a debugger has chosen.
pub fn machine_begun(
    chip: &Chip,
    items: u16,
    program: &str,
    handler: Option<&str>,
    launch: Launch,
) -> Machine {
    machine_enabling(chip, items, program, handler, (0, launch))
}

/// Whose kernel has exceptions of arithmetic trap, too: bits of EXCP_EN.
pub fn machine_enabling(
    chip: &Chip,
    items: u16,
    program: &str,
    handler: Option<&str>,
    (exceptions, launch): (u32, Launch),
) -> Machine {
    let mut memory = Flat::new(1 << 20);
    let mut cu = ComputeUnit::for_target(chip.target);
    let at = memory.alloc(4096);
    memory.write(at, &descriptor_gfx1201(64, 256));
    let program_at = at + 256;
    memory.write(
        program_at,
        &code(chip.target, &format!("{program}\ns_endpgm")),
    );
    if let Some(handler) = handler {
        memory.write(at + HANDLER, &code(chip.target, handler));
    }
    let mut kd = descriptor_gfx1201(64, 256);
    if chip.target.name == "gfx942" {
        // No mode of work-groups there, and registers for accumulation.
        kd[48..52].copy_from_slice(&(3u32 | (0xf0 << 12)).to_le_bytes());
        kd[44..48].copy_from_slice(&7u32.to_le_bytes());
    }
    // COMPUTE_PGM_RSRC2.EXCP_EN.
    kd[55] |= exceptions as u8;
    memory.write(at, &kd);
    let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
    let dispatch = Dispatch {
        workgroup_size: [items, 1, 1],
        grid_size: [items.into(), 1, 1],
        group_segment_size: 512,
        kernarg_address: memory.alloc(4096),
        apertures: APERTURES,
        handler: Handler {
            entry: handler.map_or(0, |_| at + HANDLER),
            memory: MEMORY,
        },
        doorbell: DOORBELL,
        launch,
        ..Dispatch::default()
    };
    let group = Workgroup::launch(&mut cu, &kernel, &dispatch, [0; 3], Scratch::default(), &[])
        .expect("launch");
    Machine {
        memory,
        cu,
        group,
        program: program_at,
    }
}

pub fn machine(chip: &Chip, program: &str, handler: &str) -> Machine {
    machine_with(chip, program, Some(handler))
}

impl Machine {
    pub fn outcome(&mut self) -> Outcome {
        self.group.run(&mut self.cu, &mut self.memory, 1000)
    }
    pub fn done(&mut self) {
        assert_eq!(self.outcome(), Outcome::Done);
    }
    pub fn s(&self, n: usize) -> u32 {
        self.group.waves()[0].s[n]
    }
}
