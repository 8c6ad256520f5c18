/* man-dat-collectives.h - part of man-dat-results.h: collective calls that fail. */

static DAT_IB_COLLECTIVE_MEMBER member, nobody;
static DAT_IB_COLLECTIVE_HANDLE group;

/* The seven arguments of the design; those of the headers have group_info besides. */
static void create(DAT_IB_COLLECTIVE_MEMBER *members, DAT_COUNT n, unsigned self, unsigned id,
                   DAT_IB_COLLECTIVE_GROUP *info, DAT_EVD_HANDLE where, DAT_PZ_HANDLE zone)
{
	T((dat_ib_collective_create_group)(members, n, self, id, info, where, zone, context));
	if (info == NULL)
		T(dat_collective_create_group(members, n, self, id, where, zone, context));
}

static void groups(void)
{
	DAT_IB_COLLECTIVE_GROUP info = {.local_size = -1};
	DAT_UINT32 size;

	T((dat_ib_collective_create_member)(BAD, NULL, &member, &size));
	T((dat_ib_collective_create_member)(ia, NULL, NULL, &size));
	T(dat_collective_create_member(ia, NULL, &member, NULL));
	check((dat_ib_collective_create_member)(ia, NULL, &member, &size));
	T(dat_collective_free_member(BAD, member));
	T((dat_ib_collective_free_member)(ia, NULL));
	create(&member, 1, 0, 1, NULL, BAD, pz);
	create(&member, 1, 0, 1, NULL, done_a, BAD);
	create(NULL, 1, 0, 1, NULL, done_a, pz);
	create(&nobody, 1, 0, 1, NULL, done_a, pz);
	create(&member, 0, 0, 1, NULL, done_a, pz);
	create(&member, 1, 1, 1, NULL, done_a, pz);
	create(&member, 1, 0, 1, &info, done_a, pz);
	check(dat_collective_create_group(&member, 1, 0, 1, done_a, pz, context));
	do
		check(dat_evd_wait(done_a, 30000000, 1, &event, &count));
	while ((int)event.event_number != (int)DAT_IB_COLLECTIVE_EVENT);
	group = ((DAT_IB_EXTENSION_EVENT_DATA *)event.event_extension_data)->coll.handle;
	create(&member, 1, 0, 1, NULL, done_a, pz);
}

#define BOTH(name, ...)                                     \
	do {                                                \
		T((dat_ib_collective_##name)(__VA_ARGS__)); \
		T(dat_collective_##name(__VA_ARGS__));      \
	} while (0)

/* Each operation without a group, and with arguments that cannot be. */
static void operations(DAT_IB_COLLECTIVE_HANDLE g)
{
	const DAT_IB_COLLECTIVE_REDUCE_DATA_OP op = DAT_IB_COLLECTIVE_REDUCE_OP_BAND;
	const DAT_IB_COLLECTIVE_DATA_TYPE type = DAT_IB_COLLECTIVE_TYPE_FLOAT;
	const DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_UINT64 *clock = NULL;
	DAT_COUNT sizes[1] = {-1};
	DAT_PVOID list[1] = {bytes};

	BOTH(broadcast, g, bytes, 4, 1, context, flags);
	BOTH(scatter, g, bytes, -1, bytes, 4, 0, context, flags);
	BOTH(gather, g, bytes, 4, bytes, -1, 0, context, flags);
	BOTH(allgather, g, bytes, 4, NULL, 4, context, flags);
	BOTH(alltoall, g, bytes, 4, bytes, -4, context, flags);
	BOTH(allreduce, g, bytes, 4, bytes, 4, op, type, context, flags);
	BOTH(reduce_scatter, g, bytes, 4, bytes, sizes, op, type, context, flags);
	BOTH(scan, g, bytes, 4, bytes, 4, op, type, context, flags);
	BOTH(read_clock, g, clock);
	BOTH(barrier, g, context, (DAT_COMPLETION_FLAGS)0x4000);
	T((dat_ib_collective_reduce)(g, bytes, 4, bytes, 4, op, type, 0, context, flags));
	T((dat_collective_reduce)(g, bytes, 4, bytes, 4, op, type, 0, context, flags));
	T((dat_ib_collective_scatterv)(g, bytes, sizes, sizes, bytes, 4, 0, context, flags));
	T((dat_ib_collective_gatherv)(g, bytes, 4, bytes, sizes, sizes, 0, context, flags));
	T((dat_ib_collective_allgatherv)(g, bytes, 4, bytes, sizes, sizes, context, flags));
	T((dat_ib_collective_alltoallv)(g, bytes, sizes, sizes, bytes, sizes, sizes, context,
	                                flags));
	T(dat_collective_scatterv(g, list, sizes, bytes, 4, 0, context, flags));
	T(dat_collective_gatherv(g, bytes, 4, list, sizes, 0, context, flags));
	T(dat_collective_allgatherv(g, bytes, 4, list, sizes, context, flags));
	T(dat_collective_alltoallv(g, list, sizes, list, sizes, context, flags));
}

static void collectives(void)
{
	groups();
	operations(NO);
	operations(ia);
	operations(group);
	BOTH(set_clock, NO, 1, context);
	T(dat_collective_free_group(group));
	T((dat_ib_collective_free_group)(group));
	operations(group);
}
