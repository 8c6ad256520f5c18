/*
 * route.h - which way data that is too long for slots goes to or from a peer that polls, found out
 * while the program runs (docs/dev/bulk.md, "Routes"). Private to the library.
 *
 * The chooser knows lengths and times only. The code that moves the data asks it for each transfer
 * (node_route_choose), and reports how long those transfers took that it wanted timed
 * (node_route_timed). Its state belongs to one process and is under the owner's lock, so nothing
 * has to be ordered.
 */
#ifndef NODE_ROUTE_H
#define NODE_ROUTE_H

#include <stdint.h>

/* The routes, as they are tried at first. */
#define NODE_ROUTE_PIPELINE 0 /* through a few chunks: both ends copy, one behind the other */
#define NODE_ROUTE_WIDE 1     /* as the pipeline, through the whole chunk area */
/* as the faster of these, but the writer's copy is a string instruction: that need not read a line
 * before it writes all of it */
#define NODE_ROUTE_STRING 2
/* as the faster of these, but the reader's stores bypass its caches */
#define NODE_ROUTE_STREAMING 3
#define NODE_ROUTE_ORIGIN 4 /* the origin copies straight to or from the target's memory */
#define NODE_ROUTE_TARGET 5 /* the target copies straight from the origin's memory */
#define NODE_ROUTE_HALVES 6 /* the origin one half, the target the other, at once */
#define NODE_ROUTES 7
/* Bytes from which streaming is chosen: so much is in no cache, nor of use there. */
#define NODE_STREAM_MIN (16u << 20)
/* bytes of a copy for which a string instruction is worth its begin */
#define NODE_STRING_MIN 1024
#define NODE_ROUTE_MASK 7u
/* or'd: the transfer is to be timed */
#define NODE_ROUTE_TIMED 8u
/* or'd: with this transfer a stretch begins that is to be timed; it ends with this one */
#define NODE_ROUTE_BEGINS 16u
#define NODE_ROUTE_ENDS 32u

/* Directions: puts and gets are learnt apart. */
#define NODE_ROUTE_PUT 0
#define NODE_ROUTE_GET 1
#define NODE_ROUTE_DIRECTIONS 2

/* Classes of lengths, two for each power of two. */
#define NODE_ROUTE_LEAST_LOG 9 /* the first begins with 512 bytes */
#define NODE_ROUTE_CLASSES 32  /* the last is 24 MiB and more */

#define NODE_ROUTE_SAMPLES 4 /* a route's time is the least of its samples */

typedef struct node_route_class {
	/* ns of the latest timed transfers, as if of the class's least length; 0: none */
	uint32_t sample[NODE_ROUTES][NODE_ROUTE_SAMPLES];
	uint64_t transfers;            /* that were chosen for */
	int64_t credit;                /* ns that trials of other routes may cost */
	uint32_t in_use;               /* ns: the time of the route in use, 0: none */
	uint32_t to_time;              /* transfers since the route in use was timed */
	uint32_t to_try;               /* transfers until another is tried, at least */
	uint32_t since;                /* of streams: transfers since something was chosen */
	uint16_t rest;                 /* of streams: transfers not to be timed */
	uint8_t next[NODE_ROUTES];     /* the sample that is replaced next */
	uint8_t patience[NODE_ROUTES]; /* log2 of how much less often a route that lost is tried */
	uint8_t best;                  /* the route in use */
	uint8_t candidate;             /* the route being tried, or tried last */
	uint8_t run;                   /* transfers left of the candidate's run */
	uint8_t running;    /* 1, 3: a trial, 2: a run is under way, or waits for its verdict */
	uint8_t tried;      /* a bit for each route that was, once */
	uint8_t of_streams; /* 1: transfers are stretches of some */
	uint8_t of_groups;  /* 1: transfers are operations of a group */
	uint8_t again;   /* of streams: 1 more than the route of a stretch that was cut; 0: none */
	uint8_t cut;     /* of streams: stretches in a row that were */
	uint8_t shorter; /* of streams: log2 of how much shorter they are, as some were cut */
	uint8_t line[22];
} node_route_class;

/*
 * A stretch: some transfers of a stream in a row, of one class, to or from one task, by one route.
 * It is timed as a whole, because many at once may be faster than one after the other, and by
 * another route.
 */
typedef struct node_stretch {
	uint64_t begun; /* ns of the owner's clock; 0: not yet */
	uint64_t bytes;
	uint32_t class; /* in node_routes.stream, counted through */
	uint32_t task;
	/* the class, 1 more, and task of the latest transfer, if it is alone under way, or nothing
	   is; 0: else */
	uint32_t first, first_task;
	uint8_t route, left; /* transfers that are still to come; 0: none is under way */
	uint8_t ended;       /* all have come, and the time is awaited */
	uint8_t zero[5];
} node_stretch;

typedef struct node_routes {
	/* constant: the route that is forced (LAPI_ROUTE), NODE_ROUTES: none */
	uint32_t forced;
	/* 1: the wide pipeline is the faster of the two, as far as is known */
	uint32_t wide;
	/* 1: so is a string instruction; and, for long transfers, streaming */
	uint32_t string, streaming;
	node_stretch stretch; /* the stretch under way */
	uint32_t line[2];
	node_route_class class[NODE_ROUTE_DIRECTIONS][NODE_ROUTE_CLASSES];
	node_route_class stream[NODE_ROUTE_DIRECTIONS][NODE_ROUTE_CLASSES];
} node_routes;

/* Both ends copy, through chunks. */
static inline int node_route_is_pipeline(uint32_t route)
{
	return route <= NODE_ROUTE_STREAMING;
}

/* The class of n bytes, and the least length of a class. */
static inline uint32_t node_route_class_of(uint64_t n)
{
	uint32_t log = 63u - (uint32_t)__builtin_clzll(n | 1), class;

	if (log < NODE_ROUTE_LEAST_LOG)
		return 0;
	class = 2 * (log - NODE_ROUTE_LEAST_LOG) + (uint32_t)(n >> (log - 1) & 1);
	return class < NODE_ROUTE_CLASSES ? class : NODE_ROUTE_CLASSES - 1;
}

static inline uint64_t node_route_least(uint32_t class)
{
	uint64_t power = (uint64_t)1 << (NODE_ROUTE_LEAST_LOG + class / 2);

	return class & 1 ? power + power / 2 : power;
}

/* The transfer for which a route is asked. */
typedef struct node_route_question {
	int direction;
	int stream;       /* others precede it at once */
	uint64_t n;       /* bytes */
	uint64_t chunk;   /* bytes of the pieces that the pipeline would move it in */
	uint32_t allowed; /* a bit for each route that can be gone; the pipeline always can */
	/* Those of them whose time alone says nothing of streams: */
	uint32_t alone;
	uint32_t task; /* whom; NODE_ROUTE_NOBODY: the owner times no stretches */
} node_route_question;

#define NODE_ROUTE_NOBODY UINT32_MAX

/*
 * The route of a transfer, with NODE_ROUTE_TIMED if it is to be timed; or with NODE_ROUTE_BEGINS or
 * NODE_ROUTE_ENDS if a stretch is.
 */
uint32_t node_route_choose(node_routes *routes, const node_route_question *question);
/* A stretch begins, now that nothing is under way to its task; it is over then, and all of it in
 * place; or it cannot be timed: something has gone otherwise than it was chosen. */
void node_stretch_begin(node_routes *routes, uint64_t now);
void node_stretch_end(node_routes *routes, uint64_t now);
void node_stretch_cut(node_routes *routes);
/* 1 if a transfer that was just chosen for belongs to a stretch. */
static inline int node_in_stretch(const node_routes *routes)
{
	return routes->stretch.left > 0 || routes->stretch.ended;
}

/* A transfer for which no route could be chosen, as its target does not poll: it goes by this
 * route. It pays for trials, too. 1 if it is to be timed: the best route may be so no more, and a
 * target that sleeps is not asked to choose otherwise. */
int node_route_passed(node_routes *routes, int direction, uint64_t n, uint32_t route);
/* 1 if, as far as is known, such a transfer would be faster by another route, or is about to be
 * compared with one: then a target that sleeps may be worth to be woken. */
int node_route_wakes(const node_routes *routes, int direction, uint64_t n, uint32_t route);
/* The next transfer may be a trial at once: the target polls, and maybe not for long. */
void node_route_try_soon(node_routes *routes, int direction, uint64_t n);
/* A transfer of n bytes that was to be timed took ns nanoseconds by a route, while nothing else was
 * under way: from its begin until its last byte was in place. */
void node_route_timed(node_routes *routes, int direction, uint64_t n, uint32_t route, uint64_t ns);
/* The time of a transfer of n bytes as node_class_timed wants it: ns for the class's least length.
 */
uint32_t node_route_scaled(uint64_t ns, uint64_t n);
/* The time of a route, ns for the class's least length; 0: not known. */
uint32_t node_route_time(const node_route_class *class, uint32_t route);

#ifndef __cplusplus
_Static_assert(sizeof(node_route_class) == 192 && sizeof(node_routes) % 64 == 0, "whole lines");
#endif

#endif
