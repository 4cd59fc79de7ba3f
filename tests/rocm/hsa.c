// SPDX-License-Identifier: MIT OR Apache-2.0
// The HSA runtime without HIP: a queue, a barrier packet, and a wait for its signal.
#include <hsa/hsa.h>
#include <stdint.h>
#include <stdio.h>

static hsa_status_t find_gpu(hsa_agent_t agent, void *found) {
    char name[64] = {0};
    hsa_device_type_t type;
    hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
    hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    printf("agent %s, %s\n", name, type == HSA_DEVICE_TYPE_GPU ? "GPU" : "no GPU");
    if (type == HSA_DEVICE_TYPE_GPU) *(hsa_agent_t *)found = agent;
    return HSA_STATUS_SUCCESS;
}

static int failed(const char *what, hsa_status_t status) {
    const char *text = "";
    hsa_status_string(status, &text);
    printf("hsa: FAILED (%s: %s)\n", what, text);
    return 1;
}

int main(void) {
    hsa_agent_t gpu = {0};
    hsa_queue_t *queue;
    hsa_signal_t done;
    hsa_status_t status = hsa_init();
    if (status != HSA_STATUS_SUCCESS) return failed("hsa_init", status);
    hsa_iterate_agents(find_gpu, &gpu);
    if (!gpu.handle) return failed("no GPU", HSA_STATUS_SUCCESS);
    status = hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue);
    if (status != HSA_STATUS_SUCCESS) return failed("hsa_queue_create", status);
    status = hsa_signal_create(1, 0, NULL, &done);
    if (status != HSA_STATUS_SUCCESS) return failed("hsa_signal_create", status);

    uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    hsa_barrier_and_packet_t *packet =
        (hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;
    packet->completion_signal = done;
    uint16_t header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
                      1 << HSA_PACKET_HEADER_BARRIER;
    __atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
    hsa_signal_store_relaxed(queue->doorbell_signal, index);
    // The limit, in ticks, is long enough for a slow machine; only a lost packet makes the wait reach it.
    hsa_signal_value_t value = hsa_signal_wait_scacquire(
        done, HSA_SIGNAL_CONDITION_EQ, 0, 10000000000ull, HSA_WAIT_STATE_BLOCKED);
    printf("queue of %u packets, signal %ld\n", queue->size, (long)value);
    hsa_signal_destroy(done);
    hsa_queue_destroy(queue);
    status = hsa_shut_down();
    if (status != HSA_STATUS_SUCCESS) return failed("hsa_shut_down", status);
    printf("hsa: %s (%d wrong)\n", value == 0 ? "PASSED" : "FAILED", value != 0);
    return value != 0;
}
