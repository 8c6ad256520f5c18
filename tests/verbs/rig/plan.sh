# shellcheck shell=bash
# plan.sh - faults of adapters by a seed, for faults and faults-dat. Sourced; `rigctl` is the command.

events=(CQ_ERR QP_FATAL QP_REQ_ERR QP_ACCESS_ERR COMM_EST SQ_DRAINED PATH_MIG PATH_MIG_ERR DEVICE_FATAL
	PORT_ACTIVE PORT_ERR LID_CHANGE PKEY_CHANGE SM_CHANGE SRQ_ERR SRQ_LIMIT_REACHED
	QP_LAST_WQE_REACHED CLIENT_REREGISTER GID_CHANGE)

# plan SEED STEPS DEVICE...: lines of `SECONDS WORDS`, what to wait for and then to do. The same seed
# gives the same lines. A port or device that is taken away comes back.
plan() {
	local steps=$2 d i
	RANDOM=$1
	shift 2
	local devices=("$@") objects=(qp cq)
	for ((i = 0; i < steps; i++)); do
		d=${devices[RANDOM % $#]}
		echo -n "0.$((1 + RANDOM % 4)) "
		case $((RANDOM % 8)) in
		0 | 1) echo "fail $d send $((1 + RANDOM % 21)) $((RANDOM % 60)) $((1 + RANDOM % 3))" ;;
		2) echo "fail $d receive $((1 + RANDOM % 21)) $((RANDOM % 60))" ;;
		3) echo "fail $d ${objects[RANDOM % 2]} 12 0 2" ;;
		4) echo "fail $d register 12 $((RANDOM % 3)) $((1 + RANDOM % 4))" ;;
		5) printf 'port %s 1 down\n0.%d port %s 1 up\n' "$d" $((1 + RANDOM % 6)) "$d" ;;
		6) printf 'device %s gone\n0.%d device %s back\n' "$d" $((1 + RANDOM % 6)) "$d" ;;
		7) echo "event $d ${events[RANDOM % ${#events[@]}]} $((RANDOM % 9))" ;;
		esac
	done
}

# follow: executes the lines of plan. Events of objects that do not exist are skipped.
follow() {
	local pause words
	while read -r pause words; do
		sleep "$pause"
		# shellcheck disable=SC2086
		"$rigctl" $words 2>/dev/null
	done
}

heal() { # DEVICE...
	local d
	for d; do
		"$rigctl" heal "$d"
		"$rigctl" port "$d" 1 up
		"$rigctl" device "$d" back
	done
}
