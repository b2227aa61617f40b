# Commands about placement. Needs no cluster; also runs alone:
#
#	[BUILD=build] [GOLDEN=write] bash t/integration/cli_placement.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/cli.lib"
PARALLEL=yes

test_output_about_placement_equals_the_golden_files() {
	setup_measured
	golden status.txt netprof status
	golden status.json netprof status --json
	golden status.parsable netprof status -P
	golden explain-restricted.txt netprof explain 4010
	golden explain-held.txt netprof explain 4011_3
	golden explain-unknown.txt netprof explain 4013
	golden explain-advice.txt netprof explain 4015
	golden explain-running.txt netprof explain 4002
	golden explain-ended.txt netprof explain 3989_2
	golden explain-measured.txt netprof explain 4000
	golden explain-restricted.json netprof explain --json 4010
	golden explain-measured.json netprof explain --json 4000
	golden explain-restricted.parsable netprof explain -P 4010
	golden explain-measured.parsable netprof explain -P 4000
	equal "by its job id, too" "$(netprof explain 4012)" \
		"$(netprof explain 4011_3)"
}

# If the probes end early, for example because memory is short, the end of the step is known.
test_a_step_whose_probes_ended_early_is_compared() {
	setup_measured
	sed -i 's/"state":"complete"/"state":"cut"/' "$S/store/users/$MY_UID"/fft/*-4000.0.json
	contains "cut" "$(netprof explain 4000)" '^Step 0 +It took 84.0 s, 40 % longer than alone'
	sed -i 's/"exit_code":0/"exit_code":3/' "$S/store/users/$MY_UID"/fft/*-4000.0.json
	contains "failed" "$(netprof explain 4000)" '^Step 0 +It failed, so its run time'
	sed -i 's/"exit_code":3,//' "$S/store/users/$MY_UID"/fft/*-4000.0.json
	contains "without an end" "$(netprof explain 4000)" 'its end was not recorded'
}

# Job 4002 has neighbours 4001, with a profile, and 4003, without one.
test_neighbours_beyond_those_of_a_prediction_are_counted() {
	local note
	setup_measured
	jq -c '.jobs += [(.jobs[] | select(.id == 4001)) as $job | range(19) |
		$job + {id: (6000 + .)}]' "$S/store/placement/state.json" >"$S/state"
	mv "$S/state" "$S/store/placement/state.json"
	note='1 without a profile and 4 beyond the 16 that a prediction can have are not included'
	equal "in JSON" "$(netprof explain --json 4002 | jq -r .why)" "$note"
}

test_output_about_placement_fits_a_terminal() {
	local page
	setup_measured
	for page in status "explain 4010" "explain 4011_3" "explain 4013" \
		"explain 4001" "explain 4002" "explain 4000" "explain 3990"; do
		# shellcheck disable=SC2086
		netprof $page >"$S/page"
		between "columns of $page" "$(wc -L <"$S/page")" 20 80
		between "lines of $page" "$(wc -l <"$S/page")" 2 24
		! grep ' $' "$S/page" || fail "blanks at the end: $page"
	done
	for page in status "explain 4000" "explain 4010" "explain 4014" \
		"explain 4001" "explain 4003"; do
		# shellcheck disable=SC2086
		netprof $page -P | awk -F'|' -v cmd="$page" 'NR == 1 { n = NF }
			NF != n { print "why: " cmd ": " NF " fields, not " n; bad = 1 }
			END { exit bad || NR < 2 }'
	done
}

# 300 leaves and 200 jobs kept apart.
large_state() {
	jq -c '.leaves = [range(300) | {name: "leaf\(.)", n_nodes: 16, n_idle: 2,
		n_jobs: 3, n_known: 2, strain: (. / 1000)}] |
		.jobs += [range(200) as $i | .jobs[4] | .id = 5000 + $i] |
		del(.claims)' \
		"$S/store/placement/state.json" >"$S/large"
	mv "$S/large" "$S/store/placement/state.json"
}

test_a_large_cluster_is_summarised() {
	setup
	large_state
	run netprof status
	between "lines" "$(wc -l <"$S/out")" 15 24
	contains "the worst slowdown first" "$OUT" '^leaf299 .*\+30 %$'
	contains "other leaves" "$OUT" \
		'^29[0-9] more leaf switches: 4[67][0-9]* nodes, 5[0-9]* idle, worst slowdown \+29 % \(shown with --all\)$'
	contains "other jobs" "$OUT" '^19[0-9] more \(shown with --all\)$'
	sed -i 's/"n_known":[0-9]*/"n_known":0/g' "$S/store/placement/state.json"
	run netprof status
	contains "other leaves without a profile" "$OUT" \
		'^29[0-9] more leaf switches: 4[67][0-9]* nodes, 5[0-9]* idle, no jobs with a profile \(shown with --all\)$'
	run netprof status --all
	between "lines of all" "$(wc -l <"$S/out")" 500 520
	[[ $OUT != *--all* ]] || fail "all is not all"
}

test_an_old_decision_counts_as_none() {
	setup
	export NETPROF_NOW=1718186431
	contains "status" "$(netprof status)" '^Placement does not act: its last decision is 31\.0 s'
	contains "explain" "$(netprof explain 4010)" '^Placement does not act'
	equal "for programs" "$(netprof status --json | jq .stale)" true
	export NETPROF_NOW=1718186400
	echo 'PlacementInterval=1m' >"$S/conf"
	sed -i 's/"interval_sec":2/"interval_sec":60/' "$S/store/placement/state.json"
	NETPROF_NOW=1718186999
	contains "rare decisions" "$(netprof status)" '^Placement enforces'
	NETPROF_NOW=1718186380
	contains "from a clock that is ahead" "$(netprof status | tr -s ' \n' ' ')" \
		'in the future \(the clocks of the hosts differ\) by ctl0'
}

test_a_missing_decision_is_reported() {
	setup_measured
	rm -r "$S/store/placement"
	run netprof status
	equal "status" "$RC $OUT" "1 "
	contains "off" "$ERR" '^netprof: placement is off'
	echo Placement=enforce >"$S/conf"
	refused 1 'placement has never written there; to find the reason, run netprof check' \
		env NETPROF_CONF="$S/conf" netprof status
	refused 1 '^netprof: job 4010 was not found: it is not in the last decision of placement \(there is none\)' \
		netprof explain 4010
	run 0 netprof explain 4000
	contains "a record is enough" "$OUT" 'placement has no'
	contains "a record is enough" "$OUT" 'neighbours is not known'
}

test_damaged_state_is_reported_in_one_line() {
	setup_measured
	head -c 700 "$ROOT/t/data/placement/state.json" >"$S/store/placement/state.json"
	run netprof status
	equal "status" "$RC $OUT" "1 "
	equal "lines" "$(wc -l <"$S/err")" 1
	contains "status" "$ERR" "^netprof: $S/store/placement/state.json:8: damaged "
	run 0 netprof explain 4000
	contains "what is wrong" "$ERR" "^netprof: $S/store/placement/state.json:8: damaged "
	run netprof explain 77
	equal "explain of a job that is not known" "$RC $OUT $(wc -l <"$S/err")" "1  1"
	contains "explain of a job that is not known" "$ERR" \
		"^netprof: job 77 was not found: .* \\($S/store/placement/state.json:8: damaged "
	sed 's/"schema":1/"schema":2/' "$ROOT/t/data/placement/state.json" \
		>"$S/store/placement/state.json"
	run netprof status
	contains "a newer one" "$ERR" 'schema 2 is newer than 1'
}

test_for_an_unknown_job_the_searched_places_are_named() {
	setup
	run netprof explain 77
	equal "exit status" "$RC $OUT" "1 "
	equal "lines" "$(wc -l <"$S/err")" 1
	contains "error" "$ERR" "^netprof: job 77 was not found: it is not in the last decision of placement \(2 s ago\), .* records of $ME, "
	run netprof explain 4011
	equal "an array" "$ERR" "netprof: job 4011 is an array; ask for one of its tasks: 4011_3"
	run 1 netprof explain 4011_4
	jq -c '.jobs[5].task = 4294967295' "$S/store/placement/state.json" >"$S/rest"
	mv "$S/rest" "$S/store/placement/state.json"
	run netprof explain 4011_4
	equal "a task that was not split off yet" "$RC $ERR" "0 "
	contains "a task that was not split off yet" "$OUT" '^Job 4012 \(halo\) is held by placement'
}

# netprof measures only steps on several nodes.
test_jobs_on_one_node_are_not_to_be_measured() {
	setup_measured
	jq -c '(.jobs[] | select(.id == 4013)).n_nodes = 1' "$S/store/placement/state.json" >"$S/state"
	mv "$S/state" "$S/store/placement/state.json"
	contains "a pending job" "$(netprof explain 4013)" \
		'^Unknown +a job on one node is not measured, because it uses no switch$'
	sed -i '/"id":3990,/s/"n_nodes":10,/"n_nodes":1,/' "$S"/store/placement/ended-*.jsonl
	contains "a job that ended" "$(netprof explain 3990)" \
		'^Measured +no: a job on one node is not measured, because it uses no switch$'
}

test_a_users_records_are_private_and_decisions_are_not() {
	[ "$MY_UID" = 0 ] || return 0 # chown
	setup_measured
	chmod 2750 "$S/store/users/0"
	run setpriv --reuid=12345 --regid=12345 --clear-groups netprof explain 4000
	equal "exit status" "$RC $ERR" "0 "
	contains "neighbours" "$OUT" '^3991 +NPmpi'
	contains "the record" "$OUT" '^Measured +no; to learn'
	chmod 640 "$S"/store/placement/*
	refused 1 'state.json: Permission denied' \
		setpriv --reuid=12345 --regid=12345 --clear-groups netprof status
	chown 12345 "$S/store/placement/state.json"
	run netprof status
	contains "a foreign owner" "$ERR" 'owned by uid 12345.*not trusted'
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
