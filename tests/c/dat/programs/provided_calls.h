/*
 * provided_calls.h - the part of provided.c that makes every call on another provider's handles,
 * and checks that each argument reaches the provider unchanged. Included once, behind the
 * declarations that it uses.
 */
/* Values by the number of their word. */
#define V(i) (0xabcd000000000000u + (i))
#define P(i) ((void *)(uintptr_t)V(i))
#define W(i) (0x7fff0000 + (i))
#define CONTEXT(i) ((DAT_CONTEXT){.as_64 = V(i)})
#define AGENT(i) ((DAT_OS_WAIT_PROXY_AGENT){P(i), (DAT_AGENT_FUNC)P((i) + 1)})
#define REGION(i) \
	((DAT_REGION_DESCRIPTION){.for_shared_memory = {P(i), (DAT_LMR_COOKIE)P((i) + 1)}})

static int checked;

/* The words are what was passed: h the handle, 8 or 4 bytes of the value of their number. */
static void same_words(const char *name, const char *words, DAT_HANDLE handle, int first)
{
	const provided_record *r = loaded();
	int i;

	if (!r->name || strcmp(r->name, name) != 0) {
		printf("%s has reached %s\n", name, r->name ? r->name : "nothing");
		exit(1);
	}
	for (i = 0; words[i]; i++) {
		uint64_t want = words[i] == 'h'   ? (uintptr_t)handle
		                : words[i] == '-' ? r->words[i]
		                : words[i] == '8' ? V((uint64_t)i - (uint64_t)first)
		                                  : (uint64_t)W(i - first);
		uint64_t got = words[i] == '4' ? (uint32_t)r->words[i] : r->words[i];

		if (got != want) {
			printf("%s: word %d is %#llx, not %#llx\n", name, i,
			       (unsigned long long)got, (unsigned long long)want);
			exit(1);
		}
	}
	checked++;
}

#define CALLS(function, words, handle, ...)                                      \
	do {                                                                     \
		int before = loaded()->calls;                                    \
		CHECK(dat_##function(handle, ##__VA_ARGS__) == PROVIDED_RESULT); \
		CHECK(loaded()->calls == before + 1);                            \
		same_words(#function, words, handle, 0);                         \
	} while (0)

static void every_call(DAT_IA_HANDLE ia)
{
	DAT_HANDLE h = object();

	CALLS(set_consumer_context, "h8", h, CONTEXT(1));
	CALLS(get_consumer_context, "h8", h, P(1));
	CALLS(get_handle_type, "h8", h, P(1));
	CALLS(cno_create, "h888", ia, AGENT(1), P(3));
	CALLS(cno_modify_agent, "h88", h, AGENT(1));
	CALLS(cno_query, "h48", h, W(1), P(2));
	CALLS(cno_free, "h", h);
	CALLS(cno_wait, "h48", h, W(1), P(2));
	CALLS(cr_query, "h48", h, W(1), P(2));
	CALLS(cr_accept, "h848", h, P(1), W(2), P(3));
	CALLS(cr_reject, "h48", h, W(1), P(2));
	CALLS(cr_handoff, "h8", h, V(1));
	CALLS(evd_create, "h4848", ia, W(1), P(2), W(3), P(4));
	CALLS(evd_query, "h48", h, W(1), P(2));
	CALLS(evd_modify_cno, "h8", h, P(1));
	CALLS(evd_enable, "h", h);
	CALLS(evd_disable, "h", h);
	CALLS(evd_wait, "h4488", h, W(1), W(2), P(3), P(4));
	CALLS(evd_resize, "h4", h, W(1));
	CALLS(evd_post_se, "h8", h, P(1));
	CALLS(evd_dequeue, "h8", h, P(1));
	CALLS(evd_free, "h", h);
	CALLS(ep_create, "h888888", ia, P(1), P(2), P(3), P(4), P(5), P(6));
	CALLS(ep_query, "h88", h, V(1), P(2));
	CALLS(ep_modify, "h88", h, V(1), P(2));
	CALLS(ep_connect, "h8844844", h, P(1), V(2), W(3), W(4), P(5), W(6), W(7));
	CALLS(ep_dup_connect, "h84484", h, P(1), W(2), W(3), P(4), W(5));
	CALLS(ep_disconnect, "h4", h, W(1));
	CALLS(ep_post_send, "h4884", h, W(1), P(2), CONTEXT(3), W(4));
	CALLS(ep_post_recv, "h4884", h, W(1), P(2), CONTEXT(3), W(4));
	CALLS(ep_post_rdma_read, "h48884", h, W(1), P(2), CONTEXT(3), P(4), W(5));
	CALLS(ep_post_rdma_write, "h48884", h, W(1), P(2), CONTEXT(3), P(4), W(5));
	CALLS(ep_get_status, "h888", h, P(1), P(2), P(3));
	CALLS(ep_free, "h", h);
	CALLS(lmr_create, "h488884488888", ia, W(1), REGION(2), V(4), P(5), W(6), W(7), P(8), P(9),
	      P(10), P(11), P(12));
	CALLS(lmr_query, "h48", h, W(1), P(2));
	CALLS(lmr_free, "h", h);
	CALLS(rmr_create, "h8", h, P(1));
	CALLS(rmr_query, "h48", h, W(1), P(2));
	CALLS(rmr_bind, "h88448848", h, P(1), P(2), W(3), W(4), P(5), CONTEXT(6), W(7), P(8));
	CALLS(rmr_free, "h", h);
	CALLS(psp_create, "h8848", ia, V(1), P(2), W(3), P(4));
	CALLS(psp_query, "h48", h, W(1), P(2));
	CALLS(psp_free, "h", h);
	CALLS(rsp_create, "h8888", ia, V(1), P(2), P(3), P(4));
	CALLS(rsp_query, "h48", h, W(1), P(2));
	CALLS(rsp_free, "h", h);
	CALLS(pz_create, "h8", ia, P(1));
	CALLS(pz_query, "h48", h, W(1), P(2));
	CALLS(pz_free, "h", h);
	CALLS(psp_create_any, "h8848", ia, P(1), P(2), W(3), P(4));
	CALLS(ep_reset, "h", h);
	CALLS(evd_set_unwaitable, "h", h);
	CALLS(evd_clear_unwaitable, "h", h);
	CALLS(lmr_sync_rdma_read, "h88", ia, P(1), V(2));
	CALLS(lmr_sync_rdma_write, "h88", ia, P(1), V(2));
	CALLS(ep_create_with_srq, "h8888888", ia, P(1), P(2), P(3), P(4), P(5), P(6), P(7));
	CALLS(ep_recv_query, "h88", h, P(1), P(2));
	CALLS(ep_set_watermark, "h44", h, W(1), W(2));
	CALLS(srq_create, "h888", ia, P(1), P(2), P(3));
	CALLS(srq_free, "h", h);
	CALLS(srq_post_recv, "h488", h, W(1), P(2), CONTEXT(3));
	CALLS(srq_query, "h48", h, W(1), P(2));
	CALLS(srq_resize, "h4", h, W(1));
	CALLS(srq_set_lw, "h4", h, W(1));
	CALLS(csp_create, "h8888", ia, P(1), P(2), P(3), P(4));
	CALLS(csp_query, "h48", h, W(1), P(2));
	CALLS(csp_free, "h", h);
	CALLS(ep_common_connect, "h8448", h, P(1), W(2), W(3), P(4));
	CALLS(rmr_create_for_ep, "h8", h, P(1));
	CALLS(ep_post_send_with_invalidate, "h488444", h, W(1), P(2), CONTEXT(3), W(4), W(5), W(6));
	CALLS(ep_post_rdma_read_to_rmr, "h8884", h, P(1), CONTEXT(2), P(3), W(4));
	CALLS(cno_fd_create, "h88", ia, P(1), P(2));
	CALLS(cno_trigger, "h8", h, P(1));
}

/* Extended operations: by number, and by the functions of that name. */
#define EXTENDED(op, shape, handle, ...)                                               \
	do {                                                                           \
		CHECK(dat_extension_op(handle, op, ##__VA_ARGS__) == PROVIDED_RESULT); \
		CHECK(loaded()->words[1] == (uint64_t)(op));                           \
		same_words("handle_extendedop", shape, handle, 1);                     \
	} while (0)
#define FUNCTION(op, shape, function, handle, ...)                           \
	do {                                                                 \
		CHECK((function)(handle, ##__VA_ARGS__) == PROVIDED_RESULT); \
		CHECK(loaded()->words[1] == (uint64_t)(op));                 \
		same_words("handle_extendedop", shape, handle, 1);           \
	} while (0)

#define COLLECTIVE(operation, shape, function, ...) \
	FUNCTION(DAT_IB_COLLECTIVE_##operation##_OP, shape, function, object(), ##__VA_ARGS__)

/* Calls that both sets have alike. */
#define COLLECTIVES_ALIKE(set)                                                                    \
	do {                                                                                      \
		FUNCTION(DAT_IB_COLLECTIVE_CREATE_MEMBER_OP, "h-888", set##_create_member, ia,    \
		         P(1), P(2), P(3));                                                       \
		FUNCTION(DAT_IB_COLLECTIVE_FREE_MEMBER_OP, "h-8", set##_free_member, ia, P(1));   \
		COLLECTIVE(FREE_GROUP, "h-", set##_free_group);                                   \
		COLLECTIVE(SET_CLOCK, "h-88", set##_set_clock, V(1), CONTEXT(2));                 \
		COLLECTIVE(READ_CLOCK, "h-8", set##_read_clock, P(1));                            \
		COLLECTIVE(BROADCAST, "h-84484", set##_broadcast, P(1), W(2), W(3), CONTEXT(4),   \
		           W(5));                                                                 \
		COLLECTIVE(BARRIER, "h-84", set##_barrier, CONTEXT(1), W(2));                     \
	} while (0)

/* Their handle is the EVD, which is not the first argument. */
static void collective_groups(DAT_HANDLE h)
{
	CHECK((dat_ib_collective_create_group)(P(1), W(2), W(3), W(4), P(5), h, P(6), CONTEXT(7)) ==
	      PROVIDED_RESULT);
	CHECK(loaded()->words[1] == DAT_IB_COLLECTIVE_CREATE_GROUP_OP);
	same_words("handle_extendedop", "h-8444888", h, 1);
	CHECK((dat_collective_create_group)(P(1), W(2), W(3), W(4), h, P(6), CONTEXT(7)) ==
	      PROVIDED_RESULT);
	CHECK(loaded()->words[1] == DAT_IB_COLLECTIVE_CREATE_GROUP_OP && loaded()->words[6] == 0);
}

/* Those that have sizes of parts: of the InfiniBand extension's set. */
static void collectives_of_parts(void)
{
	COLLECTIVE(SCATTER, "h-8484484", dat_ib_collective_scatter, P(1), W(2), P(3), W(4), W(5),
	           CONTEXT(6), W(7));
	COLLECTIVE(GATHER, "h-8484484", dat_ib_collective_gather, P(1), W(2), P(3), W(4), W(5),
	           CONTEXT(6), W(7));
	COLLECTIVE(ALLGATHER, "h-848484", dat_ib_collective_allgather, P(1), W(2), P(3), W(4),
	           CONTEXT(5), W(6));
	COLLECTIVE(ALLTOALL, "h-848484", dat_ib_collective_alltoall, P(1), W(2), P(3), W(4),
	           CONTEXT(5), W(6));
	COLLECTIVE(REDUCE, "h-848444484", dat_ib_collective_reduce, P(1), W(2), P(3), W(4), W(5),
	           W(6), W(7), CONTEXT(8), W(9));
	COLLECTIVE(ALLREDUCE, "h-84844484", dat_ib_collective_allreduce, P(1), W(2), P(3), W(4),
	           W(5), W(6), CONTEXT(7), W(8));
	COLLECTIVE(SCAN, "h-84844484", dat_ib_collective_scan, P(1), W(2), P(3), W(4), W(5), W(6),
	           CONTEXT(7), W(8));
	COLLECTIVE(REDUCE_SCATTER, "h-84884484", dat_ib_collective_reduce_scatter, P(1), W(2),
	           P(3), P(4), W(5), W(6), CONTEXT(7), W(8));
	COLLECTIVE(SCATTERV, "h-88884484", dat_ib_collective_scatterv, P(1), P(2), P(3), P(4),
	           W(5), W(6), CONTEXT(7), W(8));
	COLLECTIVE(GATHERV, "h-84888484", dat_ib_collective_gatherv, P(1), W(2), P(3), P(4),
	           P(5), W(6), CONTEXT(7), W(8));
	COLLECTIVE(ALLGATHERV, "h-8488884", dat_ib_collective_allgatherv, P(1), W(2), P(3), P(4),
	           P(5), CONTEXT(6), W(7));
	COLLECTIVE(ALLTOALLV, "h-88888884", dat_ib_collective_alltoallv, P(1), P(2), P(3), P(4),
	           P(5), P(6), CONTEXT(7), W(8));
	/* of whole buffers: this library's own groups have it, and this is none */
	CHECK(DAT_GET_TYPE((dat_collective_allgather)(object(), P(1), W(2), P(3), W(4),
	                                              CONTEXT(5), 0)) == DAT_INVALID_HANDLE);
}

static void extensions(DAT_IA_HANDLE ia)
{
	DAT_HANDLE h = object();

	EXTENDED(77, "h-4884", h, W(1), P(2), CONTEXT(3), W(4));
	EXTENDED(DAT_IB_RDMA_WRITE_IMMED_OP, "h-488844", h, W(1), P(2), CONTEXT(3), P(4), W(5),
	         W(6));
	FUNCTION(DAT_IB_RDMA_WRITE_IMMED_OP, "h-488844", dat_ib_post_rdma_write_immed, h, W(1),
	         P(2), CONTEXT(3), P(4), W(5), W(6));
	FUNCTION(DAT_IB_CMP_AND_SWAP_OP, "h-888884", dat_ib_post_cmp_and_swap, h, V(1), V(2), P(3),
	         CONTEXT(4), P(5), W(6));
	FUNCTION(DAT_IB_FETCH_AND_ADD_OP, "h-88884", dat_ib_post_fetch_and_add, h, V(1), P(2),
	         CONTEXT(3), P(4), W(5));
	FUNCTION(DAT_IB_UD_SEND_OP, "h-48884", dat_ib_post_send_ud, h, W(1), P(2), P(3), CONTEXT(4),
	         W(5));
	FUNCTION(DAT_IB_UD_CM_FREE_OP, "h-8", dat_ib_ud_cm_free, h, CONTEXT(1));
	FUNCTION(DAT_IB_UD_AH_FREE_OP, "h-8", dat_ib_ud_ah_free, h, P(1));
	FUNCTION(DAT_IB_QUERY_COUNTERS_OP, "h-484", dat_ib_query_counters, ia, W(1), P(2), W(3));
	FUNCTION(DAT_IB_PRINT_COUNTERS_OP, "h-44", dat_ib_print_counters, ia, W(1), W(2));
	FUNCTION(DAT_IB_START_COUNTERS_OP, "h-4", dat_ib_start_counter, ia, W(1));
	FUNCTION(DAT_IB_STOP_COUNTERS_OP, "h-4", dat_ib_stop_counter, ia, W(1));
	COLLECTIVES_ALIKE(dat_ib_collective);
	COLLECTIVES_ALIKE(dat_collective);
	collective_groups(h);
	collectives_of_parts();
}

static void query_by_name(void)
{
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR *provider = P(5);
	DAT_HANDLE handle = NULL;

	MUST((dat_ib_open_query)((DAT_NAME_PTR) "one", &handle, V(2), &attr, V(4), provider));
	CHECK(handle == object() && loaded()->inits == 1 && loaded()->opens == 0);
	CHECK(strcmp((char *)(uintptr_t)loaded()->words[0], "one") == 0);
	CHECK(loaded()->words[1] == DAT_IB_OPEN_QUERY_OP &&
	      loaded()->words[2] == (uintptr_t)&handle && loaded()->words[3] == V(2) &&
	      loaded()->words[4] == (uintptr_t)&attr && loaded()->words[5] == V(4) &&
	      loaded()->words[6] == (uintptr_t)provider);
	CHECK(dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA));
	MUST(dat_extension_op(handle, DAT_IB_CLOSE_QUERY_OP));
	CHECK(record() == NULL);
	CHECK(DAT_GET_TYPE((dat_ib_close_query)(handle)) == DAT_INVALID_HANDLE);
}
