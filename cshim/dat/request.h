/*
 * request.h - requests, for all engines: their operations and flags, as messages of the
 * node engine have them. Private to the library.
 */
#ifndef DAT_REQUEST_H
#define DAT_REQUEST_H

/* Operations. */
#define RC_SEND 0
#define RC_WRITE 1
#define RC_READ 2
#define RC_SWAP 3
#define RC_ADD 4
#define RC_BIND 5     /* core does it, when its turn comes: no message */
#define RC_DATAGRAM 6 /* of a UD endpoint of an adapter */

#define DAT_SEGMENTS 256 /* of a request: core/dat's MaxIOV */

/* Flags. */
#define RC_IMMEDIATE 1u  /* with data: a write takes a receive */
#define RC_INVALIDATE 2u /* of a send */
#define RC_SOLICITED 4u
#define RC_TO_RMR 64u /* of a read: its local memory is an RMR's; in no message */

#endif
