#!/bin/bash
# Installs what building and testing need and this machine lacks, with apt, as root or through sudo.
# Does nothing, and needs no network, when nothing is missing.
#
# usage: scripts/setup.sh [program=package...]     more that is wanted, such as clang=clang
#
# Required: Go of the version in go.mod (Debian 12 packages an older one, so it is not installed
# here), gcc, make, pkg-config, nm. Packages named as arguments are optional: without them some
# tests skip, and say so.
set -u
cd "$(dirname "$0")/.." || exit 2
PATH=$PATH:/usr/sbin # where daemons are, and no user's PATH leads

# program=Debian package
required="gcc=gcc make=make pkg-config=pkg-config nm=binutils verbs.h=libibverbs-dev rdma_cma.h=librdmacm-dev"

say() { printf 'setup: %s\n' "$*"; }

# gcc-m32, g++-m32 and gfortran-m32 stand for compilers that make 32-bit programs, verbs.h for the
# header of libibverbs, rdma_cma.h for that of librdmacm, rxe-provider for its part that drives soft-RoCE,
# mpi4py for Debian's, scalapack-tests for the testers of ScaLAPACK over Open MPI.
have() {
	case $1 in
	gcc-m32) printf '#include <pthread.h>\nint main(void) { return 0; }\n' | gcc -m32 -x c -o /dev/null - 2>/dev/null ;;
	g++-m32) printf '#include <cstdlib>\nint main() {}\n' | g++ -m32 -x c++ -o /dev/null - 2>/dev/null ;;
	gfortran-m32) printf 'print *, 1\nend\n' | gfortran -m32 -x f95 -o /dev/null - 2>/dev/null ;;
	rxe-provider) ls /usr/lib/*/libibverbs/librxe-rdmav*.so >/dev/null 2>&1 ;;
	mpi4py) [ -d /usr/lib/python3/dist-packages/mpi4py ] ;;
	scalapack-tests) ls /usr/lib/*/scalapack/openmpi-tests/xdlu >/dev/null 2>&1 ;;
	verbs.h)
		! command -v gcc >/dev/null ||
			printf '#include <infiniband/verbs.h>\n' | gcc -fsyntax-only -x c - 2>/dev/null
		;;
	rdma_cma.h)
		! command -v gcc >/dev/null ||
			printf '#include <rdma/rdma_cma.h>\n' | gcc -fsyntax-only -x c - 2>/dev/null
		;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

# Prints the packages of those programs in "$@" (program=package) that are missing.
missing() {
	local entry
	for entry in "$@"; do
		have "${entry%%=*}" || printf '%s ' "${entry#*=}"
	done
}

# A C library without its headers counts as missing.
libc_headers() {
	have gcc || return 0
	printf '#include <pthread.h>\nint main(void) { return 0; }\n' | gcc -x c -o /dev/null - 2>/dev/null || printf 'libc6-dev '
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif have sudo; then
		sudo -n "$@"
	else
		say "not root, and no sudo: cannot run $*"
		return 1
	fi
}

# Packages installed for tests must not start services: Debian asks policy-rc.d, which this script
# adds meanwhile, unless there is one.
policy=/usr/sbin/policy-rc.d
without_services() {
	local status
	if [ -e $policy ]; then
		"$@"
		return
	fi
	as_root sh -c "printf '#!/bin/sh\nexit 101\n' > $policy && chmod 755 $policy" || return
	"$@"
	status=$?
	as_root rm -f $policy
	return $status
}

updated=no
install() {
	have apt-get || { say "no apt-get here: install by hand: $*"; return 1; }
	if [ "$updated" = no ]; then
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 update </dev/null || return 1
		updated=yes
	fi
	without_services as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" </dev/null >/dev/null
}

# shellcheck disable=SC2046,SC2086  # lists of words are meant to be split
main() {
	local need extra
	if ! have go; then
		say "Go is missing: install version $(sed -n "s/^go //p" go.mod) or later, and put its bin folder into PATH"
		exit 1
	fi
	need="$(missing $required)$(libc_headers)"
	if [ -n "$need" ]; then
		say "installing $need"
		install $need || { say "these are needed: $need"; exit 1; }
	fi
	for extra in $(missing "$@"); do
		say "installing $extra"
		install "$extra" || say "goes on without $extra"
	done
	say "ready: $(go version 2>/dev/null | cut -d' ' -f3), $(gcc --version | head -n 1), $(make --version | head -n 1)"
}
main "$@"
