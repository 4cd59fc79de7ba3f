// SPDX-License-Identifier: MIT OR Apache-2.0
// What debuggers here do by AMD's library for such (amd-dbgapi): they attach to `spinning` while its waves spin, and wait
// for what the library reports.
#pragma once
#include <amd-dbgapi/amd-dbgapi.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

// How long an event may take, in milliseconds.
static const int PATIENCE = 300000;

static long wrong = 0;

static void check(bool good, const char *what) {
    printf("%s: %s\n", good ? "ok" : "WRONG", what);
    fflush(stdout);
    wrong += !good;
}

static void must(amd_dbgapi_status_t status, const char *what) {
    if (status == AMD_DBGAPI_STATUS_SUCCESS) return;
    const char *text = "";
    amd_dbgapi_get_status_string(status, &text);
    printf("%s: %s\n", what, text);
    exit(2);
}
#define MUST(call) must(call, #call)

// The program that is debugged, as the library asks for it.
struct amd_dbgapi_client_process_s {
    pid_t pid;
    int memory;
    // Where it keeps the word that ends the spinning, and where its threads store.
    uint64_t go, out;
    size_t threads;
};

static amd_dbgapi_status_t get_info(amd_dbgapi_client_process_id_t client, amd_dbgapi_client_process_info_t query,
                                    size_t size, void *value) {
    if (query != AMD_DBGAPI_CLIENT_PROCESS_INFO_OS_PID) return AMD_DBGAPI_STATUS_ERROR_NOT_AVAILABLE;
    if (size != sizeof client->pid) return AMD_DBGAPI_STATUS_ERROR_INVALID_ARGUMENT_COMPATIBILITY;
    memcpy(value, &client->pid, size);
    return AMD_DBGAPI_STATUS_SUCCESS;
}

// Code is loaded once, before anybody attaches: the place that announces more is never reached.
static amd_dbgapi_status_t insert(amd_dbgapi_client_process_id_t, amd_dbgapi_global_address_t, amd_dbgapi_breakpoint_id_t) {
    return AMD_DBGAPI_STATUS_SUCCESS;
}
static amd_dbgapi_status_t remove(amd_dbgapi_client_process_id_t, amd_dbgapi_breakpoint_id_t) {
    return AMD_DBGAPI_STATUS_SUCCESS;
}

static amd_dbgapi_status_t transfer(amd_dbgapi_client_process_id_t client, amd_dbgapi_global_address_t at,
                                    amd_dbgapi_size_t *size, void *to, const void *from) {
    ssize_t n = to ? pread(client->memory, to, *size, at) : pwrite(client->memory, from, *size, at);
    if (n <= 0) return AMD_DBGAPI_STATUS_ERROR_MEMORY_ACCESS;
    *size = n;
    return AMD_DBGAPI_STATUS_SUCCESS;
}

static void log(amd_dbgapi_log_level_t, const char *message) { printf("library: %s\n", message); }

static amd_dbgapi_callbacks_t callbacks = {malloc, free, get_info, insert, remove, transfer, log};

static amd_dbgapi_process_id_t process;

// The next event; none where there is none yet.
static amd_dbgapi_event_kind_t next_event(amd_dbgapi_event_id_t *event) {
    amd_dbgapi_event_kind_t kind;
    MUST(amd_dbgapi_process_next_pending_event(process, event, &kind));
    return kind;
}

// The next event of a kind; others are let go on.
static amd_dbgapi_event_id_t wait_for(amd_dbgapi_event_kind_t wanted) {
    amd_dbgapi_notifier_t notifier;
    MUST(amd_dbgapi_process_get_info(process, AMD_DBGAPI_PROCESS_INFO_NOTIFIER, sizeof notifier, &notifier));
    for (;;) {
        amd_dbgapi_event_id_t event;
        auto kind = next_event(&event);
        if (kind == wanted) return event;
        if (kind != AMD_DBGAPI_EVENT_KIND_NONE) {
            MUST(amd_dbgapi_event_processed(event));
            continue;
        }
        pollfd ready = {notifier, POLLIN, 0};
        if (poll(&ready, 1, PATIENCE) <= 0) {
            printf("no event %d\n", wanted);
            exit(2);
        }
        char bytes[64];
        while (read(notifier, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {}
    }
}

// The next wave that stops.
static amd_dbgapi_wave_id_t wait_for_stop() {
    auto event = wait_for(AMD_DBGAPI_EVENT_KIND_WAVE_STOP);
    amd_dbgapi_wave_id_t wave;
    MUST(amd_dbgapi_event_get_info(event, AMD_DBGAPI_EVENT_INFO_WAVE, sizeof wave, &wave));
    MUST(amd_dbgapi_event_processed(event));
    return wave;
}

template <typename T>
static T wave_info(amd_dbgapi_wave_id_t wave, amd_dbgapi_wave_info_t query) {
    T value;
    MUST(amd_dbgapi_wave_get_info(wave, query, sizeof value, &value));
    return value;
}

static uint64_t pc_of(amd_dbgapi_wave_id_t wave) {
    return wave_info<amd_dbgapi_global_address_t>(wave, AMD_DBGAPI_WAVE_INFO_PC);
}

static uint32_t reason_of(amd_dbgapi_wave_id_t wave) {
    return wave_info<uint32_t>(wave, AMD_DBGAPI_WAVE_INFO_STOP_REASON);
}

static void resume(amd_dbgapi_wave_id_t wave, amd_dbgapi_resume_mode_t mode = AMD_DBGAPI_RESUME_MODE_NORMAL) {
    MUST(amd_dbgapi_wave_resume(wave, mode, AMD_DBGAPI_EXCEPTION_NONE));
}

template <typename T>
static T architecture_info(amd_dbgapi_wave_id_t wave, amd_dbgapi_architecture_info_t query) {
    auto architecture = wave_info<amd_dbgapi_architecture_id_t>(wave, AMD_DBGAPI_WAVE_INFO_ARCHITECTURE);
    T value;
    MUST(amd_dbgapi_architecture_get_info(architecture, query, sizeof value, &value));
    return value;
}

// A register by its name.
static amd_dbgapi_register_id_t find_register(amd_dbgapi_wave_id_t wave, const char *wanted) {
    size_t count;
    amd_dbgapi_register_id_t *all, found = AMD_DBGAPI_REGISTER_NONE;
    MUST(amd_dbgapi_wave_register_list(wave, &count, &all));
    for (size_t i = 0; i < count; i++) {
        char *name;
        MUST(amd_dbgapi_register_get_info(all[i], AMD_DBGAPI_REGISTER_INFO_NAME, sizeof name, &name));
        if (!strcmp(name, wanted)) found = all[i];
        free(name);
    }
    free(all);
    return found;
}

// Reads or writes what the GPU sees at an address.
static void read_gpu(uint64_t at, void *to, amd_dbgapi_size_t size) {
    MUST(amd_dbgapi_read_memory(process, AMD_DBGAPI_WAVE_NONE, AMD_DBGAPI_LANE_NONE, AMD_DBGAPI_ADDRESS_SPACE_GLOBAL, at,
                                &size, to));
}
static void write_gpu(uint64_t at, const void *from, amd_dbgapi_size_t size) {
    MUST(amd_dbgapi_write_memory(process, AMD_DBGAPI_WAVE_NONE, AMD_DBGAPI_LANE_NONE, AMD_DBGAPI_ADDRESS_SPACE_GLOBAL, at,
                                 &size, from));
}

// The instruction where a wave stopped, or so many bytes before, which is printed, and its bytes.
static std::string instruction_of(amd_dbgapi_wave_id_t wave, amd_dbgapi_size_t *bytes, uint64_t before = 0) {
    auto at = pc_of(wave) - before;
    auto architecture = wave_info<amd_dbgapi_architecture_id_t>(wave, AMD_DBGAPI_WAVE_INFO_ARCHITECTURE);
    unsigned char code[16];
    *bytes = sizeof code;
    read_gpu(at, code, sizeof code);
    char *text = nullptr;
    MUST(amd_dbgapi_disassemble_instruction(architecture, at, bytes, code, &text, nullptr, nullptr));
    std::string found = text;
    free(text);
    printf("wave %" PRIu64 " at %#" PRIx64 ": %s\n", wave.handle, at, found.c_str());
    return found;
}

static std::vector<amd_dbgapi_wave_id_t> waves() {
    size_t count;
    amd_dbgapi_wave_id_t *list;
    MUST(amd_dbgapi_process_wave_list(process, &count, &list, nullptr));
    std::vector<amd_dbgapi_wave_id_t> all(list, list + count);
    free(list);
    return all;
}

// Starts `spinning` with what its kernel is to do wrong, and attaches to it when the kernel is under way.
static void attach(amd_dbgapi_client_process_s *client, const char *misdeed = nullptr) {
    int ends[2];
    if (pipe(ends) != 0) exit(2);
    fflush(stdout);
    client->pid = fork();
    if (client->pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/srv/spinning", "spinning", misdeed, nullptr);
        _exit(2);
    }
    close(ends[1]);
    // It stays open, and what the program prints later is not read.
    FILE *output = fdopen(ends[0], "r");
    if (fscanf(output, "spinning %" SCNx64 " %" SCNx64 " %zu", &client->go, &client->out, &client->threads) != 3) exit(2);
    // That the kernel has waves takes a while.
    sleep(5);
    if (ptrace(PTRACE_SEIZE, client->pid, nullptr, nullptr) != 0) perror("ptrace"), exit(2);
    client->memory = open(("/proc/" + std::to_string(client->pid) + "/mem").c_str(), O_RDWR);
    amd_dbgapi_set_log_level(AMD_DBGAPI_LOG_LEVEL_WARNING);
    MUST(amd_dbgapi_initialize(&callbacks));
    MUST(amd_dbgapi_process_attach(client, &process));
    auto event = wait_for(AMD_DBGAPI_EVENT_KIND_RUNTIME);
    amd_dbgapi_runtime_state_t state;
    MUST(amd_dbgapi_event_get_info(event, AMD_DBGAPI_EVENT_INFO_RUNTIME_STATE, sizeof state, &state));
    check(state == AMD_DBGAPI_RUNTIME_STATE_LOADED_SUCCESS, "the runtime is there");
    MUST(amd_dbgapi_event_processed(event));
}

// Leaves it. Returns how it ends (`waitpid`).
static int detach(amd_dbgapi_client_process_s *client) {
    MUST(amd_dbgapi_process_detach(process));
    MUST(amd_dbgapi_finalize());
    close(client->memory);
    int status = 0;
    waitpid(client->pid, &status, 0);
    return status;
}

static int verdict(const char *name) {
    printf("%s: %s (%ld wrong)\n", name, wrong ? "FAILED" : "PASSED", wrong);
    return wrong ? 1 : 0;
}
