/* list.c - which ports there are. */
#include <stdio.h>
#include <string.h>

#include "verbs/library.h"
#include "verbs/verbs.h"

/* Adds the ports of a device that work. */
static int list_device(struct ibv_device *device, int most, struct cshim_verbs_port *out)
{
	struct ibv_context *context = verbs.open_device(device);
	struct ibv_device_attr attr;
	int n = 0;

	if (!context)
		return 0;
	if (verbs.query_device(context, &attr) == 0)
		for (int p = 1; p <= attr.phys_port_cnt && n < most; p++) {
			struct ibv_port_attr port;

			memset(&port, 0, sizeof port);
			if (verbs.query_port(context, (uint8_t)p, &port) ||
			    port.state != IBV_PORT_ACTIVE)
				continue;
			snprintf(out[n].name, sizeof out[n].name, "%s",
			         verbs.get_device_name(device));
			out[n++].port = (uint8_t)p;
		}
	verbs.close_device(context);
	return n;
}

int cshim_verbs_list(const char *library, int most, struct cshim_verbs_port *out, char *why)
{
	int count = 0, n = 0;

	if (verbs_load(library, why))
		return -1;
	struct ibv_device **list = verbs.get_device_list(&count);
	for (int i = 0; list && i < count; i++)
		n += list_device(list[i], most - n, out + n);
	if (list)
		verbs.free_device_list(list);
	return n;
}
