/* dat.c - the block of uDAPL, and its lane. */
#include "dat/dat.h"

cshim_progress dat_progress __attribute__((aligned(128)));
dat_lane dat_the_lane;
