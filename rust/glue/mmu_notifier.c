// SPDX-License-Identifier: GPL-2.0
/*
 * Registration of MMU notifiers, for rust/glue/mmu_notifier.rs: bindings of the kernel crate have no lock of an address
 * space that a fatal signal ends the wait for.
 */

#include <linux/mm.h>
#include <linux/mmu_notifier.h>

int rkfd_mmu_notifier_register(struct mmu_notifier *notifier, struct mm_struct *mm);

/* As mmu_notifier_register, but -EINTR when a fatal signal comes before the lock. */
int rkfd_mmu_notifier_register(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	int r = mmap_write_lock_killable(mm);

	if (r)
		return r;
	r = __mmu_notifier_register(notifier, mm);
	mmap_write_unlock(mm);
	return r;
}
