# Accuracy of models that work from traces. The programs of accuracy.sh that
# are installed here are traced once each, alone, with the network of their pairs;
# then `netprof accuracy --traces` evaluates doc/validation/pairs/main.json, whose pairs
# are not measured again. A few minutes.
# shellcheck shell=bash

. t/validate.d/accuracy.sh

TRACES=${TRACES:-$BUILD/traces}
LATENCY=${LATENCY:-38us} # of idle probes in doc/validation/pairs/main.json
PER_BYTE=${PER_BYTE:-400ns} # of links of 20 Mbit/s

# NAME: is the program installed?
can_run() {
	# shellcheck disable=SC2046 # words
	set -- $(program "$1")
	inside -- sh -c 'command -v "$1" >/dev/null' - "$1"
}

input_of() { # NAME
	case $1 in
	melt) lammps_input melt melt/in.melt 140 ;;
	couette) lammps_input couette flow/in.flow.couette 5800 ;;
	crack) lammps_input crack crack/in.crack 1300 ;;
	solid) lammps_input solid peri/in.peri.pmb 100 ;;
	silicon) silicon silicon 2 ;;
	waveguide) waveguide waveguide 160 ;;
	water) water water ;;
	cavity) cavity cavity 120 ;;
	esac
}

trace_alone() { # NAME
	# shellcheck disable=SC2016,SC2046
	INSIDE_SEC=300 inside -- sh -c 'cd "$1" &&
		export LD_PRELOAD="$LD_PRELOAD:$2/build/libnetprof-mpi.so" \
			NETPROF_TRACE="$3" && shift 3 &&
		exec srun -Q -N4 -n4 -w "n[0-3]" --mpi=pmix "$@" >out 2>&1' - \
		"$1" "$(rundir)" "$(shared)/$1" $(program "$1")
	inside --user root -- chmod -R a+rX "$(shared)/$1"
	cp -r "$(shared)/$1" "$TRACES/$1"
}

validate_traces() {
	local a

	rm -rf "$TRACES"
	mkdir -p "$TRACES"
	cluster up --leaves 1 --nodes-per-leaf 8 --leaf-mbit "$LEAF_MBIT" \
		--own-cpus --netprof "$BUILD"
	for a in $PROGRAMS $ASIDE; do
		can_run "$a" || continue
		input_of "$a"
		trace_alone "$a" || echo "$a: $(inside -- tail -n 1 "$a/out")" >&2
	done
	cluster down
	trace_table
}

# Only programs that completed, in about the time of their pairs' runs alone.
# trace_time.c finds the loops.
trace_table() {
	local a without

	make -s BUILD="$BUILD" "$BUILD/trace_time"
	for a in $PROGRAMS $ASIDE; do
		[ -d "$TRACES/$a" ] && "$BUILD/netprof" trace --json "$TRACES/$a" |
			jq -er --arg a "$a" 'select(.ranks_cut == 0) |
			"\($a): \(.sec | . * 10 | round / 10) s, \(
			.messages_sent) messages"' &&
			echo "  its longest loop in rank 0, operations of all:" \
				"$("$BUILD/trace_time" --alike "$TRACES/$a")" ||
			without=${without-}${without:+,}$a
	done
	"$BUILD/netprof" accuracy --traces="$TRACES" --latency="$LATENCY" \
		--per-byte="$PER_BYTE" ${without:+--without="$without"} \
		--model=tolerance,tolerance-felt,average,mixture,cross,mutual \
		doc/validation/pairs/main.json
}
