// SPDX-License-Identifier: MIT OR Apache-2.0
// A tool of the HSA runtime (HSA_TOOLS_LIB) that counts every call of the runtime, and marks some of
// them among the program's system calls, so that strace shows the order: the creation of a queue, the
// reservation of a slot in one, the store to a doorbell, the end of a wait for a signal, and the
// registration of a signal's handler, which another thread calls. A mark is a write to a descriptor
// that is not open, so it does nothing; strace shows 32 characters of it.
//
// hsa_calls.h names the calls: CALL(core_, hsa_init) and so on, in order, from hsa_api_trace.h.
#define AMD_INTERNAL_BUILD  // Debian's header looks for the others in inc/ without it.
#include <hsa/hsa_api_trace.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <map>

namespace {

enum Call {
#define CALL(table, name) call_##name,
#include "hsa_calls.h"
#undef CALL
    calls
};

const char *const names[] = {
#define CALL(table, name) #name,
#include "hsa_calls.h"
#undef CALL
};

// The runtime's own functions, and how often each was called.
void *originals[calls];
std::atomic<unsigned long> counts[calls];

template <Call call>
struct Counted {
    // It has the type of the function that it replaces.
    template <typename R, typename... Args>
    static R function(Args... args) {
        counts[call]++;
        return reinterpret_cast<R (*)(Args...)>(originals[call])(args...);
    }
    template <typename R, typename... Args>
    static void install(R (*&slot)(Args...)) {
        originals[call] = reinterpret_cast<void *>(slot);
        slot = function<R, Args...>;
    }
};

__attribute__((format(printf, 1, 2))) void mark(const char *format, ...) {
    char text[96];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    [[maybe_unused]] ssize_t none = write(-1, text, length);
}

// The number of each queue, by the queue's doorbell.
std::map<uint64_t, uint64_t> doorbells;

hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                    void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                    uint32_t private_size, uint32_t group_size, hsa_queue_t **queue) {
    counts[call_hsa_queue_create]++;
    auto original = reinterpret_cast<decltype(&create)>(originals[call_hsa_queue_create]);
    mark("begin hsa_queue_create");
    hsa_status_t status =
        original(agent, size, type, callback, data, private_size, group_size, queue);
    if (status == HSA_STATUS_SUCCESS) {
        doorbells[(*queue)->doorbell_signal.handle] = (*queue)->id;
        mark("end hsa_queue_create %lu", (*queue)->id);
    }
    return status;
}

template <Call call>
uint64_t reserve(const hsa_queue_t *queue, uint64_t slots) {
    counts[call]++;
    auto original = reinterpret_cast<decltype(&reserve<call>)>(originals[call]);
    uint64_t first = original(queue, slots);
    mark("reserved %lu %lu", queue->id, first);
    return first;
}

hsa_status_t handler(hsa_signal_t signal, hsa_signal_condition_t condition,
                     hsa_signal_value_t compare, hsa_amd_signal_handler function, void *data) {
    counts[call_hsa_amd_signal_async_handler]++;
    auto original =
        reinterpret_cast<decltype(&handler)>(originals[call_hsa_amd_signal_async_handler]);
    mark("begin async_handler");
    hsa_status_t status = original(signal, condition, compare, function, data);
    mark("end async_handler");
    return status;
}

template <Call call>
void store(hsa_signal_t signal, hsa_signal_value_t value) {
    counts[call]++;
    auto queue = doorbells.find(signal.handle);
    if (queue != doorbells.end()) mark("doorbell %lu %ld", queue->second, value);
    reinterpret_cast<void (*)(hsa_signal_t, hsa_signal_value_t)>(originals[call])(signal, value);
}

template <Call call>
hsa_signal_value_t wait(hsa_signal_t signal, hsa_signal_condition_t condition,
                        hsa_signal_value_t compare, uint64_t timeout, hsa_wait_state_t state) {
    counts[call]++;
    auto original = reinterpret_cast<decltype(&wait<call>)>(originals[call]);
    hsa_signal_value_t value = original(signal, condition, compare, timeout, state);
    mark("waited %ld", value);
    return value;
}

}  // namespace

extern "C" bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
#define CALL(part, name) Counted<call_##name>::install(table->part->name##_fn);
#include "hsa_calls.h"
#undef CALL
    table->core_->hsa_queue_create_fn = create;
    table->core_->hsa_queue_add_write_index_screlease_fn =
        reserve<call_hsa_queue_add_write_index_screlease>;
    table->amd_ext_->hsa_amd_signal_async_handler_fn = handler;
    table->core_->hsa_signal_store_relaxed_fn = store<call_hsa_signal_store_relaxed>;
    table->core_->hsa_signal_store_screlease_fn = store<call_hsa_signal_store_screlease>;
    table->core_->hsa_signal_wait_relaxed_fn = wait<call_hsa_signal_wait_relaxed>;
    table->core_->hsa_signal_wait_scacquire_fn = wait<call_hsa_signal_wait_scacquire>;
    return true;
}

extern "C" void OnUnload() {
    for (int i = 0; i < calls; i++)
        if (counts[i]) fprintf(stderr, "hsa %s %lu\n", names[i], counts[i].load());
}
