/* dat.c - uDAPL's lane. */
#include "dat/common.h"

dat_lane dat_the_lane;
