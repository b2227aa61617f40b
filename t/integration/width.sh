# Wide flagged steps on 64 nodes: `t/validate width` for one minute, and jobs that are
# cancelled while their steps begin.
# shellcheck source=t/width.lib
. "$ROOT/t/width.lib"
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"

SUITE_CLUSTER=("${WIDTH_CLUSTER[@]}" --netprof "$BUILD")
LIMIT_SEC=600
PARALLEL=130
WIDTH_AFTER_MS=200 # as t/cluster sets it
# Cancel only steps that have started: of those cancelled earlier, flagged or not, Slurm
# keeps one in eight for a minute, which `t/validate width` counts.
WIDTH_CANCEL=stop

# doc/developer/carrier.md describes the results with a helper step next to each wide step.
test_wide_flagged_steps_end_like_unflagged_ones() {
	local bad

	WIDTH_SEC=500 width_measure 24 3 "$RANDOM" "$TMPDIR"
	width_table "$TMPDIR/results" "$TMPDIR/completing"
	bad=$(awk '$3 == "plain" && $5 != 0 || $3 == "crash" && $5 != 3 ||
		$7 == "-"' "$TMPDIR/results")
	[ -z "$bad" ] || fail "failed launches: $bad"
	equal "results" "$(grep -c ' [-f] ' "$TMPDIR/results")" 24
	# The plan may have no flagged step that lives long enough, above all where launches
	# take seconds.
	if width_unrecorded "$TMPDIR/results" 2>/dev/null | grep -q ': 0, missing 0$'; then
		echo "16 60 plain 0" >"$TMPDIR/plan"
		width_run "$TMPDIR/plan" 2 >>"$TMPDIR/results"
	fi
	wait_for settled
	width_unrecorded "$TMPDIR/results" | grep -q ': [1-9][0-9]*, missing 0$' ||
		fail "$(width_unrecorded "$TMPDIR/results" 2>&1)"
	wait_for none_completes
	[ -z "$(width_nodes)" ] || fail "$(width_nodes)"
	# Ten seconds: the maximum of unflagged steps on a busy machine; twice theirs if those
	# of today take long. What a step leaves behind keeps its nodes for a minute.
	bad=$(awk 'NR == FNR { how[$7] = $4; next }
		how[$1] == "-" { plain = $2 > plain ? $2 : plain; next }
		{ late[$1] = $2 }
		END {
			limit = plain > 5000 ? 2 * plain : 10000
			for (j in late) if (late[j] > limit) print j, late[j], limit
		}' \
		"$TMPDIR/results" "$TMPDIR/completing")
	[ -z "$bad" ] || fail "completing, ms, and limit: $bad"
}

# Kill the step daemons that still wait on these nodes for others that never started, as
# an administrator would: slurmd then reports that the job is gone.
free_nodes() { # NODES
	local node

	for node in $(inside scontrol show hostnames "$1"); do
		inside --user root --on "$node" -- sh -c 'for i in $(seq 300); do
				pgrep netprof-agent >/dev/null || break; sleep 0.1; done
			! pgrep -l netprof-agent || exit 1
			pkill -9 -x slurmstepd || :' ||
			fail "$node: netprof keeps the job, not Slurm"
	done
}

none_completes() { prints_nothing inside squeue -h -t CG -o %i; }

# Unlikely by chance: less than 1 in 1000 if both kinds have the same odds.
# Exact test of Fisher: the chance that of the U + F jobs at least F are flagged.
is_excess() { # F U PAIRS
	awk -v f="$1" -v u="$2" -v n="$3" '
		function choose(n, k,  c, i) {
			c = k >= 0 && k <= n
			for (i = 1; i <= k; i++)
				c *= (n - k + i) / i
			return c
		}
		BEGIN {
			for (i = f; i <= f + u; i++)
				p += choose(n, i) * choose(n, f + u - i) / choose(2 * n, f + u)
			exit !(p < 0.001)
		}'
}

# Slurm itself keeps one in eight of such jobs, flagged or not, for a minute or more
# (doc/developer/carrier.md). Therefore a flagged job and one that is not begin at once, on
# half of the nodes each, and are cancelled at the same time.
test_jobs_cancelled_as_their_steps_begin_end_as_unflagged_ones() {
	local i turn turns=10 job nodes how flagged=0 others=0

	is_excess 8 0 10 && ! is_excess 6 0 10 && ! is_excess 10 5 10 ||
		fail "the test itself"
	for ((turn = 0; turn < turns; turn++)); do
		echo "32 20 cancel 0.$((RANDOM % 8))" >"$TMPDIR/plan"
		LEVEL_EVERY=100 width_run "$TMPDIR/plan" 2 >"$TMPDIR/results"
		equal "jobs" "$(grep -c ' cancel [-f] .* [0-9][0-9]*$' "$TMPDIR/results")" 2
		for ((i = 0; i < 20; i++)); do
			! none_completes || break
			sleep 0.3
		done
		inside squeue -h -t CG -o '%i %N' >"$TMPDIR/kept"
		while read -r job nodes <&3; do
			how=$(awk -v job="$job" '$7 == job { print $4 }' "$TMPDIR/results")
			[ "$how" = f ] && flagged=$((flagged + 1)) || others=$((others + 1))
			free_nodes "$nodes"
		done 3<"$TMPDIR/kept"
		wait_for none_completes
	done
	[ -z "$(width_nodes)" ] || fail "$(width_nodes)"
	! is_excess "$flagged" "$others" "$turns" ||
		fail "kept: flagged $flagged, not flagged $others of $turns each"
}
