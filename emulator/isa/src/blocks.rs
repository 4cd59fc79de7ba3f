// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoded code: blocks of instructions that follow one another.
//!
//! Within a block the host needs no result of an instruction to find the next one.

use crate::checks::Checks;
use crate::decode::confine;
use crate::decode::kind::Kind;
use crate::decode::table::Family;
use crate::decode::uses::Uses;
use crate::decode::Op;
use crate::decode::{DecodeError, Inst};
use crate::exec::{self, Step};
use crate::fault::Access;
use crate::fault::FaultKind;
use crate::memory::{Env, Tlb, PAGE};
use crate::target::Target;
use crate::trap::restrict;
use crate::wave::Wave;
use std::collections::HashMap;

/// A decoded instruction and its address.
pub(crate) struct Decoded {
    pub(crate) inst: Inst,
    /// Address of the instruction behind it.
    pub(crate) next: u64,
    steps: (Option<Step<32>>, Option<Step<64>>),
}

impl Decoded {
    fn new(inst: Inst, pc: u64) -> Self {
        Self {
            next: pc.wrapping_add(u64::from(inst.size)),
            steps: (exec::step(&inst), exec::step(&inst)),
            inst,
        }
    }

    /// The same for a wave that lacks some of its vector registers.
    #[cold]
    pub(crate) fn confined(&self, vgprs: u16, agprs: u16) -> Self {
        let inst = confine::confine(&self.inst, vgprs, agprs).unwrap_or(Inst {
            family: Family::Sopp,
            kind: Kind::Hint,
            ..self.inst
        });
        Self {
            next: self.next,
            steps: (exec::step(&inst), exec::step(&inst)),
            inst,
        }
    }

    /// Whether execution may go on elsewhere than behind it.
    fn jumps(&self) -> bool {
        use Op::{SCallB64, SRfeB64, SRfeRestoreB64, SSetpcB64, SSwappcB64};
        let jump = matches!(
            self.inst.op,
            SCallB64 | SRfeB64 | SRfeRestoreB64 | SSetpcB64 | SSwappcB64
        );
        jump || (self.inst.family == Family::Sopp && self.inst.kind != Kind::Hint)
    }

    /// Its own address.
    #[inline]
    pub(crate) fn pc(&self) -> u64 {
        self.next.wrapping_sub(u64::from(self.inst.size))
    }
}

/// Waves of the lengths that hardware has.
pub(crate) trait Steps<const L: usize> {
    /// An instruction's function for such waves, if nothing can refuse it.
    fn step(decoded: &Decoded) -> Option<Step<L>>;
}

impl Steps<32> for Wave<32> {
    #[inline]
    fn step(decoded: &Decoded) -> Option<Step<32>> {
        decoded.steps.0
    }
}

impl Steps<64> for Wave<64> {
    #[inline]
    fn step(decoded: &Decoded) -> Option<Step<64>> {
        decoded.steps.1
    }
}

/// Instructions that follow one another. Only the last one may branch.
pub(crate) struct Block {
    pub(crate) instructions: Box<[Decoded]>,
    /// What each of them uses, if that is checked.
    pub(crate) uses: Box<[Uses]>,
    /// One past the highest v register that any of them names.
    pub(crate) vgprs: u16,
    /// One past the highest a register.
    pub(crate) agprs: u16,
}

impl From<Vec<Decoded>> for Block {
    fn from(instructions: Vec<Decoded>) -> Self {
        let most = |f: fn(&Inst) -> u16| instructions.iter().map(|d| f(&d.inst)).max();
        Self {
            vgprs: most(|i| i.vgprs).unwrap_or(0),
            agprs: most(|i| i.agprs).unwrap_or(0),
            instructions: instructions.into(),
            uses: Box::default(),
        }
    }
}

/// The most instructions that a page's blocks may have together. An instruction can be in many blocks,
/// since each branch target begins one.
const MOST: usize = 4 * (PAGE / 4);

/// The most pages whose blocks are kept: eight times what the instruction cache of a chip holds. A page's take a hundred
/// times its bytes, so a program that jumps all over its memory must not have all of them kept.
const PAGES: usize = 128;

/// A page's blocks.
pub(crate) struct CodePage {
    /// The block that begins at each dword, if there is one.
    starts: Box<[Option<u32>; PAGE / 4]>,
    blocks: Vec<Block>,
    /// Instructions in them.
    count: usize,
}

impl CodePage {
    fn new() -> Self {
        Self {
            starts: Box::new([None; PAGE / 4]),
            blocks: Vec::new(),
            count: 0,
        }
    }

    /// The block that begins at `pc`; `decode` makes it the first time.
    #[inline]
    pub(crate) fn block(
        &mut self,
        pc: u64,
        decode: impl FnOnce() -> Result<Block, FaultKind>,
    ) -> Result<&Block, FaultKind> {
        let start = pc as usize % PAGE / 4;
        let at = match self.starts[start] {
            Some(at) => at,
            None => self.add(start, decode()?),
        };
        Ok(&self.blocks[at as usize])
    }

    /// Keeps a block and returns its number. If there are too many instructions, all others are dropped.
    #[cold]
    fn add(&mut self, start: usize, block: Block) -> u32 {
        self.count += block.instructions.len();
        if self.count > MOST {
            self.starts.fill(None);
            self.blocks.clear();
            self.count = block.instructions.len();
        }
        let at = self.blocks.len() as u32;
        self.starts[start] = Some(at);
        self.blocks.push(block);
        at
    }
}

/// A process, the number of a page, and whether a trap handler executes it.
type Key = (u8, u64, bool);

/// Decoded code, by process and page, and by whether a trap handler executes it.
#[derive(Default)]
pub(crate) struct Code {
    pages: Vec<CodePage>,
    index: HashMap<Key, usize>,
    /// What was asked for last, and where it is.
    last: Option<(Key, usize)>,
}

impl Code {
    /// The page that holds `pc`, as executed by a trap handler or by a program. If there are too many, all others are
    /// dropped.
    pub(crate) fn page(&mut self, vmid: u8, pc: u64, privileged: bool) -> &mut CodePage {
        let key = (vmid, pc / PAGE as u64, privileged);
        let at = match self.last {
            Some((last, at)) if last == key => at,
            _ => self.find(key),
        };
        self.last = Some((key, at));
        &mut self.pages[at]
    }

    fn find(&mut self, key: Key) -> usize {
        if self.pages.len() >= PAGES && !self.index.contains_key(&key) {
            *self = Self::default();
        }
        let pages = &mut self.pages;
        *self.index.entry(key).or_insert_with(|| {
            pages.push(CodePage::new());
            pages.len() - 1
        })
    }
}

/// What reads code.
pub(crate) struct Decoder<'a> {
    pub(crate) target: &'static Target,
    pub(crate) checks: Checks,
    pub(crate) tlb: &'a mut Tlb,
    pub(crate) env: &'a mut dyn Env,
    pub(crate) vmid: u8,
    /// Whether a trap handler executes the code, and not a program.
    pub(crate) privileged: bool,
}

impl Decoder<'_> {
    /// The instructions from `pc` to the first that may branch, or to the page's end. An
    /// instruction that cannot be decoded is a fault only if it is the first.
    #[cold]
    pub(crate) fn block(&mut self, pc: u64) -> Result<Block, FaultKind> {
        let mut block = vec![Decoded::new(self.instruction(pc)?, pc)];
        while let Some(last) = block.last() {
            let next = last.next;
            if last.jumps() || next / PAGE as u64 != pc / PAGE as u64 {
                break;
            }
            match self.instruction(next) {
                Ok(inst) => block.push(Decoded::new(inst, next)),
                Err(_) => break,
            }
        }
        let mut block = Block::from(block);
        if self.checks.waits {
            let uses = |d: &Decoded| Uses::new(&d.inst, self.target.counters);
            block.uses = block.instructions.iter().map(uses).collect();
        }
        Ok(block)
    }

    fn instruction(&mut self, pc: u64) -> Result<Inst, FaultKind> {
        let words = words(self.tlb, self.env, self.vmid, pc)?;
        match self.target.decode(words) {
            Ok(mut inst) => {
                if !self.privileged {
                    restrict(&mut inst);
                }
                match inst.unsupported() {
                    Some(what) => Err(FaultKind::Unsupported(what)),
                    None => Ok(inst),
                }
            }
            Err(DecodeError::Undecodable) => Err(FaultKind::Undecodable),
            Err(DecodeError::ReservedOperand(..)) => {
                Err(FaultKind::Unsupported("a reserved operand"))
            }
        }
    }
}

/// The three words at `pc`; those that cannot be fetched are zero.
pub(crate) fn words(
    tlb: &mut Tlb,
    env: &mut dyn Env,
    vmid: u8,
    pc: u64,
) -> Result<[u32; 3], FaultKind> {
    let mut words = [0; 3];
    for (n, word) in words.iter_mut().enumerate() {
        let va = pc.wrapping_add(4 * n as u64);
        match tlb.page(env, vmid, va, Access::Execute) {
            Ok(page) => *word = page.load_u32(va as usize % PAGE),
            // An instruction may go on in the next page; a short one may be the last there is.
            Err(fault) if n == 0 => return Err(fault.into()),
            Err(_) => break,
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::GFX942;

    /// s_nop from `at` to the page's end.
    fn rest(at: usize) -> Block {
        let nop = GFX942.decode([0xbf80_0000, 0, 0]).expect("s_nop 0");
        let places = (at..PAGE / 4).map(|n| Decoded::new(nop, 4 * n as u64));
        places.collect::<Vec<_>>().into()
    }

    #[test]
    fn code_everywhere_fills_no_memory() {
        let mut code = Code::default();
        for n in 0..3 * PAGES as u64 {
            let pc = n * PAGE as u64;
            let page = code.page(1, pc, false);
            assert!(page.starts.iter().all(Option::is_none), "another's");
            assert!(page.block(pc, || Ok(rest(0))).is_ok());
            assert!(code.page(1, pc, false).starts[0].is_some());
            assert!(code.pages.len() <= PAGES && code.index.len() == code.pages.len());
        }
    }

    #[test]
    fn branches_to_everywhere_fill_no_memory() {
        let mut page = CodePage::new();
        let mut decoded = 0;
        for round in 0..2 {
            for at in 0..PAGE / 4 {
                let mut ask = || {
                    let block = page.block(4 * at as u64, || {
                        decoded += 1;
                        Ok(rest(at))
                    });
                    block.map(|block| (block.instructions.len(), block.instructions[0].next))
                };
                let right = Ok((PAGE / 4 - at, 4 * at as u64 + 4));
                assert_eq!((ask(), ask()), (right, right), "{round} {at}");
                let held: usize = page.blocks.iter().map(|b| b.instructions.len()).sum();
                assert!(held <= MOST && held == page.count);
            }
        }
        assert!(
            decoded <= 2 * PAGE / 4,
            "the last one is there when it is asked for again"
        );
    }
}
