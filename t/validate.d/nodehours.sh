# Does netprof simulate predict how many node-hours real programs use? Twelve MPI
# jobs are run by Slurm with placement off and on, and the same queue is simulated,
# with the times that the programs take alone on their leaf switch and with
# predictions from the cluster's own calibration and one profiling run of each
# program. Half an hour.
#
# Jobs have two nodes and links are slow, because all nodes share two processors: with
# twice as many ranks, or links that are twice as fast, programs on different leaf
# switches slow each other as well.
#
# The results go to doc/validation/simulate.md.
# shellcheck shell=bash disable=SC2046,SC2086 # lists of words
. t/validate.d/placement.sh

NODEHOURS_PROGRAMS=${NODEHOURS_PROGRAMS-"melt couette crack waveguide"}
NODEHOURS_EACH=${NODEHOURS_EACH:-3}
NODEHOURS_ALONE=${NODEHOURS_ALONE:-2} # runs of each program alone
NODEHOURS_LIMIT=${NODEHOURS_LIMIT:-30%}
NODEHOURS_SEED=${NODEHOURS_SEED:-1}
NODEHOURS_LONGER=${NODEHOURS_LONGER:-5} # multiple of a job's run, for its profile

# An input of PROGRAM that runs longer, in its directory PROGRAM.longer.
nodehours_longer() {
	inside -- bash -c 'rm -rf "$1.longer" && cp -r "$1" "$1.longer" && sed -Ei \
		"s/^(run +|\(run-until )([0-9]+)(.*)/echo \"\1\$((\2 * $2))\3\"/e" "$1.longer/in"' \
		- "$1" "$NODEHOURS_LONGER"
}

# Make the profiles as a user would: calibrate, then one run of each program, with
# free nodes for the levels.
nodehours_profiles() {
	local p

	INSIDE_SEC=1800 inside --user root -- salloc -Q -N4 -w 'n[0-3]' --exclusive \
		netprof calibrate --repeats=1 --seconds=2 >/dev/null
	for p in $(queue_kinds); do
		nodehours_longer "$p"
		INSIDE_SEC=900 inside -- salloc -Q -N4 -w 'n[0-3]' --exclusive bash -c \
			"cd $p.longer && srun -Q -N2 -n2 -w 'n[0-1]' --overlap --mpi=pmix \
			--netprofile=$p --netprofile-calibrate $(program "$p")" >/dev/null
	done
	sleep 1
}

# All programs in turn, until the job is cancelled.
nodehours_busy_script() {
	local p

	echo '#!/bin/bash'
	echo 'while :; do'
	for p in $(queue_kinds); do
		echo "cd ~/$p; $(queue_command "$p") >/dev/null 2>&1"
	done
	echo done
}

nodehours_idle() {
	[ -z "$(inside squeue -h -o %i)" ]
}

# Each program alone on its leaf switch. The other one is full, as in the queue:
# all nodes here share two processors, whichever switch they are connected to.
nodehours_alone() {
	local p i n busy=

	rm -f "$(shared)/ran"
	nodehours_busy_script | inside -- sh -c 'cat >busy.sh'
	for n in 'n[4-5]' 'n[6-7]'; do
		busy="$busy $(inside sbatch --parsable -N2 --exclusive -w "$n" \
			-o /dev/null busy.sh)"
	done
	for ((i = 0; i < NODEHOURS_ALONE; i++)); do
		for p in $(queue_kinds); do
			INSIDE_SEC=300 inside sbatch -Q -W -N2 --exclusive -w 'n[0-1]' \
				-J "$p" -o /dev/null "$p/job.sh"
		done
	done
	inside scancel $busy
	wait_for 60 nodehours_idle
	cat "$(shared)/ran"
}

# A log in the format of sacct of jobs that run as long as alone. Its times are
# tenths of seconds, because programs of a quarter of a minute would be rounded by
# some per cent in whole seconds.
nodehours_log() { # ALONE PROGRAM...
	echo "JobID|JobName|Submit|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|State"
	awk -v jobs="${*:2}" '$2 != "submitted" { s[$2] += $4 - $3; n[$2]++ }
		END {
			k = split(jobs, job, " ")
			for (i = 1; i <= k; i++)
				printf "%d|%s|1000|%.0f|600|2|8|COMPLETED\n", i, \
					job[i], 10 * s[job[i]] / n[job[i]]
		}' "$1"
}

# MODE: the simulation as JSON.
nodehours_simulate() { # <LOG
	inside -- sh -c 'cat >log && netprof simulate --sacct=log --cpus-per-node=4 \
		--policy="$1" --set=MaxSlowdown="$2" --set=PlacementInterval=2s \
		--set=MaxDefer=10h --bf-interval=20 --completing=10 --json' - "$1" "$NODEHOURS_LIMIT"
}

# Node-hours that the jobs of a queue used and seconds until the last one ended, with
# those of the simulation.
nodehours_of() { # MODE RAN JSON
	awk -v mode="$1" -v simulated="$(jq -r '.policies[0] |
		"\(.used_node_sec / 36000) \(.makespan_sec / 10)"' "$3")" '
		$2 == "submitted" { from = $3; next }
		{ hours += 2 * ($4 - $3) / 3600; if ($4 > to) to = $4 }
		END {
			split(simulated, by, " ")
			printf "%s: %.3f node-hours, simulated %.3f (%+.1f %%); " \
				"%.0f s, simulated %.0f s\n", mode, hours, by[1], \
				100 * (by[1] / hours - 1), to - from, by[2]
		}' "$2"
}

validate_nodehours() {
	local QUEUE_PROGRAMS=$NODEHOURS_PROGRAMS QUEUE_EACH=$NODEHOURS_EACH
	local QUEUE_LIMIT=$NODEHOURS_LIMIT QUEUE_NODES=2
	local p mode dir=$BUILD/nodehours order

	rm -rf "$dir"
	mkdir -p "$dir"
	queue_cluster --own-cpus --nodes-per-leaf 4 --leaf-mbit 25 --nic-mbit 10
	for p in $(queue_kinds); do
		queue_script "$p"
	done
	nodehours_profiles
	nodehours_alone >"$dir/alone"
	order=$(queue_order "$NODEHOURS_SEED")
	for mode in off enforce; do
		placement_mode "$mode"
		run_queue $order >"$dir/$mode"
		nodehours_log "$dir/alone" $order | nodehours_simulate "$mode" >"$dir/$mode.json"
	done
	inside netprof matrix >"$dir/matrix"
	cluster down
	echo "nodehours: date $(date +%F); $(wc -w <<<"$order") jobs of 2 nodes on 2 leaves of" \
		"4, limit $NODEHOURS_LIMIT; alone: n $NODEHOURS_ALONE of each program"
	cat "$dir/matrix"
	queue_table "$dir/alone" "$dir/off" "$dir/enforce"
	for mode in off enforce; do
		nodehours_of "$mode" "$dir/$mode" "$dir/$mode.json"
	done
}
