/*
 * coll.h - for programs that test collectives. A program starts the members of a group as processes
 * of its own file. They meet by a page of shared memory, outside the library: there they exchange
 * their addresses. An error ends the member, and so the program.
 *
 * A struct call is one operation with its buffers: made, posted, and checked against the result of
 * a naive operation, which each member computes by itself, as all inputs follow from a seed.
 */
#ifndef COLL_H
#define COLL_H

#include "pair.h"

#include <stdint.h>

enum { COLL_MEMBERS = 16, COLL_BLOB = 2048 };

/* A program's arguments besides its own name, and the objects that it opened. */
extern struct coll_me {
	int rank, size; /* of this member among the processes that were started */
	const char *test;
	unsigned seed;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, evd; /* evd: of the group that coll_open made */
	DAT_PZ_HANDLE pz;
	DAT_IB_COLLECTIVE_MEMBER member;
	DAT_UINT32 member_size;
	DAT_IB_COLLECTIVE_HANDLE group;
	int differ; /* the members of coll_open's group have several formats of long double */
} coll_me;

/* 1 in a process that is a member, with coll_me's first four set. */
int coll_is_member(int argc, char **argv);

/* Starts size members, on the nodes of tests/launch/nodes if COLL_NODES is their number, and waits
 * for them: members in the mask `killed` must be killed, the others must end with 0. Not in a
 * member. */
void coll_run(const char *test, int size, unsigned seed, unsigned killed);

/*
 * The main function for the arguments [full|short [WAY [MEMBERS]]]. Runs tests in every way, or in
 * one: on (C does the operations of one node), copy (likewise, and long data is read in place), off
 * and random (LAPI_FASTLANE); and prints that the program has passed.
 */
int coll_main(int argc, char **argv, void (*tests)(int full));
/* 1 if a test is to have that number of members: the number that the arguments name, or, if they name
 * none, a usual one. */
int coll_wanted(int members, int usual);
/* The number of members that the arguments name; else the usual one. */
int coll_members_of(int usual);

/* The node of a member, from 0 on: of two nodes each has one half, of more they take turns. */
int coll_node_of(int rank, int size);

/* All members that live: each gives n bytes and gets those of all, one after the other. */
void coll_exchange(const void *mine, size_t n, void *all);
void coll_meet(void);

/* A number that all members see. */
unsigned coll_flag(void);
void coll_set_flag(unsigned value);

/* The adapter, an EVD, an address; then also a group of all. coll_close frees what there is. */
void coll_open_adapter(void);
void coll_open(void);
void coll_close(void);
/* Everybody's addresses, those of the caller among them. Once for each call of create_member. */
void coll_members(DAT_IB_COLLECTIVE_MEMBER mine, DAT_UINT32 size,
                  DAT_IB_COLLECTIVE_MEMBER members[COLL_MEMBERS]);
DAT_EVD_HANDLE coll_evd(void);

/* The next event of a group's EVD. */
typedef struct coll_event {
	unsigned type, status;
	DAT_IB_COLLECTIVE_HANDLE group;
	DAT_UINT64 context;
	DAT_IB_COLLECTIVE_CREATE_EVENT_DATA created; /* of a creation's event */
} coll_event;
coll_event coll_wait(DAT_EVD_HANDLE evd);
/* It must be of that type and context, a success, and of that group. */
void coll_expect(DAT_EVD_HANDLE evd, DAT_IB_COLLECTIVE_HANDLE group, unsigned type,
                 DAT_UINT64 context);
/* Nothing is there. */
void coll_expect_none(DAT_EVD_HANDLE evd);

/* The same number from the same three, well spread. */
uint32_t coll_mix(uint32_t a, uint32_t b, uint32_t c);

/* By which names operations are called. */
enum coll_form {
	FORM_TOTALS,   /* dat_collective_X */
	FORM_FUNCTION, /* the functions dat_ib_collective_X */
	FORM_OP,       /* dat_extension_op, through the macros */
	FORMS
};

typedef struct call {
	/* the caller's: */
	int kind; /* DAT_IB_COLLECTIVE_..._STATUS */
	int form; /* enum coll_form */
	int root; /* of those that have one */
	int op, type;
	int in_place; /* at the ranks that may */
	size_t n;     /* bytes of a part, about; elements of a reduction */
	unsigned seed;
	DAT_COMPLETION_FLAGS flags;
	DAT_UINT64 context;
	/* call_make's: */
	int rank, size;
	unsigned char *send, *recv;              /* NULL: none is passed */
	unsigned char *send_before, *recv_after; /* what must be in them at the end */
	size_t send_room, recv_room;
	DAT_COUNT send_counts[COLL_MEMBERS], recv_counts[COLL_MEMBERS];
	DAT_COUNT send_at[COLL_MEMBERS], recv_at[COLL_MEMBERS];
	DAT_PVOID send_parts[COLL_MEMBERS], recv_parts[COLL_MEMBERS];
} call;

int call_is_reduction(int kind);
int call_is_rooted(int kind);
const char *call_name(int kind);
/* Whether in_place means something. */
int call_may_be_in_place(int kind);

/* Makes the buffers for a rank of a group of size members. */
void call_make(call *c, int rank, int size);
/* call_post must not be refused. */
DAT_RETURN call_try(call *c, DAT_IB_COLLECTIVE_HANDLE group);
void call_post(call *c, DAT_IB_COLLECTIVE_HANDLE group);
/* After its event: the buffers have what they must. */
void call_check(const call *c);
void call_free(call *c);
/* Prints which call it was, what is wrong with it, and a result unless it is a success; ends the
 * program. */
void call_fail(const call *c, const char *what, DAT_RETURN result);

/* reductions, coll_values.c */
int values_legal(int op, int type);
size_t values_size(int op, int type);
/* Element i of what a rank contributes, and what ranks 0 to last give. */
void values_fill(const call *c, int rank, unsigned char *to, size_t from, size_t n);
void values_check(const call *c, const unsigned char *result, size_t from, size_t n, int last);

#endif
