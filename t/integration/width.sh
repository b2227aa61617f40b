# Wide flagged steps on 64 nodes: a minute of what `t/validate width` does.
# shellcheck source=t/width.lib
. "$ROOT/t/width.lib"

SUITE_CLUSTER=("${WIDTH_CLUSTER[@]}" --netprof "$BUILD")
LIMIT_SEC=170
WIDTH_AFTER_MS=200 # as t/cluster sets it

# What happened with a step of ours beside each wide step: doc/carrier.md.  Where
# a job ends while its step begins Slurm may keep nodes for a minute; of jobs
# that are not flagged that is its own matter.
test_wide_steps_that_are_flagged_end_as_others_do() {
	local bad left

	WIDTH_SEC=120 width_measure 24 3 "$RANDOM" "$TMPDIR"
	width_table "$TMPDIR/results" "$TMPDIR/completing"
	bad=$(awk '$3 == "plain" && $5 != 0 || $3 == "crash" && $5 != 3 ||
		$7 == "-"' "$TMPDIR/results")
	[ -z "$bad" ] || fail "failed launches: $bad"
	equal "results" "$(grep -c ' [-f] ' "$TMPDIR/results")" 24
	width_unrecorded "$TMPDIR/results" | grep -q 'missing 0$' ||
		fail "$(width_unrecorded "$TMPDIR/results" 2>&1)"
	left=$(inside squeue -h -t CG -o %i)
	bad=$(awk 'FNR == NR { flagged[$7] = $4 != "-"; next } flagged[$1]' \
		"$TMPDIR/results" - <<<"$left")
	[ -z "$bad" ] || fail "flagged jobs that do not end: $bad"
	[ -n "$left" ] || [ -z "$(width_nodes)" ] || fail "$(width_nodes)"
	# ten seconds: what unflagged steps of a busy machine take at the most
	bad=$(awk 'FNR == NR { flagged[$7] = $4 != "-"; next }
		flagged[$1] && $2 > 10000' "$TMPDIR/results" "$TMPDIR/completing")
	[ -z "$bad" ] || fail "completing, ms: $bad"
}
