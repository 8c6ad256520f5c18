# A clean Debian for tests: made once by debootstrap, with a temporary layer above it. Sourced. Both
# functions need root and mount namespaces; if these are missing the reason is on stderr.
# shellcheck shell=bash

# make_debian SUITE BASE PACKAGE...: the smallest Debian of that suite in the folder BASE, with these
# packages; nothing is done if it is there with the same ones.
make_debian() {
	local suite=$1 base=$2 packages script
	shift 2
	packages=$*
	[ "$(cat "$base/.complete" 2>/dev/null)" = "$suite $packages" ] && return
	[ "$(id -u)" = 0 ] || { echo "a Debian to install in needs root" >&2; return 1; }
	unshare -m true 2>/dev/null || { echo "no mount namespaces here" >&2; return 1; }
	scripts/setup.sh debootstrap=debootstrap >&2 || return
	# debootstrap knows the suites of its time; all suites are made in one way
	script=/usr/share/debootstrap/scripts/$suite
	[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
	rm -rf --one-file-system "$base"
	mkdir -p "$base"
	# dpkg need not flush each file to the disk: an incomplete system is made again (in a
	# namespace of its own, so that it leaves no mounts behind when it is interrupted)
	unshare -m debootstrap --variant=minbase "$suite" "$base" '' "$script" >"$base.log" 2>&1 &&
		echo force-unsafe-io >"$base/etc/dpkg/dpkg.cfg.d/unsafe-io" &&
		DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$base" \
			apt-get -qq install -y --no-install-recommends "$@" >>"$base.log" 2>&1 </dev/null ||
		{ echo "no $suite with $packages: $(tail -n 1 "$base.log")" >&2; return 1; }
	echo "$suite $packages" >"$base/.complete"
}

# in_debian BASE FOLDER PLACE COMMAND...: runs a command of that Debian in PLACE, where FOLDER is
# mounted, with nothing of this environment. Its processes and mounts end with its first process.
# That Debian is the root of their namespace, so that a process can enter others.
in_debian() {
	local layers status
	layers=$(mktemp -d) || return
	unshare -m -p -f --kill-child bash -u -c '
base=$1 folder=$2 place=$3 layers=$4
shift 4
root=$layers/root
mount -t tmpfs layers "$layers" && mkdir "$root" "$layers/upper" "$layers/work" || exit 1
mount -t overlay -o "lowerdir=$base,upperdir=$layers/upper,workdir=$layers/work" lapi "$root" 2>/dev/null || {
	mount -o remount,size=90% "$layers"
	cp -a "$base/." "$root/" && mount --bind "$root" "$root" || exit 1
}
mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
	mount -t tmpfs shm "$root/dev/shm" && echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts" &&
	mkdir -p "$root$place" "$root/.host" && mount --rbind "$folder" "$root$place" || exit 1
cd "$root" && pivot_root . .host && cd "$place" || exit 1
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
	sh -c "umount -l /.host && rmdir /.host && \"\$@\"" in-debian "$@"
' in-debian "$1" "$2" "$3" "$layers" "${@:4}"
	status=$?
	rmdir "$layers"
	return $status
}
