// SPDX-License-Identifier: MIT OR Apache-2.0
// What the stand-in GPU of rkfd::fake does instead of running code.
extern "C" __attribute__((global)) void vadd(const float *a, const float *b, float *c, int n) {
    int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x()
          + __builtin_amdgcn_workitem_id_x();
    if (i < n)
        c[i] = a[i] + b[i];
}
