# Wide flagged steps on 64 nodes: `t/validate width` for one minute.
# shellcheck source=t/width.lib
. "$ROOT/t/width.lib"

SUITE_CLUSTER=("${WIDTH_CLUSTER[@]}" --netprof "$BUILD")
LIMIT_SEC=170
BESIDE=110
WIDTH_AFTER_MS=200 # as t/cluster sets it
# Cancel only steps that have started: of those cancelled earlier, flagged or not, Slurm
# keeps one in eight for a minute, which `t/validate width` counts.
WIDTH_CANCEL_SEC=8

# doc/developer/carrier.md describes the results with a helper step beside each wide step.
test_wide_flagged_steps_end_like_unflagged_ones() {
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
	# ten seconds: the maximum of unflagged steps on a busy machine
	bad=$(awk '$2 > 10000' "$TMPDIR/completing")
	[ -z "$bad" ] || fail "completing, ms: $bad"
}
