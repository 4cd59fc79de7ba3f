// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernels of the examples. They need no ROCm, only clang 19 or newer; for the instruction set
// that `rkfd info` shows:
//
// clang -x hip --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib \
//     --offload-arch=gfx942 -fhip-kernel-arg-name -O3 -o kernels.co kernels.hip
#define KERNEL extern "C" __attribute__((global)) void

static inline __attribute__((device)) unsigned item() {
    return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x()
         + __builtin_amdgcn_workitem_id_x();
}

KERNEL vadd(const float *a, const float *b, float *c, unsigned n) {
    unsigned i = item();
    if (i < n)
        c[i] = a[i] + b[i];
}

KERNEL scale(float *x, float by, unsigned n) {
    unsigned i = item();
    if (i < n)
        x[i] *= by;
}

struct Particle {
    float position[3];
    float speed[3];
};

struct Wind {
    float force[3];
    float seconds;
};

KERNEL drift(Particle *all, Wind wind, unsigned n) {
    unsigned i = item();
    if (i < n) {
        for (int axis = 0; axis < 3; axis++) {
            all[i].speed[axis] += wind.force[axis] * wind.seconds;
            all[i].position[axis] += all[i].speed[axis] * wind.seconds;
        }
    }
}
