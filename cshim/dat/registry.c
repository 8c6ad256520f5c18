/* registry.c - the registry of providers, and dat_strerror. */
#include "godat.h"
#include "dat_internal.h"

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *number_entries,
                                       DAT_PROVIDER_INFO *(dat_provider_list[]))
{
	return DAT_CALL(registry_list_providers, DAT_I(max_to_return), DAT_P(number_entries),
	                DAT_P(dat_provider_list));
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
                                     const DAT_PROVIDER_INFO *provider_info)
{
	return DAT_CALL(registry_add_provider, DAT_P(provider), DAT_P(provider_info));
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
                                        const DAT_PROVIDER_INFO *provider_info)
{
	return DAT_CALL(registry_remove_provider, DAT_P(provider), DAT_P(provider_info));
}

DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR name1, const DAT_NAME_PTR name2,
                                          DAT_HA_RELATIONSHIP *answer)
{
	return DAT_CALL(registry_providers_related, DAT_P(name1), DAT_P(name2), DAT_P(answer));
}

DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message, const char **minor_message)
{
	return DAT_CALL(strerror, DAT_I(value), DAT_P(major_message), DAT_P(minor_message));
}

/* An adapter's handle is the same for programs and providers. */
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle)
{
	return DAT_CALL(get_ia_handle, DAT_P(handle), DAT_P(ia_handle));
}
