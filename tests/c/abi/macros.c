/* macros.c - every macro of lapi.h that is an expression, in C and in C++, where none may be a cast
 * of the old style. */
#include <lapi.h>

int main(void);

int main(void)
{
	lapi_handle_t handle = LAPI_VOID_HANDLE;
	pthread_t thread = LAPI_NULL_THREAD_ID;
	ulong longest = LAPI_MAX_MSG_SZ;
	void *none = LAPI_ADDR_NULL;
	unsigned protocol = LAPI_SHARE_PROTOCOL | LAPI_PSS_GPFS | LAPI_INTERRUPT_OFF;
	int ints[LAPI_DGSM_COPY_SIZE + LAPI_DGSM_MCOPY_SIZE + LAPI_DGSM_MCOPY_BLOCK_SIZE +
	         LAPI_DGSM_GOSUB_SIZE + LAPI_DGSM_ITERATE_SIZE + LAPI_DGSM_CONTROL_SIZE];

	ints[0] = LAPI_DGSM_NO_CTL;
	return handle != 0 && thread != pthread_self() && longest >> 30 && !none && protocol &&
	                       ints[0] < 0
	               ? 0
	               : 1;
}
