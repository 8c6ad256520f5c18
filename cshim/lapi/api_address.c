/*
 * api_address.c - LAPI_Address, LAPI_Addr_set, LAPI_Addr_get and the exchange of addresses among
 * all tasks.
 */
#include "lapi/waits.h"

/* For Fortran, which has no addresses; it works without a handle. */
int PLAPI_Address(void *my_addr, ulong *ret_addr)
{
	if (!my_addr)
		return LAPI_ERR_ORG_ADDR_NULL;
	if (!ret_addr)
		return LAPI_ERR_TGT_ADDR_NULL;
	*ret_addr = (ulong)(uintptr_t)my_addr;
	return LAPI_SUCCESS;
}

int PLAPI_Addr_set(lapi_handle_t hndl, void *addr, int addr_hndl)
{
	return CSHIM_CALL(hndl,
	                  golapi_addr_set(cshim_index_of(context), CSHIM_ADDR(addr), addr_hndl));
}

static int get_address(cshim_context *context, void **addr, int addr_hndl)
{
	cshim_addr found = 0;
	int rc;

	if (!addr)
		return LAPI_ERR_RET_PTR_NULL;
	rc = golapi_addr_get(cshim_index_of(context), addr_hndl, &found);
	if (rc == LAPI_SUCCESS)
		*addr = (void *)(uintptr_t)found;
	return rc;
}

int PLAPI_Addr_get(lapi_handle_t hndl, void **addr, int addr_hndl)
{
	return CSHIM_CALL(hndl, get_address(context, addr, addr_hndl));
}

/* Collective: width is the size of the table's entries. */
static int exchange(cshim_context *context, const char *call, uint64_t value, void *table,
                    uint32_t width)
{
	uint64_t ticket = 0;

	if (!table)
		return LAPI_ERR_RET_PTR_NULL;
	return cshim_may_wait(context, call)
	               ?: golapi_address_init_begin(cshim_index_of(context), value,
	                                            CSHIM_ADDR(table), width, &ticket)
	                          ?: cshim_wait_ticket(context, ticket, CSHIM_FOR_ADDRESSES);
}

int PLAPI_Address_init(lapi_handle_t hndl, void *my_addr, void *add_tab[])
{
	return CSHIM_CALL(hndl, exchange(context, "LAPI_Address_init", (uintptr_t)my_addr, add_tab,
	                                 sizeof(void *)));
}

int PLAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t *add_tab)
{
	return CSHIM_CALL(hndl, exchange(context, "LAPI_Address_init64", my_addr, add_tab,
	                                 sizeof(lapi_long_t)));
}

#define CSHIM_GROUP_ADDRESS
#include "lapi/pairs_gen.h"
