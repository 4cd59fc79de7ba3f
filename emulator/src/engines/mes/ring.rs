// SPDX-License-Identifier: MIT OR Apache-2.0

//! A ring of MES, made from its HQD registers or its MQD and checked.
//!
//! Source: Linux, `amdgpu/mes_v12_0.c` (`mes_v12_0_mqd_init`, `mes_v12_0_queue_init_register`). The
//! registers are the words of an MQD from `FIRST_HQD_WORD` on, so both are read from such words.

use crate::engines::cp::front::hqd::Image as Mqd;
use rkfd_hw::regs::gc_12_0_0 as gc;
use rkfd_hw::regs::Value;

/// A connected ring. Pointers count words since it was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ring {
    /// Address of the ring in VMID 0.
    pub base: u64,
    /// Its size in words, a power of 2.
    pub size: u64,
    /// Read pointer.
    pub rptr: u64,
    /// Write pointer.
    pub wptr: u64,
    /// Where the read pointer is reported, if it is.
    pub report: Option<u64>,
    /// Where the write pointer lies.
    pub poll: u64,
    /// Index of its doorbell's low word.
    pub doorbell: u32,
}

impl Ring {
    /// Checks the words.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn from_hqd(image: &Mqd) -> Result<Self, String> {
        use gc::{CP_HQD_PQ_CONTROL as pq, CP_HQD_PQ_DOORBELL_CONTROL as db};
        let err = |what: &str| Err(what.to_string());
        let control = image.get(Mqd::CP_HQD_PQ_CONTROL) as u32;
        let bell = Value::<db>::new(image.get(Mqd::CP_HQD_PQ_DOORBELL_CONTROL) as u32);
        if image.get(Mqd::CP_HQD_VMID) != 0
            || Value::new(image.get(Mqd::CP_MQD_CONTROL) as u32).get(gc::CP_MQD_CONTROL::VMID) != 0
        {
            return err("a ring of MES is not in VMID 0");
        }
        if Value::new(control).get(pq::PRIV_STATE) != 1
            || Value::new(control).get(pq::KMD_QUEUE) != 1
        {
            return err("CP_HQD_PQ_CONTROL.PRIV_STATE and KMD_QUEUE of a ring of MES are not 1");
        }
        // As of every ring that the driver makes (`mes_v12_0_mqd_init`).
        if Value::new(control).get(pq::UNORD_DISPATCH) != 1 {
            return err("CP_HQD_PQ_CONTROL.UNORD_DISPATCH of a ring of MES is not 1");
        }
        for (bits, name) in [
            (pq::TMZ.mask(), "TMZ"),
            (pq::EXE_DISABLE.mask(), "EXE_DISABLE"),
            (pq::SLOT_BASED_WPTR.mask(), "SLOT_BASED_WPTR"),
        ] {
            if control & bits != 0 {
                return Err(format!(
                    "CP_HQD_PQ_CONTROL.{name} of a ring of MES is not 0"
                ));
            }
        }
        let log2 = Value::new(control).get(pq::QUEUE_SIZE);
        if !(5..=27).contains(&log2) {
            return Err(format!(
                "CP_HQD_PQ_CONTROL.QUEUE_SIZE {log2}: a ring of 2^{} words holds no frame",
                log2 + 1
            ));
        }
        let size = 2u64 << log2;
        let base = image.get(Mqd::CP_HQD_PQ_BASE) << 8;
        if base == 0 {
            return err("CP_HQD_PQ_BASE is 0");
        }
        let doorbell = bell.get(db::DOORBELL_OFFSET);
        if bell.get(db::DOORBELL_EN) == 0 || doorbell % 2 != 0 {
            return err("CP_HQD_PQ_DOORBELL_CONTROL: no doorbell, or not on a 64-bit boundary");
        }
        let (rptr, wptr) = (
            image.get(Mqd::CP_HQD_PQ_RPTR),
            image.get(Mqd::CP_HQD_PQ_WPTR),
        );
        let behind = wptr.wrapping_sub(rptr) & (size - 1);
        if rptr >= size || behind > wptr || wptr >> 60 != 0 {
            return err("CP_HQD_PQ_RPTR is beyond the ring, or ahead of CP_HQD_PQ_WPTR");
        }
        let reports = Value::new(control).get(pq::NO_UPDATE_RPTR) == 0;
        Ok(Self {
            base,
            size,
            rptr: wptr - behind,
            wptr,
            report: reports.then(|| image.get(Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR)),
            poll: image.get(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR),
            doorbell,
        })
    }

    /// Moves the write pointer to the doorbell's value. Returns `false`, and changes nothing, if that is
    /// more than a ring ahead of the read pointer, or behind it.
    pub fn advance(&mut self, to: u64) -> bool {
        let inside = to >= self.rptr && to - self.rptr <= self.size;
        if inside {
            self.wptr = to;
        }
        inside
    }

    /// Address of the word that `pointer` counts to.
    pub fn at(&self, pointer: u64) -> u64 {
        self.base.wrapping_add((pointer & (self.size - 1)) * 4)
    }

    /// Writes the pointers into an image.
    pub fn save_pointers(&self, image: &mut Mqd) {
        // A ring has at most 2^28 words.
        image.set(Mqd::CP_HQD_PQ_RPTR, (self.rptr & (self.size - 1)) as u32);
        image.set(Mqd::CP_HQD_PQ_WPTR, self.wptr);
    }
}
