// SPDX-License-Identifier: MIT OR Apache-2.0

//! Copies and fills by the copy engines: between device and system memory, of odd sizes, of 64 MiB,
//! on two engines at once, and on each that the GPU has. With `fault`, a copy by the last of them that must fault.
//!
//! `copies [fault]`

use std::process::ExitCode;

use rkfd::{Address, Buffer, CopyQueue, Error, Gpu, Memory};
use rkfd_programs::{report, Failure, PATIENCE};

/// Words of the ordinary buffers, and of the large ones (64 MiB).
const N: usize = 1 << 18;
const LARGE: usize = 1 << 24;
/// An address at which nothing is ever mapped.
const NOWHERE: Address = Address(0x5000);

/// A word that is different at every place.
fn word(index: usize, seed: u32) -> u32 {
    (index as u32 ^ seed).wrapping_mul(0x9e37_79b1)
}

fn check(what: &str, buffer: &Buffer<u32>, wanted: impl Fn(usize) -> u32) -> Result<(), Failure> {
    let all = buffer.to_vec()?;
    let right = all.iter().enumerate().filter(|(i, w)| **w == wanted(*i));
    let (right, all) = (right.count(), buffer.len());
    println!("{what}: {right} of {all} words are right");
    match right == all {
        true => Ok(()),
        false => Err(Failure::new(format_args!("{what}: words are wrong"))),
    }
}

/// Copies between all kinds of memory.
fn kinds(gpu: &Gpu, queue: &CopyQueue) -> Result<(), Failure> {
    let kinds = [Memory::Vram, Memory::Gtt];
    for (n, (from, to)) in kinds
        .iter()
        .flat_map(|f| kinds.map(|t| (*f, t)))
        .enumerate()
    {
        let (source, target) = (gpu.alloc_in(from, N)?, gpu.alloc_in(to, N)?);
        let seed = n as u32 + 1;
        source.fill_with(|i| word(i, seed))?;
        target.fill(0)?;
        queue.copy(&target, &source)?.wait_timeout(PATIENCE)?;
        check(&format!("{from:?} to {to:?}"), &target, |i| word(i, seed))?;
    }
    Ok(())
}

/// Copies odd numbers of bytes between odd addresses.
fn odd(gpu: &Gpu, queue: &CopyQueue) -> Result<(), Failure> {
    let (source, target) = (gpu.alloc::<u8>(8 * N)?, gpu.alloc::<u8>(8 * N)?);
    let byte = |i: usize| (word(i, 77) >> 13) as u8;
    source.fill_with(byte)?;
    target.fill(0)?;
    let mut wanted = vec![0; 8 * N];
    let mut copies = Vec::new();
    for n in 0..64usize {
        let (from, to, bytes) = (n * 5001 + n % 7, n * 7003 + 3, 1 + n * 97);
        let at = |buffer: &Buffer<u8>, offset: usize| Address(buffer.address() + offset as u64);
        copies.push(queue.copy_at(at(&target, to), at(&source, from), bytes)?);
        (0..bytes).for_each(|i| wanted[to + i] = byte(from + i));
    }
    for copy in copies {
        copy.wait_timeout(PATIENCE)?;
    }
    match target.to_vec()? == wanted {
        true => println!("64 odd copies are right"),
        false => return Err(Failure::new("odd copies are wrong")),
    }
    Ok(())
}

/// Fills 64 MiB of device memory by doubling a piece, then copies all of it.
fn large(gpu: &Gpu, queue: &CopyQueue) -> Result<(), Failure> {
    let (source, target) = (
        gpu.alloc_in::<u32>(Memory::Vram, LARGE)?,
        gpu.alloc_in::<u32>(Memory::Vram, LARGE)?,
    );
    let piece = gpu.alloc_in::<u32>(Memory::Gtt, N)?;
    piece.fill_with(|i| word(i, 9))?;
    let place = |bytes: usize| Address(source.address() + bytes as u64);
    let mut bytes = N * 4;
    queue
        .copy_at(place(0), Address(piece.address()), bytes)?
        .wait_timeout(PATIENCE)?;
    while bytes < LARGE * 4 {
        queue
            .copy_at(place(bytes), place(0), bytes)?
            .wait_timeout(PATIENCE)?;
        bytes *= 2;
    }
    queue.copy(&target, &source)?.wait_timeout(PATIENCE)?;
    let places = (0..LARGE).step_by(1021).chain([LARGE - 1]);
    let wrong = places
        .clone()
        .find(|&i| target.get(i) != Some(word(i % N, 9)));
    println!("64 MiB: {} words compared", places.count());
    match wrong {
        None => Ok(()),
        Some(i) => Err(Failure::new(format_args!("word {i} of 64 MiB is wrong"))),
    }
}

/// Runs two engines at once. Each must do its fills and copies in the order of their submission.
fn together(gpu: &Gpu, queues: &[CopyQueue; 2]) -> Result<(), Failure> {
    let buffer = || gpu.alloc::<u32>(N);
    let memory = [[buffer()?, buffer()?], [buffer()?, buffer()?]];
    let mut last = Vec::new();
    for round in 1..=50u32 {
        last.clear();
        for (n, (queue, [a, b])) in (0..).zip(queues.iter().zip(&memory)) {
            drop(queue.fill(a, round * 2 + n)?);
            last.push(queue.copy(b, a)?);
        }
    }
    for copy in last {
        copy.wait_timeout(PATIENCE)?;
    }
    for (n, [_, b]) in (0..).zip(&memory) {
        check("two engines at once", b, |_| 50 * 2 + n)?;
    }
    Ok(())
}

/// Engines that the GPU has, by its topology.
fn engines(gpu: &Gpu) -> u32 {
    let count = |name| gpu.node().property(name) as u32;
    count("num_sdma_engines") + count("num_sdma_xgmi_engines")
}

/// Copies by each engine, twice, the second time from and to other memory at the same addresses: no engine may find what
/// was there before.
fn each(gpu: &Gpu) -> Result<(), Failure> {
    let engines = engines(gpu);
    let queues = (0..engines).map(|engine| gpu.copy_queue_on(engine));
    let queues = queues.collect::<Result<Vec<_>, _>>()?;
    let mut places = Vec::new();
    for round in 0..2 {
        let (source, target) = (
            gpu.alloc_in::<u32>(Memory::Vram, N / 16)?,
            gpu.alloc_in::<u32>(Memory::Gtt, N / 16)?,
        );
        places.push((source.address(), target.address()));
        for (engine, queue) in (0..).zip(&queues) {
            let seed = 100 * round + engine;
            source.fill_with(|i| word(i, seed))?;
            target.fill(0)?;
            queue.copy(&target, &source)?.wait_timeout(PATIENCE)?;
            let right = |(i, w): (usize, &u32)| *w == word(i, seed);
            if !target.to_vec()?.iter().enumerate().all(right) {
                return Err(Failure::new(format_args!(
                    "engine {engine} copied something else"
                )));
            }
        }
        if round == 0 {
            // Other pages are to be at these addresses.
            let kept = gpu.alloc_in::<u32>(Memory::Vram, N)?;
            drop((source, target));
            drop(kept);
        }
    }
    println!("{engines} engines copied; the memory was at {places:x?}");
    Ok(())
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let queues = [gpu.copy_queue_on(0)?, gpu.copy_queue_on(1)?];
    let [queue, _] = &queues;
    if std::env::args().nth(1).as_deref() == Some("fault") {
        let target = gpu.alloc::<u32>(N)?;
        let last = gpu.copy_queue_on(engines(&gpu) - 1)?;
        let copy = last.copy_at(Address(target.address()), NOWHERE, 64)?;
        return match copy.wait_timeout(PATIENCE) {
            Err(Error::MemoryFault { address, .. }) if address == NOWHERE.0 => {
                println!("the copy faulted at {address:#x}");
                Ok(())
            }
            other => Err(Failure::new(format_args!("{other:?} is no memory fault"))),
        };
    }
    kinds(&gpu, queue)?;
    odd(&gpu, queue)?;
    together(&gpu, &queues)?;
    each(&gpu)?;
    large(&gpu, queue)?;
    let (written, read) = queue.pointers();
    println!("{written} bytes of packets written, {read} read");
    Ok(())
}

fn main() -> ExitCode {
    report("copies", run)
}
