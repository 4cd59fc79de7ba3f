// SPDX-License-Identifier: MIT OR Apache-2.0
// What the programs of the labs begin with: the driver's files, memory, and a queue.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/kfd_ioctl.h>

static int kfd, render;
static uint32_t gpu_id;

static void must(int holds, const char *what)
{
	if (!holds) { perror(what); exit(1); }
}

// A number that the topology has of the first GPU, which is node 1: node 0 is the processors.
static unsigned long property(const char *wanted)
{
	unsigned long value;
	char name[64];
	FILE *file = fopen("/sys/class/kfd/kfd/topology/nodes/1/properties", "r");
	must(file != NULL, "topology");
	while (fscanf(file, "%63s %lu", name, &value) == 2 && strcmp(name, wanted)) {}
	fclose(file);
	return value;
}

// Opens the driver and the GPU's render node, which is then the process' address space on the GPU.
static void open_gpu(void)
{
	char path[64];
	FILE *file = fopen("/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "r");
	must(file && fscanf(file, "%u", &gpu_id) == 1, "gpu_id");
	fclose(file);
	snprintf(path, sizeof path, "/dev/dri/renderD%lu", property("drm_render_minor"));
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	render = open(path, O_RDWR | O_CLOEXEC);
	must(kfd >= 0 && render >= 0, path);
	struct kfd_ioctl_acquire_vm_args args = { .drm_fd = render, .gpu_id = gpu_id };
	must(!ioctl(kfd, AMDKFD_IOC_ACQUIRE_VM, &args), "ACQUIRE_VM");
}

// System memory at the same address for the processor and for the GPU.
static void *memory(size_t size)
{
	size = (size + 4095) & ~4095ul;
	void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kfd_ioctl_alloc_memory_of_gpu_args memory = {
		.va_addr = (uintptr_t)at, .size = size, .gpu_id = gpu_id,
		.flags = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			 KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT,
	};
	must(!ioctl(kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &memory), "ALLOC_MEMORY_OF_GPU");
	must(mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, render,
		  memory.mmap_offset) == at, "mmap");
	struct kfd_ioctl_map_memory_to_gpu_args map = {
		.handle = memory.handle, .device_ids_array_ptr = (uintptr_t)&gpu_id, .n_devices = 1,
	};
	must(!ioctl(kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map), "MAP_MEMORY_TO_GPU");
	return at;
}

struct queue {
	uint16_t (*ring)[32];         // slots of 64 bytes; the first half word is a packet's header
	uint64_t *write, *read;       // how many packets were written, and how many were taken
	uint64_t doorbell_offset;     // the driver's answer: where the doorbell can be mapped
};

// An AQL queue of 64 packets, all slots empty.
static struct queue create_queue(void)
{
	unsigned long dies = property("num_xcc"), cus = property("simd_count") / property("simd_per_cu") / dies;
	unsigned long waves = cus * (property("gfx_target_version") < 100100 ? 40 : 32);
	unsigned long for_debuggers = (waves * 32 + 63) & ~63ul;
	char *indices = memory(4096);
	struct queue queue = { .ring = memory(4096), .write = (void *)(indices + 56), .read = (void *)(indices + 128) };
	for (int slot = 0; slot < 64; slot++)
		queue.ring[slot][0] = 1;                  // INVALID
	struct kfd_ioctl_create_queue_args args = {
		.ring_base_address = (uintptr_t)queue.ring, .ring_size = 4096, .gpu_id = gpu_id,
		.write_pointer_address = (uintptr_t)queue.write, .read_pointer_address = (uintptr_t)queue.read,
		.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, .queue_percentage = 100, .queue_priority = 7,
		.eop_buffer_address = (uintptr_t)memory(4096), .eop_buffer_size = 4096,
		.ctx_save_restore_size = property("cwsr_size"), .ctl_stack_size = property("ctl_stack_size"),
		.ctx_save_restore_address = (uintptr_t)memory((property("cwsr_size") + for_debuggers) * dies),
	};
	must(!ioctl(kfd, AMDKFD_IOC_CREATE_QUEUE, &args), "CREATE_QUEUE");
	queue.doorbell_offset = args.doorbell_offset;
	return queue;
}
