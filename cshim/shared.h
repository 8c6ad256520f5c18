/*
 * shared.h - everything that C and Go both read and write, for transport/layout. Private to the library.
 */
#ifndef CSHIM_SHARED_H
#define CSHIM_SHARED_H

#include "context.h"
#include "lane/lane.h"
#include "lane/outbox.h"
#include "node/node.h"
#include "trace.h"

#endif
