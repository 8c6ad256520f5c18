#!/bin/bash
# Collective operations with uDAPL, Open MPI and MPICH, in turn, whichever of these are here: a
# table of microseconds, medians of the runs, and ours to the better of the others.
#
# usage: coll.sh FOLDER [MEMBERS...]     default: 2 4 8.  RUNS: repetitions, default 3.
# Members are bound to processors, the same way with all (coll_ops.h); COLL_FREE=1: they are not.
# COLL_ROWS="barrier alltoall-64K": these rows only. BEFORE: the same folder of another tree, whose
# figures are in the column "before".
set -u
bin=$1
shift
[ $# -gt 0 ] || set -- 2 4 8
runs=${RUNS:-3}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

run() { # WHO MEMBERS
	case $1 in
	dat) "$bin/coll_dat" "$2" ;;
	before) "$BEFORE/coll_dat" "$2" ;;
	openmpi) mpirun.openmpi --allow-run-as-root $share -n "$2" "$bin/coll_mpi.openmpi" ;;
	mpich) mpirun.mpich -n "$2" "$bin/coll_mpi.mpich" ;;
	esac
}

who=dat
for m in openmpi mpich; do
	[ -x "$bin/coll_mpi.$m" ] && who="$who $m" || echo "skipped: $m, which is not here"
done
[ -z "${BEFORE:-}" ] || who="$who before"
for members; do
	rm -f "$work"/*
	share= # Open MPI yields between polls with this option, and refuses more members without
	[ "$members" -le "$(nproc)" ] || share=--oversubscribe
	for _ in $(seq "$runs"); do
		for w in $who; do
			run "$w" "$members" >>"$work/$w" 2>"$work/error" ||
				{ echo "coll.sh: $w with $members members failed" >&2; cat "$work/error" >&2; exit 1; }
		done
	done
	for w in $who; do
		sed "s/^/$w /" "$work/$w"
	done | awk -v members="$members" -v who="$who" '
		function median(w, row,   k, i, j, t, v) {
			k = count[w, row]
			for (i = 1; i <= k; i++) v[i] = us[w, row, i]
			for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++)
				if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
			return v[int((k + 1) / 2)]
		}
		!(($2) in seen) { seen[$2] = 1; rows[++n] = $2 }
		{ us[$1, $2, ++count[$1, $2]] = $3 }
		END {
			m = split(who, w, " ")
			printf "%-4s%-16s", members, "us"
			for (i = 1; i <= m; i++) printf "%10s", w[i]
			print "   to best"
			for (r = 1; r <= n; r++) {
				best = 0
				printf "    %-16s", rows[r]
				for (i = 1; i <= m; i++) {
					x = median(w[i], rows[r])
					printf "%10.2f", x
					if (i > 1 && w[i] != "before" && (best == 0 || x < best)) best = x
				}
				if (best > 0) printf "%10.2f", median("dat", rows[r]) / best
				print ""
			}
		}'
done
