# Does netprof simulate predict how many node-hours real programs use?  Twelve MPI
# jobs are run by Slurm with placement off and on, and the same queue is simulated,
# with the times that the programs take alone and with predictions from the
# cluster's own calibration and profiles.  About 15 minutes.
#
# The results go to doc/validation/simulate.md.
# shellcheck shell=bash disable=SC2046,SC2086 # lists of words
. t/validate.d/placement.sh

NODEHOURS_PROGRAMS=${NODEHOURS_PROGRAMS-"melt couette crack waveguide"}
NODEHOURS_EACH=${NODEHOURS_EACH:-3}
NODEHOURS_ALONE=${NODEHOURS_ALONE:-2} # runs of each program alone
NODEHOURS_LIMIT=${NODEHOURS_LIMIT:-30%}
NODEHOURS_SEED=${NODEHOURS_SEED:-1}

# A log in the format of sacct of jobs that run as long as alone.  Its times are
# tenths of seconds, because programs of a quarter of a minute would be rounded by
# some per cent in whole seconds.
nodehours_log() { # ALONE PROGRAM...
	echo "JobID|JobName|Submit|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|State"
	awk -v jobs="${*:2}" '$2 != "submitted" { s[$2] += $4 - $3; n[$2]++ }
		END {
			k = split(jobs, job, " ")
			for (i = 1; i <= k; i++)
				printf "%d|%s|1000|%.0f|600|4|16|COMPLETED\n", i, \
					job[i], 10 * s[job[i]] / n[job[i]]
		}' "$1"
}

# MODE: the simulation as JSON.
nodehours_simulate() { # <LOG
	inside -- sh -c 'cat >log && netprof simulate --sacct=log --cpus-per-node=4 \
		--policy="$1" --set=MaxSlowdown="$2" --set=PlacementInterval=2s \
		--set=MaxDefer=10h --bf-interval=20 --completing=10 --json' - "$1" "$NODEHOURS_LIMIT"
}

# Node-hours that the jobs of a queue used, with those of the simulation:
# "MODE REAL SIMULATED".
nodehours_of() { # MODE RAN JSON
	echo "$1 $(awk '$2 != "submitted" { s += 4 * ($4 - $3) } END { print s / 3600 }' "$2")" \
		"$(jq '.policies[0].used_node_sec / 36000' "$3")"
}

validate_nodehours() {
	local QUEUE_PROGRAMS=$NODEHOURS_PROGRAMS QUEUE_EACH=$NODEHOURS_EACH
	local QUEUE_LIMIT=$NODEHOURS_LIMIT p i mode dir=$BUILD/nodehours order

	rm -rf "$dir"
	mkdir -p "$dir"
	queue_cluster
	for p in $(queue_kinds); do
		queue_script "$p"
	done
	queue_profiles
	for ((i = 0; i < NODEHOURS_ALONE; i++)); do
		for p in $(queue_kinds); do
			run_queue "$p"
		done
	done >"$dir/alone"
	order=$(queue_order "$NODEHOURS_SEED")
	for mode in off enforce; do
		placement_mode "$mode"
		run_queue $order >"$dir/$mode"
		nodehours_log "$dir/alone" $order | nodehours_simulate "$mode" >"$dir/$mode.json"
	done
	inside netprof matrix >"$dir/matrix"
	cluster down
	echo "nodehours: date $(date +%F); $(wc -w <<<"$order") jobs of 4 nodes on 2 leaves of" \
		"8, limit $NODEHOURS_LIMIT; alone: n $NODEHOURS_ALONE of each program"
	cat "$dir/matrix"
	queue_table "$dir/alone" "$dir/off" "$dir/enforce"
	for mode in off enforce; do
		nodehours_of "$mode" "$dir/$mode" "$dir/$mode.json"
	done | awk '{ printf "%s: %.3f node-hours, simulated %.3f (%+.1f %%)\n", $1, $2, $3,
		100 * ($3 / $2 - 1) }'
}
