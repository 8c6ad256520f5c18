/* header_only_a.c - with header_only_b.c: a program that uses lapi.h in two places but calls
 * nothing needs no library. */
#include <lapi.h>

int other_size(void);

int main(void)
{
	lapi_info_t info = {0};
	return (int)sizeof info == other_size() && LAPI_SUCCESS == 0 ? (int)info.lib_vers : 1;
}
