# Accuracy of run times from execution graphs under more latency. Real programs, two
# ranks on two nodes, are traced by libnetprof-mpi.so; then latency is added to the
# links, and they run again.
#
# MPI ping-pongs measure the added latency; the graph is that of a run without it.
# A prediction is the measured time without it plus the difference from the graph. It
# is compared with "as without" and "one latency more for each message of a rank".
# The part of its error that comes from longer computing than in the runs without it,
# which no model of a network can predict, is printed as well. Medians of the runs.
# shellcheck shell=bash disable=SC2206 # lists of words

# With BASE=0 one more thing changes when a delay is added: a rank that waits longer
# than quiet_poll.so polls sleeps, and has to be woken.
BASE=${BASE:-500} # us, of the run that is traced
DELAYS=${DELAYS:-"1000 2000 3000"} # of the others
RUNS=${RUNS:-9}
MESSAGE_NS=${MESSAGE_NS:-8000} # o, of Open MPI over TCP
BYTE_NS=${BYTE_NS:-50} # G, on links of 1 Gbit/s with the delay line
TOLERANCE_PROGRAMS=${TOLERANCE_PROGRAMS:-"melt couette crack silicon netpipe"}

. t/validate.d/accuracy.sh

tolerance_command() { # NAME
	case $1 in
	netpipe) echo "NPopenmpi -u 1024 -n 5 -o /dev/null" ;;
	silicon) echo "pw.x -in in" ;;
	*) echo "lmp -in in -log none" ;;
	esac
}

tolerance_inputs() {
	lammps_input melt melt/in.melt 400
	lammps_input couette flow/in.flow.couette 700
	lammps_input crack crack/in.crack 400
	silicon silicon 1
	inside -- mkdir -p netpipe
}

# With windows of 32 KiB one message would wait for the latency several times.
wide_windows() {
	local p f
	for p in n0 n1; do
		for f in rmem wmem; do
			inside --user root --on "$p" -- sh -c \
				"echo 4096 4000000 8000000 >/proc/sys/net/ipv4/tcp_$f"
		done
	done
}

# Half a round trip of MPI in us, the median of several.
half_trip() {
	for _ in 1 2 3 4 5; do
		inside -- srun -Q -N2 -n2 --mpi=pmix "$(shared)/overlap"
	done | sort -g | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] / 2 }'
}

traced() { # NAME TRACE
	rm -rf "$(shared)/$2"
	# shellcheck disable=SC2016
	INSIDE_SEC=200 inside -- sh -c 'cd "$1" &&
		export LD_PRELOAD="$LD_PRELOAD:$2/build/libnetprof-mpi.so" \
			NETPROF_TRACE="$3" && shift 3 &&
		exec srun -Q -N2 -n2 --mpi=pmix "$@" >out 2>&1' - \
		"$1" "$(rundir)" "$(shared)/$2" $(tolerance_command "$1")
	inside --user root -- chmod -R a+rX "$(shared)/$2"
}

# All delays alternate, so that changes over time affect all of them.
measure_programs() {
	local i d p
	for ((i = 1; i <= RUNS; i++)); do
		for d in $BASE $DELAYS; do
			cluster delay all "$d"
			echo "$d $(half_trip)" >>"$BUILD/tolerance.trips"
			for p in $TOLERANCE_PROGRAMS; do
				traced "$p" "$p.$d.$i" || {
					echo "$p: $(inside -- tail -n 1 "$p/out")" >&2
					continue
				}
				echo "$p $d $("$BUILD/trace_time" "$(shared)/$p.$d.$i" \
					0 0 0 | cut -d' ' -f1,2)" >>"$BUILD/tolerance.times"
			done
		done
	done
}

median_of() { # FILE KEYS...: the median of the column after the keys
	awk -v keys="${*:2}" 'BEGIN { n = split(keys, k, " ") }
		{ for (i = 1; i <= n; i++) if ($i != k[i]) next; print $(n + 1) }' "$1" |
		sort -g | awk '{ v[NR] = $1 } END {
			print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# Run times in seconds of these graphs if messages cost nothing.
computing() { # NAME DELAY
	local i
	for ((i = 1; i <= RUNS; i++)); do
		"$BUILD/trace_time" "$(shared)/$1.$2.$i" 0 0 0
	done | awk '{ print $3 }' | median_of /dev/stdin
}

# "NAME DELAY ADDED_NS MEASURED WITHOUT PREDICTED LINEAR COMPUTING": one row per
# case, times in seconds; COMPUTING is what it took longer than without.
cases() {
	local p d base trip added t0 i said messages alone
	base=$(median_of "$BUILD/tolerance.trips" "$BASE")
	for p in $TOLERANCE_PROGRAMS; do
		t0=$(median_of "$BUILD/tolerance.times" "$p" "$BASE")
		[ -n "$t0" ] || continue
		alone=$(computing "$p" "$BASE")
		for d in $DELAYS; do
			trip=$(median_of "$BUILD/tolerance.trips" "$d")
			added=$(awk "BEGIN { print 1000 * ($trip - $base) }")
			for ((i = 1; i <= RUNS; i++)); do
				"$BUILD/trace_time" "$(shared)/$p.$BASE.$i" \
					"$(awk "BEGIN { l = 1000 * $base - 2 * $MESSAGE_NS
						print (l > 0 ? l : 0) }")" \
					"$MESSAGE_NS" "$BYTE_NS" "$added"
			done >"$BUILD/tolerance.said"
			said=$(awk '{ print $4 - $3 }' "$BUILD/tolerance.said" |
				sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
			messages=$(awk '{ print $2; exit }' "$BUILD/tolerance.said")
			echo "$p $d $added $(median_of "$BUILD/tolerance.times" "$p" "$d") $t0" \
				"$(awk "BEGIN { print $t0 + $said }")" \
				"$(awk "BEGIN { print $t0 + 1e-9 * $added * $messages / 2 }")" \
				"$(awk "BEGIN { print $(computing "$p" "$d") - $alone }")"
		done
	done
}

table_of_cases() {
	awk '{
		printf "%-8s %6.0f us  %8.3f s  %8.3f s %+6.1f %%   %+6.1f %%   " \
			"%+6.1f %%      %+6.1f %%\n", $1, $3 / 1000, $4, $6,
			100 * ($6 / $4 - 1), 100 * ($5 / $4 - 1),
			100 * ($7 / $4 - 1), -100 * $8 / $4
		n++
		g += ($6 / $4 - 1) ^ 2; z += ($5 / $4 - 1) ^ 2; l += ($7 / $4 - 1) ^ 2
	}
	END { printf "relative RMS error of %d: graph %.1f %%, as without %.1f %%, " \
		"linear %.1f %%\n", n, 100 * sqrt(g / n), 100 * sqrt(z / n),
		100 * sqrt(l / n) }'
}

validate_tolerance() {
	make -s BUILD="$BUILD" "$BUILD/trace_time"
	rm -f "$BUILD"/tolerance.*
	cluster up --leaves 1 --nodes-per-leaf 2 --leaf-mbit 4000 --nic-mbit 1000 \
		--netprof "$BUILD"
	mpicc.openmpi -O1 -o "$(shared)/overlap" t/mpi/overlap.c
	tolerance_inputs
	wide_windows
	measure_programs
	echo "date $(date +%F); $RUNS runs of each, from $BASE us on; $(nproc)" \
		"processors, load $(cut -d' ' -f1 /proc/loadavg)"
	echo "program    added   measured     graph   error   as without   linear   of it computing"
	cases | tee "$BUILD/tolerance.cases" | table_of_cases
	cluster down
}
