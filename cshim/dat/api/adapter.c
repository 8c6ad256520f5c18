/* adapter.c - adapters, handles, consumer contexts. Each has core do it. */
#include "dat/api/providers.h"

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
                        DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
                        DAT_PROVIDER_ATTR_MASK provider_attr_mask, DAT_PROVIDER_ATTR *provider_attr)
{
	DAT_PROVIDED_IA(ia_query, ia_handle, async_evd_handle, ia_attr_mask, ia_attr,
	                provider_attr_mask, provider_attr);
	return DAT_CALL(ia_query, DAT_P(ia_handle), DAT_P(async_evd_handle), ia_attr_mask,
	                DAT_P(ia_attr), provider_attr_mask, DAT_P(provider_attr));
}

DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	DAT_PROVIDED(set_consumer_context, dat_handle, context);
	return DAT_CALL(set_consumer_context, DAT_P(dat_handle), context.as_64);
}

DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	DAT_PROVIDED(get_consumer_context, dat_handle, context);
	return DAT_CALL(get_consumer_context, DAT_P(dat_handle), DAT_P(context));
}

DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type)
{
	DAT_PROVIDED(get_handle_type, dat_handle, handle_type);
	return DAT_CALL(get_handle_type, DAT_P(dat_handle), DAT_P(handle_type));
}
