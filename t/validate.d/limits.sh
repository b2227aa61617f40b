# What users can accumulate in slurmctld, and its cost there:
#
#	lists	memory of slurmctld with LIMITS_JOBS (1000) pending jobs, each with
#		60 kB of excluded nodes, without netprof and with it
#	array	how long a decision takes, and another user's job waits for its
#		start, while somebody changes an array of LIMITS_TASKS (600)
#		records four times a second
#
# LIMITS_PARTS selects parts.
# shellcheck shell=bash disable=SC2016 # for a shell inside

LIMITS_JOBS=${LIMITS_JOBS:-1000}
LIMITS_TASKS=${LIMITS_TASKS:-600}
LIMITS_SEC=${LIMITS_SEC:-60}
LIMITS_LIST_BYTES=60000

validate_limits() {
	local part
	# shellcheck source=t/validate.d/placement.sh
	. "$ROOT/t/validate.d/placement.sh"
	printf '%s\n' MaxJobCount=20000 MaxArraySize=2000 >"$BUILD/placement.slurm.conf"
	echo "limits: date $(date +%F)"
	for part in ${LIMITS_PARTS:-lists array}; do
		"limits_$part"
	done
}

limits_kb() {
	inside --user root sh -c 'cat /proc/$(pgrep -o -x slurmctld)/status' |
		awk '$1 == "VmRSS:" { print $2 }'
}

# COUNT: submit held jobs, each with a list of its own.
limits_submit() {
	INSIDE_SEC=3000 inside bash -c '
		list=$(printf "n[0-3],%.0s" $(seq $(($2 / 7))))
		for ((i = 0; i < $1; i++)); do
			sbatch -Q -H -N1 -o /dev/null --netprofile=fft \
				--exclude="${list}n$((i % 4))" --wrap true >/dev/null
		done' - "$1" "$LIMITS_LIST_BYTES"
}

limits_lists() {
	local plugin before after

	echo '| slurmctld | before, MB | pending jobs with lists | with them, MB | kB a job |'
	echo '|---|---|---|---|---|'
	for plugin in no yes; do
		PLACEMENT_PLUGIN=$plugin with_placement_cluster
		limits_submit 10 # the memory of the first jobs is not counted
		sleep 5
		before=$(limits_kb)
		limits_submit "$LIMITS_JOBS"
		sleep 10 # some decisions
		after=$(limits_kb)
		awk -v p="$plugin" -v b="$before" -v a="$after" -v n="$LIMITS_JOBS" \
			'BEGIN { printf "| %s | %.0f | %d | %.0f | %.0f |\n",
				p == "yes" ? "with netprof" : "without",
				b / 1024, n, a / 1024, (a - b) / n }'
		cluster down
	done
}

# Print the times of decisions, and from submission to the end of a job, as lines
# "decision MS" and "job MS".
limits_watch() {
	INSIDE_SEC=$((LIMITS_SEC + 60)) inside --user bob bash -c '
		end=$((SECONDS + $1))
		while ((SECONDS < end)); do
			netprof status --json | jq -r "\"decision \(1000 * .decide_sec)\""
			a=${EPOCHREALTIME/./}
			id=$(sbatch --parsable -N1 -o /dev/null --wrap true)
			while squeue -h -j "$id" 2>/dev/null | grep -q .; do
				sleep 0.05
			done
			echo "job $(((${EPOCHREALTIME/./} - a) / 1000))"
		done' - "$LIMITS_SEC"
}

limits_row() { # WHAT, of limits_watch
	awk -v what="$1" '{ v[$1, ++n[$1]] = $2; s[$1] += $2; if ($2 > m[$1]) m[$1] = $2 }
		END { printf "| %s | %.0f | %.0f | %.0f | %.0f | %d |\n", what,
			s["decision"] / n["decision"], m["decision"],
			s["job"] / n["job"], m["job"], n["job"] }'
}

limits_array() {
	local id

	with_placement_cluster
	store_is_read
	id=$(inside sbatch --parsable -H -N1 -o /dev/null --netprofile=fft \
		--array=1-"$LIMITS_TASKS" --wrap true)
	INSIDE_SEC=1000 inside bash -c 'for ((i = 1; i <= $2; i++)); do
		scontrol update jobid="$1_$i" comment=own; done' - "$id" "$LIMITS_TASKS"
	echo '| array of records | decision, ms | at most | a job of another user, ms | at most | n |'
	echo '|---|---|---|---|---|---|'
	limits_watch | limits_row "unchanged"
	INSIDE_SEC=$((LIMITS_SEC + 60)) inside bash -c 'while :; do
		scontrol update jobid="$1" excnodelist="n$((RANDOM % 8))"
		sleep 0.25; done' - "$id" &
	limits_watch | limits_row "changed four times a second"
	kill $!
	wait $! 2>/dev/null || :
	cluster down
}
