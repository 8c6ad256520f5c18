/*
 * shared.h - everything that C and Go both read and write, for transport/layout. Private to the
 * library.
 */
#ifndef CSHIM_SHARED_H
#define CSHIM_SHARED_H

#include "context/context.h"
#include "context/trace.h"
#include "dat/coll/group.h"
#include "dat/evd/evd.h"
#include "dat/lane.h"
#include "dat/rc/end.h"
#include "lane/lane.h"
#include "lane/outbox.h"
#include "node/node.h"
#include "packets/packets.h"

#endif
