// SPDX-License-Identifier: GPL-2.0-only
// Makes the n-th thing that rkfd asks the kernel for fail, as `fail-nth` of a kernel with fault
// injection does (Documentation/fault-injection), but on the stock kernel and without a change to rkfd:
// a probe at the start of each function below returns in its place what the function returns when it
// fails.
//
// /sys/kernel/debug/fail_nth: writing N arms the writing thread, for its N-th call of any of the
// functions. Reading disarms it, and returns "LEFT NAME ERRNO": LEFT is 0 if a call failed, NAME the
// function and ERRNO what it failed with. Only one thread at a time is armed.

#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>

// Who calls the function: only Rust code does, or C code does as well and only calls by rkfd count.
enum callers { RUST, EVERYBODY };

// What the function returns when it fails.
enum failure { NULL_POINTER, ERROR, ALL_BYTES, NO_ADDRESS };

struct point {
	const char *name;
	enum failure failure;
	int error;
	enum callers callers;
	// The number of the argument that is 0 where nothing can fail: a size, for which 0 frees. -1: none.
	int unless_zero;
	struct kprobe probe;
};

static struct point points[] = {
	{ "rust_helper_krealloc_node_align", NULL_POINTER, ENOMEM, RUST, 1 },
	{ "rust_helper_kvrealloc_node_align", NULL_POINTER, ENOMEM, RUST, 1 },
	{ "rust_helper_alloc_pages", NULL_POINTER, ENOMEM, RUST, -1 },
	{ "_copy_from_user", ALL_BYTES, EFAULT, RUST, 2 },
	{ "_copy_to_user", ALL_BYTES, EFAULT, RUST, 2 },
	{ "gpu_buddy_alloc_blocks", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "bitmap_zalloc", NULL_POINTER, ENOMEM, EVERYBODY, -1 },
	{ "dma_alloc_attrs", NULL_POINTER, ENOMEM, EVERYBODY, -1 },
	{ "dma_map_page_attrs", NO_ADDRESS, ENOMEM, EVERYBODY, -1 },
	{ "dma_map_resource", NO_ADDRESS, ENOMEM, EVERYBODY, -1 },
	{ "dma_map_sgtable", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "sg_alloc_table_from_pages_segment", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "dma_buf_export", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "dma_buf_attach", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "dma_buf_map_attachment_unlocked", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "dma_buf_fd", ERROR, EMFILE, EVERYBODY, -1 },
	{ "anon_inode_getfd", ERROR, EMFILE, EVERYBODY, -1 },
	{ "pin_user_pages_fast", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "mmu_notifier_register", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "mmu_interval_notifier_insert", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "alloc_anon_inode", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "alloc_workqueue_noprof", NULL_POINTER, ENOMEM, EVERYBODY, -1 },
	{ "ioremap_wc", NULL_POINTER, ENOMEM, EVERYBODY, -1 },
	{ "pci_request_region", ERROR, EBUSY, EVERYBODY, -1 },
	{ "rust_helper_request_irq", ERROR, ENOMEM, RUST, -1 },
	{ "rust_helper_dma_set_mask_and_coherent", ERROR, EIO, RUST, -1 },
	{ "sysfs_create_file_ns", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "sysfs_create_link", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "device_create", ERROR, ENOMEM, EVERYBODY, -1 },
	{ "cdev_add", ERROR, ENOMEM, EVERYBODY, -1 },
};

static struct task_struct *armed;
static long left;
static const struct point *failed;

// Returns at once, with what is in the register for results.
void fail_nth_return(void);
asm(".text\n"
    ".type fail_nth_return, @function\n"
    ".globl fail_nth_return\n"
    "fail_nth_return:\n"
    ASM_ENDBR
    ASM_RET
    ".size fail_nth_return, .-fail_nth_return\n");

static bool called_by_rkfd(struct pt_regs *regs)
{
	char symbol[KSYM_SYMBOL_LEN];

	sprint_symbol(symbol, *(unsigned long *)regs->sp);
	return strstr(symbol, "[rkfd]") != NULL;
}

// Whether an interrupt is handled. A probe that is a breakpoint counts as one itself.
static bool in_interrupt_of_task(void)
{
	unsigned long own = in_nmi() ? NMI_OFFSET + HARDIRQ_OFFSET : 0;

	return in_serving_softirq() ||
	       ((preempt_count() - own) & (NMI_MASK | HARDIRQ_MASK));
}

static int before(struct kprobe *probe, struct pt_regs *regs)
{
	struct point *point = container_of(probe, struct point, probe);

	if (READ_ONCE(armed) != current || in_interrupt_of_task())
		return 0;
	if (point->unless_zero >= 0 &&
	    !regs_get_kernel_argument(regs, point->unless_zero))
		return 0;
	if (point->callers == EVERYBODY && !called_by_rkfd(regs))
		return 0;
	if (left <= 0 || --left > 0)
		return 0;
	failed = point;
	switch (point->failure) {
	case NULL_POINTER:
		regs->ax = 0;
		break;
	case ERROR:
		regs->ax = (unsigned long)(long)-point->error;
		break;
	case ALL_BYTES:
		regs->ax = regs->dx;
		break;
	case NO_ADDRESS:
		regs->ax = DMA_MAPPING_ERROR;
		break;
	}
	regs->ip = (unsigned long)fail_nth_return;
	return 1;
}

// A probe that has this is never turned into a jump, which could not leave the function out.
static void after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static ssize_t arm(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	long nth;
	int err = kstrtol_from_user(from, len, 10, &nth);

	if (err)
		return err;
	left = nth;
	failed = NULL;
	WRITE_ONCE(armed, nth > 0 ? current : NULL);
	return len;
}

static ssize_t disarm(struct file *file, char __user *to, size_t len, loff_t *at)
{
	char text[80];
	int n;

	if (*at == 0)
		WRITE_ONCE(armed, NULL);
	n = scnprintf(text, sizeof(text), "%ld %s %d\n", left,
		      failed ? failed->name : "-", failed ? failed->error : 0);
	return simple_read_from_buffer(to, len, at, text, n);
}

static const struct file_operations nth_fops = {
	.owner = THIS_MODULE,
	.read = disarm,
	.write = arm,
	.llseek = default_llseek,
};

static struct dentry *nth_file;

static void remove_probes(int count)
{
	while (count--)
		unregister_kprobe(&points[count].probe);
}

static int __init fail_nth_init(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(points); i++) {
		points[i].probe.symbol_name = points[i].name;
		points[i].probe.pre_handler = before;
		points[i].probe.post_handler = after;
		err = register_kprobe(&points[i].probe);
		if (err) {
			pr_err("fail_nth: %s can't be probed: %d\n", points[i].name, err);
			remove_probes(i);
			return err;
		}
	}
	nth_file = debugfs_create_file("fail_nth", 0600, NULL, NULL, &nth_fops);
	return 0;
}

static void __exit fail_nth_exit(void)
{
	debugfs_remove(nth_file);
	remove_probes(ARRAY_SIZE(points));
}

module_init(fail_nth_init);
module_exit(fail_nth_exit);
MODULE_DESCRIPTION("Makes what rkfd asks of the kernel fail, for tests");
MODULE_LICENSE("GPL");
