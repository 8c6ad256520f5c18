/* header_only_b.c - see header_only_a.c. */
#include <lapi.h>

int other_size(void);

int other_size(void)
{
	return (int)sizeof(lapi_info_t);
}
