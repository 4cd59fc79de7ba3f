// SPDX-License-Identifier: MIT OR Apache-2.0
// A tool of the HSA runtime that reads the GPU's performance counters at each dispatch of a program:
//
//   HSA_TOOLS_LIB=/srv/profile.so PROFILE='SQ_WAVES SQ_INSTS_VALU' vectoradd
//
// It prints what rocprofv3 writes into its table of counters, a line for a counter of a dispatch, to the
// standard error. AMD's aqlprofile makes the packets that start and read the counters; the tool puts them
// around the dispatch, by a queue that shows it each packet, and waits for them. Debian's HSA runtime is built
// without librocprofiler-register, so the tool is one of the older kind, which the runtime loads itself.
#define AMD_INTERNAL_BUILD  // Debian's header looks for the others in inc/ without it.
#include <aqlprofile-sdk/aql_profile_v2.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Event {
    const char *name;
    hsa_ven_amd_aqlprofile_block_name_t block;
    // Its number on a gfx942 and on a gfx1201, 0xffff where that has none.
    // Source: rocprofiler-sdk, counter_defs.yaml.
    uint16_t numbers[2];
    // The block's instances that aqlprofile takes one by one; 1 where it takes all of them together.
    unsigned instances = 1;
};

constexpr auto SQ = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ;
constexpr auto GRBM = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBM;
constexpr auto TCP = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCP;
constexpr auto TCC = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCC;
constexpr auto GL2C = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL2C;
constexpr uint16_t NONE = 0xffff;
constexpr Event events[] = {
    {"GRBM_COUNT", GRBM, {0, 0}},
    {"GRBM_GUI_ACTIVE", GRBM, {2, 2}},
    {"SQ_BUSY_CYCLES", SQ, {3, 3}},
    {"SQ_WAVES", SQ, {4, 4}},
    {"SQ_INSTS_VALU", SQ, {26, 50}},
    {"SQ_INSTS_SALU", SQ, {60, 46}},
    {"SQ_INSTS_SMEM", SQ, {61, 47}},
    {"SQ_INSTS_FLAT", SQ, {62, 44}},
    {"SQ_INSTS_LDS", SQ, {65, 45}},
    {"SQ_INSTS_VMEM_RD", SQ, {58, NONE}},
    {"SQ_INSTS_VMEM_WR", SQ, {57, NONE}},
    {"SQ_INSTS_TEX_LOAD", SQ, {NONE, 54}},
    {"SQ_INSTS_TEX_STORE", SQ, {NONE, 55}},
    // Caches of compute units, of which an engine has ten and a work-group processor two, and channels of the second level.
    {"TCP_TOTAL_CACHE_ACCESSES", TCP, {60, NONE}, 10},
    {"TCP_TCC_READ_REQ", TCP, {65, NONE}, 10},
    {"TCP_TCC_WRITE_REQ", TCP, {66, NONE}, 10},
    {"TCP_REQ", TCP, {NONE, 9}, 2},
    {"TCP_REQ_READ", TCP, {NONE, 10}, 2},
    {"TCP_REQ_WRITE", TCP, {NONE, 14}, 2},
    {"TCC_READ", TCC, {12, NONE}, 16},
    {"TCC_WRITE", TCC, {13, NONE}, 16},
    {"TCC_HIT", TCC, {17, NONE}, 16},
    {"TCC_MISS", TCC, {19, NONE}, 16},
    {"GL2C_READ", GL2C, {NONE, 6}, 32},
    {"GL2C_WRITE", GL2C, {NONE, 7}, 32},
    {"GL2C_HIT", GL2C, {NONE, 39}, 32},
    {"GL2C_MISS", GL2C, {NONE, 40}, 32},
};

// The runtime's own functions.
CoreApiTable core;
AmdExtTable ext;
// The names of kernels by their descriptors.
std::map<uint64_t, std::string> kernels;
std::mutex lock;

void check(hsa_status_t status, const char *what) {
    if (status == HSA_STATUS_SUCCESS) return;
    fprintf(stderr, "profile: %s: status %#x\n", what, status);
    exit(1);
}

template <typename T>
T get(hsa_agent_t agent, int what) {
    T value{};
    auto attribute = static_cast<hsa_agent_info_t>(what);
    check(core.hsa_agent_get_info_fn(agent, attribute, &value), "hsa_agent_get_info");
    return value;
}

// A queue whose packets the tool sees.
struct Queue {
    hsa_agent_t agent;
    hsa_queue_t *queue;
    aqlprofile_agent_handle_t known;
    std::vector<aqlprofile_pmc_event_t> chosen;
    std::vector<const Event *> names;
    bool gfx12 = false;
    uint64_t dispatches = 0;
};

// Memory of the host that all GPUs reach: where kernels' arguments are.
hsa_amd_memory_pool_t pool;

hsa_status_t find_pool(hsa_amd_memory_pool_t found, void *) {
    hsa_amd_segment_t segment;
    uint32_t flags = 0;
    ext.hsa_amd_memory_pool_get_info_fn(found, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
    ext.hsa_amd_memory_pool_get_info_fn(found, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
    if (segment != HSA_AMD_SEGMENT_GLOBAL || !(flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT))
        return HSA_STATUS_SUCCESS;
    pool = found;
    return HSA_STATUS_INFO_BREAK;
}

hsa_status_t find_host(hsa_agent_t agent, void *) {
    if (get<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_CPU)
        return HSA_STATUS_SUCCESS;
    return ext.hsa_amd_agent_iterate_memory_pools_fn(agent, find_pool, nullptr);
}

hsa_status_t allocate(void **at, uint64_t size, aqlprofile_buffer_desc_flags_t, void *data) {
    auto *own = static_cast<Queue *>(data);
    hsa_status_t status = ext.hsa_amd_memory_pool_allocate_fn(
        pool, size, HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG, at);
    if (status != HSA_STATUS_SUCCESS) return status;
    memset(*at, 0, size);
    return ext.hsa_amd_agents_allow_access_fn(1, &own->agent, nullptr, *at);
}

void release(void *at, void *) { ext.hsa_amd_memory_pool_free_fn(at); }

hsa_status_t copy(void *to, const void *from, size_t size, void *) {
    memcpy(to, from, size);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t add(aqlprofile_pmc_event_t event, uint64_t, uint64_t value, void *data) {
    auto *sums = static_cast<std::map<std::pair<int, uint32_t>, uint64_t> *>(data);
    (*sums)[{event.block_name, event.event_id}] += value;
    return HSA_STATUS_SUCCESS;
}

hsa_signal_t signal_of(hsa_signal_value_t value) {
    hsa_signal_t signal;
    check(core.hsa_signal_create_fn(value, 0, nullptr, &signal), "hsa_signal_create");
    return signal;
}

// Runs one dispatch between the packets that start and read the counters, and prints them.
void profile(Queue &own, hsa_kernel_dispatch_packet_t dispatch,
             hsa_amd_queue_intercept_packet_writer write) {
    aqlprofile_pmc_profile_t what = {own.known, own.chosen.data(),
                                     static_cast<uint32_t>(own.chosen.size())};
    aqlprofile_handle_t handle;
    aqlprofile_pmc_aql_packets_t packets{};
    check(aqlprofile_pmc_create_packets(&handle, &packets, what, allocate, release, copy, &own),
          "aqlprofile_pmc_create_packets");
    // A packet of the vendor that waits for those before it.
    const uint16_t header = HSA_PACKET_TYPE_VENDOR_SPECIFIC | 1 << HSA_PACKET_HEADER_BARRIER |
                            HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE |
                            HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE;
    for (auto *packet : {&packets.start_packet, &packets.read_packet, &packets.stop_packet})
        packet->header = header;
    const bool lent = dispatch.completion_signal.handle != 0;
    if (!lent) dispatch.completion_signal = signal_of(1);
    packets.stop_packet.completion_signal = signal_of(1);
    static_assert(sizeof(hsa_ext_amd_aql_pm4_packet_t) == sizeof dispatch);
    char all[4][sizeof dispatch];
    memcpy(all[0], &packets.start_packet, sizeof dispatch);
    memcpy(all[1], &dispatch, sizeof dispatch);
    memcpy(all[2], &packets.read_packet, sizeof dispatch);
    memcpy(all[3], &packets.stop_packet, sizeof dispatch);
    write(all, 4);
    core.hsa_signal_wait_scacquire_fn(packets.stop_packet.completion_signal,
                                      HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                      HSA_WAIT_STATE_BLOCKED);
    hsa_amd_profiling_dispatch_time_t time{};
    ext.hsa_amd_profiling_get_dispatch_time_fn(own.agent, dispatch.completion_signal, &time);
    std::map<std::pair<int, uint32_t>, uint64_t> sums;
    check(aqlprofile_pmc_iterate_data(handle, add, &sums), "aqlprofile_pmc_iterate_data");
    aqlprofile_pmc_delete_packets(handle);
    core.hsa_signal_destroy_fn(packets.stop_packet.completion_signal);
    if (!lent) core.hsa_signal_destroy_fn(dispatch.completion_signal);
    const std::string &kernel = kernels[dispatch.kernel_object];
    uint64_t grid = uint64_t(dispatch.grid_size_x) * dispatch.grid_size_y * dispatch.grid_size_z;
    unsigned group =
        dispatch.workgroup_size_x * dispatch.workgroup_size_y * dispatch.workgroup_size_z;
    own.dispatches++;
    for (const Event *event : own.names)
        fprintf(stderr, "%lu,%lu,%lu,\"%s\",%u,\"%s\",%lu,%lu,%lu\n", own.dispatches, own.queue->id,
                grid, kernel.c_str(), group, event->name,
                sums[{event->block, event->numbers[own.gfx12]}], time.start, time.end);
}

void see(const void *packets, uint64_t count, uint64_t, void *data,
         hsa_amd_queue_intercept_packet_writer write) {
    auto *all = static_cast<const hsa_kernel_dispatch_packet_t *>(packets);
    for (uint64_t n = 0; n < count; n++) {
        const unsigned type = all[n].header & ((1 << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
        if (type != HSA_PACKET_TYPE_KERNEL_DISPATCH) {
            write(&all[n], 1);
            continue;
        }
        // One at a time: there is one set of counters.
        std::lock_guard<std::mutex> guard(lock);
        profile(*static_cast<Queue *>(data), all[n], write);
    }
}

void choose(Queue &own) {
    const char *wanted = getenv("PROFILE");
    std::istringstream names(wanted ? wanted : "SQ_WAVES");
    for (std::string name; names >> name;) {
        const Event *found = nullptr;
        for (const Event &event : events)
            if (name == event.name && event.numbers[own.gfx12] != NONE) found = &event;
        if (!found) {
            fprintf(stderr, "profile: this GPU has no %s\n", name.c_str());
            exit(1);
        }
        for (unsigned n = 0; n < found->instances; n++)
            own.chosen.push_back({n, found->numbers[own.gfx12], {}, found->block});
        own.names.push_back(found);
    }
}

hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                    void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                    uint32_t private_size, uint32_t group_size, hsa_queue_t **queue) {
    hsa_status_t status = ext.hsa_amd_queue_intercept_create_fn(
        agent, size, type, callback, data, private_size, group_size, queue);
    if (status != HSA_STATUS_SUCCESS) return status;
    char name[64] = {};
    core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_NAME, name);
    if (!pool.handle) core.hsa_iterate_agents_fn(find_host, nullptr);
    auto *own = new Queue{};  // As long as the program.
    own->agent = agent;
    own->queue = *queue;
    aqlprofile_agent_info_t info = {
        name,
        get<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_XCC),
        get<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES),
        get<uint32_t>(agent, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT),
        get<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE),
    };
    check(aqlprofile_register_agent(&own->known, &info), "aqlprofile_register_agent");
    own->gfx12 = !strncmp(name, "gfx12", 5);
    choose(*own);
    ext.hsa_amd_profiling_set_profiler_enabled_fn(*queue, 1);
    return ext.hsa_amd_queue_intercept_register_fn(*queue, see, own);
}

hsa_status_t learn(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void *) {
    uint32_t length = 0;
    uint64_t object = 0;
    hsa_symbol_kind_t kind;
    core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
    if (kind != HSA_SYMBOL_KIND_KERNEL) return HSA_STATUS_SUCCESS;
    core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
    std::string name(length, 0);
    core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data());
    core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object);
    std::lock_guard<std::mutex> guard(lock);
    kernels[object] = name;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t learn_agent(hsa_agent_t agent, void *data) {
    auto executable = *static_cast<hsa_executable_t *>(data);
    core.hsa_executable_iterate_agent_symbols_fn(executable, agent, learn, nullptr);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t freeze(hsa_executable_t executable, const char *options) {
    hsa_status_t status = core.hsa_executable_freeze_fn(executable, options);
    if (status == HSA_STATUS_SUCCESS) core.hsa_iterate_agents_fn(learn_agent, &executable);
    return status;
}

}  // namespace

extern "C" bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
    core = *table->core_;
    ext = *table->amd_ext_;
    table->core_->hsa_queue_create_fn = create;
    table->core_->hsa_executable_freeze_fn = freeze;
    fprintf(stderr,
            "\"Dispatch_Id\",\"Queue_Id\",\"Grid_Size\",\"Kernel_Name\",\"Workgroup_Size\","
            "\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n");
    return true;
}

extern "C" void OnUnload() {}
