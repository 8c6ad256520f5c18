/*
 * abi.h - the macros of the ABI printer: one line of output for each fact that a compiled program
 * has built in.
 */
#ifndef TESTS_ABI_H
#define TESTS_ABI_H

#include <lapi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A constant or an enumerator, as a decimal number. */
#define VALUE(x) printf("value %s %lld\n", #x, (long long)(intptr_t)(x))

/* A structure or a union, and one of its members. */
#define TYPE(t) printf("type %s size %zu align %zu\n", #t, sizeof(t), _Alignof(t))
#define MEMBER(t, m) \
	printf("member %s.%s offset %zu size %zu\n", #t, #m, offsetof(t, m), sizeof(((t *)NULL)->m))

/* A number type. */
#define NUMBER(t)                                                               \
	printf("number %s size %zu align %zu %s\n", #t, sizeof(t), _Alignof(t), \
	       (t)-1 < (t)1 ? "signed" : "unsigned")

/* A type that must be the same as another: a failure does not compile. */
#define SAME(t, other)                                                      \
	do {                                                                \
		_Static_assert(__builtin_types_compatible_p(t, other), #t); \
		printf("type %s is %s\n", #t, #other);                      \
	} while (0)

void print_numbers(void);
void print_pointers(void);
void print_functions(void);
void print_codes(void);
void print_old_codes(void);
void print_enumerators(void);
void print_constants(void);
void print_handler_types(void);
void print_init_types(void);
void print_vector_types(void);
void print_active_message_xfers(void);
void print_other_xfers(void);
void print_dgsp_utils(void);
void print_other_utils(void);

#endif
