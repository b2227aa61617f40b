# Pairs of netprof validate, and flagged runs that choose the load level they need. No test
# has an upper bound on a measured time, so other suites may run at the same time.
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
PARALLEL=50

# The number of runs measured so far.
measured_runs() {
	inside jq '.runs | length' nap.pairs.json 2>/dev/null || echo 0
}

two_runs_are_measured() {
	[ "$(measured_runs)" -ge 2 ]
}

# Eight runs of 1 s: some in a first allocation, the others in a second one. On a loaded
# machine the time of a launch varies, so the time of a nap alone is compared with the
# runs that it was computed from, not with 1 s.
test_pairs_are_measured_and_an_interrupted_measurement_continues() {
	local out rc=0

	printf '%s\n' 'program nap' 'nodes 2' 'begins 100ms' 'run sleep 1' |
		inside tee nap >/dev/null
	alice "salloc -Q -N8 netprof validate --repeats=1 nap" \
		>"$TMPDIR/first" 2>&1 &
	wait_for two_runs_are_measured
	root 'kill -INT $(pgrep -f "^netprof validate")'
	wait $! || rc=$?
	[ "$rc" -ne 0 ] || fail "an interrupted measurement exits with status 0"
	grep -q '1 program, 1 run of each pair; 8 runs, about ' "$TMPDIR/first" ||
		fail "output: $(cat "$TMPDIR/first")"
	grep -q 'the results so far are in nap.pairs.json' "$TMPDIR/first" ||
		fail "output: $(cat "$TMPDIR/first")"
	between "runs before it was stopped" "$(measured_runs)" 2 7
	out=$(alice "salloc -Q -N8 netprof validate --repeats=1 nap" 2>&1) ||
		fail "output: $out"
	equal "kinds of runs" "$(alice "jq -r '.runs[].kind' nap.pairs.json" |
		sort | uniq -c | xargs | sed 's/3 alone/2 alone/')" \
		"2 alone 1 apart 3 launch 1 leaf 1 profile"
	grep -q '^Measured ' <<<"$out" || fail "output: $out"
	inside jq -e '.alone_sec[0].mean as $nap |
		def sec($kind): [.runs[] | select(.kind == $kind).sec] | sort;
		(sec("alone") | length > 0 and all(. > 1)) and
		((sec("alone") | add / length) - sec("launch")[1] - $nap |
			fabs < 1e-6)' nap.pairs.json >/dev/null ||
		fail "seconds of a nap: $(inside cat nap.pairs.json)"
	equal "runs of pairs in the store" "$(jq -c '[.runs[].kind |
		select(. == "leaf" or . == "apart")] | sort' \
		"$STORE"/users/*/nap/*.pairs)" '["apart","leaf"]'
}

test_a_failing_program_of_a_pair_is_reported_with_its_output() {
	local out

	printf '%s\n' 'program lost' 'nodes 2' 'run ls /no/input' |
		inside tee lost >/dev/null
	# srun would replace %j.
	! out=$(alice "salloc -Q -N8 netprof validate --repeats=1 \
		--output=50%job.json lost" 2>&1) ||
		fail "a failed measurement exits with status 0: $out"
	grep -q 'lost failed: exit 2: .*; its output is in 50%job.json.victim.out$' \
		<<<"$out" || fail "output: $out"
	alice "grep -q /no/input 50%job.json.victim.out" ||
		fail "the file does not have the output of the program"
}

test_flagged_runs_have_no_load_first_and_then_one_level_each() {
	[ ! -e "$STORE/fabric" ] || fail "a calibration would change the order of levels"
	# Each task waits for the file of the other, so that both run at the same time, unless
	# both files exist already.
	# shellcheck disable=SC2016
	script cal.sh 'srun -N2 -n2 sh -c "touch cal.\$SLURM_ARRAY_TASK_ID; '\
'until [ -e cal.0 ] && [ -e cal.1 ]; do sleep 0.1; done; '"$PROBED"' 8; sleep 1"'
	alice 'touch cal.0 cal.1'
	batch --array=0-1%1 -N2 -n2 -o /dev/null \
		--netprofile=curve --netprofile-calibrate cal.sh
	alice 'rm cal.0 cal.1'
	wait_for settled # the next runs choose levels by the records of these
	batch --array=0-1 -N2 -n2 -w 'n[0-1]' -o /dev/null \
		--netprofile=curve --netprofile-calibrate cal.sh
	expect curve 'length == 4 and
		(map(.level.name) | sort) == [null, null, "c0", "c7"]'
}

# The last two runs were concurrent, so they do not count.
test_the_rest_of_a_curve_is_submitted_at_once() {
	local out

	out=$(alice "netprof calibrate --app curve --dry-run -- \
		sbatch -N2 cal.sh" 2>&1)
	grep -q '^curve: 17 jobs one after the other: 1 without load, 2 under c0, 2 under c1' \
		<<<"$out" || fail "output: $out"
	equal "commands" "$(grep -c '^sbatch --netprofile=curve .*singleton -N2 cal.sh$' \
		<<<"$out")" 17
	no_jobs || fail "a dry run submitted jobs"
	alice "netprof calibrate --app untried --repeats 1 -- sbatch -Q --hold -N2 \
		-o /dev/null cal.sh"
	equal "jobs" "$(alice 'squeue -h | wc -l')" 11
	alice "scancel -u alice"
}
