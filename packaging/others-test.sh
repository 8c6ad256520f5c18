#!/bin/bash
# Uses the other kinds of packages as a user would: unpacks the rpm packages, and with them builds and runs
# programs by pkg-config and CMake, loads the modules of both kinds, completes options of lapirun, and
# checks the recipes for Spack and EasyBuild against small stand-ins for both.
# The last line is "N passed, N failed, N skipped".
#
# usage: others-test.sh ARCHIVE VERSION FOLDER     FOLDER: that of the rpm packages
set -u
archive=$(realpath "$1") version=$2 folder=$(realpath "$3")
cd "$(dirname "$0")/.." || exit 2
. tests/c/dat/packages.sh
GOCACHE_OF_TEST=$(go env GOCACHE) # what it builds here it need not compile again
export GOCACHE_OF_TEST
scripts/setup.sh rpm2cpio=rpm2cpio cpio=cpio cmake=cmake lmod=lmod tclsh=tcl \
	gfortran=gfortran python3=python3 pkg-config=pkg-config
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
passed=0 failed=0 skipped=0
check() {
	local what=$1
	shift
	if "$@" >"$root/log" 2>&1 </dev/null; then
		passed=$((passed + 1))
		echo "ok      $what"
	else
		failed=$((failed + 1))
		echo "FAILED  $what"
		tail -n 20 "$root/log" | sed 's/^/        | /'
	fi
}
skip() {
	skipped=$((skipped + 1))
	echo "skipped: $1"
}

unpacked() {
	local package
	for package in "$folder"/*.rpm; do
		(cd "$root" && rpm2cpio "$package" | cpio -idm --quiet) || return 1
	done
	[ -x "$root/usr/bin/lapirun" ] && [ -e "$root/usr/lib64/liblapi_r.so.1" ] &&
		[ -e "$root/usr/lib64/libdat2.so.2" ]
}
named() { # PACKAGE FILE: the package has that file, and what it needs is in another of them or in glibc
	rpm -qlp "$folder/$1-$version"-*.rpm 2>/dev/null | grep -qx "$2"
}
cat >"$root/ring.c" <<'END'
#include <lapi.h>
#include <string.h>

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	return LAPI_Init(&hndl, &info) != LAPI_SUCCESS || LAPI_Gfence(hndl) != LAPI_SUCCESS ||
	       LAPI_Term(hndl) != LAPI_SUCCESS;
}
END
cat >"$root/ring.f90" <<'END'
program ring
  implicit none
  include 'lapif.h'
  integer :: handle = 99, error
  call lapi_term(handle, error)
  if (error /= LAPI_ERR_HNDL_INVALID) stop 1
end program
END
cat >"$root/dat.c" <<'END'
#include <dat2/udat.h>

int main(void)
{
	DAT_COUNT n = 0;

	return DAT_GET_TYPE(dat_registry_list_providers(0, &n, NULL)) == DAT_NOT_IMPLEMENTED;
}
END
run() { LD_LIBRARY_PATH=$root/usr/lib64 "$root/usr/bin/lapirun" -n 2 "$@"; }
by_pkg_config() {
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$root/usr/lib64/pkgconfig pkg-config --cflags --libs lapi) &&
		cc -o "$root/by-pkg-config" "$root/ring.c" -I"$root/usr/include" $flags && run "$root/by-pkg-config"
}
by_cmake() { # VERSION
	mkdir -p "$root/cmake" && cat >"$root/cmake/CMakeLists.txt" <<END || return
cmake_minimum_required(VERSION 3.16)
project(ring C Fortran)
# as where rpm is at home
set_property(GLOBAL PROPERTY FIND_LIBRARY_USE_LIB64_PATHS ON)
find_package(lapi $1 REQUIRED)
add_executable(ring ../ring.c)
target_link_libraries(ring PRIVATE lapi::lapi)
add_executable(fortran ../ring.f90)
target_link_libraries(fortran PRIVATE lapi::fortran)
add_executable(dat ../dat.c)
target_link_libraries(dat PRIVATE lapi::dat)
END
	rm -rf "$root/cmake/build"
	cmake -S "$root/cmake" -B "$root/cmake/build" -DCMAKE_PREFIX_PATH="$root/usr" && cmake --build "$root/cmake/build" &&
		run "$root/cmake/build/ring" && LD_LIBRARY_PATH=$root/usr/lib64 "$root/cmake/build/dat" &&
		LD_LIBRARY_PATH=$root/usr/lib64 "$root/cmake/build/fortran"
}
refused() { ! by_cmake "$1" 2>"$root/refusal" && grep -q "lapiConfig.cmake, version: $version" "$root/refusal"; }
modules=$root/usr/share/lapi/modulefiles
by_tcl() {
	local command
	command=$(find "$folder/modules" -name modulecmd.tcl | head -n 1)
	(unset LAPI_PREFIX && eval "$(MODULEPATH=$modules tclsh "$command" bash load "lapi/$version")" &&
		[ "$LAPI_PREFIX" = "$root/usr" ] && [ "$(command -v lapirun)" = "$root/usr/bin/lapirun" ] &&
		case :$LD_LIBRARY_PATH: in *:"$root/usr/lib64":*) ;; *) false ;; esac)
}
by_lua() {
	(unset LAPI_PREFIX && eval "$(MODULEPATH=$modules LMOD_SYSTEM_DEFAULT_MODULES='' \
		/usr/share/lmod/lmod/libexec/lmod bash load "lapi/$version")" &&
		[ "$LAPI_PREFIX" = "$root/usr" ] && [ "$(command -v lapirun)" = "$root/usr/bin/lapirun" ])
}
completes() { # WORDS... WANTED: the last word of WORDS becomes, among others, WANTED
	(
		. "$root/usr/share/bash-completion/completions/lapirun" || exit 1
		PATH=$root/usr/bin:$PATH
		COMP_WORDS=("${@:1:$#-1}") COMP_CWORD=$(($# - 2))
		_lapirun
		printf '%s\n' "${COMPREPLY[@]}" | grep -qx -- "${!#}"
	)
}
spack() {
	sed "s|@VERSION@|$version|g; s|@SHA256@|$(sha256sum "$archive" | cut -d' ' -f1)|" packaging/spack/lapi/package.py \
		>"$root/package.py" && python3 packaging/spack/stand-in.py "$root/package.py" "$archive" "$root/spack"
}
easybuild() {
	sed "s|@VERSION@|$version|g; s|@SHA256@|$(sha256sum "$archive" | cut -d' ' -f1)|" packaging/easybuild/lapi.eb \
		>"$root/lapi.eb" && python3 packaging/easybuild/stand-in.py "$root/lapi.eb" "$archive" "$root/easybuild"
}

check "the rpm packages unpack" unpacked
check "lapi has lapirun" named lapi /usr/bin/lapirun
check "liblapi1 has the library" named liblapi1 /usr/lib64/liblapi_r.so.1
check "lapi-devel has lapi.h" named lapi-devel /usr/include/lapi.h
check "lapi-samples has samples" named lapi-samples /usr/share/lapi/samples
check "pkg-config" by_pkg_config
if command -v cmake >/dev/null && command -v gfortran >/dev/null; then
	check "CMake: find_package(lapi ${version%.*})" by_cmake "${version%.*}"
	check "CMake refuses a later version" refused 99.0
else
	skip "no CMake or gfortran"
fi
# Debian has either of the two installed
if why=$(unpack "$folder/modules" usr/share/doc/environment-modules environment-modules) && command -v tclsh >/dev/null; then
	check "Environment Modules" by_tcl
else
	skip "no Environment Modules: $why"
fi
if [ -e /usr/share/lmod/lmod/libexec/lmod ]; then check "Lmod" by_lua; else skip "no Lmod"; fi
check "completion of an option" completes lapirun --keep --keep-going
check "completion of an option's value" completes lapirun --bind c core
check "completion of a program" completes lapirun -n 2 lapitr lapitrace
check "Spack's recipe" spack
check "EasyBuild's recipe" easybuild
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
