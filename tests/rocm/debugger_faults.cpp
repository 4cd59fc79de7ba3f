// SPDX-License-Identifier: MIT OR Apache-2.0
// A debugger whose programs fail: it is told which wave of which work-group it was, where and why; the program learns of
// it when its wave goes on. Then one that is killed under the debugger.
#include "debugger.h"

struct Misdeed {
    const char *name;
    uint32_t reason;
    // What the program's runtime is told when the wave goes on, as AMD's debugger does.
    amd_dbgapi_exceptions_t exception;
    // What the instruction is, as the library writes it, and how far behind it the wave is: ROCr's handler has gone on
    // behind s_trap, and leaves exceptions where they are.
    const char *instruction;
    uint64_t behind;
};

static const Misdeed MISDEEDS[] = {
    {"assertion", AMD_DBGAPI_WAVE_STOP_REASON_ASSERT_TRAP, AMD_DBGAPI_EXCEPTION_WAVE_ABORT, "s_trap 2", 4},
    {"address", AMD_DBGAPI_WAVE_STOP_REASON_MEMORY_VIOLATION, AMD_DBGAPI_EXCEPTION_WAVE_MEMORY_VIOLATION, "store", 0},
    {"instruction", AMD_DBGAPI_WAVE_STOP_REASON_ILLEGAL_INSTRUCTION, AMD_DBGAPI_EXCEPTION_WAVE_ILLEGAL_INSTRUCTION, "", 0},
};

// Reports a check of a misdeed.
static void check_of(const Misdeed &misdeed, bool good, const char *what) {
    check(good, (std::string(misdeed.name) + ": " + what).c_str());
}

static void let_fail(const Misdeed &misdeed) {
    amd_dbgapi_client_process_s client;
    attach(&client, misdeed.name);
    int32_t one = 1;
    write_gpu(client.go, &one, sizeof one);
    auto wave = wait_for_stop();
    auto reason = reason_of(wave);
    printf("%s: reason %#x at %#" PRIx64 "\n", misdeed.name, reason, pc_of(wave));
    check_of(misdeed, reason & misdeed.reason, "the library says why the wave stopped");
    struct { uint32_t x, y, z; } group = {};
    MUST(amd_dbgapi_wave_get_info(wave, AMD_DBGAPI_WAVE_INFO_WORKGROUP_COORD, sizeof group, &group));
    check_of(misdeed, group.x == 1 && group.y == 0 && group.z == 0, "it is work-group 1's");
    if (*misdeed.instruction) {
        amd_dbgapi_size_t bytes;
        auto text = instruction_of(wave, &bytes, misdeed.behind);
        check_of(misdeed, text.find(misdeed.instruction) != std::string::npos,
                 "it is where its instruction is");
    } else {
        uint32_t code;
        read_gpu(pc_of(wave), &code, sizeof code);
        check_of(misdeed, code == 0xbfff0000, "it is where its instruction is");
    }
    MUST(amd_dbgapi_wave_resume(wave, AMD_DBGAPI_RESUME_MODE_NORMAL, misdeed.exception));
    int status = detach(&client);
    printf("%s: the program ended with status %#x\n", misdeed.name, status);
    // HIP 6 ends it; to HIP 7's next call it is an error, with which the program ends by its own check.
    const bool ended = WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) == 2;
    check_of(misdeed, ended, "the program is ended by it");
}

// A program dies while its waves are stopped.
static void die() {
    amd_dbgapi_client_process_s client;
    attach(&client);
    auto all = waves();
    for (auto wave : all) MUST(amd_dbgapi_wave_stop(wave));
    for (size_t n = 0; n < all.size(); n++) wait_for_stop();
    kill(client.pid, SIGKILL);
    int status;
    waitpid(client.pid, &status, 0);
    amd_dbgapi_size_t bytes = 4;
    uint32_t word;
    auto answer = amd_dbgapi_read_memory(process, AMD_DBGAPI_WAVE_NONE, AMD_DBGAPI_LANE_NONE, AMD_DBGAPI_ADDRESS_SPACE_GLOBAL,
                                         client.go, &bytes, &word);
    check(answer != AMD_DBGAPI_STATUS_SUCCESS, "killed: its memory is gone");
    // The library's own answers are the program's end, or what it had seen before.
    answer = amd_dbgapi_wave_resume(all[0], AMD_DBGAPI_RESUME_MODE_NORMAL, AMD_DBGAPI_EXCEPTION_NONE);
    printf("killed: resume: %d\n", answer);
    MUST(amd_dbgapi_process_detach(process));
    MUST(amd_dbgapi_finalize());
    close(client.memory);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "killed: the debugger outlives it");
}

int main() {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    // With it the runtime keeps what tells a wave's work-group.
    setenv("HSA_ENABLE_DEBUG", "1", 1);
    die();
    for (const Misdeed &misdeed : MISDEEDS) let_fail(misdeed);
    return verdict("debugger_faults");
}
