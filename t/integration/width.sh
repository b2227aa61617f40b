# Wide flagged steps on 64 nodes: a minute of what `t/validate width` does.
# shellcheck source=t/width.lib
. "$ROOT/t/width.lib"

SUITE_CLUSTER=("${WIDTH_CLUSTER[@]}" --netprof "$BUILD")
LIMIT_SEC=170
BESIDE=110
WIDTH_AFTER_MS=200 # as t/cluster sets it
# When steps are up: of those cancelled before, flagged or not, Slurm keeps one in
# eight for a minute, which `t/validate width` counts side by side.
WIDTH_CANCEL_SEC=8

# What happened with a step of ours beside each wide step: doc/developer/carrier.md.
test_wide_steps_that_are_flagged_end_as_others_do() {
	local bad

	WIDTH_SEC=120 width_measure 24 3 "$RANDOM" "$TMPDIR"
	width_table "$TMPDIR/results" "$TMPDIR/completing"
	bad=$(awk '$3 == "plain" && $5 != 0 || $3 == "crash" && $5 != 3 ||
		$7 == "-"' "$TMPDIR/results")
	[ -z "$bad" ] || fail "failed launches: $bad"
	equal "results" "$(grep -c ' [-f] ' "$TMPDIR/results")" 24
	width_unrecorded "$TMPDIR/results" | grep -q 'missing 0$' ||
		fail "$(width_unrecorded "$TMPDIR/results" 2>&1)"
	[ -z "$(width_nodes)" ] || fail "$(width_nodes)"
	# ten seconds: what unflagged steps of a busy machine take at the most
	bad=$(awk '$2 > 10000' "$TMPDIR/completing")
	[ -z "$bad" ] || fail "completing, ms: $bad"
}
