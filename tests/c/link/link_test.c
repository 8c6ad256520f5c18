/* link_test.c - see link_test.h. */
#include "link_test.h"

enum { TAG_BARRIER = 250, TAG_REGION = 251 };

lapi_link_t *lnk;
lapi_link_attr_t attr = {.size = sizeof(attr)};
lapi_link_endpoint_t **peer;
const char *section = "open";

static uint32_t here, regions; /* messages of barriers and regions that have come */
uint32_t own_callbacks;
static lapi_link_handle_t *region_of;

void progress(void)
{
	CHECK(lapi_link_progress(lnk) >= 0);
}

static void came(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag, const void *message,
                 size_t size, void *context)
{
	(void)link, (void)context;
	own_callbacks++;
	if (tag == TAG_BARRIER) {
		here++;
		return;
	}
	CHECK(size == sizeof(lapi_link_handle_t));
	memcpy(&region_of[lapi_link_task(ep)], message, size);
	regions++;
}

void begin(lapi_link_error_t *error)
{
	lapi_link_config_t config = {
		.size = sizeof(config), .version = LAPI_LINK_VERSION, .error = error};

	MUST(lapi_link_open(&config, &lnk));
	MUST(lapi_link_query(lnk, &attr));
	peer = calloc(attr.tasks, sizeof(*peer));
	for (uint32_t i = 0; i < attr.tasks; i++)
		MUST(lapi_link_endpoint(lnk, i, &peer[i]));
	MUST(lapi_link_set_receive(lnk, TAG_BARRIER, came, NULL));
}

void barrier(void)
{
	static uint32_t awaited;

	for (uint32_t i = 0; i < attr.tasks; i++)
		CHECK(TRY(lapi_link_send(lnk, peer[i], TAG_BARRIER, NULL, 0, NULL, 0, NULL, NULL,
		                         NULL)) == LAPI_LINK_DONE);
	for (awaited += attr.tasks; here < awaited;)
		progress();
}

void share(void *base, size_t n, uint32_t access, lapi_link_handle_t **mine,
           lapi_link_handle_t *theirs)
{
	region_of = theirs;
	regions = 0;
	barrier();
	MUST(lapi_link_set_receive(lnk, TAG_REGION, came, NULL));
	MUST(lapi_link_register(lnk, base, n, access, mine));
	for (uint32_t i = 0; i < attr.tasks; i++)
		CHECK(TRY(lapi_link_send(lnk, peer[i], TAG_REGION, *mine, attr.handle_size, NULL, 0,
		                         NULL, NULL, NULL)) == LAPI_LINK_DONE);
	while (regions < attr.tasks)
		progress();
	barrier();
}

void end(void)
{
	barrier();
	section = "close";
	MUST(lapi_link_close(lnk));
	if (attr.task == 0)
		printf("passed\n");
}
