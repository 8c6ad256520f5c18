# The library with a sanitizer in all its C. Sourced, from the top of the tree.
# shellcheck shell=bash

# sanitized BUILD WHICH: builds it for the sanitizer WHICH (address, thread) in BUILD/sanitize-WHICH,
# with lapirun and the rig; sets to, its folder, and flags, those of programs.
sanitized() {
	local build=$1 which=$2 top=$PWD name
	to=$build/sanitize-$which
	flags="-O1 -g -fno-omit-frame-pointer -fsanitize=$which"
	[ "$which" = thread ] && flags="$flags -Wno-tsan"
	mkdir -p "$to"/{lib,bin}
	CGO_CFLAGS=$flags CGO_LDFLAGS="-fsanitize=$which" ${GO:-go} build -buildmode=c-shared \
		-overlay "$build/overlay/overlay.json" -ldflags "-extld=$top/scripts/link-core \
	-X runtime.godebugDefault=asyncpreemptoff=1,gcshrinkstackoff=1 -extldflags \
	\"-Wl,-soname,liblapi_r.so.1 -Wl,--version-script=$top/cshim/exports.map -fsanitize=$which \
	-Wl,--wrap=_cgo_wait_runtime_init_done -Wl,--wrap=x_cgo_mmap\"" \
		-o "$to/lib/liblapi_r.so.1" ./capi || return
	for name in liblapi_r.so libdat2.so.2 libdat2.so; do ln -sf liblapi_r.so.1 "$to/lib/$name"; done
	cp "$build/bin/lapirun" "$to/bin/"
	rm -rf "$to/rig"
	make -s BUILD="$to" RIG_CFLAGS="-std=gnu11 $flags" rig || return
	# Go's run-time keeps memory until the end, and a fault is the library's to judge.
	export ASAN_OPTIONS=detect_leaks=0:handle_segv=0
}
