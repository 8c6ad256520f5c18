/*
 * dat_registry.h - the registry as providers use it: what they call, and what they must export.
 *
 * The registry loads a provider's library when the first of its adapters is opened and calls
 * dat_provider_init, and dat_provider_fini when the last has been closed.
 * dat_registry_list_providers, which is for programs, is in dat.h. The conventions of dat.h hold.
 *
 * Source: uDAPL 2.0, provider interface; the reference.
 */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * dat_registry_add_provider offers a provider's table under the key info,
 * dat_registry_remove_provider takes it back. The table must stay where it is in between; info is
 * copied. Errors: DAT_PROVIDER_ALREADY_REGISTERED (add), DAT_PROVIDER_NOT_FOUND,
 * DAT_PROVIDER_IN_USE (remove), DAT_INVALID_PARAMETER.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_registry_add_provider(const DAT_PROVIDER *provider,
                                                        const DAT_PROVIDER_INFO *provider_info);
DAT_EXPORT DAT_RETURN DAT_API dat_registry_remove_provider(const DAT_PROVIDER *provider,
                                                           const DAT_PROVIDER_INFO *provider_info);

/*
 * dat_registry_providers_related stores whether two adapters, by name, stay up for each other: here
 * none does, DAT_HA_FALSE. Needs no open adapter. Errors: DAT_INVALID_PARAMETER (DAT_INVALID_ARG3:
 * answer is NULL). Addition.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_registry_providers_related(const DAT_NAME_PTR name1,
                                                             const DAT_NAME_PTR name2,
                                                             DAT_HA_RELATIONSHIP *answer);

/*
 * dats_get_ia_handle stores in *ia_handle the provider's own handle for an adapter handle that a
 * program has, and the program's for one of a provider, which queries must answer with.
 * The reference exports it, but no header of it has it.
 */
DAT_EXPORT DAT_RETURN DAT_API dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle);

/* A provider's library exports: init(info, ia_params of the configuration), fini(info). */
#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini
#define DAT_PROVIDER_INIT_FUNC_STR "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR "dat_provider_fini"

/*
 * init registers the provider; it runs under the registry's lock, so it must not open adapters or
 * list providers. fini removes it. Both strings and structures are the registry's, during the call.
 */
typedef void(DAT_API *DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO *info, const char *ia_params);
typedef void(DAT_API *DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO *info);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REGISTRY_H_ */
