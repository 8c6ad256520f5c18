#!/bin/bash
# Makes a source archive that builds without a network: the files that git knows, as they are now, or
# all of an unpacked archive, and the modules of go.mod in vendor/.
#
# usage: dist.sh ARCHIVE FOLDER SECONDS     FOLDER: the name in the archive; SECONDS: the files' date
set -eu
archive=$(realpath -m "$1") folder=$2 date=$3
cd "$(dirname "$0")/.."
scripts/setup.sh xz=xz-utils
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$(dirname "$archive")" "$scratch/$folder"
if [ -e .git ]; then
	git ls-files -co --exclude-standard -z
else
	find . \( -path ./build -o -path ./build32 -o -path ./vendor \) -prune -o \( -type f -o -type l \) -print0
fi >"$scratch/files"
tar -c --null --no-recursion --ignore-failed-read -T "$scratch/files" | tar -x -C "$scratch/$folder"
if [ -d vendor ]; then cp -r vendor "$scratch/$folder/"; else (cd "$scratch/$folder" && go mod vendor); fi
# The archive depends neither on the umask nor on the user.
tar -C "$scratch" --sort=name --mode=u=rwX,go=rX --owner=0 --group=0 --numeric-owner --mtime="@$date" -cJf "$archive" "$folder"
echo "$archive"
