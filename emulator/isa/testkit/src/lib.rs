// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests and examples of `rkfd-isa` share: kernels compiled by clang, a flat memory, and a
//! dispatcher.

mod compare;
mod hand;
mod single;
pub mod suite;

pub use compare::*;
pub use hand::*;
use rkfd_isa::*;
pub use single::*;
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

/// Memory that the GPU sees at `BASE`, page by page.
pub const BASE: u64 = 0x7000_0000_0000;
pub const APERTURES: Apertures = Apertures {
    shared: 1 << 48,
    private: 2 << 48,
};

pub struct Flat {
    cells: Arc<[AtomicU64]>,
    pub next: u64,
    pub epoch: u64,
    pub clock: u64,
    pub messages: Vec<(u16, u32)>,
    /// Number of messages that trap handlers sent.
    pub privileged: usize,
    /// Why waves entered their trap handlers.
    pub traps: Vec<FaultKind>,
    /// The last of them, as it was told.
    pub trapped: Option<Fault>,
    pub read_only: std::ops::Range<u64>,
    /// A second-level cache may hold stores back.
    pub held_back: bool,
    /// The watched addresses.
    pub watches: Watches,
}

impl Flat {
    pub fn new(bytes: usize) -> Self {
        let cells = (0..bytes / 8).map(|_| AtomicU64::new(0)).collect();
        Self {
            cells,
            next: BASE,
            epoch: 1,
            clock: 0,
            messages: Vec::new(),
            privileged: 0,
            traps: Vec::new(),
            trapped: None,
            read_only: 0..0,
            held_back: false,
            watches: Watches::default(),
        }
    }

    pub fn sharing(other: &Self) -> Self {
        Self {
            cells: other.cells.clone(),
            next: BASE,
            epoch: 1,
            clock: 0,
            messages: Vec::new(),
            privileged: 0,
            traps: Vec::new(),
            trapped: None,
            read_only: 0..0,
            held_back: false,
            watches: Watches::default(),
        }
    }

    pub fn alloc(&mut self, bytes: usize) -> u64 {
        let at = self.next;
        self.next += (bytes as u64).next_multiple_of(4096);
        assert!(
            self.next - BASE <= self.cells.len() as u64 * 8,
            "test memory is full"
        );
        at
    }

    fn page(&self, va: u64) -> Option<HostPage> {
        HostPage::of(&self.cells, (va.checked_sub(BASE)? / 4096) as usize)
    }

    pub fn write(&mut self, va: u64, bytes: &[u8]) {
        for (n, byte) in bytes.iter().enumerate() {
            let va = va + n as u64;
            self.page(va)
                .expect("in memory")
                .store_u8(va as usize % 4096, *byte);
        }
    }

    pub fn read(&self, va: u64, bytes: usize) -> Vec<u8> {
        (va..va + bytes as u64)
            .map(|va| {
                self.page(va)
                    .expect("in memory")
                    .load_u8(va as usize % 4096)
            })
            .collect()
    }

    pub fn put<T: Copy + Into<Word>>(&mut self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|v| {
                let w: Word = (*v).into();
                w.0
            })
            .collect();
        let at = self.alloc(bytes.len());
        self.write(at, &bytes);
        at
    }

    pub fn words(&self, va: u64, count: usize) -> Vec<u32> {
        self.read(va, count * 4)
            .chunks(4)
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect()
    }
}

/// The bytes of a value of any size.
pub struct Word(Vec<u8>);
macro_rules! word { ($($t:ty),*) => { $(impl From<$t> for Word { fn from(v: $t) -> Self { Self(v.to_le_bytes().to_vec()) } })* } }
word!(u8, u16, i16, u32, i32, f32, u64, i64, f64);

impl Env for Flat {
    fn watches(&self) -> Watches {
        self.watches
    }
    fn epoch(&self) -> u64 {
        self.epoch
    }
    fn translate(&mut self, _: u8, va: u64, access: Access) -> Result<HostPage, Reason> {
        if self.read_only.contains(&va) && matches!(access, Access::Write | Access::Atomic) {
            return Err(Reason::NotPermitted);
        }
        let page = self.page(va).ok_or(Reason::NotPresent)?;
        Ok(if self.held_back {
            page.held_back()
        } else {
            page
        })
    }
    fn clock(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
    fn interrupt(&mut self, message: u16, m0: u32, privileged: bool) {
        self.messages.push((message, m0));
        self.privileged += usize::from(privileged);
    }
    fn trapped(&mut self, fault: &Fault) {
        self.traps.push(fault.kind);
        self.trapped = Some(*fault);
    }
    /// A device whose barriers are open.
    fn synchronise(&mut self, _: u8, _: &GwsRequest) -> GwsAnswer {
        GwsAnswer::Go
    }
}

pub fn kernels_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/kernels")
}

/// The chips, the first being the one that others are compared with.
pub static TARGETS: [&Target; 2] = [&GFX942, &GFX1201];

/// Every chip at every level of optimisation.
pub fn everywhere() -> impl Iterator<Item = (&'static Target, u32)> {
    TARGETS.iter().flat_map(|t| (0..=3).map(move |l| (*t, l)))
}

/// Compile tests/kernels/<name>.hip for a chip.
pub fn compile(target: &Target, name: &str, level: u32) -> Vec<u8> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let out = std::env::temp_dir().join(format!("rkfd-isa-{}-{number}.co", std::process::id()));
    let status = Command::new("clang-19")
        .args([
            "-x",
            "hip",
            "--offload-device-only",
            "--no-gpu-bundle-output",
            &format!("--offload-arch={}", target.name),
            "-nogpuinc",
            "-nogpulib",
            "-mcode-object-version=5",
            "-ffp-contract=off",
        ])
        .arg(format!("-O{level}"))
        .arg(kernels_folder().join(format!("{name}.hip")))
        .arg("-o")
        .arg(&out)
        .status()
        .expect("clang-19 runs");
    assert!(status.success(), "clang-19 -O{level} {name}.hip");
    let bytes = std::fs::read(&out).expect("the code object");
    let _ = std::fs::remove_file(&out);
    bytes
}

/// Assemble for a chip and a number of lanes.
pub fn assemble(target: &Target, lanes: usize, text: &str) -> Vec<u8> {
    assemble_each(target, lanes, text).concat()
}

/// Assemble, each instruction on its own.
pub fn assemble_each(target: &Target, lanes: usize, text: &str) -> Vec<Vec<u8>> {
    let mut llvm = Command::new("llvm-mc");
    llvm.args(["-triple=amdgcn", "-show-encoding"]);
    llvm.arg(format!("-mcpu={}", target.name));
    if target.name != "gfx942" {
        llvm.arg(format!("-mattr=+wavefrontsize{lanes}"));
    }
    let llvm = llvm.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = llvm.spawn().expect("llvm-mc runs");
    let mut stdin = child.stdin.take().expect("stdin");
    stdin.write_all(text.as_bytes()).expect("feed");
    drop(stdin);
    let out = child.wait_with_output().expect("llvm-mc");
    assert!(out.status.success(), "{text}");
    let byte = |b: &str| u8::from_str_radix(b.trim_start_matches("0x"), 16).expect("hex");
    String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter_map(|l| l.split_once("encoding: ["))
        .map(|(_, hex)| {
            hex.split(']')
                .next()
                .unwrap_or("")
                .split(',')
                .map(byte)
                .collect()
        })
        .collect()
}

/// A gfx1201 descriptor for hand-written code: 2 user SGPRs with the kernel arguments' address,
/// v registers enough for v0 to v31.
pub fn descriptor_gfx1201(lanes: usize, entry: u32) -> [u8; 64] {
    let mut kd = [0u8; 64];
    let mut put = |at: usize, v: u32| kd[at..at + 4].copy_from_slice(&v.to_le_bytes());
    let (vgprs, wave32) = if lanes == 32 { (3, 1) } else { (7, 0) };
    put(16, entry);
    put(48, vgprs | (0xf0 << 12) | (3 << 29));
    put(52, 2 << 1);
    put(56, 8 | (wave32 << 10));
    kd
}

/// A loaded code object: where it is and what it defines.
pub struct Code {
    pub base: u64,
    pub symbols: HashMap<String, (u64, u64)>,
}

fn int(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size]
        .iter()
        .rev()
        .fold(0, |v, b| (v << 8) | u64::from(*b))
}

/// Load an ELF64 code object: segments, relative relocations, symbols.
pub fn load(memory: &mut Flat, elf: &[u8]) -> Code {
    assert_eq!(&elf[..5], b"\x7fELF\x02");
    let (phoff, shoff) = (int(elf, 32, 8) as usize, int(elf, 40, 8) as usize);
    let (phnum, shnum) = (int(elf, 56, 2) as usize, int(elf, 60, 2) as usize);
    let segments: Vec<[u64; 5]> = (0..phnum)
        .map(|n| phoff + n * 56)
        .filter(|&p| int(elf, p, 4) == 1)
        .map(|p| {
            [
                int(elf, p + 8, 8),
                int(elf, p + 16, 8),
                int(elf, p + 32, 8),
                int(elf, p + 40, 8),
                0,
            ]
        })
        .collect();
    let end = segments.iter().map(|s| s[1] + s[3]).max().unwrap_or(0);
    let base = memory.alloc(end as usize);
    for s in &segments {
        memory.write(base + s[1], &elf[s[0] as usize..(s[0] + s[2]) as usize]);
    }
    let mut symbols = HashMap::new();
    for n in 0..shnum {
        let sh = shoff + n * 64;
        let (kind, offset, size, link) = (
            int(elf, sh + 4, 4),
            int(elf, sh + 24, 8) as usize,
            int(elf, sh + 32, 8) as usize,
            int(elf, sh + 40, 4) as usize,
        );
        // SHT_DYNSYM and SHT_RELA.
        if kind == 11 || kind == 2 {
            let strings = int(elf, shoff + link * 64 + 24, 8) as usize;
            for at in (offset..offset + size).step_by(24) {
                let name = strings + int(elf, at, 4) as usize;
                let name: Vec<u8> = elf[name..]
                    .iter()
                    .take_while(|b| **b != 0)
                    .copied()
                    .collect();
                symbols.insert(
                    String::from_utf8(name).expect("a name"),
                    (int(elf, at + 8, 8), int(elf, at + 16, 8)),
                );
            }
        } else if kind == 4 {
            for at in (offset..offset + size).step_by(24) {
                let (place, info, addend) =
                    (int(elf, at, 8), int(elf, at + 8, 8), int(elf, at + 16, 8));
                // R_AMDGPU_RELATIVE64.
                assert_eq!(info & 0xffff_ffff, 13, "only relative relocations");
                memory.write(base + place, &(base + addend).to_le_bytes());
            }
        }
    }
    Code { base, symbols }
}

/// Arguments as the compiler lays them out: each aligned to its size.
#[derive(Default, Clone)]
pub struct Args(pub Vec<u8>);
impl Args {
    pub fn u32(mut self, v: u32) -> Self {
        self.0.extend(v.to_le_bytes());
        self
    }
    pub fn f32(self, v: f32) -> Self {
        self.u32(v.to_bits())
    }
    pub fn u64(mut self, v: u64) -> Self {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.extend(v.to_le_bytes());
        self
    }
}

/// One dispatch: kernel argument block with the implicit part, packet, workgroups one by one.
pub struct Launch {
    pub kernel: Kernel,
    pub dispatch: Dispatch,
    pub scratch: Scratch,
}

pub fn prepare(
    memory: &mut Flat,
    cu: &mut ComputeUnit,
    code: &Code,
    name: &str,
    args: Args,
    grid: [u32; 3],
    group: [u16; 3],
) -> Launch {
    let kd = code.base
        + code
            .symbols
            .get(&format!("{name}.kd"))
            .unwrap_or_else(|| panic!("no {name}.kd"))
            .0;
    let kernel = cu.kernel(memory, 0, kd).expect("a valid descriptor");
    // Implicit arguments of code object version 5 follow, aligned to 8.
    let mut block = args.0;
    block.resize(block.len().next_multiple_of(8), 0);
    let implicit = block.len();
    block.resize(implicit + 256, 0);
    for n in 0..3 {
        let (g, s) = (grid[n], u32::from(group[n]));
        block[implicit + 4 * n..][..4].copy_from_slice(&(g / s).to_le_bytes());
        block[implicit + 12 + 2 * n..][..2].copy_from_slice(&group[n].to_le_bytes());
        block[implicit + 18 + 2 * n..][..2].copy_from_slice(&((g % s) as u16).to_le_bytes());
    }
    let kernarg = memory.alloc(block.len());
    memory.write(kernarg, &block);
    // hsa_kernel_dispatch_packet_t: workgroup sizes at 4, grid sizes at 12.
    let packet = memory.alloc(64);
    for n in 0..3 {
        memory.write(packet + 4 + 2 * n as u64, &group[n].to_le_bytes());
        memory.write(packet + 12 + 4 * n as u64, &grid[n].to_le_bytes());
    }
    let private = kernel
        .private_segment_fixed_size
        .max(if kernel.dynamic_stack { 16384 } else { 0 });
    let wave_size = (u64::from(private) * u64::from(kernel.lanes)).next_multiple_of(1024);
    let items: u64 = group.iter().map(|n| u64::from(*n)).product();
    let waves = items.div_ceil(u64::from(kernel.lanes));
    let scratch = Scratch {
        base: memory.alloc((wave_size * waves) as usize),
        wave_size,
    };
    let dispatch = Dispatch {
        vmid: 0,
        apertures: APERTURES,
        workgroup_size: group,
        grid_size: grid,
        private_segment_size: private,
        group_segment_size: kernel.group_segment_fixed_size,
        kernarg_address: kernarg,
        packet_address: packet,
        queue_address: memory.alloc(4096),
        dispatch_id: 0,
        ..Dispatch::default()
    };
    Launch {
        kernel,
        dispatch,
        scratch,
    }
}

impl Launch {
    /// Run all workgroups in slices; the first fault ends it.
    pub fn run(&self, memory: &mut Flat, cu: &mut ComputeUnit, slice: u64) -> Result<(), Fault> {
        cu.acquire();
        self.run_again(memory, cu, slice)
    }

    /// The same without an acquire: caches keep what they have from before.
    pub fn run_again(
        &self,
        memory: &mut Flat,
        cu: &mut ComputeUnit,
        slice: u64,
    ) -> Result<(), Fault> {
        let g = |n: usize| {
            self.dispatch.grid_size[n].div_ceil(u32::from(self.dispatch.workgroup_size[n]))
        };
        for z in 0..g(2) {
            for y in 0..g(1) {
                for x in 0..g(0) {
                    if self.kernel.lanes == 32 {
                        self.run_group::<32>(memory, cu, slice, [x, y, z])?;
                    } else {
                        self.run_group::<64>(memory, cu, slice, [x, y, z])?;
                    }
                }
            }
        }
        Ok(())
    }

    fn run_group<const L: usize>(
        &self,
        memory: &mut Flat,
        cu: &mut ComputeUnit,
        slice: u64,
        id: [u32; 3],
    ) -> Result<(), Fault>
    where
        Workgroup<L>: Run,
    {
        let (kernel, dispatch, scratch) = (&self.kernel, &self.dispatch, self.scratch);
        let mut group =
            Workgroup::<L>::launch(cu, kernel, dispatch, id, scratch, &[]).expect("launch");
        for _ in 0..10_000_000 {
            match group.run(cu, memory, slice) {
                Outcome::Done => return Ok(()),
                Outcome::Budget => {}
                Outcome::Fault(fault) => return Err(fault),
            }
        }
        panic!("does not end");
    }
}

/// Deterministic numbers.
pub struct Random(pub u64);
impl Random {
    pub fn u64(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    pub fn u32(&mut self) -> u32 {
        (self.u64() >> 32) as u32
    }
    /// Between -100 and 100.
    pub fn float(&mut self) -> f32 {
        (self.u32() as i32 as f32) / 2147483648.0 * 100.0
    }
}
