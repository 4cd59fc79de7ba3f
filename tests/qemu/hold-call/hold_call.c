// SPDX-License-Identifier: GPL-2.0-only
// Holds rkfd at one place for as long as a test likes, on the stock kernel and without a change to rkfd: what
// another thread does meanwhile comes between two steps of rkfd's that otherwise follow at once.
//
//	insmod hold_call.ko function=NAME [caller=PART] [wait=1] [error=ERRNO]
//
// The first call of the function by rkfd, or by a function of rkfd that has PART in its name, sleeps before it begins;
// with `wait`, the first after 0 is written to parameters/wait.
// It is held while /sys/module/hold_call/parameters/held is 1; writing 0 lets it go on, and so do two minutes. With
// `error` the function is left out then, and returns that error. Later calls are as always.

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/pgtable.h>
#include <linux/string.h>

#define STEP_MS 20
#define LONGEST_MS 120000

static char *function = "";
module_param(function, charp, 0444);
static char *caller = "";
module_param(caller, charp, 0444);
static int error;
module_param(error, int, 0444);
static int wait;
module_param(wait, int, 0644);
static int held;
module_param(held, int, 0644);

static atomic_t begun = ATOMIC_INIT(0);

typedef unsigned long (*any_function)(unsigned long, unsigned long, unsigned long,
				      unsigned long, unsigned long, unsigned long);

static any_function original;

// Takes the function's place: the arguments are still in their registers.
static unsigned long hold(unsigned long a, unsigned long b, unsigned long c,
			  unsigned long d, unsigned long e, unsigned long f)
{
	unsigned int waited;
	unsigned long result = (unsigned long)(long)-error;

	for (waited = 0; READ_ONCE(held) && waited < LONGEST_MS; waited += STEP_MS)
		msleep(STEP_MS);
	if (!error)
		result = original(a, b, c, d, e, f);
	module_put(THIS_MODULE);
	return result;
}

static bool is_meant(struct pt_regs *regs)
{
	char symbol[KSYM_SYMBOL_LEN];
	unsigned long from = *(unsigned long *)regs->sp;

	// Names are looked up for modules' calls only.
	if (from < MODULES_VADDR || from >= MODULES_END)
		return false;
	sprint_symbol(symbol, from);
	return strstr(symbol, "[rkfd") && strstr(symbol, caller);
}

static int before(struct kprobe *probe, struct pt_regs *regs)
{
	if (READ_ONCE(wait) || atomic_read(&begun) || !is_meant(regs) || atomic_xchg(&begun, 1))
		return 0;
	__module_get(THIS_MODULE);
	WRITE_ONCE(held, 1);
	regs->ip = (unsigned long)hold;
	return 1;
}

// A probe that has this is never turned into a jump, which could not leave the function out.
static void after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probe = {
	.pre_handler = before,
	.post_handler = after,
};

static int __init hold_call_init(void)
{
	// What an indirect call may lead to where the processor checks that: the probe lies behind it.
	const u32 endbr = 0xfa1e0ff3;
	unsigned long address;
	int err;

	probe.symbol_name = function;
	err = register_kprobe(&probe);
	if (err) {
		pr_err("hold_call: %s can't be probed: %d\n", function, err);
		return err;
	}
	address = (unsigned long)probe.addr;
	if (*(u32 *)(address - sizeof(endbr)) == endbr)
		address -= sizeof(endbr);
	WRITE_ONCE(original, (any_function)address);
	return 0;
}

static void __exit hold_call_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(hold_call_init);
module_exit(hold_call_exit);
MODULE_DESCRIPTION("Holds rkfd at a place, for tests");
MODULE_LICENSE("GPL");
