#!/bin/bash
# Inside the clean Debian of deb-test.sh: the test itself. The packages are beside it.
set -u
cd "$(dirname "$0")" || exit 2
passed=0 failed=0 skipped=0
packages="liblapi1 liblapi-dev lapi-bin liblapi-samples"
# It is not made where Open MPI's headers of components are missing.
mpi=
! ls lapi-openmpi_*.deb >/dev/null 2>&1 || mpi=lapi-openmpi
user="setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=/tmp/user"

# check WHAT COMMAND...: the command must succeed; its output is shown if it does not.
check() {
	local what=$1
	shift
	if "$@" >/tmp/output 2>&1 </dev/null; then
		passed=$((passed + 1))
		echo "ok      $what"
	else
		failed=$((failed + 1))
		echo "fail: $what"
		tail -n 20 /tmp/output | sed 's/^/        | /'
	fi
}
not() { ! "$@"; }

# Every file of the system but dpkg's records of itself.
files() {
	find / \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /debs -o -path /var/log -o \
		-path /var/lib/dpkg -o -path /var/cache \) -prune -o -printf '%p %l\n' | sort
}
install() { for p in "$@"; do set -- "$@" ./"$p"_*.deb && shift; done && dpkg -i "$@"; }
# Packages in the cache, or given as files, are not fetched.
from_cache() { apt-get -qq install -y --no-install-recommends "$@"; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null)" = "ii " ]; }
# The package whose libdat2.so.2 programs get.
dat_is_of() { [ "$(dpkg-query -S "/usr/lib/$(gcc -print-multiarch)/libdat2.so.2" | cut -d: -f1)" = "$1" ]; }
# A program of Debian's finds each of its symbols.
dtest_loads() { LD_BIND_NOW=1 dtest -U 2>&1 | tee /dev/stderr | grep -q "DAPL USAGE"; }
said_by_two() { [ "$("$@" | sort | tr '\n' ' ')" = "task 0 of 2 task 1 of 2 " ]; }

programs() {
	mkdir -p /tmp/user && cd /tmp/user || return 1
	cat >hello.c <<'C'
#include <lapi.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, tasks;

	memset(&info, 0, sizeof info);
	if (LAPI_Init(&hndl, &info) != LAPI_SUCCESS)
		return 1;
	LAPI_Qenv(hndl, TASK_ID, &task);
	LAPI_Qenv(hndl, NUM_TASKS, &tasks);
	printf("task %d of %d\n", task, tasks);
	return LAPI_Gfence(hndl) != LAPI_SUCCESS || LAPI_Term(hndl) != LAPI_SUCCESS;
}
C
	cat >hello.f90 <<'F'
program hello
  include "lapif.h"
  integer(4) :: hndl, task, tasks, ierr, info(25) = 0
  call LAPI_INIT(hndl, info, ierr)
  if (ierr /= LAPI_SUCCESS) stop 1
  call LAPI_QENV(hndl, TASK_ID, task, ierr)
  call LAPI_QENV(hndl, NUM_TASKS, tasks, ierr)
  print "('task ', i0, ' of ', i0)", task, tasks
  call LAPI_GFENCE(hndl, ierr)
  call LAPI_TERM(hndl, ierr)
end program
F
	cat >dat.c <<'C'
#include <dat2/udat.h>
#include <stdio.h>

int main(void)
{
	const char *major, *minor;

	return dat_strerror(DAT_SUCCESS, &major, &minor) != DAT_SUCCESS || !puts(major);
}
C
	cat >mpi.c <<'M'
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int mine = 1, all = 0, rank, has_lapi = 0;
	char line[4096];
	FILE *maps;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps))
		has_lapi |= strstr(line, "liblapi_r") != NULL;
	printf("%d ranks %s\n", all, has_lapi ? "with lapi" : "without");
	return MPI_Finalize();
}
M
	chown -R nobody /tmp/user
}

mpi_says() {
	local text=$1
	shift
	[ "$($user mpirun --oversubscribe -n 2 "$@" ./m | sort -u)" = "2 ranks $text" ]
}
component_is_listed() { ompi_info | grep 'MCA btl: lapi'; }

files >/tmp/before
check "the packages install, as all that they depend on is there" install $packages $mpi
check "dpkg finds nothing amiss" test -z "$(dpkg --audit)"
check "scratch folder" programs
cd /tmp/user || exit 1
flags='$(pkg-config --cflags --libs lapi)'
check "C by pkg-config" $user sh -c "gcc -Wall -Werror hello.c -o c $flags"
check "it runs over shared memory" said_by_two $user lapirun --timeout 60 -n 2 ./c
check "and over UDP" said_by_two $user env LAPI_USE_SHM=no lapirun --timeout 60 -n 2 ./c
check "as poe" said_by_two $user poe ./c -procs 2
check "Fortran by pkg-config" $user sh -c "gfortran hello.f90 -o f $flags"
check "it runs" said_by_two $user lapirun --timeout 60 -n 2 ./f
check "mpcc_r" $user mpcc_r hello.c -o c2
check "its program runs" said_by_two $user lapirun --timeout 60 -n 2 ./c2
check "mpxlf90_r" $user mpxlf90_r hello.f90 -o f2
check "its program runs" said_by_two $user lapirun --timeout 60 -n 2 ./f2
check "uDAPL by pkg-config" $user sh -c 'gcc dat.c -o d $(pkg-config --cflags --libs dat) && ./d'
check "samples" $user sh -c 'cp -r /usr/share/lapi/samples s && make -s -C s/init run'
for page in man1/lapirun.1 man3/LAPI_Put.3 man3/dat_ia_open.3 man7/lapi.7; do
	check "man page $page" gzip -t "/usr/share/man/$page.gz"
done
check "there is no libdat2.so.2 without liblapi-dat" not test -e "/usr/lib/$(gcc -print-multiarch)/libdat2.so.2"
if [ -n "$mpi" ]; then
	check "an MPI program" $user mpicc mpi.c -o m
	check "Open MPI lists the component" component_is_listed
	check "nothing changes unless it is asked for" mpi_says without
	check "MPI over lapi" mpi_says "with lapi" --mca pml ob1 --mca btl lapi,self
	check "one-sided MPI over lapi" mpi_says "with lapi" --mca pml ob1 --mca btl lapi,self --mca osc_rdma_btls lapi
	check "the component goes by itself" dpkg --purge lapi-openmpi
	check "MPI is as before" mpi_says without
	check "there is no component to ask for" not mpi_says "with lapi" --mca pml ob1 --mca btl lapi,self
else
	skipped=1
	echo "skipped: lapi-openmpi: the package was not made, as Open MPI's headers of components were not there"
fi
cd /debs || exit 1
check "liblapi-dat installs" install liblapi-dat
check "the loader finds it" sh -c '[ -z "$(LD_PRELOAD=libdat2.so.2 /bin/true 2>&1)" ]'
# shellcheck disable=SC2086  # names are words
check "all are removed" dpkg --purge liblapi-dat $packages
files >/tmp/after
check "nothing is left" diff /tmp/before /tmp/after

# Last, since the packages that Debian's uDAPL depends on leave files behind.
if ls /var/cache/apt/archives/libdapl2_*.deb >/dev/null 2>&1; then
	check "Debian's uDAPL installs" from_cache dapl2-utils
	check "liblapi1 installs beside it" install liblapi1
	check "libdat2.so.2 is Debian's" dat_is_of libdapl2
	check "liblapi-dat takes its place" from_cache /debs/liblapi-dat_*.deb
	check "libdat2.so.2 is ours" dat_is_of liblapi-dat
	check "libdapl2 is gone" not installed libdapl2
	check "Debian's uDAPL programs are not" installed dapl2-utils
	check "they load" dtest_loads
	check "dpkg finds nothing amiss" test -z "$(dpkg --audit)"
	check "libdapl2 takes the place back" from_cache libdapl2
	check "libdat2.so.2 is Debian's again" dat_is_of libdapl2
	check "liblapi-dat is gone" not installed liblapi-dat
else
	skipped=$((skipped + 1))
	echo "skipped: liblapi-dat in the place of libdapl2: Debian's is not at hand"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
