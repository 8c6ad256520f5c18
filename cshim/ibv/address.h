/* address.h - socket addresses from and to struct cshim_ibv_address. */
#ifndef CSHIM_IBV_ADDRESS_H
#define CSHIM_IBV_ADDRESS_H

#include <netinet/in.h>
#include <string.h>

#include "ibv/ibv.h"

static inline void ibv_sockaddr(const struct cshim_ibv_address *a, struct sockaddr_storage *to)
{
	memset(to, 0, sizeof *to);
	if (a->family == 4) {
		struct sockaddr_in *in = (struct sockaddr_in *)to;
		in->sin_family = AF_INET;
		in->sin_port = htons(a->port);
		memcpy(&in->sin_addr, a->ip, sizeof in->sin_addr);
	} else {
		struct sockaddr_in6 *in = (struct sockaddr_in6 *)to;
		in->sin6_family = AF_INET6;
		in->sin6_port = htons(a->port);
		memcpy(&in->sin6_addr, a->ip, sizeof in->sin6_addr);
	}
}

static inline void ibv_address(const struct sockaddr *from, struct cshim_ibv_address *a)
{
	memset(a, 0, sizeof *a);
	if (from->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)from;
		a->family = 4;
		a->port = ntohs(in->sin_port);
		memcpy(a->ip, &in->sin_addr, sizeof in->sin_addr);
	} else if (from->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)from;
		a->family = 6;
		a->port = ntohs(in->sin6_port);
		memcpy(a->ip, &in->sin6_addr, sizeof in->sin6_addr);
	}
}

#endif
