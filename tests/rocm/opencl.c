// SPDX-License-Identifier: MIT OR Apache-2.0
// OpenCL: programs that the runtime compiles in the virtual machine. Sums of two vectors, sums of groups by local
// memory, a counter by atomics, and an error of the compiler; results are compared with the CPU's.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(status)                                                          \
    do {                                                                       \
        cl_int result = (status);                                              \
        if (result != CL_SUCCESS) {                                            \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #status, result); \
            exit(2);                                                           \
        }                                                                      \
    } while (0)

enum { N = 65536, GROUP = 256 };

static const char *source =
    "kernel void add(global const float *a, global const float *b, global float *c) {\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n"
    "kernel void sums(global const int *in, global int *out, local int *part) {\n"
    "    size_t t = get_local_id(0);\n"
    "    part[t] = in[get_global_id(0)];\n"
    "    for (size_t n = get_local_size(0) / 2; n > 0; n /= 2) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        if (t < n) part[t] += part[t + n];\n"
    "    }\n"
    "    if (t == 0) out[get_group_id(0)] = part[0];\n"
    "}\n"
    "kernel void count(global const int *in, global int *bins) {\n"
    "    atomic_inc(&bins[in[get_global_id(0)] & 15]);\n"
    "}\n";

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;

static cl_mem memory(size_t size, const void *from) {
    cl_int status;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
    CHECK(status);
    if (from) CHECK(clEnqueueWriteBuffer(queue, made, CL_TRUE, 0, size, from, 0, NULL, NULL));
    return made;
}

static void run(cl_kernel kernel) {
    size_t all = N, group = GROUP;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &all, &group, 0, NULL, NULL));
    CHECK(clFinish(queue));
}

static cl_kernel kernel_of(cl_program program, const char *name, int count, cl_mem *arguments) {
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    CHECK(status);
    for (int n = 0; n < count; n++) CHECK(clSetKernelArg(kernel, n, sizeof(cl_mem), &arguments[n]));
    return kernel;
}

int main(void) {
    cl_platform_id platform;
    cl_int status;
    long wrong = 0;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    CHECK(status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &device, "-cl-std=CL2.0", NULL, NULL));

    float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), *c = malloc(N * sizeof *c);
    int *values = malloc(N * sizeof *values), sums[N / GROUP], bins[16] = {0}, found[16];
    for (int i = 0; i < N; i++) {
        a[i] = i * 0.5f;
        b[i] = i * 0.25f;
        values[i] = i * 7 % 1000;
    }
    cl_mem floats[] = {memory(N * 4, a), memory(N * 4, b), memory(N * 4, NULL)};
    run(kernel_of(program, "add", 3, floats));
    CHECK(clEnqueueReadBuffer(queue, floats[2], CL_TRUE, 0, N * 4, c, 0, NULL, NULL));
    for (int i = 0; i < N; i++) wrong += c[i] != a[i] + b[i];

    cl_mem ints[] = {memory(N * 4, values), memory(sizeof sums, NULL)};
    cl_kernel kernel = kernel_of(program, "sums", 2, ints);
    CHECK(clSetKernelArg(kernel, 2, GROUP * sizeof(int), NULL));
    run(kernel);
    CHECK(clEnqueueReadBuffer(queue, ints[1], CL_TRUE, 0, sizeof sums, sums, 0, NULL, NULL));
    for (int group = 0; group < N / GROUP; group++) {
        int sum = 0;
        for (int i = 0; i < GROUP; i++) sum += values[group * GROUP + i];
        wrong += sums[group] != sum;
    }

    cl_mem counters[] = {ints[0], memory(sizeof bins, bins)};
    run(kernel_of(program, "count", 2, counters));
    CHECK(clEnqueueReadBuffer(queue, counters[1], CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    for (int i = 0; i < N; i++) bins[values[i] & 15]++;
    wrong += memcmp(bins, found, sizeof bins) != 0;

    const char *broken = "kernel void broken() { unknown(); }";
    program = clCreateProgramWithSource(context, 1, &broken, NULL, &status);
    CHECK(status);
    wrong += clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_BUILD_PROGRAM_FAILURE;
    printf("opencl: %s (%ld wrong)\n", wrong ? "FAILED" : "PASSED", wrong);
    return wrong ? 1 : 0;
}
