#!/bin/bash
# ofed.sh BUILD test|bench - the OFED provider of Debian (libdapl2) over soft-RoCE, in a machine of
# tests/verbs/machine. `test`: Debian's uDAPL programs over this library's libdat2.so.2, which loads
# that provider. `bench`: the same performance runs, ROUNDS times in turn, with Debian's libdat2 and
# provider, with this library over the same adapter, and with it over UDP; prints ratios of medians.
# WHO, of `theirs adapter udp`, leaves some out.
set -u
here=$(dirname "$0")
build=$1
which=$2
folder=$build/dat-ofed
# shellcheck source=tests/c/dat/packages.sh
. "$here/packages.sh"

skip() {
	echo "dat-ofed: skipped: $1"
	echo "dat-ofed: 0 passed, 0 failed, 1 skipped"
	exit 0
}

why=$(unpack "$build/dat-matrix/package" usr/lib/x86_64-linux-gnu/libdat2.so.2 dapl2-utils libdapl2) ||
	skip "$why"
from=$build/dat-matrix/package/usr
rm -rf "$folder"
mkdir -p "$folder/ours" "$folder/theirs"
cp -L "$from"/bin/{dtest,dtestx,dapltest} "$from"/lib/x86_64-linux-gnu/libdaplofa.so.2 "$folder/"
cp -L "$from/lib/x86_64-linux-gnu/libdat2.so.2" "$folder/theirs/"
cp -L "$build/lib/liblapi_r.so.1" "$folder/ours/libdat2.so.2"
chmod +x "$folder"/*
# What Debian's libdat2 needs of this host's; libgcc_s is for pthread_exit.
for file in $(ldconfig -p | grep -E 'lib(dl|gcc_s)\.so\.[0-9]+ .*x86-64' | grep -o '/.*'); do
	cp -L "$file" "$folder/"
done
ldd "$folder/libdaplofa.so.2" | grep 'not found' > /dev/null && skip "no librdmacm here (package librdmacm1)"
cat > "$folder/dat.conf" << END
ofa-v2-rxe u2.0 nonthreadsafe default /work/libdaplofa.so.2 dapl.2.0 "eth0 0" ""
END
cp "$here/ofed-in-machine.sh" "$folder/run"

log=$build/dat-ofed.log
limit=170
[ "$which" = bench ] && limit=${LIMIT:-900}
"$here/../../verbs/machine" -m 1024 -t "$limit" "$folder" sh ./run "$which" "${ROUNDS:-3}" \
	${WHO:-theirs adapter udp} > "$log" 2> "$log.errors"
case $? in
0) ;;
3) skip "$(grep -m 1 '^machine: ' "$log.errors")" ;;
*)
	tail -n 20 "$log" "$log.errors"
	[ "$which" = bench ] && exit 1
	;;
esac
if [ "$which" = test ]; then
	grep -E '^(passed|FAILED)' "$log"
	passed=$(grep -c '^passed' "$log") failed=$(grep -c '^FAILED' "$log")
	[ "$passed" -gt 0 ] || failed=$((failed + 1))
	echo "dat-ofed: $passed passed, $failed failed, 0 skipped"
	[ "$failed" = 0 ]
	exit
fi

# Lines "NAME WHO VALUE" become medians, and ratios of times.
grep '^figure ' "$log" | tr -d '\r' | sort | awk '
	{ key = $2; who = $3; n[key, who]++; value[key, who, n[key, who]] = $4; names[key] = 1 }
	function median(key, who,   i, j, t, v, k) {
		k = n[key, who]
		for (i = 1; i <= k; i++) v[i] = value[key, who, i]
		for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++)
			if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
		return v[int((k + 1) / 2)]
	}
	function beside(time, ofed) {
		return time > 0 && ofed > 0 ? sprintf("%12.2f %6.2f", time, time / ofed) : sprintf("%19s", "-")
	}
	END {
		printf "%-28s %12s %12s %6s %12s %6s   wanted: <= 1\n", "us, or s", "OFED", "adapter",
			"ratio", "UDP", "ratio"
		for (key in names) {
			ofed = median(key, "theirs")
			printf "%-28s %12.2f %s %s\n", key, ofed, beside(median(key, "adapter"), ofed),
				beside(median(key, "udp"), ofed) | "sort"
		}
	}'
