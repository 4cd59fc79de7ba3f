// SPDX-License-Identifier: MIT OR Apache-2.0
// What vadd, collatz and matmul_naive of tests/kernels compute, in OpenCL C.

kernel void vadd(global const float *a, global const float *b, global float *c, uint n)
{
    uint i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}

kernel void collatz(global const uint *in, global uint *out, uint n)
{
    uint i = get_global_id(0);
    if (i >= n)
        return;
    ulong v = in[i];
    uint c = 0;
    while (v != 1 && c < 10000) {
        if (v & 1)
            v = 3 * v + 1;
        else
            v >>= 1;
        c++;
    }
    out[i] = c;
}

kernel void matmul_naive(global const float *a, global const float *b, global float *c, uint n)
{
    uint x = get_global_id(0), y = get_global_id(1);
    if (x >= n || y >= n)
        return;
    float s = 0;
    for (uint k = 0; k < n; k++)
        s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}
