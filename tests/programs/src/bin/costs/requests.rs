// SPDX-License-Identifier: MIT OR Apache-2.0

//! Each request that a runtime makes, on its own.

use crate::belongings::{dmabufs, object, queues};
use crate::measure::{step, Cost, Meter, Pace};
use crate::process::{place, Process, PAGE};
use rkfd_bare::sys;
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::Failure;
use rkfd_uapi::{debug, device, event, ioctl, memory, smi, svm};
use rustix::io::Errno;

/// How often a request that only the driver answers is made in a row.
const ROW: usize = 16;
/// The same for requests of memory.
const FEW: usize = 4;
/// Sizes of objects.
const SIZES: [(&str, u64); 3] = [("4k", PAGE), ("2m", 2 << 20), ("256m", 256 << 20)];
/// The place of the signal page.
const SIGNALS: u64 = 1;

/// Measures all of them.
pub fn run(pace: Pace) -> Result<(), Failure> {
    let process = Process::new()?;
    let meter = Meter::new(&process.kfd, pace)?;
    let print = |costs: Vec<Cost>| costs.iter().for_each(Cost::print);
    print(plain(&process, &meter)?);
    print(runtime(&process, &meter)?);
    process.signal_page(SIGNALS)?;
    print(events(&process, &meter)?);
    for (kind, flags) in [("vram", memory::ALLOC_VRAM), ("gtt", memory::ALLOC_GTT)] {
        for (size, bytes) in SIZES.into_iter().take(pace.pick(SIZES.len(), 2)) {
            let times = if bytes > 2 << 20 { 1 } else { FEW };
            let suffix = format!("{kind}-{size}");
            let flags = flags | memory::ALLOC_WRITABLE;
            print(object(&process, &meter, &suffix, bytes, flags, times)?);
        }
    }
    print(dmabufs(&process, &meter)?);
    queues(&process, &meter)
}

/// Those that change nothing, or the same again.
fn plain(process: &Process, meter: &Meter<'_>) -> Result<Vec<Cost>, Failure> {
    let gpu_id = process.node.gpu;
    let p = process;
    let steps = vec![
        step("GET_VERSION", ROW, |_: &mut (), _| {
            p.ask(&ioctl::GET_VERSION, &mut Default::default())
        }),
        step("GET_CLOCK_COUNTERS", ROW, move |_: &mut (), _| {
            let mut args = device::GetClockCountersArgs {
                gpu_id,
                ..Default::default()
            };
            p.ask(&ioctl::GET_CLOCK_COUNTERS, &mut args)
        }),
        step("GET_PROCESS_APERTURES", ROW, |_: &mut (), _| {
            p.ask(&ioctl::GET_PROCESS_APERTURES, &mut Default::default())
        }),
        step("GET_PROCESS_APERTURES_NEW", ROW, |_: &mut (), _| {
            let mut room = [device::ProcessDeviceApertures::default(); 1];
            let mut args = device::GetProcessAperturesNewArgs {
                kfd_process_device_apertures_ptr: sys::address(&mut room),
                num_of_nodes: 1,
                pad: 0,
            };
            p.ask(&ioctl::GET_PROCESS_APERTURES_NEW, &mut args)
        }),
        step("GET_TILE_CONFIG", ROW, move |_: &mut (), _| {
            let (mut tiles, mut macros) = ([0u32; 32], [0u32; 16]);
            let mut args = device::GetTileConfigArgs {
                tile_config_ptr: sys::address(&mut tiles),
                macro_tile_config_ptr: sys::address(&mut macros),
                num_tile_configs: 32,
                num_macro_tile_configs: 16,
                gpu_id,
                ..Default::default()
            };
            p.ask(&ioctl::GET_TILE_CONFIG, &mut args)
        }),
        step("ACQUIRE_VM", ROW, |_: &mut (), _| p.acquire()),
        step("SET_MEMORY_POLICY", ROW, move |_: &mut (), _| {
            let mut args = device::SetMemoryPolicyArgs {
                gpu_id,
                default_policy: device::CACHE_POLICY_COHERENT,
                alternate_policy: device::CACHE_POLICY_COHERENT,
                ..Default::default()
            };
            p.ask(&ioctl::SET_MEMORY_POLICY, &mut args)
        }),
        step("SET_SCRATCH_BACKING_VA", ROW, move |_: &mut (), _| {
            let mut args = memory::SetScratchBackingVaArgs {
                va_addr: place(0),
                gpu_id,
                pad: 0,
            };
            p.ask(&ioctl::SET_SCRATCH_BACKING_VA, &mut args)
        }),
        step("AVAILABLE_MEMORY", ROW, move |_: &mut (), _| {
            let mut args = memory::GetAvailableMemoryArgs {
                gpu_id,
                ..Default::default()
            };
            p.ask(&ioctl::AVAILABLE_MEMORY, &mut args)
        }),
        // Without shared virtual memory it is refused, which a runtime takes for "no".
        step("SET_XNACK_MODE", ROW, |_: &mut (), _| {
            let mut args = svm::SetXnackModeArgs { xnack_enabled: -1 };
            match call(&p.kfd, &ioctl::SET_XNACK_MODE, &mut args) {
                Ok(()) | Err(Errno::PERM) => Ok(()),
                Err(e) => Err(errno("SET_XNACK_MODE")(e)),
            }
        }),
        step("SMI_EVENTS+close", FEW, move |_: &mut (), _| {
            let mut args = smi::SmiEventsArgs {
                gpuid: gpu_id,
                anon_fd: 0,
            };
            p.ask(&ioctl::SMI_EVENTS, &mut args)?;
            drop(sys::own(args.anon_fd));
            Ok(())
        }),
    ];
    meter.cycle(&mut (), steps)
}

/// What a runtime says of itself. There is no queue.
fn runtime(process: &Process, meter: &Meter<'_>) -> Result<Vec<Cost>, Failure> {
    let (p, gpu_id) = (process, process.node.gpu);
    let enable = |mode_mask| {
        let mut args = debug::RuntimeEnableArgs {
            mode_mask,
            ..Default::default()
        };
        p.ask(&ioctl::RUNTIME_ENABLE, &mut args)
    };
    let steps = vec![
        step("RUNTIME_ENABLE", 1, move |_: &mut (), _| {
            enable(debug::RUNTIME_ENABLE_MODE_ENABLE_MASK)
        }),
        step("RUNTIME_ENABLE(off)", 1, move |_: &mut (), _| enable(0)),
        // No handler of the program's own.
        step("SET_TRAP_HANDLER", 1, move |_: &mut (), _| {
            let mut args = device::SetTrapHandlerArgs {
                gpu_id,
                ..Default::default()
            };
            p.ask(&ioctl::SET_TRAP_HANDLER, &mut args)
        }),
    ];
    meter.cycle(&mut (), steps)
}

fn events(process: &Process, meter: &Meter<'_>) -> Result<Vec<Cost>, Failure> {
    let p = process;
    let get = |ids: &[u32], n: usize| ids.get(n).copied().unwrap_or(0);
    let steps = vec![
        step("CREATE_EVENT", ROW, move |ids: &mut Vec<u32>, _| {
            ids.push(p.signal(true)?);
            Ok(())
        }),
        step("SET_EVENT", ROW, move |ids: &mut Vec<u32>, n| {
            p.set(get(ids, n))
        }),
        step("RESET_EVENT", ROW, move |ids: &mut Vec<u32>, n| {
            let mut args = event::ResetEventArgs {
                event_id: get(ids, n),
                pad: 0,
            };
            p.ask(&ioctl::RESET_EVENT, &mut args)
        }),
        step(
            "WAIT_EVENTS(not-yet)",
            ROW,
            move |ids: &mut Vec<u32>, n| match raw::wait(&p.kfd, get(ids, n), 0)
                .map_err(errno("WAIT_EVENTS"))?
            {
                None => Ok(()),
                Some(_) => Err(Failure::new("a wait ended for an event that was reset")),
            },
        ),
        step("SET_EVENT(again)", ROW, move |ids: &mut Vec<u32>, n| {
            p.set(get(ids, n))
        }),
        step(
            "WAIT_EVENTS(ready)",
            ROW,
            move |ids: &mut Vec<u32>, n| match raw::wait(&p.kfd, get(ids, n), 0)
                .map_err(errno("WAIT_EVENTS"))?
            {
                Some(_) => Ok(()),
                None => Err(Failure::new("a wait didn't end for an event that was set")),
            },
        ),
        step("DESTROY_EVENT", ROW, move |ids: &mut Vec<u32>, n| {
            p.destroy_event(get(ids, n))?;
            if n + 1 == ROW {
                ids.clear();
            }
            Ok(())
        }),
    ];
    meter.cycle(&mut Vec::new(), steps)
}
