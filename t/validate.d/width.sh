# Over 500 launches on 64 nodes, 2 to 64 wide, flagged and not in turn, several
# at once; some crash, are cancelled, or run into their time limit; then nodes
# are lost.  Some 40 minutes.  WIDTH_LAUNCHES and WIDTH_SEED choose others.
# shellcheck shell=bash

. "$ROOT/t/width.lib"
WIDTH_LAUNCHES=${WIDTH_LAUNCHES:-520} WIDTH_SEED=${WIDTH_SEED:-1}

validate_width() {
	local dir

	dir=$(mktemp -d)
	# The default, and not the tests' shorter one.
	echo ProbeAfter=2s >"$dir/conf"
	WIDTH_AFTER_MS=2000
	cluster up "${WIDTH_CLUSTER[@]}" --netprof "$BUILD" --netprof-conf "$dir/conf"
	echo "date $(date +%F), seed $WIDTH_SEED, three at once"
	width_measure "$WIDTH_LAUNCHES" 3 "$WIDTH_SEED" "$dir"
	width_limits >>"$dir/results"
	sleep 15 # what nodes take to be idle after a time limit
	width_table "$dir/results" "$dir/completing"
	width_unrecorded "$dir/results"
	echo "nodes drained, down or completing afterwards: $(width_nodes | wc -l)"
	width_nodes
	[ -z "${WIDTH_KEEP-}" ] || cp "$dir"/{results,completing} "$WIDTH_KEEP"
	width_lost
	cluster down
	rm -rf "$dir"
}

# Three of each, all at once, a minute and more.
width_limits() {
	local plan

	plan=$(mktemp)
	printf '%s 120 limit 0\n' 8 24 40 >"$plan"
	LEVEL_EVERY=1 width_run "$plan" 9
	rm "$plan"
}

# A node's plug is pulled in the middle of a step, and put in again.
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
