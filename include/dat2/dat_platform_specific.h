/*
 * dat_platform_specific.h - uDAPL 2.0's basic types on Linux.
 *
 * It includes the system headers that the rest needs, <netinet/in.h> among them: a socket address
 * of IPv6 is part of an address handle (dat_ib_extensions.h), which must have its full size
 * whatever a program includes before.
 */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

/* Linkage and calling convention of each call: nothing special here. */
#ifndef DAT_EXPORT
#define DAT_EXPORT extern
#endif
#ifndef DAT_API
#define DAT_API
#endif

/*
 * Programs mark the direction of their own parameters with these words of the specification; they
 * mean nothing.
 */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

/* long long, and members without a name, are younger than some standards: keep -pedantic quiet. */
#if defined(__GNUC__)
#define DAT_GNU_EXTENSION __extension__
#else
#define DAT_GNU_EXTENSION
#endif

/* The constants that are casts, so that -Wold-style-cast is quiet in C++. */
#ifdef __cplusplus
#define DAT_CAST(type, value) static_cast<type>(value)
#define DAT_CAST_ADDRESS(type, number) reinterpret_cast<type>(number)
#else
#define DAT_CAST(type, value) ((type)(value))
#define DAT_CAST_ADDRESS(type, number) ((type)(number))
#endif

/* g++ takes no hint from __extension__ about long long before C++11. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
#endif

typedef uint32_t DAT_UINT32;
typedef uint64_t DAT_UINT64;
DAT_GNU_EXTENSION typedef unsigned long long DAT_UVERYLONG; /* the longest unsigned integer: 64 bits */
typedef void *DAT_PVOID;
typedef int DAT_COUNT;                  /* a number of things, or of bytes; -1 and -2 have names, see dat.h */
typedef DAT_UINT64 DAT_PADDR;           /* a physical address; no call here takes one */
typedef int DAT_FD;                     /* a file descriptor */
typedef struct sockaddr DAT_SOCK_ADDR;  /* any address family: look at sa_family first */
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;

#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC diagnostic pop
#endif

#define DAT_AF_INET AF_INET
#define DAT_AF_INET6 AF_INET6

/*
 * How a socket is made that a connection could be: the three arguments of socket(2). EP queries,
 * dat_csp_create.
 */
typedef struct dat_comm {
	int domain;
	int type;
	int protocol;
} DAT_COMM;

/* An interface adapter's handle as an integer, and back. */
#define DAT_IA_HANDLE_TO_UL(a) ((unsigned long)(a))
#define DAT_UL_TO_IA_HANDLE(a) ((DAT_IA_HANDLE)(a))

/* Alignment of buffers, bytes, that is best for every adapter. Any alignment is allowed. */
#define DAT_OPTIMAL_ALIGNMENT 256

#endif /* _DAT_PLATFORM_SPECIFIC_H_ */
