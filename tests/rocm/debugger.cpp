// SPDX-License-Identifier: MIT OR Apache-2.0
// A debugger that stops all waves, reads and changes registers, goes on by single instructions, sets a breakpoint, watches
// memory, and leaves its program, which ends with the values that the registers were given.
#include "debugger.h"

// Adds a million to each lane of v40, which had what the kernel put there. Returns the sum of what it had.
static long change_values(amd_dbgapi_wave_id_t wave, size_t lanes) {
    std::vector<int32_t> values(lanes);
    auto v40 = find_register(wave, "v40");
    MUST(amd_dbgapi_read_register(wave, v40, 0, lanes * 4, values.data()));
    long sum = 0;
    for (auto &value : values) sum += value, value += 1000000;
    MUST(amd_dbgapi_write_register(wave, v40, 0, lanes * 4, values.data()));
    return sum;
}

// Runs instructions of a wave one by one. Behind each that isn't a jump is the next.
static void step(amd_dbgapi_wave_id_t wave) {
    bool good = true;
    int straight = 0;
    for (int n = 0; n < 12; n++) {
        auto before = pc_of(wave);
        amd_dbgapi_size_t bytes;
        auto text = instruction_of(wave, &bytes);
        resume(wave, AMD_DBGAPI_RESUME_MODE_SINGLE_STEP);
        good &= wait_for_stop().handle == wave.handle && (reason_of(wave) & AMD_DBGAPI_WAVE_STOP_REASON_SINGLE_STEP);
        bool jump = text.find("branch") != std::string::npos;
        straight += !jump;
        good &= jump || pc_of(wave) == before + bytes;
    }
    check(good && straight > 4, "a wave goes on by single instructions");
}

// All waves run into a breakpoint where one of them is.
static void break_at(const std::vector<amd_dbgapi_wave_id_t> &all) {
    auto size = architecture_info<amd_dbgapi_size_t>(all[0], AMD_DBGAPI_ARCHITECTURE_INFO_BREAKPOINT_INSTRUCTION_SIZE);
    auto trap = architecture_info<unsigned char *>(all[0], AMD_DBGAPI_ARCHITECTURE_INFO_BREAKPOINT_INSTRUCTION);
    auto adjust =
        architecture_info<amd_dbgapi_size_t>(all[0], AMD_DBGAPI_ARCHITECTURE_INFO_BREAKPOINT_INSTRUCTION_PC_ADJUST);
    auto at = pc_of(all[0]);
    std::vector<unsigned char> code(size);
    read_gpu(at, code.data(), size);
    write_gpu(at, trap, size);
    for (auto wave : all) resume(wave);
    bool good = true;
    for (size_t n = 0; n < all.size(); n++) {
        auto wave = wait_for_stop();
        good &= reason_of(wave) == AMD_DBGAPI_WAVE_STOP_REASON_BREAKPOINT && pc_of(wave) - adjust == at;
    }
    check(good, "every wave stops at the breakpoint");
    write_gpu(at, code.data(), size);
    free(trap);
    for (auto wave : all) {
        auto pc = architecture_info<amd_dbgapi_register_id_t>(wave, AMD_DBGAPI_ARCHITECTURE_INFO_PC_REGISTER);
        MUST(amd_dbgapi_write_register(wave, pc, 0, sizeof at, &at));
    }
}

// They stop when they have stored to memory that is watched.
static void watch(const amd_dbgapi_client_process_s &client, const std::vector<amd_dbgapi_wave_id_t> &all) {
    amd_dbgapi_watchpoint_id_t point;
    MUST(amd_dbgapi_set_watchpoint(process, client.out, client.threads * 4, AMD_DBGAPI_WATCHPOINT_KIND_STORE_AND_RMW,
                                   &point));
    int32_t one = 1;
    write_gpu(client.go, &one, sizeof one);
    for (auto wave : all) resume(wave);
    bool good = true;
    for (size_t n = 0; n < all.size(); n++) {
        auto wave = wait_for_stop();
        auto list = wave_info<amd_dbgapi_watchpoint_list_t>(wave, AMD_DBGAPI_WAVE_INFO_WATCHPOINTS);
        good &= reason_of(wave) == AMD_DBGAPI_WAVE_STOP_REASON_WATCHPOINT && list.count == 1 &&
                list.watchpoint_ids[0].handle == point.handle;
        free(list.watchpoint_ids);
    }
    check(good, "every wave stops when it has stored to what is watched");
    MUST(amd_dbgapi_remove_watchpoint(point));
    for (auto wave : all) resume(wave);
}

int main() {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    amd_dbgapi_client_process_s client;
    attach(&client);
    size_t agents;
    amd_dbgapi_agent_id_t *agent;
    MUST(amd_dbgapi_process_agent_list(process, &agents, &agent, nullptr));
    check(agents == 1, "there is one GPU");
    amd_dbgapi_agent_state_t supported;
    MUST(amd_dbgapi_agent_get_info(*agent, AMD_DBGAPI_AGENT_INFO_STATE, sizeof supported, &supported));
    check(supported == AMD_DBGAPI_AGENT_STATE_SUPPORTED, "its waves can be debugged");
    free(agent);

    auto all = waves();
    size_t lanes = all.empty() ? 0 : wave_info<size_t>(all[0], AMD_DBGAPI_WAVE_INFO_LANE_COUNT);
    printf("%zu waves of %zu lanes\n", all.size(), lanes);
    check(all.size() * lanes == client.threads, "all of the kernel's waves are there");
    for (auto wave : all) MUST(amd_dbgapi_wave_stop(wave));
    for (size_t i = 0; i < all.size(); i++) wait_for_stop();
    bool stopped = true;
    long sum = 0;
    for (auto wave : all) {
        stopped &= wave_info<amd_dbgapi_wave_state_t>(wave, AMD_DBGAPI_WAVE_INFO_STATE) == AMD_DBGAPI_WAVE_STATE_STOP;
        sum += change_values(wave, lanes);
    }
    check(stopped, "each of them is stopped");
    long threads = client.threads;
    check(sum == threads * 1000 + threads * (threads - 1) / 2, "their registers have what the kernel put there");
    step(all[0]);
    break_at(all);
    watch(client, all);

    int status = detach(&client);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the program has the values that its registers were given");
    return verdict("debugger");
}
