/*
 * trivial.c - a program that only begins and ends: LAPI_Init and LAPI_Term, with -DWITH_MPI
 * MPI_Init and MPI_Finalize. Each task says how long the first took. For tests/launch/bench.
 */
#ifdef WITH_MPI
#include <mpi.h>
#else
#include <lapi.h>
#endif
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
	double begin = now();
#ifdef WITH_MPI
	if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
		return 99;
	printf("init %.6f\n", now() - begin);
	return MPI_Finalize() != MPI_SUCCESS;
#else
	lapi_handle_t handle;
	lapi_info_t info;

	memset(&info, 0, sizeof(info));
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 99;
	printf("init %.6f\n", now() - begin);
	return LAPI_Term(handle) != LAPI_SUCCESS;
#endif
}
