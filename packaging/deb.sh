#!/bin/bash
# Builds Debian's packages from a source archive, and runs lintian on them: an error of lintian is an
# error of this script.
#
# usage: deb.sh ARCHIVE VERSION FOLDER     FOLDER gets the packages
set -eu
archive=$(realpath "$1") version=$2
mkdir -p "$3"
folder=$(realpath "$3")
cd "$(dirname "$0")/.."
scripts/setup.sh dh=debhelper lintian=lintian dpkg-gensymbols=dpkg-dev fakeroot=fakeroot \
	mpicc.openmpi=libopenmpi-dev ompi_info=openmpi-bin
packaged=$(dpkg-parsechangelog -S Version)
if [ "${packaged%-*}" != "$version" ]; then
	echo "debian/changelog ends with version $packaged, the archive has $version"
	exit 1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$archive" "$scratch/lapi_$version.orig.tar.xz"
tar -C "$scratch" -xf "$archive"
cache=$(go env GOCACHE)
unset MAKEFLAGS MFLAGS MAKELEVEL
# -d: Go may be there without being a package; the rest has just been installed
(cd "$scratch/lapi-$version" && GOCACHE=$cache dpkg-buildpackage -d -b -us -uc >"$scratch/log" 2>&1) || {
	tail -n 40 "$scratch/log"
	exit 1
}
rm -f "$folder"/*.deb "$folder"/*.changes
cp "$scratch"/*.deb "$scratch"/*.changes "$scratch"/*.buildinfo "$folder/"
lintian --allow-root --tag-display-limit 0 --fail-on error "$folder"/*.changes
ls "$folder"/*.deb
