#!/bin/bash
# Builds rpm packages from a source archive, here, by rpmbuild. The packages that the spec asks for need
# not be installed as rpm packages: --nodeps.
#
# usage: build.sh ARCHIVE VERSION FOLDER     FOLDER gets the packages
set -eu
archive=$(realpath "$1") version=$2
mkdir -p "$3"
folder=$(realpath "$3")
cd "$(dirname "$0")/../.."
scripts/setup.sh rpmbuild=rpm gencat=libc-bin
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
mkdir -p "$top/SOURCES" "$top/SPECS"
cp "$archive" "$top/SOURCES/"
sed "s|@VERSION@|$version|g" packaging/rpm/lapi.spec >"$top/SPECS/lapi.spec"
unset MAKEFLAGS MFLAGS MAKELEVEL
GOCACHE=$(go env GOCACHE)
export GOCACHE
# Fedora's folders and groups of packages, which Debian's rpmbuild does not set; gdb is not needed
rpmbuild -bb --nodeps --define "_topdir $top" --define '_lib lib64' --define '_libdir /usr/lib64' \
	--define '_prefix /usr' --define 'debug_package %{nil}' "$top/SPECS/lapi.spec" >"$folder/rpmbuild.log" 2>&1 || {
	tail -n 30 "$folder/rpmbuild.log"
	exit 1
}
rm -f "$folder"/*.rpm
find "$top/RPMS" -name '*.rpm' -exec cp {} "$folder/" \;
ls "$folder"/*.rpm
