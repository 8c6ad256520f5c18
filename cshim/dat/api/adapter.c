/* adapter.c - opening and closing adapters, by the provider of the name. */
#include "node/guard.h"
#include "dat/api/block.h"

/* Before any provider's library is loaded: starts core, and installs the handler of faults. */
static DAT_RETURN begin(void)
{
	DAT_RETURN result;

	if (sizeof(void *) != 8)
		return DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND; /* docs/scope.md */
	if (dat_provider_is_inside())
		return DAT_CLASS_ERROR | DAT_INVALID_STATE;
	result = dat_may_enter();
	if (result == DAT_SUCCESS)
		node_guard_install(); /* before any call that probes the program's pointers */
	return result;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
                        DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
                        DAT_UINT32 dapl_major, DAT_UINT32 dapl_minor, DAT_BOOLEAN thread_safety)
{
	dat_opening o = {.qlen = async_evd_min_qlen,
	                 .evd = async_evd_handle,
	                 .handle = ia_handle,
	                 .params = ""};
	DAT_RETURN result = begin();

	if (result != DAT_SUCCESS)
		return result;
	/* core says what is missing */
	if (name && async_evd_handle && ia_handle &&
	    dat_provider_open(&o, name, dapl_major, dapl_minor, thread_safety, &result))
		return result;
	return dat_open_own((const uint64_t[]){
		DAT_P(name), DAT_I(async_evd_min_qlen), DAT_P(async_evd_handle), DAT_P(ia_handle),
		DAT_P(o.params), DAT_P(o.mark)});
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	DAT_RETURN result;

	return dat_provider_close(ia_handle, 0, flags, &result) ? result
	                                                        : dat_close_own(ia_handle, flags);
}

DAT_RETURN(dat_ib_open_query)
(const DAT_NAME_PTR name, DAT_HANDLE *handle, DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
 DAT_PROVIDER_ATTR_MASK provider_mask, DAT_PROVIDER_ATTR *provider_attr)
{
	dat_opening o = {.query = 1,
	                 .handle = handle,
	                 .ia_mask = ia_mask,
	                 .ia_attr = ia_attr,
	                 .provider_mask = provider_mask,
	                 .provider_attr = provider_attr,
	                 .params = ""};
	DAT_RETURN result = begin();

	if (result != DAT_SUCCESS)
		return result;
	if (name && handle &&
	    dat_provider_open(&o, name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE, &result))
		return result;
	return DAT_CALL(ib_open_query, DAT_P(name), DAT_P(handle), ia_mask, DAT_P(ia_attr),
	                provider_mask, DAT_P(provider_attr), DAT_P(o.params), DAT_P(o.mark));
}

DAT_RETURN(dat_ib_close_query)(DAT_HANDLE handle)
{
	DAT_RETURN result;

	return dat_provider_close(handle, 1, DAT_CLOSE_DEFAULT, &result)
	               ? result
	               : DAT_CALL(ib_close_query, DAT_P(handle));
}

/* An adapter's handle is the same for programs and providers, of this library and of others. */
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle)
{
	if (dat_provider_of(handle) && ia_handle) {
		*ia_handle = handle;
		return DAT_SUCCESS;
	}
	return DAT_CALL(get_ia_handle, DAT_P(handle), DAT_P(ia_handle));
}
