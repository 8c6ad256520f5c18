#!/bin/bash
# Tries Debian's packages as a user would: installs them in a clean Debian, builds and runs programs
# in C and Fortran there, removes them, and looks for leftovers. The Debian is kept beside the
# packages; the test's changes to it are dropped (scripts/debian.sh).
# The last line is "N passed, N failed, N skipped".
#
# usage: deb-test.sh FOLDER     that of the packages
set -u
folder=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 2
. scripts/debian.sh
base=$folder/base
suite=${DEB_SUITE:-bookworm}

if ! why=$(make_debian "$suite" "$base" gcc gfortran libc6-dev make pkgconf procps openmpi-bin libopenmpi-dev 2>&1); then
	echo "skipped: $(tail -n 1 <<< "$why")"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi
# Debian's uDAPL, to be installed in the test, which then needs no network
if ! ls "$base"/var/cache/apt/archives/libdapl2_*.deb >/dev/null 2>&1; then
	chroot "$base" sh -c 'PATH=/usr/sbin:/usr/bin:/sbin:/bin; apt-get -qq update &&
		apt-get -qq install -y --no-install-recommends --download-only dapl2-utils' >"$folder/dapl.log" 2>&1 ||
		echo "no libdapl2 from Debian: $(tail -n 1 "$folder/dapl.log")"
fi
cp packaging/in-clean-debian.sh "$folder/" || exit 1
in_debian "$base" "$folder" /debs /debs/in-clean-debian.sh
