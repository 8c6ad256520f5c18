/* btl_lapi_component.c - the component: parameters, begin, progress, end. */
#include "btl_lapi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/runtime/opal.h"
#include "opal/util/output.h"
#include "opal/util/show_help.h"
#if BTL_VERSION >= 330
#include "opal/mca/pmix/pmix-internal.h"
#define BTL_SCOPE PMIX_GLOBAL
#else
#include "opal/mca/pmix/pmix.h"
#define BTL_SCOPE OPAL_PMIX_GLOBAL
/* These symbols are missing in 5.0, which must load the component before the component can
 * refuse. */
#pragma weak opal_pmix
#pragma weak opal_value_t_class
#pragma weak opal_uses_threads
#endif

btl_lapi_module btl_lapi;

/* Each process publishes this. All of them take part, or none does. */
typedef struct offer {
	uint32_t takes_part, task, tasks;
} offer;

/*
 * Whether the parameter btl names this component: every program finds it in Open MPI's own folder,
 * and programs that do not ask for it go on as without it. Uses only Open MPI's functions, as the
 * layout of its structures is not known before the versions are compared.
 */
static int is_asked_for(void)
{
	const mca_base_var_storage_t *value = NULL;
	int var = mca_base_var_find("opal", "btl", NULL, NULL);
	const char *list;

	if (var < 0 || mca_base_var_get_value(var, &value, NULL, NULL) != OPAL_SUCCESS || !value)
		return 0;
	list = value->stringval;
	if (!list || *list == '^')
		return 0;
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n == 4 && strncmp(list, "lapi", n) == 0)
			return 1;
	}
	return 0;
}

static int open_component(void)
{
	char built_for[32];
	size_t n;

	/* The loader compares less than it should: callbacks differ between versions. A suffix is a
	   candidate's or a package's. */
	n = (size_t)snprintf(built_for, sizeof built_for, "%d.%d.%d", OPAL_MAJOR_VERSION,
	                     OPAL_MINOR_VERSION, OPAL_RELEASE_VERSION);
	if (strncmp(opal_version_string, built_for, n) == 0 &&
	    (opal_version_string[n] < '0' || opal_version_string[n] > '9'))
		return OPAL_SUCCESS;
	if (is_asked_for())
		opal_output(0, "btl lapi: built for Open MPI %s, this is %s: not used",
		            built_for, opal_version_string);
	return OPAL_ERR_NOT_AVAILABLE;
}

static int register_parameters(void)
{
	mca_btl_base_module_t *m = &btl_lapi.base;

	btl_lapi_set_functions(m); /* flags of functions that are missing are taken away */
	btl_lapi.instance = 0;
	mca_base_component_var_register(&mca_btl_lapi_component.btl_version, "instance",
	                                "The LAPI instance, 1 to 16; 0: 16", MCA_BASE_VAR_TYPE_INT,
	                                NULL, 0, 0, OPAL_INFO_LVL_5, MCA_BASE_VAR_SCOPE_READONLY,
	                                &btl_lapi.instance);
	m->btl_exclusivity = MCA_BTL_EXCLUSIVITY_HIGH - 1;
	m->btl_eager_limit = 8192; /* a message of 4 KiB and its header */
	m->btl_rndv_eager_limit = 4096;
	m->btl_max_send_size = 32768;
	m->btl_rdma_pipeline_send_length = 32768;
	m->btl_rdma_pipeline_frag_size = SIZE_MAX / 2;
	m->btl_min_rdma_pipeline_size = SIZE_MAX / 2;
	m->btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_SEND_INPLACE | MCA_BTL_FLAGS_PUT |
	               MCA_BTL_FLAGS_GET | MCA_BTL_FLAGS_RDMA_FLUSH | MCA_BTL_FLAGS_ATOMIC_OPS |
	               MCA_BTL_FLAGS_ATOMIC_FOPS;
	m->btl_atomic_flags = MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_AND |
	                      MCA_BTL_ATOMIC_SUPPORTS_OR | MCA_BTL_ATOMIC_SUPPORTS_XOR |
	                      MCA_BTL_ATOMIC_SUPPORTS_SWAP | MCA_BTL_ATOMIC_SUPPORTS_MIN |
	                      MCA_BTL_ATOMIC_SUPPORTS_MAX | MCA_BTL_ATOMIC_SUPPORTS_CSWAP |
	                      MCA_BTL_ATOMIC_SUPPORTS_32BIT | MCA_BTL_ATOMIC_SUPPORTS_GLOB;
	m->btl_latency = 1;
	m->btl_bandwidth = 20000;
	return mca_btl_base_param_register(&mca_btl_lapi_component.btl_version, m);
}

/* Within the limits that Open MPI and the user may have set. */
static int judge_limits(void)
{
	mca_btl_base_module_t *m = &btl_lapi.base;

	if (m->btl_max_send_size > btl_lapi.attr.send_limit)
		m->btl_max_send_size = btl_lapi.attr.send_limit;
	if (m->btl_eager_limit > m->btl_max_send_size)
		m->btl_eager_limit = m->btl_max_send_size;
	if (m->btl_rndv_eager_limit > m->btl_eager_limit)
		m->btl_rndv_eager_limit = m->btl_eager_limit;
	if (m->btl_eager_limit >= 256)
		return OPAL_SUCCESS;
	snprintf(btl_lapi.why, sizeof btl_lapi.why,
	         "btl_lapi_eager_limit is %zu; at least 256 are needed", m->btl_eager_limit);
	return OPAL_ERR_BAD_PARAM;
}

static int open_link(void)
{
	lapi_link_config_t config = {.size = sizeof config, .version = LAPI_LINK_VERSION};
	mca_btl_base_module_t *m = &btl_lapi.base;
	int rc = btl_lapi_load(btl_lapi.why, sizeof btl_lapi.why);

	if (rc != OPAL_SUCCESS)
		return rc;
	config.instance = (uint32_t)btl_lapi.instance;
	config.error = btl_lapi_failed;
	rc = liblapi.lapi_link_open(&config, &btl_lapi.link);
	if (rc != LAPI_LINK_SUCCESS) {
		btl_lapi.link = NULL;
		snprintf(btl_lapi.why, sizeof btl_lapi.why, "lapi_link_open of %s gives %d%s",
		         liblapi.path, rc,
		         rc == LAPI_LINK_BAD_PARAM ? ": another version, or instance" : "");
		return btl_lapi_code(rc);
	}
	btl_lapi.attr.size = sizeof btl_lapi.attr;
	liblapi.lapi_link_query(btl_lapi.link, &btl_lapi.attr);
	btl_lapi.endpoints = calloc(btl_lapi.attr.tasks, sizeof *btl_lapi.endpoints);
	m->btl_registration_handle_size = btl_lapi.attr.handle_size;
	m->btl_put_limit = btl_lapi.attr.put_limit;
	m->btl_get_limit = btl_lapi.attr.get_limit;
	m->btl_put_alignment = m->btl_get_alignment = 0; /* none */
	/* local memory needs no registration: without this Open MPI copies through its own */
	m->btl_put_local_registration_threshold = m->btl_get_local_registration_threshold = SIZE_MAX;
	rc = btl_lapi.endpoints ? judge_limits() : OPAL_ERR_OUT_OF_RESOURCE;
	return rc == OPAL_SUCCESS ? btl_lapi_listen() : rc;
}

static mca_btl_base_module_t **begin(int *modules, bool progress_threads, bool mpi_threads)
{
	mca_btl_base_module_t **list;
	offer mine = {0, 0, 0};
	int rc;

	(void)progress_threads, (void)mpi_threads;
	*modules = 0;
	btl_lapi.ends = 0;
	if (!is_asked_for() || !(list = calloc(1, sizeof *list)))
		return NULL;
	if (open_link() != OPAL_SUCCESS && btl_lapi.link) {
		liblapi.lapi_link_close(btl_lapi.link);
		btl_lapi.link = NULL;
	}
	if (btl_lapi.link)
		mine = (offer){1, btl_lapi.attr.task, btl_lapi.attr.tasks};
	else
		opal_output(0, "btl lapi: not used, by all processes: %s", btl_lapi.why);
	OPAL_MODEX_SEND(rc, BTL_SCOPE, &mca_btl_lapi_component.btl_version, &mine, sizeof mine);
	if (!btl_lapi.link || rc != OPAL_SUCCESS) {
		free(list);
		return NULL;
	}
	btl_lapi.base.btl_component = &mca_btl_lapi_component;
	list[0] = &btl_lapi.base;
	*modules = 1;
	return list;
}

int btl_lapi_offered(opal_proc_t *proc, uint32_t *task)
{
	offer *its = NULL;
	size_t size = 0;
	int rc, takes_part;

	OPAL_MODEX_RECV(rc, &mca_btl_lapi_component.btl_version, &proc->proc_name, (void **)&its, &size);
	if (rc != OPAL_SUCCESS || !its || size != sizeof *its) {
		free(its);
		return 0;
	}
	takes_part = its->takes_part && its->tasks == btl_lapi.attr.tasks &&
	             its->task < btl_lapi.attr.tasks;
	*task = its->task;
	free(its);
	return takes_part;
}

static int progress(void)
{
	int n = btl_lapi.link ? liblapi.lapi_link_progress(btl_lapi.link) : 0;

	if (__atomic_load_n(&btl_lapi.has_failures, __ATOMIC_ACQUIRE))
		n += btl_lapi_report();
	return n > 0 ? n : 0;
}

__attribute__((visibility("default"))) mca_btl_base_component_t mca_btl_lapi_component = {
	.btl_version =
		{
			MCA_BTL_DEFAULT_VERSION("lapi"),
			.mca_open_component = open_component,
			.mca_register_component_params = register_parameters,
		},
	.btl_data = {MCA_BASE_METADATA_PARAM_NONE},
	.btl_init = begin,
	.btl_progress = progress,
};
