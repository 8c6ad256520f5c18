#!/bin/bash
# Builds and tries the library in another release of Debian, with that one's Go, gcc and clang: the
# packages by dpkg-buildpackage, each C file without a warning by gcc and clang, and conformance
# programs. That Debian is made once, in FOLDER/base (scripts/debian.sh).
# The last line is "N passed, N failed, N skipped".
#
# usage: debian-test.sh ARCHIVE SUITE FOLDER
set -u
archive=$(realpath "$1") suite=$2
mkdir -p "$3"
folder=$(realpath "$3")
cd "$(dirname "$0")/.." || exit 2
. scripts/debian.sh
# That Debian has the sources of Go, which are no packages of this module.
echo 'module debian' >"$folder/go.mod"

# shellcheck disable=SC2046  # a list of words
if ! why=$(make_debian "$suite" "$folder/base" g++ gfortran clang lintian fakeroot build-essential procps \
	$(sed -nE 's/^Build-Depends: //p' debian/control | sed -E 's/\([^)]*\)//g; s/\|[^,]*//g; s/debhelper-compat/debhelper/; s/,/ /g') 2>&1); then
	echo "skipped: $(tail -n 1 <<<"$why")"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi
rm -rf "$folder/source"
mkdir -p "$folder/source"
tar -C "$folder/source" --strip-components=1 -xf "$archive" || exit 1
cp "$archive" "$folder/lapi_$(sed -nE 's/^lapi \(([^-]*)-.*/\1/p; q' debian/changelog).orig.tar.xz"
cat >"$folder/try" <<'END'
#!/bin/bash
# Runs there, in /try/source.
set -u
passed=0 failed=0
export GOFLAGS=-mod=vendor GOPROXY=off GOTOOLCHAIN=local
try() {
	local name=$1
	shift
	if "$@" >"../$name.log" 2>&1; then
		passed=$((passed + 1))
		echo "pass $name"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		tail -n 15 "../$name.log"
	fi
}
files() {
	local status=0 file
	for file in cshim/*/*.c cshim/dat/*/*.c; do
		case $file in cshim/ctest/* | cshim/model/*) continue ;; esac
		"$1" -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter -Icshim -Iinclude -c -o /dev/null "$file" || status=1
	done
	return $status
}
go version
gcc --version | head -n 1
clang --version | head -n 1
try gcc files gcc
try clang files clang
try dpkg-buildpackage dpkg-buildpackage -b -us -uc
try build make build
try conform make conform
try clang-build make build BUILD=build-clang CC=clang
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
END
chmod 755 "$folder/try"
in_debian "$folder/base" "$folder" /try sh -c 'cd source && ../try'
