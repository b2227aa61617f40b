# Are MPI calls and bytes equally good measures of a program's progress? Programs of
# onerun.sh, each run once for two minutes with measurement intervals and a trace.
# Three minutes each.
# shellcheck shell=bash

CALLS_PROGRAMS=${CALLS_PROGRAMS-"melt couette waveguide water"}

validate_calls() {
	local a

	# shellcheck source=t/validate.d/accuracy.sh
	. "$ROOT/t/validate.d/accuracy.sh"
	# shellcheck source=t/validate.d/onerun.sh
	. "$ROOT/t/validate.d/onerun.sh"
	cluster up --leaves 1 --nodes-per-leaf 8 --leaf-mbit "$LEAF_MBIT" \
		--own-cpus --netprof "$BUILD"
	onerun_inputs
	echo "date $(date +%F)"
	for a in $CALLS_PROGRAMS; do
		onerun_once "$a" --netprofile-trace
		inside -- netprof show --json "$a.one" | jq -r '.app + ": " +
			(.intervals | "\(.loaded) intervals, by \(.by), apart " +
			"\((.apart // nan) * 1000 | round / 10) %: \(.text)")'
		calls_scatter "$a"
	done
	cluster down
}

# Standard deviation of the log rate in intervals without load, by both measures.
calls_scatter() { # NAME
	jq -r '[.blocks[] | select(.level == null)] as $b |
		def sd: map(log) | (add / length) as $m |
			map((. - $m) * (. - $m)) | add / (length - 1) | sqrt;
		def pct: . * 1000 | round / 10;
		"  alone, \($b | length) intervals scatter: bytes " +
		"\([$b[].rate] | sd | pct) %, calls \([$b[].calls] | sd | pct) %"' \
		"$(rundir)/store/users/20001/$1.one"/*.json
}
