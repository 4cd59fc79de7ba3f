// SPDX-License-Identifier: MIT OR Apache-2.0

//! Requests by which a process gets what is its own, and gives it back: memory, queues.

use crate::beside::{Beside, Kind};
use crate::measure::{step, Cost, Meter};
use crate::process::{place, save_memory, Kit, Process, PAGE};
use rkfd_bare::sys;
use rkfd_programs::raw::errno;
use rkfd_programs::Failure;
use rkfd_uapi::{ioctl, memory, queue};
use std::os::fd::{AsRawFd, OwnedFd};

/// Queues that are there when others are there.
const OTHERS: usize = 4;
/// Places of the process' parts; those of measured objects come behind.
const QUEUES: u64 = 2;
const SHARED: u64 = 3;
const OBJECTS: u64 = 8;

/// The life of objects of a size and a kind.
pub fn object(
    process: &Process,
    meter: &Meter<'_>,
    suffix: &str,
    bytes: u64,
    flags: u32,
    times: usize,
) -> Result<Vec<Cost>, Failure> {
    let p = process;
    // As in a program that runs already, there are tables for the addresses: a page is mapped beside each object.
    let apart = bytes.max(2 << 20) * 2;
    let at = move |n: usize| place(OBJECTS) + n as u64 * apart;
    let neighbours: Result<Vec<u64>, Failure> = (0..times)
        .map(|n| {
            let flags = memory::ALLOC_GTT | memory::ALLOC_WRITABLE;
            p.mapped(at(n) + bytes, PAGE, flags)
        })
        .collect();
    let get = |handles: &[u64], n: usize| handles.get(n).copied().unwrap_or(0);
    let steps = vec![
        step(
            format!("ALLOC_MEMORY_OF_GPU/{suffix}"),
            times,
            move |handles: &mut Vec<u64>, n| {
                handles.push(p.alloc(at(n), bytes, flags)?);
                Ok(())
            },
        ),
        step(
            format!("MAP_MEMORY_TO_GPU/{suffix}"),
            times,
            move |h: &mut Vec<u64>, n| p.map(get(h, n)),
        ),
        step(
            format!("UNMAP_MEMORY_FROM_GPU/{suffix}"),
            times,
            move |h: &mut Vec<u64>, n| p.unmap(get(h, n)),
        ),
        step(
            format!("FREE_MEMORY_OF_GPU/{suffix}"),
            times,
            move |h: &mut Vec<u64>, n| {
                p.free(get(h, n))?;
                if n + 1 == times {
                    h.clear();
                }
                Ok(())
            },
        ),
    ];
    let costs = meter.cycle(&mut Vec::new(), steps)?;
    for handle in neighbours? {
        p.unmap(handle)?;
        p.free(handle)?;
    }
    Ok(costs)
}

/// An object that is shared, and taken back. Each round has a new one, since a DMA-buf is kept with its object.
pub fn dmabufs(process: &Process, meter: &Meter<'_>) -> Result<Vec<Cost>, Failure> {
    #[derive(Default)]
    struct State {
        handle: u64,
        fd: Option<OwnedFd>,
        imported: u64,
    }
    let (p, gpu_id) = (process, process.node.gpu);
    let flags = memory::ALLOC_VRAM | memory::ALLOC_WRITABLE;
    let fd = |state: &State| state.fd.as_ref().map_or(0, |fd| fd.as_raw_fd() as u32);
    let steps = vec![
        step(
            "ALLOC_MEMORY_OF_GPU(to-export)",
            1,
            move |state: &mut State, _| {
                state.handle = p.alloc(place(SHARED), 2 << 20, flags)?;
                Ok(())
            },
        ),
        step("EXPORT_DMABUF", 1, move |state: &mut State, _| {
            let mut args = memory::ExportDmabufArgs {
                handle: state.handle,
                ..Default::default()
            };
            p.ask(&ioctl::EXPORT_DMABUF, &mut args)?;
            state.fd = Some(sys::own(args.dmabuf_fd));
            Ok(())
        }),
        step("GET_DMABUF_INFO", 1, move |state: &mut State, _| {
            let mut args = memory::GetDmabufInfoArgs {
                dmabuf_fd: fd(state),
                ..Default::default()
            };
            p.ask(&ioctl::GET_DMABUF_INFO, &mut args)
        }),
        step("IMPORT_DMABUF", 1, move |state: &mut State, _| {
            let mut args = memory::ImportDmabufArgs {
                va_addr: place(OBJECTS),
                gpu_id,
                dmabuf_fd: fd(state),
                handle: 0,
            };
            p.ask(&ioctl::IMPORT_DMABUF, &mut args)?;
            state.imported = args.handle;
            Ok(())
        }),
        step(
            "FREE_MEMORY_OF_GPU(imported)",
            1,
            move |state: &mut State, _| p.free(state.imported),
        ),
        step(
            "FREE_MEMORY_OF_GPU(exported)+close",
            1,
            move |state: &mut State, _| {
                p.free(state.handle)?;
                state.fd = None;
                Ok(())
            },
        ),
    ];
    meter.cycle(&mut State::default(), steps)
}

/// A queue's life on an idle device, beside others of this process that have no packets, and beside one of another process
/// that computes.
pub fn queues(process: &Process, meter: &Meter<'_>) -> Result<(), Failure> {
    let kit = Kit::new(process, &save_memory(&process.node)?, QUEUES)?;
    one_queue(&kit, process, meter, "idle")?;
    let others: Result<Vec<u32>, _> = (0..OTHERS).map(|_| kit.create(100)).collect();
    let others = others.map_err(errno("CREATE_QUEUE"))?;
    one_queue(&kit, process, meter, "others")?;
    others
        .into_iter()
        .try_for_each(|queue| kit.destroy(queue))?;
    let mut working = Beside::new(Kind::Working, None)?;
    working.have(1, 100)?;
    one_queue(&kit, process, meter, "working")?;
    working.end()
}

fn one_queue(
    kit: &Kit<'_>,
    process: &Process,
    meter: &Meter<'_>,
    suffix: &str,
) -> Result<(), Failure> {
    let p = process;
    let mut steps = vec![
        step(format!("CREATE_QUEUE/{suffix}"), 1, |id: &mut u32, _| {
            *id = kit.create(100).map_err(errno("CREATE_QUEUE"))?;
            Ok(())
        }),
        step(
            format!("UPDATE_QUEUE(same)/{suffix}"),
            1,
            |id: &mut u32, _| kit.update(*id, 100),
        ),
        step(
            format!("SET_CU_MASK/{suffix}"),
            1,
            move |id: &mut u32, _| {
                let mut mask = [u32::MAX; 4];
                let mut args = queue::SetCuMaskArgs {
                    queue_id: *id,
                    num_cu_mask: 128,
                    cu_mask_ptr: sys::address(&mut mask),
                };
                p.ask(&ioctl::SET_CU_MASK, &mut args)
            },
        ),
    ];
    if process.node.gws != 0 {
        for (name, num_gws) in [
            ("ALLOC_QUEUE_GWS", process.node.gws),
            ("ALLOC_QUEUE_GWS(none)", 0),
        ] {
            steps.push(step(
                format!("{name}/{suffix}"),
                1,
                move |id: &mut u32, _| {
                    let mut args = queue::AllocQueueGwsArgs {
                        queue_id: *id,
                        num_gws,
                        ..Default::default()
                    };
                    p.ask(&ioctl::ALLOC_QUEUE_GWS, &mut args)
                },
            ));
        }
    }
    steps.extend([
        step(
            format!("UPDATE_QUEUE(off)/{suffix}"),
            1,
            |id: &mut u32, _| kit.update(*id, 0),
        ),
        step(
            format!("DESTROY_QUEUE(off)/{suffix}"),
            1,
            |id: &mut u32, _| kit.destroy(*id),
        ),
        step(
            format!("CREATE_QUEUE(again)/{suffix}"),
            1,
            |id: &mut u32, _| {
                *id = kit.create(100).map_err(errno("CREATE_QUEUE"))?;
                Ok(())
            },
        ),
        step(format!("DESTROY_QUEUE/{suffix}"), 1, |id: &mut u32, _| {
            kit.destroy(*id)
        }),
    ]);
    meter.cycle(&mut 0, steps)?.iter().for_each(Cost::print);
    Ok(())
}
