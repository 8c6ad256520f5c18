# shellcheck shell=bash
# packages.sh - Debian's packages for tests, unpacked in a folder, without installing them. Sourced.

# can_unpack: true if there is a package manager with packages for this machine; else prints why
# not.
can_unpack() {
	if ! command -v apt-get > /dev/null || ! command -v dpkg > /dev/null; then
		echo "no apt-get"
	elif [ "$(dpkg --print-architecture)" != amd64 ]; then
		echo "not amd64"
	else
		return 0
	fi
	return 1
}

# unpack FOLDER FILE PACKAGE...: packages into the folder, unless FILE of them is there; prints the
# reason if they cannot be had.
unpack() {
	local folder=$1 file=$2
	shift 2
	[ -e "$folder/$file" ] && return
	can_unpack || return
	mkdir -p "$folder"
	if ! (cd "$folder" && rm -f ./*.deb && timeout 60 apt-get download "$@" &&
		for package in ./*.deb; do dpkg -x "$package" . || exit 1; done) > "$folder/apt.log" 2>&1; then
		grep -m 1 '^E:' "$folder/apt.log" || tail -n 1 "$folder/apt.log"
		return 1
	fi
	[ -e "$folder/$file" ] && return
	echo "the packages have no $file"
	return 1
}

# The places of this machine's packages, as places of their sources.
source_places() {
	# shellcheck disable=SC2016  # apt's variables
	apt-get indextargets 'Created-By: Packages' 'Origin: Debian' \
		--format 'deb-src $(REPO_URI) $(CODENAME) $(COMPONENT)' | sort -u
}

# unpack_source FOLDER FILE PACKAGE: the original source of a package, without Debian's changes,
# into FOLDER/source; prints why it cannot be had.
unpack_source() {
	local folder=$1 file=$2 package=$3
	[ -e "$folder/source/$file" ] && return
	can_unpack || return
	mkdir -p "$folder/lists/partial" "$folder/source"
	local own=(-o "Dir::Etc::sourcelist=$PWD/$folder/places.list" -o Dir::Etc::sourceparts=-
		-o "Dir::State::lists=$PWD/$folder/lists")
	source_places > "$folder/places.list" 2>&1
	if ! (timeout 100 apt-get "${own[@]}" -q update && cd "$folder" &&
		timeout 60 apt-get "${own[@]}" -q --download-only --tar-only source "$package" &&
		tar -x -C source --strip-components=1 -f ./*.orig.tar.*) > "$folder/source.log" 2>&1; then
		grep -m 1 '^E:' "$folder/source.log" || tail -n 1 "$folder/source.log"
		return 1
	fi
	[ -e "$folder/source/$file" ] && return
	echo "the source has no $file"
	return 1
}
