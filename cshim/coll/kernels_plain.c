/* kernels_plain.c - the kernels for every processor of the architecture. */
#define COLL_KERNELS coll_kernels_plain
#include "coll/kernel_bodies.h"
