# Does netprof simulate start jobs when and where Slurm does? The same jobs are
# submitted to a running slurmctld and replayed, with placement off and on; they
# only sleep, so that run times do not depend on neighbours. A second queue, of jobs
# that hardly wait, shows whether the simulation chooses the same nodes.
# shellcheck shell=bash disable=SC2046,SC2086 # lists of words

SIMULATE_JOBS=${SIMULATE_JOBS:-300}
SIMULATE_MODES=${SIMULATE_MODES-"off enforce"}
SIMULATE_SEED=${SIMULATE_SEED:-1}
SIMULATE_SPARSE=${SIMULATE_SPARSE:-45} # jobs that hardly wait

# Lines "WAIT NAME NODES SEC"; WAIT is the time since the previous submission.
simulate_queue() {
	awk -v seed="$SIMULATE_SEED" -v n="$SIMULATE_JOBS" 'BEGIN {
		srand(seed)
		split("fft fft halo halo none", app, " ")
		for (i = 0; i < n; i++)
			print (rand() < .5 ? 0 : int(3 * rand())), \
				app[int(1 + 5 * rand())], \
				int(1 + (rand() < .1 ? 8 : 3) * rand()), \
				int(1 + 9 * rand())
	}'
}

# The same of jobs for which two thirds of the nodes suffice, so that they hardly wait.
# Each ends between two starts: which nodes are free at a start does not depend on
# tenths of seconds.
simulate_sparse_queue() {
	awk -v seed="$SIMULATE_SEED" -v n="$SIMULATE_SPARSE" 'BEGIN {
		srand(seed)
		for (i = 0; i < n; i++)
			print 4, "none", int(1 + 5 * rand()), 4 * int(1 + 5 * rand()) + 1
	}'
}

# Submit all of them; print their numbers, one on each line.
simulate_submit() { # <QUEUE
	INSIDE_SEC=1200 inside bash -c '
		while read -r wait app nodes sec; do
			[ "$wait" = 0 ] || sleep "$wait"
			sbatch --parsable -N"$nodes" --exclusive -t 1 -o /dev/null \
				-J "$app" --netprofile="$app" --wrap "sleep $sec"
		done'
}

# The log in the format of sacct, followed by the nodes.
simulate_log() { # ID...
	inside env SLURM_TIME_FORMAT=%s scontrol -o show jobs |
		awk -v ids="$*" -v OFS='|' 'BEGIN {
			n = split(ids, id, " ")
			for (i = 1; i <= n; i++)
				want[id[i]]
			print "JobID", "JobName", "Submit", "Start", "End", \
				"ElapsedRaw", "TimelimitRaw", "NNodes", "NCPUS", \
				"State", "NodeList"
		}
		{
			split("", v)
			for (i = 1; i <= NF; i++) {
				eq = index($i, "=")
				v[substr($i, 1, eq - 1)] = substr($i, eq + 1)
			}
			if (!(v["JobId"] in want))
				next
			sec = v["EndTime"] - v["StartTime"]
			sub(/-.*/, "", v["NumNodes"])
			print v["JobId"], v["JobName"], v["SubmitTime"], \
				v["StartTime"], v["EndTime"], sec < 1 ? 1 : sec, 1, \
				v["NumNodes"], 4 * v["NumNodes"], v["JobState"], \
				v["NodeList"]
		}'
}

# LOG EVENTS: print how starts, leaves and nodes differ, in one line.
simulate_judge() {
	awk -F'|' '
		function groups(list, per, of,    k, n, part, range) {
			gsub(/[n\[\]]/, "", list)
			n = split(list, part, ",")
			for (k = 1; k <= n; k++) {
				if (split(part[k], range, "-") < 2)
					range[2] = range[1]
				for (; range[1] <= range[2]; range[1]++)
					of[int(range[1] / per)]
			}
		}
		# On the same groups of so many nodes?
		function same(a, b, per,    x, y, k) {
			groups(a, per, x)
			groups(b, per, y)
			for (k in x)
				if (!(k in y))
					return 0
			for (k in y)
				if (!(k in x))
					return 0
			return 1
		}
		FNR == 1 { next }
		NR == FNR { start[$1] = $4; submit[$1] = $3; nodes[$1] = $11; next }
		$2 in start {
			d = $5 - start[$2]
			sum += d
			wait += start[$2] - submit[$2]
			simulated += $5 - submit[$2]
			e[n++] = d < 0 ? -d : d
			alike += same(nodes[$2], $9, 4)
			equal += same(nodes[$2], $9, 1)
		}
		END {
			for (i = 1; i < n; i++)
				for (k = i; k && e[k] < e[k - 1]; k--) {
					t = e[k]; e[k] = e[k - 1]; e[k - 1] = t
				}
			printf "n %d; wait, mean: %.1f s, simulated %.1f s; error of starts, s: " \
				"median %d, 95th percentile %d, mean %+.1f; same leaves: %.0f %%, same nodes: %.0f %%\n", \
				n, wait / n, simulated / n, e[int((n - 1) / 2)], \
				e[int(.95 * (n - 1))], sum / n, 100 * alike / n, 100 * equal / n
		}' "$1" "$2"
}

# MODE NAME: submit the queue NAME of $dir, replay its log and compare the two.
simulate_compare() {
	local sec

	sed -i "s/^Placement=.*/Placement=$1/" "$CONF"
	sleep 6
	simulate_submit <"$dir/$2" >"$dir/ids"
	until [ -z "$(inside squeue -h -o %i)" ]; do
		sleep 1
	done
	simulate_log $(cat "$dir/ids") >"$dir/log.$2.$1"
	for sec in 0 1; do
		NETPROF_CONF=$CONF "$BUILD/netprof" simulate --leaves=4x4 \
			--sacct="$dir/log.$2.$1" --cpus-per-node=4 \
			--policy="$1" --bf-interval=2 --completing=$sec \
			--fixed-run-times --events="$dir/events.$2.$1" >"$dir/page"
		echo "$2, $1, completing $sec s:" \
			"$(simulate_judge "$dir/log.$2.$1" "$dir/events.$2.$1")"
	done
}

validate_simulate() {
	local mode dir=$BUILD/simulate

	mkdir -p "$dir"
	echo MinJobAge=3600 >"$dir/slurm.conf"
	printf '%s\n' Placement=off PlacementInterval=500ms 'Claim=*:all' >"$dir/conf"
	cluster up --netprof "$BUILD" --netprof-conf "$dir/conf" \
		--slurm-conf-extra "$dir/slurm.conf" --leaves 4 --nodes-per-leaf 4
	# shellcheck source=t/integration/placement.lib
	. "$ROOT/t/integration/placement.lib"
	give_store
	simulate_queue >"$dir/full"
	simulate_sparse_queue >"$dir/sparse"
	echo "simulate: date $(date +%F); full: $SIMULATE_JOBS jobs on 4 leaves of 4 nodes," \
		"each 1 to 9 nodes for 1 to 10 s; sparse: $SIMULATE_SPARSE jobs of 1 to 5" \
		"nodes for 5 to 21 s, every 4 s; bf_interval 2 s"
	simulate_compare off sparse
	for mode in $SIMULATE_MODES; do
		simulate_compare "$mode" full
	done
	cluster down
}
