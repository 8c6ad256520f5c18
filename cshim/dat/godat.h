/* godat.h - functions of capi for uDAPL's entry points. All but the last under the block's lock. */
#ifndef GODAT_H
#define GODAT_H

#include <stdint.h>

/* A call of calls.h; its DAT_RETURN. */
uint32_t godat_call(int number, uint64_t *arguments);
/* How many adapters are open. */
int godat_adapters(void);
/* The first adapter is open: the block gets its descriptors. The last one is closed. */
void godat_begin(void);
void godat_end(void);
/* Of the block's owner. */
uint32_t godat_progress(void);
int godat_arm(int64_t *timeout_ns);
void godat_disarm(void);
/* Where the block and the lane are; before anything else. */
void godat_block(void *progress, void *lane);
/* A bind of an endpoint's, by core's number, whose turn it is: takes effect, if status is success, and
 * completes. 0: it cannot take effect, which ends the connection. */
int godat_bind(uint64_t ep, uint64_t number, uint32_t status);
/* The peer of an endpoint's connection takes the right away that it has by a context; 0: it may
 * not. */
int godat_invalidate(uint64_t ep, uint32_t context);
/* 1, once: core is not entered again; all waits end. */
int godat_ends(void);
/* The process ends: so do its groups. */
void godat_exit(void);

/* For capi: from now on godat_exit is called at exit. */
void dat_has_groups(void);

#endif
