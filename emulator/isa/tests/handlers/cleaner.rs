// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waves leave behind for others, and the shader that clears it.

use super::machine::code_of;
use rkfd_isa::*;
use rkfd_isa_testkit::*;

/// Leaves 77 in every lane of v9, in s20 and VCC, and in a dword of LDS.
const SECRET: &str = "v_mov_b32 v9, 77\ns_movk_i32 s20, 77\ns_movk_i32 vcc_lo, 77\n\
    v_mov_b32 v1, 0x3f0\nds_write_b32 v1, v9\ns_waitcnt lgkmcnt(0)\ns_barrier";
const SECRET_GFX12: &str = "v_mov_b32 v9, 77\ns_movk_i32 s20, 77\ns_movk_i32 vcc_lo, 77\n\
    v_mov_b32 v1, 0x3f0\nds_store_b32 v1, v9\ns_wait_dscnt 0x0";
/// Stores what is in v9, s20, VCC and that dword, from the address in s[0:1] on.
const LOOK: &str = "v_mov_b32 v1, 0x3f0\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v3, s20\n\
    v_mov_b32 v4, vcc_lo\nv_mov_b32 v5, 0\nglobal_store_dword v5, v9, s[0:1]\nglobal_store_dword v5, v3, s[0:1] offset:4\n\
    global_store_dword v5, v4, s[0:1] offset:8\nglobal_store_dword v5, v2, s[0:1] offset:12\ns_waitcnt vmcnt(0)";
const LOOK_GFX12: &str = "v_mov_b32 v1, 0x3f0\nds_load_b32 v2, v1\ns_wait_dscnt 0x0\nv_mov_b32 v3, s20\n\
    v_mov_b32 v4, vcc_lo\nv_mov_b32 v5, 0\nglobal_store_b32 v5, v9, s[0:1]\nglobal_store_b32 v5, v3, s[0:1] offset:4\n\
    global_store_b32 v5, v4, s[0:1] offset:8\nglobal_store_b32 v5, v2, s[0:1] offset:12\ns_wait_storecnt 0x0";

/// A compute unit and its memory.
struct Unit {
    cu: ComputeUnit,
    memory: Flat,
}

impl Unit {
    fn new(target: &'static Target) -> Self {
        Self {
            cu: ComputeUnit::for_target(target),
            memory: Flat::new(1 << 20),
        }
    }

    /// Runs a program as so many waves, and returns what it has stored.
    fn run<const L: usize>(&mut self, waves: u16, text: &str) -> Vec<u32>
    where
        Workgroup<L>: Run,
    {
        let target = self.cu.target();
        let at = self.memory.alloc(4096);
        let code = assemble(target, L, &format!("{text}\ns_endpgm"));
        self.memory.write(at + 256, &code);
        let mut kd = descriptor_gfx1201(L, 256);
        if target.name == "gfx942" {
            // 32 vector registers, none of them for accumulation.
            kd[48..52].copy_from_slice(&(3u32 | (0xf0 << 12)).to_le_bytes());
            kd[44..48].copy_from_slice(&7u32.to_le_bytes());
        }
        self.memory.write(at, &kd);
        let kernel = self.cu.kernel(&mut self.memory, 0, at).expect("descriptor");
        let out = self.memory.alloc(4096);
        let dispatch = Dispatch {
            workgroup_size: [waves * L as u16, 1, 1],
            grid_size: [u32::from(waves) * L as u32, 1, 1],
            group_segment_size: 4096,
            kernarg_address: out,
            apertures: APERTURES,
            ..Dispatch::default()
        };
        let scratch = Scratch::default();
        let launched =
            Workgroup::<L>::launch(&mut self.cu, &kernel, &dispatch, [0; 3], scratch, &[]);
        let mut group = launched.expect("launch");
        let outcome = group.run(&mut self.cu, &mut self.memory, 1 << 20);
        assert_eq!(outcome, Outcome::Done);
        group.retire(&mut self.cu);
        self.memory.words(out, 4)
    }

    fn clean(&mut self, shader: &[u8]) -> Result<(), CleanError> {
        let at = self.memory.alloc(4096);
        self.memory.write(at, shader);
        self.cu.clean(&mut self.memory, at)
    }
}

fn cleaner() -> Vec<u8> {
    code_of("cleaner", "gfx942")
}

#[test]
fn waves_find_what_others_left() {
    let mut unit = Unit::new(&GFX942);
    unit.run::<64>(1, SECRET);
    // In the slots that waves take in turn, that of the first comes again after 40.
    assert_eq!(unit.run::<64>(1, LOOK), [77, 0, 0, 77]);
    let mut others = (0..39).map(|_| unit.run::<64>(1, LOOK));
    assert_eq!(
        others.find(|seen| seen[1] == 77),
        Some(vec![77, 77, 77, 77])
    );
    let mut unit = Unit::new(&GFX1201);
    unit.run::<32>(1, SECRET_GFX12);
    assert_eq!(unit.run::<32>(1, LOOK_GFX12), [77, 0, 0, 77]);
    unit.cu.clear();
    assert_eq!(unit.run::<32>(1, LOOK_GFX12), [0; 4]);
}

/// After the module's shader nothing is left, in none of the slots.
#[test]
fn the_cleaner_shader_leaves_nothing() {
    let mut unit = Unit::new(&GFX942);
    (0..20).for_each(|_| _ = unit.run::<64>(16, SECRET));
    assert_eq!(unit.clean(&cleaner()), Ok(()));
    for _ in 0..80 {
        assert_eq!(unit.run::<64>(1, LOOK), [0; 4]);
    }
}

/// Each part of the shader matters: what is taken out of it stays.
#[test]
fn what_a_cleaner_shader_forgets_stays() {
    let vectors = 0x7e000280u32..=0x7e060280;
    /// What it is for, which instructions that are, and what is found without them.
    type Case<'a> = (&'a str, &'a dyn Fn(u32) -> bool, [u32; 4]);
    let cases: [Case<'_>; 4] = [
        (
            "vector registers",
            &|word| vectors.contains(&word),
            [77, 0, 0, 0],
        ),
        (
            "scalar registers",
            &|word| word & 0xff80_ff80 == 0xbe80_2d80,
            [0, 77, 0, 0],
        ),
        ("VCC", &|word| word == 0xbeea_0180, [0, 0, 77, 0]),
        ("LDS", &|word| word == 0xd9be_0000, [0, 0, 0, 77]),
    ];
    for (what, is, left) in cases {
        let mut shader = cleaner();
        let mut found = 0;
        for at in (0..shader.len()).step_by(4) {
            let word = u32::from_le_bytes(shader[at..at + 4].try_into().expect("a word"));
            if is(word) {
                // s_nop 0, as often as the instruction has words.
                let words = if what == "LDS" { 2 } else { 1 };
                for n in 0..words {
                    shader[at + 4 * n..][..4].copy_from_slice(&0xbf80_0000u32.to_le_bytes());
                }
                found += 1;
            }
        }
        assert!(found > 0, "{what}: there is such an instruction");
        let mut unit = Unit::new(&GFX942);
        (0..20).for_each(|_| _ = unit.run::<64>(16, SECRET));
        assert_eq!(unit.clean(&shader), Ok(()), "{what}");
        let mut seen = [0; 4];
        for _ in 0..40 {
            for (seen, now) in seen.iter_mut().zip(unit.run::<64>(1, LOOK)) {
                *seen |= now;
            }
        }
        assert_eq!(seen, left, "{what}");
    }
}

#[test]
fn a_cleaner_shader_must_halt_and_end() {
    let mut unit = Unit::new(&GFX942);
    let end = assemble(&GFX942, 64, "s_endpgm");
    assert_eq!(unit.clean(&end), Err(CleanError::NotHalted));
    let endless = [0xff, 0xff, 0x82, 0xbf];
    assert_eq!(unit.clean(&endless), Err(CleanError::Endless));
    let bad = unit.clean(&[0xff; 4]);
    assert!(matches!(bad, Err(CleanError::Fault(_))), "{bad:?}");
}
