/*
 * shared.h - everything that C and Go both read and write, for transport/layout. Private to the library.
 */
#ifndef CSHIM_SHARED_H
#define CSHIM_SHARED_H

#include "barrier.h"
#include "context.h"
#include "lane.h"
#include "outbox.h"
#include "segment.h"
#include "trace.h"

#endif
