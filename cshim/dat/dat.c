/* dat.c - uDAPL's lane. */
#include "dat/dat.h"

dat_lane dat_the_lane;
