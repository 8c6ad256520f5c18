/*
 * vendor.c - libmlx5.so.1 and libefa.so.1, to which Debian's perftest is linked. It calls them for
 * adapters of these makers only, and the rig's are not.
 */
#include <errno.h>
#include <stddef.h>

#define NONE(name)                  \
	void *name(void);           \
	void *name(void)            \
	{                           \
		errno = EOPNOTSUPP; \
		return NULL;        \
	}
#ifdef EFA
NONE(efadv_create_qp_ex)
int efadv_query_device(void);
int efadv_query_device(void)
{
	return EOPNOTSUPP;
}
#else
NONE(mlx5dv_create_mkey)
NONE(mlx5dv_create_qp)
NONE(mlx5dv_crypto_login)
NONE(mlx5dv_dek_create)
NONE(mlx5dv_dek_destroy)
NONE(mlx5dv_destroy_mkey)
NONE(mlx5dv_devx_general_cmd)
NONE(mlx5dv_open_device)
NONE(mlx5dv_qp_ex_from_ibv_qp_ex)
#endif
