# What netprof tells other programs: metrics, comparisons and reports.  Needs no
# cluster; also runs alone:
#
#	[BUILD=build] [GOLDEN=write] bash t/integration/cli_report.sh
# shellcheck shell=bash

if [ -z "${ROOT-}" ]; then # not from t/check
	. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
	ALONE=yes
fi
# shellcheck source=t/integration/cli.lib
. "$ROOT/t/integration/cli.lib"
BESIDE=yes
LIMIT_SEC=60

# How many findings there are is the machine's, and the version ours.
metrics() {
	netprof metrics | sed -E 's/^(netprof_check_findings.*) .*/\1 N/
		s/(netprof_build_info).*/\1{version="V"} 1/'
}

# A run of halo that is being measured, by 4 probes.
running_run() { # SECONDS before now that it was saved
	local halo=$S/store/users/$MY_UID/halo
	jq -c ".job_id = 4002 | .state = \"running\" | del(.exit_code) |
		.start = $NETPROF_NOW - 600 | .end = $NETPROF_NOW - $1" \
		"$(find "$halo" -name '*.json' | sort | head -n 1)" \
		>"$halo/20240612T095000Z-hpc-4002.0.json"
}

test_metrics_are_as_agreed() {
	setup
	running_run 5
	golden metrics.prom metrics
}

# As a parser of OpenMetrics has it: every sample in its family, once, and all
# of a family together; and what a unit is called is what the name ends in.
test_metrics_are_openmetrics() {
	setup
	jq -c '.leaves[0].name = "a\"b\\c\nd\u202ee"' \
		"$ROOT/t/data/placement/state.json" >"$S/store/placement/state.json"
	netprof metrics >"$S/metrics"
	awk '/^# EOF$/ { ended = NR; next }
		/^# TYPE netprof_[a-z_]+ gauge$/ { family = $3; new = !($3 in all); all[$3]; next }
		/^# UNIT / && $3 == family && $3 ~ "_" $4 "$" { next }
		/^# HELP / && $3 == family && /\.$/ { next }
		/^netprof_[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? -?[0-9.e+-]+$/ {
			name = $1; sub(/[{].*/, "", name)
			key = $0; sub(/ [^ ]*$/, "", key)
			if (new && name == family && !(key in seen)) { seen[key]; n++; next }
		}
		{ print "why: line " NR ": " $0; bad = 1 }
		END { exit bad || ended != NR || n < 40 }' "$S/metrics"
	contains "a hostile leaf" "$(cat "$S/metrics")" \
		'^netprof_leaf_jobs\{leaf="a\\"b\\\\c\?d\?e"\} 2$'
	is_plain "$S/metrics"
}

test_probes_count_while_their_run_is_saved() {
	setup
	probes() { netprof metrics | sed -n 's/^netprof_prob[a-z_]* //p' | xargs; }
	equal "none" "$(probes)" "0 0"
	running_run 5
	equal "one step" "$(probes)" "1 4"
	running_run 70
	equal "its writer has died" "$(probes)" "0 0"
}

test_without_a_decision_there_are_metrics_all_the_same() {
	setup
	without() {
		run netprof metrics
		equal "exit status" "$RC" 0
		contains "it is said" "$OUT" '^netprof_placement_snapshot_readable 0$'
		[[ $OUT != *placement_acting* ]] || fail "it acts"
		equal "the end" "$(tail -n 1 "$S/out")" "# EOF"
	}
	echo '{' >"$S/store/placement/state.json"
	without
	contains "what is damaged" "$ERR" '^netprof: state.json: '
	rm "$S/store/placement/state.json"
	without
	equal "nothing is wrong" "$ERR" ""
	NETPROF_STORE=/nonexistent without
	contains "without a store" "$OUT" 'findings\{result="problem"\} [1-9]'
}

test_a_file_of_metrics_is_never_seen_in_part() {
	local inode
	setup
	mkdir "$S/out.d"
	(umask 077; netprof metrics -o "$S/out.d/netprof.prom")
	equal "mode" "$(stat -c %a "$S/out.d/netprof.prom")" 644
	inode=$(stat -c %i "$S/out.d/netprof.prom")
	(cd "$S/out.d" && netprof metrics --output=netprof.prom)
	[ "$(stat -c %i "$S/out.d/netprof.prom")" != "$inode" ] ||
		fail "it was written in place"
	equal "files" "$(ls -A "$S/out.d")" netprof.prom
	equal "its end" "$(tail -n 1 "$S/out.d/netprof.prom")" "# EOF"
	run netprof metrics -o "$S/nowhere/netprof.prom"
	equal "no directory" "$RC $ERR" \
		"1 netprof: cannot write $S/nowhere/netprof.prom: No such file or directory"
	run netprof metrics -o /dev/null
	equal "a device" "$RC $ERR" \
		"1 netprof: cannot write /dev/null: expected a regular file, or none"
	run netprof metrics -o "$S/out.d"
	contains "a directory" "$ERR" 'out.d: Is a directory$'
	[ -c /dev/null ] || fail "/dev/null is no device any more"
}

test_a_dashboard_shows_what_there_is() {
	local dashboard="$ROOT/etc/netprof-grafana.json" name
	setup
	netprof metrics | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | sort >"$S/there"
	jq -r '[.. | .expr?, .query? | strings] | unique | .[]' "$dashboard" |
		grep -o 'netprof_[a-z_]*' | sort -u >"$S/asked"
	[ "$(wc -l <"$S/asked")" -ge 20 ] || fail "no queries are found"
	equal "not there" "$(comm -13 "$S/there" "$S/asked" | xargs)" ""
	# A condition on a label, which nothing would meet if it were misspelt.
	netprof metrics >"$S/metrics"
	for name in $(jq -r '.. | .expr? | strings' "$dashboard" |
		grep -o ',[a-z]*="[a-z]*"' | tr -d ,); do
		grep -qF "$name" "$S/metrics" || fail "no sample has $name"
	done
	equal "panels with one number" "$(jq '[.panels[].id] | length - (unique | length)' \
		"$dashboard")" 0
}

[ -z "${ALONE-}" ] || run_alone "${BASH_SOURCE[0]}" "$LIMIT_SEC"
