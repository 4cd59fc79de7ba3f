// SPDX-License-Identifier: GPL-2.0
/*
 * Which basic blocks of the module ran: in builds with RKFD_COVERAGE=all, and in no other (tests/fuzz/coverage).
 *
 * The compiler has each block call __sanitizer_cov_trace_pc. The kernel's function of that name (kcov) notes what a
 * thread does that asked for it; this one, which takes its place in the module, also has what interrupts, work items
 * and the ends of processes do.
 */

#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

/* Bytes of code that are looked at: more than the module has. */
#define TEXT (8 << 20)

static DECLARE_BITMAP(reached, TEXT);
/* The first address that a read tells of. The kernel's lock of parameters guards it. */
static unsigned long from;

void __sanitizer_cov_trace_pc(void);

notrace void __sanitizer_cov_trace_pc(void)
{
	unsigned long at = _RET_IP_ - (unsigned long)THIS_MODULE->mem[MOD_TEXT].base;

	if (at < TEXT && !test_bit(at, reached))
		set_bit(at, reached);
}

/* "clear" forgets what ran; a number says from which address on the next read tells. */
static int reached_set(const char *text, const struct kernel_param *param)
{
	if (sysfs_streq(text, "clear")) {
		bitmap_zero(reached, TEXT);
		return 0;
	}
	return kstrtoul(text, 16, &from);
}

/* Addresses behind calls that were made, in hexadecimal and ascending, as many as a page has room for. */
static int reached_get(char *page, const struct kernel_param *param)
{
	unsigned long base = (unsigned long)THIS_MODULE->mem[MOD_TEXT].base;
	unsigned long at = from > base ? from - base : 0;
	int len = 0;

	/* A line has 17 bytes at most. */
	while (len + 18 < PAGE_SIZE) {
		at = find_next_bit(reached, TEXT, at);
		if (at >= TEXT)
			break;
		len += scnprintf(page + len, PAGE_SIZE - len, "%lx\n", base + at);
		at++;
	}
	return len;
}

static const struct kernel_param_ops reached_ops = {
	.set = reached_set,
	.get = reached_get,
};
module_param_cb(reached, &reached_ops, NULL, 0600);
