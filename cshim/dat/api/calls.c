/* calls.c - the entry points that pass their calls on to core, and extended operations by number. */
#include "dat/api/extension.h"

/* A parameter as core gets it. */
static inline uint64_t of_pointer(const void *p)
{
	return DAT_P(p);
}

static inline uint64_t of_number(uint32_t n)
{
	return n;
}

static inline uint64_t of_long(uint64_t n)
{
	return n;
}

static inline uint64_t of_context(DAT_CONTEXT c)
{
	return c.as_64;
}

#define WORD(parameter)                        \
	_Generic((parameter), int              \
	         : of_number, unsigned         \
	         : of_number, unsigned long    \
	         : of_long, unsigned long long \
	         : of_long, DAT_CONTEXT        \
	         : of_context, default         \
	         : of_pointer)(parameter)

/* f(type, name) of each parameter behind the handle, numbered from the last one. */
#define EACH(f, ...)                                                                             \
	EACH_OF(, ##__VA_ARGS__, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1, \
	        EACH_0)                                                                          \
	(f, ##__VA_ARGS__)
#define EACH_OF(first, a, b, c, d, e, f, g, h, each, ...) each
#define EACH_0(f)
#define EACH_1(f, type) f(type, p1)
#define EACH_2(f, type, ...) f(type, p2) EACH_1(f, __VA_ARGS__)
#define EACH_3(f, type, ...) f(type, p3) EACH_2(f, __VA_ARGS__)
#define EACH_4(f, type, ...) f(type, p4) EACH_3(f, __VA_ARGS__)
#define EACH_5(f, type, ...) f(type, p5) EACH_4(f, __VA_ARGS__)
#define EACH_6(f, type, ...) f(type, p6) EACH_5(f, __VA_ARGS__)
#define EACH_7(f, type, ...) f(type, p7) EACH_6(f, __VA_ARGS__)
#define EACH_8(f, type, ...) f(type, p8) EACH_7(f, __VA_ARGS__)

#define DECLARED(type, name) , type name
#define PASSED(type, name) , name
#define AS_WORD(type, name) , WORD(name)
#define IN_LIST(type, name) type name = va_arg(list, type);

#define WITH(macro, ...) macro(__VA_ARGS__)
#define ENTRY(provided, first, name, handle_type, ...)                               \
	DAT_RETURN(dat_##name)(handle_type handle EACH(DECLARED, ##__VA_ARGS__))     \
	{                                                                            \
		WITH(provided, first, handle EACH(PASSED, ##__VA_ARGS__));           \
		return DAT_CALL(name, DAT_P(handle) EACH(AS_WORD, ##__VA_ARGS__));   \
	}
#define OF_ADAPTER(name, ...) ENTRY(DAT_PROVIDED_IA, name, name, __VA_ARGS__)
#define OF_OBJECT(name, ...) ENTRY(DAT_PROVIDED, name, name, __VA_ARGS__)
#define EXTENDED(name, op, ...) ENTRY(DAT_PROVIDED_OP, op, name, __VA_ARGS__)

DAT_CALLS_OF_ADAPTER(OF_ADAPTER)
DAT_CALLS_OF_OBJECT(OF_OBJECT)
DAT_CALLS_EXTENDED(EXTENDED)

DAT_SAME(create_member)
DAT_SAME(free_member)
DAT_SAME(free_group)
DAT_SAME(read_clock)

static DAT_RETURN open_query(va_list list)
{
	DAT_NAME_PTR name = va_arg(list, DAT_NAME_PTR);
	DAT_HANDLE *handle = va_arg(list, DAT_HANDLE *);
	DAT_IA_ATTR_MASK mask = va_arg(list, DAT_IA_ATTR_MASK);
	DAT_IA_ATTR *attributes = va_arg(list, DAT_IA_ATTR *);
	DAT_PROVIDER_ATTR_MASK provider = va_arg(list, DAT_PROVIDER_ATTR_MASK);

	return (dat_ib_open_query)(name, handle, mask, attributes, provider,
	                           va_arg(list, DAT_PROVIDER_ATTR *));
}

#define BY_NUMBER(name, op, handle_type, ...)                                      \
	case op: {                                                                 \
		EACH(IN_LIST, ##__VA_ARGS__)                                       \
		return (dat_##name)(handle EACH(PASSED, ##__VA_ARGS__));           \
	}

static DAT_RETURN extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list)
{
	switch (op) {
		DAT_CALLS_EXTENDED(BY_NUMBER)
		DAT_POSTS_EXTENDED(BY_NUMBER)
	case DAT_IB_OPEN_QUERY_OP:
		return open_query(list);
	case DAT_IB_CLOSE_QUERY_OP:
		return (dat_ib_close_query)(handle);
	}
	return dat_collective_extension(handle, op, list);
}

/* Of an object of another provider: by its function, if some adapter has extensions. */
static DAT_RETURN provided(const DAT_PROVIDER *table, DAT_HANDLE handle, DAT_EXTENDED_OP op,
                           va_list list)
{
	if (!dat_extensions || !table->handle_extendedop_func)
		return DAT_NOT_IMPLEMENTED;
	return table->handle_extendedop_func(handle, op, list);
}

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	const DAT_PROVIDER *table = NULL;
	DAT_RETURN result;
	va_list list;

	/* queries by name are the registry's */
	if (op != DAT_IB_OPEN_QUERY_OP && op != DAT_IB_CLOSE_QUERY_OP)
		table = dat_provider_of(handle);
	va_start(list, op);
	result = table ? provided(table, handle, op, list) : extension(handle, op, list);
	va_end(list);
	return result;
}
