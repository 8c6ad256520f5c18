/* registry.c - the registry of providers, as programs and providers call it. All but
 * dats_get_ia_handle needs no core: it starts none. */
#include "dat/api/names.h"
#include "dat/api/pointers.h"
#include "dat/api/providers.h"

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *number_entries,
                                       DAT_PROVIDER_INFO *(dat_provider_list[]))
{
	return dat_names_list(max_to_return, number_entries, dat_provider_list);
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
                                     const DAT_PROVIDER_INFO *provider_info)
{
	return dat_provider_add(provider, provider_info);
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
                                        const DAT_PROVIDER_INFO *provider_info)
{
	return dat_provider_remove(provider, provider_info);
}

/* No two adapters stand in for each other. */
DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR name1, const DAT_NAME_PTR name2,
                                          DAT_HA_RELATIONSHIP *answer)
{
	static const DAT_HA_RELATIONSHIP no = DAT_HA_FALSE;

	if (!answer || dat_copy_out(answer, &no, sizeof no) != 0)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG3;
	return DAT_SUCCESS;
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
