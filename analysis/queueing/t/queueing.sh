# Queueing networks: netprof qn and netprof scale.
# Needs no cluster; also runs alone: [BUILD=build] bash analysis/queueing/t/queueing.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/../../../t/integration/cli.lib"
PARALLEL=35

in_data() {
	setup
	cp "$ROOT"/t/data/web.json "$ROOT"/t/data/two-classes.json \
		"$ROOT"/t/data/mpip/*.mpiP "$S"
	cd "$S" || exit
}

# Two classes at four servers and at a station of several speeds.
farm() {
	cat >farm.json <<-'END'
		{ "format": "netprof-qn", "schema": 1, "classes": [
		    { "name": "users", "customers": 30, "think_sec": 4 },
		    { "name": "batch", "customers": 20 } ],
		  "stations": [
		    { "name": "cpu", "kind": "multi-server", "servers": 4,
		      "service_sec": 0.2 },
		    { "name": "tape", "kind": "load-dependent",
		      "service_sec": [0.1, 0.06, 0.08, 0.07] } ] }
	END
}

test_networks_are_printed_as_agreed() {
	in_data
	golden qn.txt netprof qn web.json
	golden qn-classes.txt netprof qn two-classes.json
	golden qn-range.txt netprof qn --customers=1-30:5 web.json
	golden qn-linearizer.txt netprof qn --method=linearizer \
		--customers=batch=10-20:5 two-classes.json
	golden qn.json netprof qn --json --customers=0-1 web.json
	golden qn.parsable netprof qn -P --method=schweitzer two-classes.json
	cat >"$S/open.json" <<-'END'
		{ "format": "netprof-qn", "schema": 1, "name": "requests",
		  "classes": [ { "name": "requests", "arrivals_per_sec": 8 },
		    { "name": "batch", "customers": 2, "think_sec": 1 } ],
		  "stations": [
		    { "name": "cpu", "kind": "queueing", "demand_sec": 0.1 },
		    { "name": "disk", "kind": "queueing", "visits": [1, 0.5],
		      "service_sec": 0.05 } ] }
	END
	golden qn-open.txt netprof qn "$S/open.json"
	cat >"$S/fast.json" <<-'END'
		{ "format": "netprof-qn", "schema": 1,
		  "classes": [ { "name": "all", "customers": 100000 } ],
		  "stations": [
		    { "name": "cpu", "kind": "queueing", "demand_sec": 1e-7 } ] }
	END
	netprof qn "$S/fast.json" >"$S/page"
	contains "a large throughput" "$(<"$S/page")" '^all +100000 +10000000 '
	contains "a large number of customers" "$(<"$S/page")" \
		'^cpu +queueing +100000 '
	contains "so have percentiles" "$(netprof qn --percentile=50,99.9999 web.json)" \
		'Response up to +50 % +99.9999 %'
	equal "the median" "$(netprof qn --json --percentile=50 --customers=1 \
		web.json | jq '.populations[0].classes[0].percentiles[0] |
		.share == 0.5 and .response_sec > 0.3 and .response_sec < 0.45')" \
		true
	netprof qn --customers=1-100 --percentile=90 --plot="$S/qn.svg" web.json
	for text in Throughput 'Response time' '90 %' disk; do
		grep -F ">$text</text>" "$S/qn.svg" >/dev/null ||
			fail "no $text in the picture"
	done
}

link=(--bandwidth=300000000 --latency=5us)

test_runs_are_printed_as_agreed() {
	in_data
	golden scale.txt netprof scale "${link[@]}" --at=24,64 solver.*.mpiP
	golden scale-ascii.txt env LC_ALL=C netprof scale solver.*.mpiP
	golden scale-consistent.txt netprof scale "${link[@]}" \
		--variant=consistent solver.{4,8,16}.mpiP
	golden scale-two.txt netprof scale "${link[@]}" solver.{16,2}.mpiP
	golden scale.json netprof scale "${link[@]}" --json --at=64 \
		solver.{2,4,8,16}.mpiP
	golden scale.parsable netprof scale "${link[@]}" -P --at=64 solver.*.mpiP
	equal "compute on processors twice as fast" "$(netprof scale --json \
		--at=64 --speed=2 solver.*.mpiP | jq '.at[0].compute_sec
		* 2e6 | round')" "$(netprof scale --json --at=64 solver.*.mpiP |
		jq '.at[0].compute_sec * 1e6 | round')"
}

test_notes_of_reports_are_told() {
	in_data
	sed '/Message Sent/,$d' solver.4.mpiP >cut.mpiP
	refused 1 'cut.mpiP: ends before the counts' netprof scale cut.mpiP
	head -c -200 solver.4.mpiP >cut.mpiP
	contains "cut later" "$(netprof scale cut.mpiP)" \
		'^Note .*cut.mpiP: the report is truncated'
	equal "as JSON" "$(netprof scale --json cut.mpiP | jq -c '.runs[].notes')" \
		'["the report is truncated: messages may be missing"]'
	local warning='netprof: warning: cut.mpiP: the report is truncated: messages may be missing'
	run netprof scale -P cut.mpiP
	equal "as rows" "$RC $ERR" "0 $warning"
	run netprof scale --plot=cut.svg cut.mpiP
	equal "as a figure" "$RC $ERR" "0 $warning"
}

test_runs_of_different_programs_are_warned_of() {
	in_data
	run netprof scale solver.2.mpiP solver.4.mpiP
	equal "of one program" "$RC $ERR" "0 "
	sed 's/solver -n/other -n/' solver.4.mpiP >other.mpiP
	run 0 netprof scale solver.2.mpiP other.mpiP
	equal "warning" "$ERR" "netprof: warning: runs of different programs\
 are fitted as one: solver of solver.2.mpiP, other of other.mpiP"
	run netprof scale --at=3 solver.2.mpiP other.mpiP
	equal "an error is the only line" "$RC $ERR" \
		"1 netprof: --at: runs at 3 or more process counts are needed, got 2"
}

test_a_run_that_is_given_twice_is_warned_of() {
	in_data
	cp solver.2.mpiP copy.mpiP
	run 0 netprof scale solver.2.mpiP solver.4.mpiP copy.mpiP
	contains "warning" "$ERR" "netprof: warning: the same run counts twice:"
	contains "its names" "$ERR" copy.mpiP
	run netprof scale solver.2.mpiP solver.4.mpiP
	equal "another run" "$ERR" ""
}

test_wrong_use_and_bad_reports_are_told() {
	local arg
	in_data
	sed 's/3.5.0/2.9.1/' solver.2.mpiP >old.mpiP
	sed 's/MPI Time (sec/Task Time Statistics (sec/' solver.2.mpiP >concise.mpiP
	row() { refused "$1" "$2" netprof scale "${@:3}"; } # STATUS PATTERN ARGS...
	row 2 'needs a report of mpiP or a trace'
	row 2 'no such option' --frob solver.2.mpiP
	row 2 'needs an argument' solver.2.mpiP --at
	for arg in 0 x 1,,2 1, -3 1.5 4194305 1x; do
		row 2 '--at=.*: expected numbers of processes' "--at=$arg" \
			solver.2.mpiP
	done
	row 2 '--bandwidth=0: expected bytes' --bandwidth=0 solver.2.mpiP
	row 2 '--bandwidth=fast: expected bytes' --bandwidth=fast solver.2.mpiP
	row 2 '--latency=5: expected a time' --latency=5 solver.2.mpiP
	row 2 '--variant=mine: expected published or consistent' \
		--variant=mine solver.2.mpiP
	row 1 '^netprof: /nonexistent: No such file' /nonexistent
	row 1 'not a regular file' /dev/zero
	row 1 'web.json:1: expected a report of mpiP' web.json
	row 1 'old.mpiP:3: version 2.9.1, expected 3.x' old.mpiP
	row 1 'concise.mpiP:17: a concise report' concise.mpiP
	row 1 '^netprof: --at: runs at 3 or more process counts are needed, got 2$' \
		--at=3 solver.2.mpiP solver.4.mpiP solver.2.mpiP
}

test_pages_fit_a_screen() {
	local args
	in_data
	for args in solver.4.mpiP "--at=1,1000000 $(echo solver.*.mpiP)"; do
		# shellcheck disable=SC2086
		netprof scale $args >page
		between "columns of $args" "$(wc -L <page)" 40 80
		! grep ' $' page || fail "blanks at the end: $args"
	done
	[ -z "$(LC_ALL=C netprof scale solver.*.mpiP | tr -d '\n\40-\176')" ] ||
		fail "not ASCII where the locale is not UTF-8"
	for args in web.json two-classes.json "--customers=1-1000000:300000 web.json"; do
		# shellcheck disable=SC2086
		netprof qn $args >page
		between "columns of $args" "$(wc -L <page)" 40 80
		! grep ' $' page || fail "blanks at the end: $args"
	done
}

test_json_and_parsable_say_the_same() {
	local json
	in_data
	json=$(netprof qn --json two-classes.json | jq -r '.populations[].classes[] |
		.class as $c | .stations[] | "\($c) \(.station) \(.present)"')
	equal present "$(netprof qn -P two-classes.json |
		awk -F'|' 'NR > 1 && $3 { print $1, $3, $7 }')" "$json"
}

test_wrong_use_and_bad_files_are_told() {
	local row
	in_data
	farm
	sed 's/"schema": 1/"schema": 7/' web.json >newer.json
	sed 's/0.125/-0.125/' web.json >negative.json
	sed 's/30/1000000000/' web.json >crowd.json
	row() { refused "$1" "$2" netprof qn "${@:3}"; } # STATUS PATTERN ARGS...
	row 2 'needs a file'
	row 2 'no such option' --frob web.json
	row 2 'needs an argument' web.json --method
	row 2 'unexpected argument .two-classes.json.' web.json two-classes.json
	row 2 '--method=guess: expected exact, schweitzer, linearizer or conv' \
		--method=guess web.json
	for row in lots 0 -1 0x10 1e400 nan '' 5x 1.5G; do
		row 2 "--memory=$row: expected a size" "--memory=$row" web.json
	done
	for row in 0 100 -1 0x10 1e400 nan inf '' 5x 50, ,50 50,0x1; do
		row 2 "--percentile=$row: expected up to 8 numbers" "--percentile=$row" web.json
	done
	row 2 '--percentile has no effect with --parsable' --percentile=50 -P web.json
	row 2 '--percentile has no effect on a table of several' --percentile=50 \
		--customers=1-3 web.json
	row 2 '--percentile has no effect with --plot of one' --percentile=50 \
		--plot="$S/x.svg" web.json
	for row in x 1- -1 5-3 1-5:0 1-5:x 1.5 1000000001 1-2-3 0x10 1e400 nan 5x 1-0x10 1-5:2x; do
		row 2 "--customers=.*: expected N or FIRST-LAST" \
			"--customers=$row" web.json
	done
	row 2 '--customers=: expected a value' --customers= web.json
	row 2 'expected CLASS=3, as there are 2' --customers=3 two-classes.json
	row 2 'no such class' --customers=nobody=3 two-classes.json
	row 2 '100001 populations, expected at most 10000' \
		--customers=0-100000 web.json
	row 1 '^netprof: /nonexistent: No such file' /nonexistent
	row 1 'not a regular file' /dev/zero
	row 1 'newer.json: schema 7 is newer than 1' newer.json
	row 1 'negative.json: stations\[0\].service_sec: got -0.125' negative.json
	row 1 'crowd.json: convolution would take [0-9.]+ [GT]B of memory, more than 1.07 GB; linearizer' \
		crowd.json
	row 1 'two-classes.json: exact mean value analysis would take 336 B of memory, more than 100 B' \
		--memory=100 two-classes.json
	row 1 'farm.json: convolution would take .* kB of memory, more than 1 kB; no approximation takes load-dependent' \
		--memory=1000 farm.json
	row 1 'farm.json: tape: linearizer does not take load-dependent' \
		--method=linearizer farm.json
}

test_several_classes_are_exact_where_servers_are_several() {
	in_data
	farm
	equal "how" "$(netprof qn --json farm.json | jq -r .method)" exact
	contains "how" "$(netprof qn farm.json)" 'exact, by convolution'
	netprof qn -P --method=convolution two-classes.json >got
	netprof qn -P two-classes.json | diff - got || fail "not as by mean values"
	# A class in two parts is in all what it was.
	jq '.classes = [{name: "all", customers: 60, think_sec: 2}]' farm.json >one.json
	jq '.classes = [{customers: 40, name: "a"}, {customers: 20, name: "b"} |
		.think_sec = 2]' farm.json >two.json
	equal "throughput" "$(netprof qn --json two.json | jq '[.populations[0].classes[].throughput_per_sec] |
		add * 1e8 | round')" "$(netprof qn --json one.json | jq '.populations[0].classes[0].throughput_per_sec *
		1e8 | round')"
}

# The queueing package of Octave, where it is exact.
test_octave_has_the_same_answers() {
	local i n=60
	command -v octave >/dev/null || skip "octave is not installed"
	in_data
	octave --no-gui -q "$ROOT/analysis/queueing/t/queueing.m" "$n" >said 2>&1 ||
		{ grep -q 'package.*queueing' said && skip "no octave-queueing"; }
	for ((i = 1; i <= n; i++)); do
		read -r method <"net$i.want"
		netprof qn -P --method="$method" "net$i.json" >got ||
			fail "network $i"
		# Class by class, at each station: throughput, mean number.
		awk -F'|' 'NR > 1 { print $3 ? $7 : $4 }' got |
			paste -d' ' - <(tail -n +2 "net$i.want") |
			awk -v i="$i" -v tol="$([ "$method" = exact ] && echo 1e-9 ||
				echo 1e-7)" '
				function size(x) { return x < 0 ? -x : x }
				size($1 - $2) > tol * (1 + size($2)) || NF != 2 {
					print "why: network " i ": " $0; bad = 1
				}
				END { exit bad || NR < 2 }'
	done
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
