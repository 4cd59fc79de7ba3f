// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a process leaves in registers and LDS, and the shader that clears it before another one runs.

use crate::dispatches::vadd;
use crate::kernel_queues::kiq_resources;
use crate::kernels::{arguments, load, pointers};
use crate::queues::*;
use crate::rig::Rig;
use rkfd_emulator_testkit::CLEANER;
use rkfd_hw::aql::KernelDispatch;

const SECRET: u32 = 0x5ec2_e7aa;
/// EXEC_CLEANER_SHADER of MAP_PROCESS (`kfd_pm4_headers_aldebaran.h`).
const EXEC_CLEANER_SHADER: u32 = 1 << 17;

/// Has a process run 64 work-groups of a kernel, as the only one of a run list.
fn run_alone(p: &Process<'_>, bell: u32, kernel: &str, explicit: &[u8], cleans: bool) {
    let queue = Queue::new(p, bell, 16);
    let mut words = list(&[(p, &[&queue])]);
    if cleans {
        words[1] |= EXEC_CLEANER_SHADER;
    }
    p.rig.run_list(&words, 1);
    p.rig.fence();
    let kernel = load(p, "leftovers")[&format!("{kernel}.kd")];
    let signal = p.signal(0);
    let args = arguments(p, explicit, 64 * 256, 256);
    let packet = dispatch(kernel, args, 64 * 256, 256, signal);
    let packet = packet.with(KernelDispatch::GROUP_SEGMENT_SIZE, 4096);
    queue.push(packet.0);
    p.wait(signal);
    p.rig.unmap();
    p.rig.fence();
}

/// How many work-items of a process find what another one left: in a vector register, a scalar one, LDS.
fn found(rig: &Rig, cleans: bool) -> Vec<u32> {
    let (first, second) = (Process::saving(rig, 0x8001), Process::saving(rig, 0x8002));
    run_alone(&first, 0x800, "leave", &SECRET.to_le_bytes(), cleans);
    let counts = second.new_words(&[0; 3]);
    let mut explicit = pointers(&[counts]);
    explicit.extend(SECRET.to_le_bytes());
    run_alone(&second, 0x880, "look", &explicit, cleans);
    second.words(counts, 3)
}

/// Tells the KIQ where the cleaner shader is, as `gfx_v9_4_3_kiq_set_resources`; where that is.
fn name_cleaner(rig: &Rig, shader: &[u32]) -> u64 {
    let at = rig.alloc(4096);
    rig.put_words(at, shader);
    let mut words = kiq_resources();
    (words[4], words[5]) = ((at >> 8) as u32, (at >> 40) as u32);
    rig.kiq(&words);
    // The HIQ doesn't wait for the KIQ.
    let q = &rig.kiq;
    rig.wait("the KIQ", || {
        rig.u64(q.rptr) % q.words == q.written.get() % q.words
    });
    at
}

#[test]
fn a_process_finds_what_another_left() {
    let rig = Rig::new();
    let found = found(&rig, false);
    assert!(!found.contains(&0), "{found:?}");
    rig.clean();
}

#[test]
fn the_cleaner_shader_runs_before_another_process() {
    let rig = Rig::new();
    name_cleaner(&rig, CLEANER);
    assert_eq!(found(&rig, true), [0; 3]);
    rig.clean();
}

/// As Linux lists them, without chaining (`pm_calc_rlib_size` counts VMIDs only).
#[test]
fn processes_that_run_alone_take_turns() {
    let rig = Rig::new();
    name_cleaner(&rig, CLEANER);
    let (a, b) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (first, second) = (Queue::new(&a, 0x800, 16), Queue::new(&b, 0x880, 16));
    let mut words = list(&[(&a, &[&first]), (&b, &[&second])]);
    let each = words.len() / 2;
    (words[1], words[each + 1]) = (
        words[1] | EXEC_CLEANER_SHADER,
        words[each + 1] | EXEC_CLEANER_SHADER,
    );
    rig.run_list(&words, 1);
    rig.fence();
    for seed in 0..3 {
        for queue in [&first, &second] {
            let p = queue.process;
            let signal = p.signal(0);
            let (packet, sums, expected) = vadd(p, 256, seed, signal);
            queue.push(packet.0);
            p.wait(signal);
            assert_eq!(p.words(sums, 256), expected);
        }
    }
    rig.unmap();
    rig.fence();
    rig.clean();
}

/// It is what was there when the process got its turn.
#[test]
fn the_cleaner_shader_is_read_at_once() {
    let rig = Rig::new();
    let at = name_cleaner(&rig, CLEANER);
    let p = Process::saving(&rig, 0x8003);
    let queue = Queue::new(&p, 0x900, 16);
    let mut words = list(&[(&p, &[&queue])]);
    words[1] |= EXEC_CLEANER_SHADER;
    rig.run_list(&words, 1);
    rig.fence();
    rig.unmap();
    rig.fence();
    // Its waves never run: the memory is another's before anything else does.
    rig.put_words(at, &[u32::MAX; 64]);
    assert!(!found(&rig, false).contains(&0));
    rig.clean();
}

#[test]
fn a_cleaner_shader_that_clears_nothing_is_no_help() {
    let rig = Rig::new();
    // s_cmp_eq_u32 s0, 1; s_cbranch_scc1 to the end; s_sethalt 1; s_endpgm.
    name_cleaner(&rig, &[0xbf06_8100, 0xbf85_0001, 0xbf8d_0001, 0xbf81_0000]);
    let found = found(&rig, true);
    assert!(!found.contains(&0), "{found:?}");
    rig.clean();
}

#[test]
fn a_cleaner_shader_must_be_named_and_work() {
    let rig = Rig::new();
    found(&rig, true);
    rig.violated(
        "EXEC_CLEANER_SHADER, and SET_RESOURCES of the KIQ on XCC 0 named no cleaner shader",
    );
    let rig = Rig::new();
    // s_endpgm: the waves for the other scalar registers don't halt.
    name_cleaner(&rig, &[0xbf81_0000]);
    found(&rig, true);
    rig.violated("don't begin with s_sethalt 1");
}
