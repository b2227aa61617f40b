# More than 500 launches on 64 nodes, 2 to 64 nodes wide, alternately flagged and
# unflagged, several at once; some crash, are cancelled, or run into their time limit.
# Then nodes are lost, and jobs are cancelled while their step starts. About 40
# minutes. WIDTH_LAUNCHES, WIDTH_TURNS, WIDTH_CANCELS and WIDTH_SEED change the numbers;
# WIDTH_PARTS=turns selects a part.
# shellcheck shell=bash

. "$ROOT/t/width.lib"
WIDTH_LAUNCHES=${WIDTH_LAUNCHES:-520} WIDTH_SEED=${WIDTH_SEED:-1}

validate_width() {
	local dir part

	dir=$(mktemp -d)
	# The default instead of the tests' shorter one.
	echo ProbeAfter=2s >"$dir/conf"
	WIDTH_AFTER_MS=2000
	cluster up "${WIDTH_CLUSTER[@]}" --netprof "$BUILD" --netprof-conf "$dir/conf"
	echo "date $(date +%F), seed $WIDTH_SEED"
	for part in ${WIDTH_PARTS:-launches turns lost cancels}; do
		"width_$part" "$dir"
	done
	cluster down
	rm -rf "$dir"
}

# DIR: the launches, three at once.
width_launches() {
	width_resume >"$1/drained" &
	local resume=$!
	width_measure "$WIDTH_LAUNCHES" 3 "$WIDTH_SEED" "$1"
	width_limits >>"$1/results"
	sleep 15 # until nodes are idle after a time limit
	width_table "$1/results" "$1/completing"
	width_unrecorded "$1/results"
	echo "nodes drained, down or completing afterwards: $(width_nodes | wc -l)"
	width_nodes
	kill "$resume"
	echo "nodes that Slurm drained and that were put back: $(wc -l <"$1/drained")"
	cat "$1/drained"
}

# DIR: one launch at a time of a program that does nothing, in random order, and the
# processor time of the whole machine, which has no other work.
width_turns() {
	# shellcheck disable=SC2016
	INSIDE_SEC=900 inside -- bash -c '
		work_ms() {
			read -r _ user nice system _ _ irq soft _ </proc/stat
			echo $(((user + nice + system + irq + soft) * 1000 / $1))
		}
		hz=$(getconf CLK_TCK)
		RANDOM=$1
		for ((i = 0; i < $2; i++)); do
			n=$((RANDOM % 63 + 2)) order="- f"
			((RANDOM % 2)) || order="f -"
			for how in $order; do
				flag=
				[ "$how" = - ] || flag=--netprofile=turns
				before=$(work_ms $hz)
				a=${EPOCHREALTIME/./} rc=0
				srun -Q -N$n -n$n $flag --mpi=none true || rc=$?
				b=${EPOCHREALTIME/./}
				sleep 0.2
				echo "$n $i plain $how $rc $(((b - a) / 1000)) $i \
					$(($(work_ms $hz) - before))"
			done
		done' - "$WIDTH_SEED" "${WIDTH_TURNS:-80}" >"$1/turns"
	echo "one launch at a time, of true"
	echo "0 0" >"$1/none"
	width_table "$1/turns" "$1/none"
	awk '{ n[$4]++; sum[$4] += $8 }
		END {
			m = sum["-"] / n["-"]
			printf "processor time of all nodes: %.0f ms a launch, " \
				"flagged %+.1f\n", m, sum["f"] / n["f"] - m
		}' "$1/turns"
}

# Three of each, all at once, a minute and more.
width_limits() {
	local plan

	plan=$(mktemp)
	printf '%s 120 limit 0\n' 8 24 40 >"$plan"
	LEVEL_EVERY=1 width_run "$plan" 9
	rm "$plan"
}

# A node is killed in the middle of a step and started again.
width_lost() {
	local how begin id flag

	for how in - f - f; do
		[ "$how" = - ] && flag='' || flag=--netprofile=lost
		begin=$SECONDS
		id=$(inside sbatch --parsable --no-requeue -N12 -w 'n[0-11]' -o /dev/null \
			--wrap "srun --mpi=none -N12 -n12 $flag sleep 30")
		sleep 6
		cluster kill-node n5
		sleep 1
		cluster start-node n5
		until [ -z "$(inside squeue -h -j "$id" 2>/dev/null)" ] ||
			((SECONDS - begin > 100)); do sleep 0.5; done
		sleep 5
		echo "a node lost, ${flag:-not flagged}: job gone after" \
			"$((SECONDS - begin)) s; nodes that are not idle:" \
			"$(width_nodes | wc -l)"
	done
}

# DIR: jobs that are cancelled while the messages of their launch are on the
# way. A node that receives the end first refuses the launch; the node that
# waits for its report does so for a minute, and is then drained. This is a flaw of
# Slurm, which must not affect flagged jobs more often.
width_cancels() {
	local plan=$1/cancels resume

	awk -v seed="$WIDTH_SEED" -v n="${WIDTH_CANCELS:-80}" 'BEGIN {
		srand(seed)
		for (i = 0; i < n; i++)
			printf "%d 20 cancel %.1f\n", 24 + 41 * rand(), 0.8 * rand()
	}' >"$plan"
	: >"$(shared)/completing.on"
	width_watch "$(shared)/completing" &
	local watch=$!
	width_resume >/dev/null &
	resume=$!
	LEVEL_EVERY=100000 width_run "$plan" 3 >"$plan.results"
	sleep 90
	rm "$(shared)/completing.on"
	wait "$watch"
	kill "$resume"
	echo "cancelled while its step comes up: jobs that completed for over 30 s"
	awk 'FNR == NR { ms[$1] = $2; next }
		{ n[$4]++; long[$4] += ms[$7] > 30000 }
		END {
			printf "not flagged %d of %d, flagged %d of %d\n",
				long["-"], n["-"], long["f"], n["f"]
		}' "$(shared)/completing" "$plan.results"
}

# Resume nodes that Slurm drained, because the rest needs them, and report them.
width_resume() {
	while sleep 4; do
		inside --user root sh -c 'sinfo -h -N -t drained,down -o "%N %E" |
			while read -r n why; do
				scontrol update nodename="$n" state=resume
				echo "# $n: $why"
			done'
	done
}
