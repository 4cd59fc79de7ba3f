// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waves are taken off where they are, lie in memory as Linux's handlers leave them, and go on.

use super::machine::*;
use rkfd_isa::wave::{Barrier, State, Wave};
use rkfd_isa::*;

/// What differs between the chips in memory.
struct Layout {
    /// Bytes of scalar registers, and how many of them are a program's.
    scalars: (u64, usize),
    /// The word that has SCC, and its bit.
    scc: (usize, u32),
    /// The word that has MODE.
    mode: usize,
}

fn layout(target: &Target) -> Layout {
    match target.name {
        "gfx942" => Layout {
            scalars: (448, 108),
            scc: (5, 0),
            mode: 9,
        },
        _ => Layout {
            scalars: (512, 108),
            scc: (5, 9),
            mode: 8,
        },
    }
}

/// A wave's registers by a pattern that has no two alike.
fn fill<const L: usize>(w: &mut Wave<L>, target: &Target) {
    let seed = 0x1000_0000 * (w.index + 1);
    let scalars = layout(target).scalars.1;
    for (n, s) in w.s[..scalars].iter_mut().enumerate() {
        *s = seed + n as u32 * 3;
    }
    for n in [4, 5, 6, 7, 8, 9, 10, 13] {
        w.s[108 + n] = seed + 0x5000 + n as u32;
    }
    // gfx9's TTMP13 and gfx12's TTMP11 have fields of the handler's own.
    w.s[108 + 11] = seed & 0xf000_0000 & !0x0c80_0000;
    w.s[108 + 13] &= 0x037f_ffff;
    w.s[124] = seed + 0x777;
    w.set_pair(126, 0x0123_4567_89ab_cdef & Wave::<L>::FULL);
    w.scc = w.index % 2 == 0;
    let registers = usize::from(w.registers());
    for (n, v) in w.v[..registers].iter_mut().enumerate() {
        for (l, lane) in v.iter_mut().enumerate() {
            *lane = seed + (n as u32) * 0x100 + l as u32;
        }
    }
    w.mode = w.mode & !0xf | (5 + w.index);
}

/// What a wave is, apart from where.
fn state<const L: usize>(w: &Wave<L>) -> (Vec<u32>, Vec<[u32; L]>, [u64; 3], [u32; 3]) {
    let mut s = w.s[..108].to_vec();
    s.extend(&w.s[112..120]);
    s.extend([w.s[121], w.s[124]]);
    let registers = usize::from(w.registers());
    (
        s,
        w.v[..registers].to_vec(),
        [w.pc, w.exec(), w.scratch.0],
        [w.mode, w.scc.into(), w.trap.flags],
    )
}

const LOOP: &str = "s_nop 0\ns_nop 0\ns_branch -3";

/// Waves with these flags of exceptions that were.
fn comes_back<const L: usize>(target: &'static Target, flags: u32)
where
    Workgroup<L>: Run,
{
    let waves = 3;
    let mut m = Machine::<L>::new(target, waves * L as u16, 2048, LOOP);
    assert_eq!(m.run(7), Outcome::Budget);
    for wave in m.group.waves_mut() {
        fill(wave, target);
        wave.trap.flags = flags;
    }
    let lds: Vec<u8> = (0..512u32).flat_map(|n| (n * 7).to_le_bytes()).collect();
    m.group.lds_mut().copy_from_slice(&lds);
    let before: Vec<_> = m.group.waves().iter().map(state).collect();
    let saved = m.save();
    assert!(m.group.waves().iter().all(|w| w.state == State::Saved));

    let what = layout(target);
    for (n, (s, v, [pc, exec, _], [mode, scc, _])) in before.iter().enumerate() {
        let at = saved.waves[n].place;
        let name = format!("{} wave {n}", target.name);
        for (r, register) in v.iter().enumerate() {
            let words = m.memory.words(at + (r * L * 4) as u64, L);
            assert_eq!(words, register, "{name} v{r}");
        }
        let at = at + (v.len() * L * 4) as u64;
        let scalars = m.memory.words(at, what.scalars.1);
        assert_eq!(scalars, s[..what.scalars.1], "{name}: scalar registers");
        let rest = m.memory.words(at + what.scalars.0, 32);
        assert_eq!(rest[0], s[s.len() - 1], "{name}: M0");
        let pair = |n: usize| u64::from(rest[n]) | (u64::from(rest[n + 1]) << 32);
        assert_eq!(pair(1), *pc, "{name}: the address");
        assert_eq!(pair(3) & Wave::<L>::FULL, *exec, "{name}: EXEC");
        let (word, bit) = what.scc;
        assert_eq!((rest[word] >> bit) & 1, *scc, "{name}: SCC");
        // The interpreter's bit 8 is none of gfx12's MODE.
        let own = if target.name == "gfx942" {
            u32::MAX
        } else {
            !0x100
        };
        assert_eq!(rest[what.mode], mode & own, "{name}: MODE");
        assert_eq!(
            rest[16 + 4..16 + 12],
            s[108..116],
            "{name}: trap temporaries"
        );
        assert_eq!(rest[16 + 13], s[116], "{name}: trap temporary 13");
        // AMD's debugger library finds a wave's state by what comes behind it: on gfx942 64 bytes that nobody uses.
        let unused = if target.name == "gfx942" { 64 } else { 0 };
        let end = at + what.scalars.0 + 128;
        match n {
            0 => assert_eq!(m.memory.read(end, lds.len()), lds, "{name}: LDS"),
            _ => assert_eq!(end + unused, saved.waves[n - 1].place, "{name}: no LDS"),
        }
    }

    m.restore(&saved);
    let after: Vec<_> = m.group.waves().iter().map(state).collect();
    for (n, (before, after)) in before.iter().zip(&after).enumerate() {
        let inside = m.program..m.program + 12;
        assert!(inside.contains(&after.2[0]), "wave {n} is in its program");
        assert_eq!(before.0, after.0, "{} wave {n}: scalars", target.name);
        assert_eq!(before.1, after.1, "{} wave {n}: vectors", target.name);
        assert_eq!(before.2[1..], after.2[1..], "{} wave {n}", target.name);
        assert_eq!(
            before.3, after.3,
            "{} wave {n}: mode, SCC, flags",
            target.name
        );
    }
    assert_eq!(m.group.lds(), lds);
}

/// TRAPSTS.XNACK_ERROR: stores of vector memory get lost.
#[test]
fn a_wave_of_gfx942_whose_address_did_not_translate_comes_back_as_it_was() {
    comes_back::<64>(&GFX942, 1 << 28);
}

#[test]
fn a_wave_of_gfx942_comes_back_as_it_was() {
    comes_back::<64>(&GFX942, 0);
}

#[test]
fn a_wave_of_gfx1201_comes_back_as_it_was() {
    comes_back::<32>(&GFX1201, 0);
    comes_back::<64>(&GFX1201, 0);
}

/// One wave waits at the barrier, another has not arrived, a third has ended.
fn barrier<const L: usize>(target: &'static Target, arrive: &str)
where
    Workgroup<L>: Run,
{
    // Each wave's number is in s0, and s1 is set when it may arrive.
    let program = format!(
        "s_cmp_eq_u32 s0, 2\ns_cbranch_scc1 {end}\ns_nop 0\ns_cmp_eq_u32 s1, 0\ns_cbranch_scc1 -3\n\
        {arrive}\ns_add_u32 s2, s2, 1\ns_nop 0",
        end = 5 + arrive.lines().count()
    );
    let mut m = Machine::<L>::new(target, 3 * L as u16, 512, &program);
    for (n, wave) in (0..).zip(m.group.waves_mut()) {
        wave.s[0] = n;
        wave.s[1] = u32::from(n == 0);
        wave.s[2] = 7;
    }
    assert_eq!(m.run(20_000), Outcome::Budget);
    let states: Vec<State> = m.group.waves().iter().map(|w| w.state).collect();
    assert_eq!(
        states,
        [State::Barrier, State::Running, State::Done],
        "{}",
        target.name
    );
    // Twice: what is saved of waves that came back is right, too.
    for _ in 0..2 {
        let saved = m.save();
        assert_eq!(saved.waves.len(), 2);
        m.restore(&saved);
        assert_eq!(m.run(5_000), Outcome::Budget);
        let waves = m.group.waves();
        assert_eq!(
            [waves[0].s[2], waves[1].s[2]],
            [7, 7],
            "{}: nobody passes",
            target.name
        );
        assert_eq!(waves[0].state, State::Barrier, "{}", target.name);
    }
    m.group.waves_mut()[1].s[1] = 1;
    assert_eq!(m.run(20_000), Outcome::Done, "{}", target.name);
    let waves = m.group.waves();
    assert_eq!([waves[0].s[2], waves[1].s[2]], [8, 8], "{}", target.name);
    let started = m.cu.statistics();
    assert_eq!((started.waves, started.workgroups), (3, 1), "once");
}

#[test]
fn a_barrier_comes_back_with_those_who_have_arrived() {
    barrier::<64>(&GFX942, "s_barrier");
    barrier::<32>(&GFX1201, "s_barrier_signal -1\ns_nop 0\ns_barrier_wait -1");
    barrier::<64>(&GFX1201, "s_barrier_signal -1\ns_barrier_wait -1");
}

/// A barrier that is complete when the wave that has not waited yet is saved.
#[test]
fn a_complete_barrier_comes_back_complete() {
    let program = "s_barrier_signal -1\ns_nop 0\ns_cmp_eq_u32 s1, 0\ns_cbranch_scc1 -3\n\
        s_barrier_wait -1\ns_nop 0";
    let mut m = Machine::<32>::new(&GFX1201, 64, 512, program);
    for wave in m.group.waves_mut() {
        wave.s[1] = 0;
    }
    assert_eq!(m.run(10_000), Outcome::Budget);
    assert!(m
        .group
        .waves()
        .iter()
        .all(|w| w.barrier == Barrier::Complete));
    let saved = m.save();
    m.restore(&saved);
    assert!(m
        .group
        .waves()
        .iter()
        .all(|w| w.barrier == Barrier::Complete));
    for wave in m.group.waves_mut() {
        wave.s[1] = 1;
    }
    assert_eq!(m.run(1_000), Outcome::Done);
}

/// A wave that the program's handler has halted is saved, and comes back halted.
#[test]
fn a_halted_wave_comes_back_halted() {
    for target in [&GFX942, &GFX1201] {
        let mut m = Machine::<64>::new(target, 64, 512, "s_trap 2\ns_nop 0");
        let second = m.memory.alloc(4096);
        let bit = if target.name == "gfx942" {
            (2, 13)
        } else {
            (4, 14)
        };
        let text = format!(
            "s_bitset1_b32 ttmp12, {}\ns_setreg_b32 hwreg({}), ttmp12\ns_rfe_b64 ttmp[0:1]",
            bit.1, bit.0
        );
        let code = rkfd_isa_testkit::assemble(target, 64, &text);
        m.memory.write(second, &code);
        m.second(second, 0x7abc_0000);
        assert_eq!(m.run(1_000), Outcome::Budget);
        assert_eq!(m.group.waves()[0].state, State::Halted, "{}", target.name);
        let pc = m.group.waves()[0].pc;
        let saved = m.save();
        m.restore(&saved);
        let wave = &m.group.waves()[0];
        assert_eq!(
            (wave.state, wave.pc),
            (State::Halted, pc),
            "{}",
            target.name
        );
        assert_eq!(pc, m.program, "{}: at its s_trap", target.name);
    }
}
