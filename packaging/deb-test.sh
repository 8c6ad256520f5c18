#!/bin/bash
# Tries Debian's packages as a user would: installs them in a clean Debian, builds and runs programs
# in C and Fortran there, removes them, and looks for what is left. The Debian is made by debootstrap
# once and kept beside the packages; what the test changes is in a layer above it that goes away.
# The last line is "N passed, N failed, N skipped".
#
# usage: deb-test.sh FOLDER     that of the packages
set -u
folder=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 2
base=$folder/base
suite=${DEB_SUITE:-bookworm}

skip() {
	echo "skipped: $*"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}

[ "$(id -u)" = 0 ] || skip "a Debian to install in needs root"
unshare -m true 2>/dev/null || skip "no mount namespaces here"
scripts/setup.sh debootstrap=debootstrap || exit 1
command -v debootstrap >/dev/null || skip "no debootstrap"
if [ ! -e "$base/.complete" ]; then
	rm -rf --one-file-system "$base"
	debootstrap --variant=minbase --include=gcc,gfortran,libc6-dev,make,pkgconf,procps "$suite" "$base" >"$folder/base.log" 2>&1 ||
		skip "debootstrap of $suite fails: $(tail -n 1 "$folder/base.log")"
	: >"$base/.complete"
fi
# Debian's uDAPL, to be installed in the test, where there need not be a network any more
if ! ls "$base"/var/cache/apt/archives/libdapl2_*.deb >/dev/null 2>&1; then
	chroot "$base" sh -c 'PATH=/usr/sbin:/usr/bin:/sbin:/bin; apt-get -qq update &&
		apt-get -qq install -y --no-install-recommends --download-only dapl2-utils' >"$folder/dapl.log" 2>&1 ||
		echo "no libdapl2 from Debian: $(tail -n 1 "$folder/dapl.log")"
fi

# Processes and mounts of the test end with its first process.
exec unshare -m -p -f --kill-child bash -u -c '
base=$1 folder=$2 sources=$3
layers=$(mktemp -d) root=$layers/root
mount -t tmpfs layers "$layers" && mkdir "$root" "$layers/upper" "$layers/work" || exit 1
mount -t overlay -o "lowerdir=$base,upperdir=$layers/upper,workdir=$layers/work" lapi "$root" 2>/dev/null || {
	mount -o remount,size=90% "$layers"
	cp -a "$base/." "$root/" || exit 1
}
mkdir "$root/debs"
cp "$folder"/*.deb "$root/debs/" && cp "$sources/packaging/in-clean-debian.sh" "$root/debs/" || exit 1
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount -t tmpfs shm "$root/dev/shm" || exit 1
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 chroot "$root" /debs/in-clean-debian.sh
status=$?
umount -l "$layers" && rmdir "$layers"
exit $status
' deb-test "$base" "$folder" "$PWD"
