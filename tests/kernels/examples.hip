// The kernels of the library's examples, as they are.
#include "../../userspace/rkfd/examples/kernels.hip"
