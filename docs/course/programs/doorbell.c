// SPDX-License-Identifier: MIT OR Apache-2.0
// Maps a doorbell by hand, rings it once, and measures what that costs.
#include "kfd.h"
#include <time.h>
#include <unistd.h>

enum { SLICE = 8192, TIMES = 20000 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void)
{
	open_gpu();
	struct queue queue = create_queue();
	uint64_t offset = queue.doorbell_offset;
	char *slice = mmap(NULL, SLICE, PROT_READ | PROT_WRITE, MAP_SHARED, kfd, offset & ~(SLICE - 1ul));
	must(slice != MAP_FAILED, "mmap of the doorbells");
	volatile uint64_t *doorbell = (void *)(slice + (offset & (SLICE - 1)));
	printf("kind of mapping %lu, GPU %lu of %u, byte %#lx of the slice\n",
	       offset >> 62, (offset >> 46) & 0xffff, gpu_id, offset & (SLICE - 1));

	volatile uint64_t *taken = queue.read;
	*queue.write = 1;
	__atomic_store_n(&queue.ring[0][0], 3 | 1 << 8, __ATOMIC_RELEASE);   // a barrier for nothing
	printf("packets taken before the doorbell is rung: %lu\n", *taken);
	*doorbell = 0;                                                       // the packet's index
	while (*taken == 0) {}
	printf("packets taken after it: %lu\n", *taken);

	double start = now();
	for (int i = 0; i < TIMES; i++)
		*doorbell = 0;
	double stored = now();
	for (int i = 0; i < TIMES; i++)
		getppid();
	double called = now();
	printf("a store to the doorbell: %.0f ns\n", (stored - start) / TIMES);
	printf("a system call that does nothing: %.0f ns\n", (called - stored) / TIMES);
	return 0;
}
