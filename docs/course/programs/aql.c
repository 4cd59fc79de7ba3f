// SPDX-License-Identifier: MIT OR Apache-2.0
// Dispatches a kernel by one AQL packet, written by hand: out[i] = i.
#include "kfd.h"

static const uint32_t gfx942[] = {
	0xc0060000, 0,               // s_load_dwordx2 s[0:1], s[0:1], 0x0     the argument: out
	0x24020082,                  // v_lshlrev_b32 v1, 2, v0                4 * i
	0xbf8cc07f,                  // s_waitcnt lgkmcnt(0)
	0xdc708000, 1,               // global_store_dword v1, v0, s[0:1]
	0xbf810000,                  // s_endpgm
}, gfx1201[] = {
	0xf4002000, 0xf8000000,      // s_load_b64 s[0:1], s[0:1], 0x0
	0x30020082,                  // v_lshlrev_b32 v1, 2, v0
	0xbfc70000,                  // s_wait_kmcnt 0x0
	0xee068000, 0, 1,            // global_store_b32 v1, v0, s[0:1]
	0xbfb00000,                  // s_endpgm
};

int main(void)
{
	open_gpu();
	struct queue queue = create_queue();
	volatile uint64_t *doorbell = (void *)((char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, kfd,
		queue.doorbell_offset & ~8191ul) + (queue.doorbell_offset & 8191));
	uint32_t *out = memory(4096);

	struct {
		uint32_t lds, scratch, arguments, zero0;      // the kernel descriptor: what a wave begins with
		int64_t entry;                                // from here to the code
		uint32_t zero1[5], rsrc3, rsrc1, rsrc2;
		uint16_t properties, zero2[3];
		int64_t kind, value, zero3[6];                // the signal
		uint32_t *argument;
		char zero4[120];
		uint32_t code[16];
	} *kernel = memory(4096);
	kernel->entry = (char *)kernel->code - (char *)kernel;
	kernel->rsrc2 = 2 << 1;                               // two scalar registers are set:
	kernel->properties = 1 << 3;                          // the address of the arguments
	kernel->kind = kernel->value = 1;
	kernel->argument = out;
	if (property("gfx_target_version") < 100000)
		memcpy(kernel->code, gfx942, sizeof gfx942);
	else
		memcpy(kernel->code, gfx1201, sizeof gfx1201);

	struct {
		uint16_t header, dimensions, block[3], zero0;
		uint32_t grid[3], scratch, lds;
		void *kernel, *arguments, *zero1;
		int64_t *signal;
	} packet = {
		.header = 1, .dimensions = 1, .block = { 64, 1, 1 }, .grid = { 64, 1, 1 },
		.kernel = kernel, .arguments = &kernel->argument, .signal = &kernel->kind,
	};
	uint64_t index = (*queue.write)++;
	memcpy(queue.ring[index % 64], &packet, sizeof packet);
	uint16_t header = 2 | 1 << 8 | 2 << 9 | 2 << 11;      // KERNEL_DISPATCH, in order, fences of the system
	__atomic_store_n(&queue.ring[index % 64][0], header, __ATOMIC_RELEASE);
	*doorbell = index;

	while (__atomic_load_n(&kernel->value, __ATOMIC_ACQUIRE) != 0) {}
	for (int i = 0; i < 64; i++)
		if (out[i] != (uint32_t)i) { printf("out[%d] = %u\n", i, out[i]); return 1; }
	printf("a packet of %zu bytes at index %lu: out[0] = %u ... out[63] = %u\n", sizeof packet, index, out[0], out[63]);
	return 0;
}
