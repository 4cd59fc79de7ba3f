// SPDX-License-Identifier: MIT OR Apache-2.0

//! Unmapping while kernels run: saved and continued, hung, reset.

use crate::dispatches::vadd;
use crate::kernels::{arguments, load, pointers};
use crate::packets::unmap;
use crate::queues::*;
use crate::rig::Rig;
use rkfd_emulator::memory::{Hub, PAGE};
use rkfd_emulator_testkit::saved;
use rkfd_hw::aql::{self, KernelDispatch};
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::*;
use rkfd_hw::regs::gc_9_4_3 as gc;
use rkfd_hw::regs::Value;

/// A dispatch of spin: packet, and where its flag is.
pub fn spin(p: &Process<'_>, signal: u64) -> (KernelDispatch, u64) {
    let (flag, out) = (p.new_words(&[0; 4]), p.alloc(64));
    let args = arguments(p, &pointers(&[flag, out]), 64, 64);
    (
        dispatch(load(p, "loops")["spin.kd"], args, 64, 64, signal),
        flag,
    )
}

/// Waits until the waves of spin run.
pub fn begun(p: &Process<'_>, flag: u64) {
    p.rig.wait("the first wave", || p.words(flag + 8, 1) == [1]);
}

fn state(q: &Queue<'_>) -> u32 {
    q.image().get(Mqd::CP_HQD_PERSISTENT_STATE) as u32
}

#[test]
fn an_unmap_waits_for_waves_as_long_as_the_grace_period_says() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    for (count, saved) in [(0x40, true), (0, false)] {
        let times = Value::<gc::CP_IQ_WAIT_TIME2>::new(rig.read(gc::CP_IQ_WAIT_TIME2));
        let times = times.with(gc::CP_IQ_WAIT_TIME2::SCH_WAVE, count).bits();
        rig.write(gc::CP_IQ_WAIT_TIME2, times);
        let signal = p.signal(0);
        let (packet, flag) = spin(&p, signal);
        run(&rig, &[(&p, &[&q])]);
        q.push(packet.0);
        begun(&p, flag);
        rig.unmap();
        let fence = rig.send_fence();
        if !saved {
            // For ever: until the kernel ends, and then nothing is left to save.
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert_ne!(rig.u64(rig.fence), fence);
            rig.put_words(p.at(flag), &[1]);
        }
        rig.wait("the fence", || rig.u64(rig.fence) == fence);
        let relaunch = Value::new(state(&q)).get(gc::CP_HQD_PERSISTENT_STATE::RELAUNCH_WAVES);
        assert_eq!((relaunch == 1, p.value(signal) == 1), (saved, saved));
        if saved {
            rig.put_words(p.at(flag), &[1]);
            run(&rig, &[(&p, &[&q])]);
            p.wait(signal);
            rig.unmap();
            rig.fence();
        }
    }
    rig.clean();
}

#[test]
fn a_preempted_kernel_goes_on_under_another_vmid() {
    let rig = Rig::new();
    let (p, other) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let q = Queue::new(&p, 0x800, 16);
    let second = Queue::new(&other, 0x1000, 16);
    let (n, items) = (40_000u32, 1024u32);
    let out = p.alloc(u64::from(items) * 4);
    let mut explicit = pointers(&[out]);
    explicit.extend(n.to_le_bytes());
    let args = arguments(&p, &explicit, items, 64);
    let signal = p.signal(0);
    run(&rig, &[(&p, &[&q])]);
    q.push(dispatch(load(&p, "loops")["churn.kd"], args, items, 64, signal).0);
    let mut preempted = 0;
    for round in 0..4 {
        std::thread::sleep(std::time::Duration::from_millis(15));
        rig.unmap();
        rig.fence();
        assert!(!rig.is_active((1, 0, 0)));
        if p.value(signal) == 1 {
            // On a busy host its first wave may not have begun yet.
            let saved = Value::new(state(&q)).get(gc::CP_HQD_PERSISTENT_STATE::RELAUNCH_WAVES);
            assert!(saved == 1 || preempted == 0);
            preempted += u32::from(saved == 1);
            assert_eq!(p.u64(q.read_index()), 0);
        }
        // The processes change places, so their VMIDs do.
        match round % 2 {
            0 => run(&rig, &[(&other, &[&second]), (&p, &[&q])]),
            _ => run(&rig, &[(&p, &[&q]), (&other, &[&second])]),
        }
    }
    assert!(preempted >= 1, "the kernel was long enough to be preempted");
    p.wait(signal);
    let expected = (0..items).map(|i| {
        (0..n).fold(i, |x, _| {
            x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
        })
    });
    assert!(
        p.words(out, items as usize).into_iter().eq(expected),
        "as without preemption"
    );
    rig.clean();
}

#[test]
fn an_endless_kernel_stops_neither_other_queues_nor_an_unmap() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let (q, other) = (Queue::new(&p, 0x800, 16), Queue::new(&p, 0x802, 16));
    let [endless, short] = std::array::from_fn(|_| p.signal(0));
    let (packet, flag) = spin(&p, endless);
    let (sum, sums, expected) = vadd(&p, 1000, 9, short);
    run(&rig, &[(&p, &[&q, &other])]);
    q.push(packet.0);
    other.push(sum.0);
    p.wait(short);
    assert_eq!(p.words(sums, 1000), expected);
    assert_eq!(p.value(endless), 1);
    assert_ne!(rig.read(gc::GRBM_STATUS), 0, "busy");
    rig.unmap();
    rig.fence();
    // Nothing runs now, whatever the flag is.
    rig.put_words(p.at(flag), &[1]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(p.value(endless), 1);
    run(&rig, &[(&p, &[&q, &other])]);
    p.wait(endless);
    rig.wait("idle", || rig.read(gc::GRBM_STATUS) == 0);
    rig.clean();
}

#[test]
fn a_queue_that_cannot_save_its_waves_hangs_the_unmap_and_is_logged() {
    let rig = Rig::hasty(&[]);
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    q.change(|m| {
        m.set(Mqd::CP_HQD_PERSISTENT_STATE, 1 | (0x53 << 8));
        m.set(Mqd::CP_HQD_CTX_SAVE_BASE_ADDR, 0);
    });
    let (packet, flag) = spin(&p, p.signal(0));
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    begun(&p, flag);
    let before = std::time::Instant::now();
    rig.unmap();
    rig.fence();
    assert!(
        before.elapsed() >= std::time::Duration::from_millis(500),
        "five units of 100 ms"
    );
    let hung = Mqd::QUEUE_DOORBELL_ID0.word() as u64 * 4;
    assert_eq!(rig.words(rig.hiq.mqd + hung, 2), [0x800, 0]);
    assert!(rig.is_active((1, 0, 0)), "the request was abandoned");
    // kgd_gfx_v9_hqd_reset.
    rig.select((1, 0, 0));
    rig.write(gc::SPI_COMPUTE_QUEUE_RESET, 1);
    rig.wait("the queue is off", || rig.read(gc::CP_HQD_ACTIVE) & 1 == 0);
    rig.clean();
}

/// `kgd_gfx_v9_hqd_reset`, its first half.
fn reset_by_registers(rig: &Rig, slot: (u32, u32, u32)) {
    rig.select(slot);
    rig.write(gc::SPI_COMPUTE_QUEUE_RESET, 1);
}

/// The first queue doesn't leave with waves; the other one, on the next pipe, does. Then `end` must
/// end it, and no queue hangs any more.
fn hangs_until(rule: &str, end: impl FnOnce(&Rig, (u32, u32, u32))) {
    let rig = Rig::hasty(&[rule]);
    let p = Process::saving(&rig, 0x8001);
    let (q, other) = (Queue::new(&p, 0x800, 16), Queue::new(&p, 0x802, 16));
    run(&rig, &[(&p, &[&q])]);
    rig.unmap();
    rig.fence();
    assert!(!rig.is_active((1, 0, 0)), "without waves it leaves");
    run(&rig, &[(&p, &[&q, &other])]);
    let signals = [p.signal(0), p.signal(0)];
    let (lost, begins) = spin(&p, signals[0]);
    let (kept, flag) = spin(&p, signals[1]);
    q.push(lost.0);
    other.push(kept.0);
    begun(&p, begins);
    begun(&p, flag);
    rig.unmap();
    rig.fence();
    let hung = Mqd::QUEUE_DOORBELL_ID0.word() as u64 * 4;
    assert_eq!(rig.words(rig.hiq.mqd + hung, 2), [0x800, 0]);
    let places = (0..4).flat_map(|pipe| (0..8).map(move |queue| (1, pipe, queue)));
    let active: Vec<_> = places.filter(|&slot| rig.is_active(slot)).collect();
    assert_eq!(active.len(), 1, "only one is still there");
    end(&rig, active[0]);
    assert!(!rig.is_active(active[0]));
    rig.put_words(rig.hiq.mqd + hung, &[0]);
    // The other one goes on; a new queue in the place of the first leaves, too.
    run(&rig, &[(&p, &[&other])]);
    rig.put_words(p.at(flag), &[1]);
    p.wait(signals[1]);
    assert_eq!(p.value(signals[0]), 1, "its waves are lost");
    rig.clean();
}

#[test]
fn a_rules_hang_ends_with_a_reset() {
    hangs_until("at the 1st queue stop of queue 1: hang", |rig, slot| {
        reset_by_registers(rig, slot);
        rig.wait("the queue is off", || !rig.is_active(slot));
    });
}

#[test]
fn a_wedged_queue_ends_with_its_pipe() {
    hangs_until("at the 1st queue stop of queue 1: wedge", |rig, slot| {
        reset_by_registers(rig, slot);
        // Time for a reset, which does nothing.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(rig.is_active(slot), "its reset does nothing");
        let bit = u32::from(gc::CP_MEC_CNTL::MEC_ME1_PIPE0_RESET.bit()) + slot.1;
        rig.write(gc::CP_MEC_CNTL, 1 << bit);
        rig.write(gc::CP_MEC_CNTL, 0);
        rig.wait("the queue is off", || !rig.is_active(slot));
    });
}

#[test]
fn an_unmap_with_reset_loses_what_was_begun() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let signal = p.signal(0);
    let (packet, flag) = spin(&p, signal);
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    begun(&p, flag);
    rig.hiq(&unmap(SELECT_PASID, UNMAP_RESET, 0x8001));
    rig.fence();
    assert_eq!(p.value(signal), 1);
    assert_eq!(
        Value::new(state(&q)).get(gc::CP_HQD_PERSISTENT_STATE::RELAUNCH_WAVES),
        0
    );
    rig.clean();
}

#[test]
fn a_new_queue_in_an_old_mqds_place_gets_none_of_its_waves() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let signal = p.signal(0);
    let (packet, flag) = spin(&p, signal);
    let fresh = q.image();
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    begun(&p, flag);
    rig.unmap();
    rig.fence();
    rig.put_words(q.mqd, &fresh.0);
    rig.set_u64(p.at(q.write_index()), 0);
    rig.put(p.at(q.ring), &u16::from(aql::TYPE_INVALID).to_le_bytes());
    rig.put_words(p.at(flag), &[1]);
    run(&rig, &[(&p, &[&q])]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(p.value(signal), 1, "the old kernel did not go on");
    rig.clean();
    // Waves can't come from nowhere.
    rig.unmap();
    rig.fence();
    q.change(|m| {
        let state =
            Value::<gc::CP_HQD_PERSISTENT_STATE>::new(m.get(Mqd::CP_HQD_PERSISTENT_STATE) as u32);
        let state = state.with(gc::CP_HQD_PERSISTENT_STATE::RESTORE_ACTIVE, true);
        let state = state
            .with(gc::CP_HQD_PERSISTENT_STATE::RELAUNCH_WAVES, true)
            .bits();
        m.set(Mqd::CP_HQD_PERSISTENT_STATE, state);
    });
    run(&rig, &[(&p, &[&q])]);
    rig.violated("MQD asks to restore waves that were not saved");
}

#[test]
fn a_waiting_barrier_is_preempted_and_waits_on() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let [gate, done] = std::array::from_fn(|_| p.signal(0));
    run(&rig, &[(&p, &[&q])]);
    q.push(barrier(aql::TYPE_BARRIER_AND, &[gate], done));
    std::thread::sleep(std::time::Duration::from_millis(10));
    rig.unmap();
    rig.fence();
    p.set_value(gate, 0);
    std::thread::sleep(std::time::Duration::from_millis(10));
    assert_eq!(p.value(done), 1);
    run(&rig, &[(&p, &[&q])]);
    p.wait(done);
    rig.clean();
}

#[test]
fn a_device_reset_ends_an_endless_kernel() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let (packet, flag) = spin(&p, p.signal(0));
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    begun(&p, flag);
    rig.device.reset();
    assert!(!rig.is_active((1, 0, 0)));
    assert_eq!(rig.read(gc::GRBM_STATUS), 0);
    rig.clean();
}

#[test]
fn dropping_the_device_ends_an_endless_kernel() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let (packet, flag) = spin(&p, p.signal(0));
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    begun(&p, flag);
}

/// The control stack of a queue that was taken off, and where the states of its waves begin and end.
fn stack(q: &Queue<'_>) -> (Vec<u32>, u64, u64) {
    let mqd = q.image();
    let top = mqd.get(Mqd::CP_HQD_CNTL_STACK_OFFSET);
    let words = ((STACK - top) / 4) as usize;
    // "Control stack is located one page after MQD" (`get_wave_state`).
    let stack = q.process.rig.words(q.mqd + PAGE + top, words);
    (stack, STACK, mqd.get(Mqd::CP_HQD_WG_STATE_OFFSET))
}

#[test]
fn a_debugger_finds_the_waves_of_a_queue_that_was_taken_off() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let (flag, out) = (p.new_words(&[0; 4]), p.alloc(4096));
    let args = arguments(&p, &pointers(&[flag, out]), 512, 256);
    let kernel = load(&p, "loops")["spin.kd"];
    let signal = p.signal(0);
    run(&rig, &[(&p, &[&q])]);
    q.push(dispatch(kernel, args, 512, 256, signal).0);
    begun(&p, flag);
    rig.unmap();
    rig.fence();
    let (words, begin, end) = stack(&q);
    let (waves, low) = saved::waves(false, &words, end);
    assert_eq!(low, begin, "all states are described");
    let flags: Vec<_> = waves.iter().map(|w| (w.first, w.last)).collect();
    let group = [(true, false), (false, false), (false, false), (false, true)];
    // On a busy host the second workgroup may not have begun.
    assert!(
        flags == group || flags == [group, group].concat(),
        "{flags:?}"
    );
    let area = q.image().get(Mqd::CP_HQD_CTX_SAVE_BASE_ADDR);
    let entry = kernel + p.u64(kernel + 16);
    for wave in &waves {
        let pc = p.words(area + wave.hardware + 4, 2);
        let pc = u64::from(pc[0]) | (u64::from(pc[1] & 0xffff) << 32);
        assert!(
            (entry..entry + 4096).contains(&pc),
            "{wave:?} is at {pc:#x}"
        );
    }
    // Whoever loses the stack can't have them go on.
    let top = q.image().get(Mqd::CP_HQD_CNTL_STACK_OFFSET);
    let zeroes = vec![0; words.len()];
    rig.put_words(q.mqd + PAGE + top, &zeroes);
    run(&rig, &[(&p, &[&q])]);
    rig.violated("the control stack does not hold what was saved there");
}

/// Who runs is told to the check that no VRAM is given away which a TLB still has.
#[test]
fn a_process_reaches_what_its_page_table_lacks_while_its_queue_runs() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let (packet, flag) = spin(&p, p.signal(0));
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    begun(&p, flag);
    let memory = rig.device.soc.memory.clone();
    let clear = |at: u64| memory.space(Hub::Gfx(0), 0).takes(at, 4);
    let at = p.at(flag);
    clear(at);
    rig.clean();
    p.map_page(flag, at, 0);
    clear(at);
    rig.violated("is written for the kernel while the TLB has it");
    rig.unmap();
    rig.fence();
    clear(at);
    assert_eq!(rig.report.violations(), 1);
}

#[test]
fn waves_without_a_trap_handler_leave_when_they_end() {
    let rig = Rig::new();
    let p = Process::new(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let signal = p.signal(0);
    let (packet, flag) = spin(&p, signal);
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    begun(&p, flag);
    rig.unmap();
    let fence = rig.send_fence();
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_ne!(rig.u64(rig.fence), fence, "nothing saves them");
    rig.put_words(p.at(flag), &[1]);
    rig.wait("the fence", || rig.u64(rig.fence) == fence);
    let relaunch = Value::new(state(&q)).get(gc::CP_HQD_PERSISTENT_STATE::RELAUNCH_WAVES);
    assert_eq!((relaunch, p.value(signal)), (0, 0));
    rig.clean();
}
