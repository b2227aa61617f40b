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

test_comparisons_are_as_agreed() {
	setup_measured
	golden compare-run.txt netprof compare fft:4000
	golden compare-newest.txt netprof compare lammps
	golden compare-several.txt netprof compare fft:4000 fft:3001 halo fft
	golden compare.json netprof compare --json fft:4000 lammps
	golden compare.parsable netprof compare -P fft:4000 lammps
	equal "fields" "$(netprof compare -P fft halo serial lammps:1302 |
		awk -F'|' '{ print NF }' | sort -u)" 30
	LC_ALL=C netprof compare fft:4000 halo lammps qmc serial >"$S/page"
	between "columns" "$(wc -L <"$S/page")" 60 80
	! grep ' $' "$S/page" || fail "blanks at the end"
}

# Another run of fft, changed by a filter of jq: job 4100, the newest.
slow_run() { # FILTER
	local fft=$S/store/users/$MY_UID/fft
	jq -c ".job_id = 4100 | .start = 1718500000 | .end = 1718500084 | $1" \
		"$fft"/*-3001.0.json >"$fft/20240616T010640Z-hpc-4100.0.json"
}

test_a_comparison_tells_what_was_different() {
	local filter wanted
	setup
	while IFS=';' read -r filter wanted; do
		slow_run "$filter"
		contains "$filter" "$(netprof compare fft)" \
			'^fft:4100.0 took 84.0 s, 40 % longer than fft alone \(60.0 s, n 2\)'
		equal "$filter" "$(netprof compare fft | sed -n 2p)" "$wanted"
	done <<-END
		.;Nothing else that is recorded differs.
		.nodes = "n[4-7]";Different: the nodes.
		.ucx_version = "1.20.0";Different: UCX.
		.n_tasks = 64 | .fingerprint = "0badf00d";Different: the number of tasks, the command.
		del(.slurm_version);Nothing else that is recorded differs.
	END
}

test_a_comparison_does_not_take_chance_for_a_cause() {
	setup
	slow_run '.end = 1718500062'
	contains "three percent" "$(netprof compare fft)" \
		'^fft:4100.0 took 62.0 s, 3 % longer than fft alone .60.0 s, n 2., which may be$'
	slow_run '.exit_code = 1'
	equal "it failed" "$(netprof compare fft | head -n 2)" \
		"$(printf '%s\n' 'Run times of fft cannot be compared: fewer than two of these are known.' \
			'Different: the exit code.')"
}

test_a_run_to_compare_is_found_or_it_is_said() {
	setup_measured
	cp "$S/store/users/$MY_UID/fft"/*-4000.0.json "$S/step"
	jq -c '.step_id = 1' "$S/step" \
		>"$S/store/users/$MY_UID/fft/20240612T084820Z-hpc-4000.1.json"
	run netprof compare fft:77
	equal "none" "$RC $ERR" '1 netprof: no run "77" of fft; netprof runs fft lists them'
	run netprof compare fft:4000
	contains "two steps" "$ERR" 'has several steps, such as 4000\.[01] and 4000\.[01]: expected one$'
	run netprof compare fft:4000.1
	equal "one of them" "$RC" 0
	run netprof compare fft:400
	equal "the beginning of a number" "$RC" 1
	run netprof compare fft:
	equal "no number" "$RC" 1
	run netprof compare halo fftt
	contains "a slip" "$ERR" 'did you mean fft'
	run netprof compare "$(printf 'a%.0s' {1..300}):1"
	contains "too long" "$ERR" '^netprof: application name "a*'
}

[ -z "${ALONE-}" ] || run_alone "${BASH_SOURCE[0]}" "$LIMIT_SEC"
