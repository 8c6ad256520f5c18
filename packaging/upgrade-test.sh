#!/bin/bash
# Installs Debian's packages of 0.1.0, which it builds from git, in a clean Debian, compiles programs with
# them, installs the packages of this release above them, and runs the programs. Needs the history.
# The last line is "N passed, N failed, N skipped".
#
# usage: upgrade-test.sh FOLDER     that of the packages; the Debian of deb-test is used
set -u
folder=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 2
. scripts/debian.sh
base=${BASE:-$folder/base}
skip() {
	echo "skipped: $*"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}
[ -d "$base" ] || skip "no Debian in $base: make deb-test makes it"
# The commit that brought the first packages.
first=$(git log --diff-filter=A --format=%h -- debian/changelog | tail -n 1)
[ -n "$first" ] || skip "no history"
old=$folder/0.1.0
if ! ls "$old"/liblapi1_*.deb >/dev/null 2>&1; then
	mkdir -p "$old"
	tree=$(mktemp -d)
	git worktree add -q --detach "$tree" "$first" &&
		env -u MAKEFLAGS -u MAKELEVEL make -C "$tree" deb >"$old/log" 2>&1 && cp "$tree"/build/deb/*.deb "$old/"
	git worktree remove --force "$tree"
	ls "$old"/liblapi1_*.deb >/dev/null 2>&1 || skip "0.1.0 does not build: $(tail -n 1 "$old/log")"
fi
cat >"$folder/upgrade" <<'END'
#!/bin/bash
# Runs there, in /debs.
passed=0 failed=0
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
version() { [ "$(dpkg-query -W -f '${Version}' liblapi1 | cut -d- -f1)" = "$1" ]; }
ring() { [ "$("$@" | sort | tr '\n' ' ')" = "0 1 2 " ]; }
asks_for_none() { ! readelf --version-info /tmp/ring | grep -q LAPI_1.0; }
cat >/tmp/ring.c <<'C'
#include <lapi.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	lapi_cntr_t arrived;
	int task, tasks, here = -1, next;
	void *here_of[64], *arrived_of[64];

	memset(&info, 0, sizeof info);
	if (LAPI_Init(&hndl, &info) != LAPI_SUCCESS)
		return 1;
	LAPI_Qenv(hndl, TASK_ID, &task);
	LAPI_Qenv(hndl, NUM_TASKS, &tasks);
	LAPI_Setcntr(hndl, &arrived, 0);
	LAPI_Address_init(hndl, &here, here_of);
	LAPI_Address_init(hndl, &arrived, arrived_of);
	next = (task + 1) % tasks;
	LAPI_Put(hndl, (uint)next, sizeof task, here_of[next], &task, arrived_of[next], NULL, NULL);
	LAPI_Waitcntr(hndl, &arrived, 1, NULL);
	printf("%d\n", here);
	LAPI_Gfence(hndl);
	return LAPI_Term(hndl) != LAPI_SUCCESS;
}
C
packages="liblapi1 liblapi-dev lapi-bin"
install() { local folder=$1 list=() p; for p in $packages; do list+=("$folder"/${p}_*.deb); done; dpkg -i "${list[@]}"; }
check "0.1.0 installs" install 0.1.0
check "it is 0.1.0" version 0.1.0
check "a program compiles" sh -c 'gcc /tmp/ring.c -o /tmp/ring $(pkg-config --cflags --libs lapi)'
check "it runs" ring lapirun --timeout 60 -n 3 /tmp/ring
check "it asks for no version of symbols" asks_for_none
check "0.2.0 installs above it" install .
check "it is 0.2.0" version "$(cat version)"
check "dpkg finds nothing amiss" test -z "$(dpkg --audit)"
check "the program runs over shared memory" ring lapirun --timeout 60 -n 3 /tmp/ring
check "and over UDP" ring env LAPI_USE_SHM=no lapirun --timeout 60 -n 3 /tmp/ring
check "with all symbols looked up" ring env LD_BIND_NOW=1 lapirun --timeout 60 -n 3 /tmp/ring
check "a new program compiles" sh -c 'gcc /tmp/ring.c -o /tmp/ring2 $(pkg-config --cflags --libs lapi)'
check "it runs" ring lapirun --timeout 60 -n 3 /tmp/ring2
check "all are removed" dpkg --purge lapi-bin liblapi-dev liblapi1
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
END
chmod 755 "$folder/upgrade"
cp core/version/VERSION "$folder/version"
in_debian "$base" "$folder" /debs ./upgrade
