/*
 * built_in.c - the names that need no dat.conf: lapi, those of network interfaces that are up and
 * have an address, those of RDMA adapters, and the usual ones of deployed programs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry/names.h"

#define ADAPTERS "/sys/class/infiniband"

static void append(dat_ia_names *list, const char *prefix, const char *name, const char *params)
{
	char whole[sizeof(((DAT_PROVIDER_INFO *)0)->ia_name)];

	if ((size_t)snprintf(whole, sizeof whole, "%s%s", prefix, name) < sizeof whole)
		dat_ia_names_append(list, whole, NULL, params);
}

/* An address of the interface by which others reach it: core/dat/sockets has the same rule. */
static int is_of(const struct ifaddrs *a, const char *name)
{
	size_t n = strcspn(a->ifa_name, ":"); /* of an address with a label */

	if (!a->ifa_addr || !(a->ifa_flags & IFF_UP) || strlen(name) != n ||
	    memcmp(a->ifa_name, name, n) != 0)
		return 0;
	if (a->ifa_addr->sa_family == AF_INET) {
		const struct sockaddr_in *at = (const struct sockaddr_in *)(void *)a->ifa_addr;

		return ntohl(at->sin_addr.s_addr) >> 16 != 0xa9fe;
	}
	return a->ifa_addr->sa_family == AF_INET6 &&
	       !IN6_IS_ADDR_LINKLOCAL(
		       &((const struct sockaddr_in6 *)(void *)a->ifa_addr)->sin6_addr);
}

static void interfaces(dat_ia_names *list)
{
	struct if_nameindex *all = if_nameindex(), *i;
	struct ifaddrs *addresses, *a;

	if (all && getifaddrs(&addresses) == 0) {
		for (i = all; i->if_name; i++) {
			for (a = addresses; a && !is_of(a, i->if_name); a = a->ifa_next)
				;
			if (a) {
				append(list, "lapi-", i->if_name, "");
				append(list, "ofa-v2-", i->if_name, "");
			}
		}
		freeifaddrs(addresses);
	}
	if (all)
		if_freenameindex(all);
}

static int is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void adapters(dat_ia_names *list)
{
	struct dirent **all;
	char params[sizeof all[0]->d_name + 2];
	int n = scandir(ADAPTERS, &all, is_visible, alphasort), i;

	for (i = 0; i < n; i++) {
		snprintf(params, sizeof params, "%s 0", all[i]->d_name);
		append(list, "ofa-v2-", all[i]->d_name, params);
		free(all[i]);
	}
	if (n >= 0)
		free(all);
}

void dat_built_in_names(dat_ia_names *list)
{
	static const char *const usual[] = {"mlx4_0-1u", "mlx4_0-1", "ib0"};
	const char *any = getenv("LAPI_DAT_ANY");

	append(list, "lapi", "", "");
	interfaces(list);
	for (size_t i = 0; (!any || strcmp(any, "no") != 0) && i < sizeof usual / sizeof *usual;
	     i++)
		append(list, "ofa-v2-", usual[i], "");
	adapters(list);
}
