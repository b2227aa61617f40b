# netprof calibrate on a cluster with one shaped leaf and one without a shared fabric,
# and flagged runs with measurement intervals under its levels.
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
# The halves of a leaf have their own processors. Otherwise, on a machine with other
# work, one half would delay the other through the processors.
SUITE_CLUSTER=(--leaves 2 --nodes-per-leaf 8 --nonblocking-leaf --own-cpus
	--netprof "$BUILD")
LIMIT_SEC=600 # a calibration has many short steps

# Levels with short rounds, so that half a second contains enough of them.
MILD=P1:M1:B40ms MIDDLE=P1:M1:B5ms STRONG=P2:M1:B0s
export MILD MIDDLE STRONG

FABRIC=$STORE/fabric/$NETPROF_CLUSTER

calibrate() { # NODES OPTIONS
	root "salloc -Q -w '$1' netprof calibrate --seconds 0.5 \
		--probe-seconds 1 --repeats 1 $2"
}

newest() {
	find "$FABRIC" -name '*.json' | sort | tail -n 1
}

measured() {
	[ "$(cat "$FABRIC"/.unfinished-* 2>/dev/null | wc -l)" -ge "$1" ]
}

test_without_an_allocation_it_says_how_to_get_one() {
	local out

	! out=$(root "netprof calibrate" 2>&1) || fail "it ran"
	case $out in *"salloc -N8"*) ;; *) fail "it says: $out" ;; esac
	[ "$(wc -l <<<"$out")" = 1 ] || fail "more than one line: $out"
}

test_users_who_cannot_write_the_store_are_refused_before_anything_runs() {
	local out

	! out=$(alice "salloc -Q -N2 netprof calibrate" 2>&1) || fail "it ran"
	case $out in *administrator* | *"cannot create"*) ;;
	*) fail "it says: $out" ;; esac
}

test_a_dry_run_says_how_long_it_would_take_and_writes_nothing() {
	local out

	out=$(root "salloc -Q -w 'n[0-3]' netprof calibrate --dry-run" 2>&1)
	grep -Eq '[0-9]+ measurements, about [0-9.]+ (s|min|h)' <<<"$out" ||
		fail "it says: $out"
	[ ! -e "$STORE/fabric" ] || fail "it left $(find "$STORE/fabric")"
}

# Slurm 25.05 has such partitions; suite topology has one.
test_leaf_switches_are_those_of_the_partitions_own_topology() {
	local out dir

	dir=$(shared)/scontrol
	mkdir -p "$dir"
	cat >"$dir/scontrol" <<-'END'
		#!/bin/sh
		case $* in
		"-o show partition main")
			echo 'PartitionName=main Nodes=n[0-15] OverSubscribe=NO Topology=racks TRES=cpu=64' ;;
		"-o show topology racks")
			echo 'SwitchName=row Level=1 LinkSpeed=1 Nodes=n[0-15] Switches=rack[0-1]'
			echo 'SwitchName=rack0 Level=0 LinkSpeed=1 Nodes=n[0,2,8-15]'
			echo 'SwitchName=rack1 Level=0 LinkSpeed=1 Nodes=n[1,3-7]' ;;
		*) exit 1 ;;
		esac
	END
	chmod 755 "$dir/scontrol"
	out=$(root "PATH=$dir:\$PATH salloc -Q -w 'n[0-2]' netprof calibrate --dry-run" 2>&1)
	grep -q '^leaf switch rack0: .* share the nodes n0,n2' <<<"$out" ||
		fail "it says: $out"
	printf '#!/bin/sh\nexit 1\n' >"$dir/scontrol"
	! out=$(root "PATH=$dir:\$PATH salloc -Q -w 'n[0-2]' netprof calibrate --dry-run" 2>&1) ||
		fail "it guesses: $out"
	equal "what it says" "$out" "netprof: scontrol show partition main failed, so the leaf switches of this partition are unknown"
}

test_ctrl_c_ends_it_with_a_message_and_keeps_the_measurements() {
	local rc=0

	calibrate 'n[0-15]' "--levels $MILD,$MIDDLE,$STRONG" >"$TMPDIR/first" 2>&1 &
	wait_for measured 5
	root 'kill -INT $(pgrep -f "^netprof calibrate")'
	wait $! || rc=$?
	[ "$rc" -ne 0 ] || fail "it says that it is done"
	grep -q "the finished measurements are kept" "$TMPDIR/first" ||
		fail "it says: $(tail -n 2 "$TMPDIR/first")"
	measured 5 || fail "less is left"
	wait_for no_jobs
}

# Continues the previous test. With nodes of both leaves uplinks are measured, too. The effect
# of each scope is measured at least three times, more often if it is uncertain.
test_a_killed_calibration_continues_and_its_result_is_complete() {
	local before

	calibrate 'n[0-15]' "--levels $MILD,$MIDDLE,$STRONG" >"$TMPDIR/first" 2>&1 &
	wait_for measured 8
	# pgrep sees only the process namespace of the login host.
	root 'kill -9 $(pgrep -f "^netprof calibrate")'
	wait $! || :
	# Without the header and the idle latencies of the two leaves.
	before=$(($(cat "$FABRIC"/.unfinished-* | wc -l) - 4))
	wait_for 30 nothing_of_ours_runs
	# A slurmstepd may run for a minute if its step was starting as the job ended.
	wait_for no_jobs
	calibrate 'n[0-15]' "--levels $MILD,$MIDDLE,$STRONG" >"$TMPDIR/second" 2>&1 ||
		fail "$(tail -n 3 "$TMPDIR/second")"
	grep -q "continuing the calibration begun" "$TMPDIR/second" ||
		fail "it began anew"
	grep -q "; $before done already" "$TMPDIR/second" ||
		fail "$before were: $(grep done "$TMPDIR/second")"
	[ ! -e "$FABRIC"/.unfinished-* ] || fail "its state is still there"
	jq -e '.app == "idle" and .source == "calibration" and
		.leaves[0].latency.n > 3' "$STORE"/published/idle/*.json \
		>/dev/null || fail "the idle network is not published"
	jq -e '.scope == "leaf" and .cluster == $ENV.NETPROF_CLUSTER and
		(.levels | map(.name)) == [env.MILD, env.MIDDLE, env.STRONG] and
		(.level_beside_level | flatten | all(.n == 1)) and
		.coupling.leaf.mean == 1 and .coupling.node.n >= 3 and
		.coupling.uplink.n > 0 and .loss.uplink.mean > 0.1 and
		(.leaves[0] | .name == "leaf0" and .idle.n > 10) and
		(.probes | .idle.n > 3 and .[env.MILD].n > 3 and
			.[env.STRONG].n > 3)' \
		"$(newest)" >/dev/null || fail "$(jq -c 'del(.probes, .leaves)' \
		"$(newest)")"
	equal "levels by their utilisation" \
		"$(sed -n '/^est. utilisation/,/^$/p' "$TMPDIR/second" | awk 'NR > 1 && NF { print $1 }' | xargs)" \
		"$(jq -r '.probes as $p | [.levels[].name] | sort_by([$p[.].mean_sec, $p.idle.mean_sec] | max) |
			join(" ")' "$(newest)")"
}

nothing_of_ours_runs() {
	local i rc

	for i in {0..15}; do
		rc=0
		# netprof-saver belongs to slurmd and stays.
		inside --user root --on "n$i" pgrep 'netprof(-[^s]|-sh|$)' \
			>/dev/null || rc=$?
		[ "$rc" = 1 ] || return 1 # 0: found; more: pgrep failed
	done
}

# Disjoint nodes slow each other through the shared fabric. Up to three times, as each pair
# is measured once, and the machine may have other work.
test_a_shared_leaf_slows_levels_and_a_strong_level_does_so_more_than_a_mild_one() {
	local _
	for _ in 1 2; do
		! strong_slows_more_than_mild || return 0
		calibrate 'n[0-7]' "--levels $MILD,$MIDDLE,$STRONG" >"$TMPDIR/out" 2>&1 ||
			fail "$(tail -n 3 "$TMPDIR/out")"
	done
	strong_slows_more_than_mild ||
		fail "$(jq -c '{loss, level_beside_level}' "$(newest)")"
}

strong_slows_more_than_mild() {
	jq -e '.loss.leaf.mean > 0.1 and .level_beside_level[1][2].mean > 0.1 and
		.level_beside_level[1][2].mean > .level_beside_level[1][0].mean and
		.probes[env.STRONG].mean_sec > .probes.idle.mean_sec' "$(newest)" >/dev/null
}

# Up to three times, as above.
test_a_leaf_without_a_shared_fabric_has_no_effect() {
	local _ first

	first=$(newest)
	for _ in 1 2 3; do
		# A level that leaves processor time to the others, which share processors here.
		calibrate 'n[8-15]' "--levels $MIDDLE,P1:M1:B2ms" >"$TMPDIR/out" 2>&1 ||
			fail "$(tail -n 3 "$TMPDIR/out")"
		[ -e "$first" ] || fail "the earlier calibration is gone"
		! only_nodes_have_an_effect || return 0
	done
	fail "$(jq -c '{scope, coupling, loss}' "$(newest)")"
}

only_nodes_have_an_effect() {
	jq -e '.scope == "node" and .coupling.node.mean == 1 and
		.coupling.leaf.mean < 0.15 and .loss.leaf.mean < 0.05 and
		.loss.node.mean > 0.1' "$(newest)" >/dev/null
}

# Run COMMAND, by default one that sends all the time, on four nodes that have four
# free ones on their leaf.
run_in_blocks() { # APP SECONDS [LINE of netprof.conf [COMMAND]]
	root "{ cat /etc/slurm/netprof.conf; echo CalibrateShare=100%
		echo ProbeAfter=200ms; echo '${3-}'; } >/tmp/blocks.conf
		chmod 644 /tmp/blocks.conf"
	alice "NETPROF_CONF=/tmp/blocks.conf salloc -Q -w 'n[0-7]' srun -Q -N4 \
		-w 'n[0-3]' --mpi=pmix --netprofile=$1 \
		--netprofile-calibrate ${4-netprof-compressionb \
		--level=P1:M1:B2ms --duration=$2s}" >/dev/null
}

# Up to three times, as above.
test_one_run_with_free_nodes_has_measurement_intervals() {
	local _
	needs_pmix
	for _ in 1 2 3; do
		rm -rf "${ALICE:?}/blocks"
		run_in_blocks blocks 30
		! (has_intervals) >/dev/null || break
	done
	has_intervals
	no_jobs || wait_for no_jobs
	alice "netprof show blocks" >"$TMPDIR/page"
	grep -q '^Intervals .* of 1 run ([0-9]* s)' "$TMPDIR/page" ||
		fail "the page says: $(tail -n 20 "$TMPDIR/page")"
	grep -qE 'each used 0\.[0-9]+ % of a core' "$TMPDIR/page" ||
		fail "the page says: $(grep -A1 '^Probes' "$TMPDIR/page")"
}

has_intervals() {
	expect blocks 'length == 1 and .[0].level == null and
		.[0].blocks_scope == "leaf" and .[0].blocks_nodes == 4 and
		(.[0].blocks_alone | map(.level) ==
			[env.MILD, env.MIDDLE, env.STRONG] and
			all(.round_sec.n > 0))'
	expect blocks '.[0].blocks as $b | ($b | length) >= 5 and
		($b | map(.level) | .[0] == null and .[-2:] != [null, null]) and
		([$b[] | select(.level == env.STRONG)] | length >= 1 and
			all(.round_sec.n > 0)) and
		([$b[] | select(.level == env.STRONG) | .rate] | min) <
		0.9 * ([$b[] | select(.level == null) | .rate] | min)'
}

# Killed while a level runs: no process of netprof stays, and the record is saved.
test_the_next_run_continues_and_may_be_killed_in_an_interval() {
	needs_pmix
	run_in_blocks blocks 30 &
	wait_for record_has_a_loaded_block
	root 'kill -9 $(pgrep -f "/[n]etprof-collector")'
	alice "scancel -u alice"
	wait $! || :
	wait_for 30 nothing_of_ours_runs
	wait_for no_jobs
	expect blocks 'length == 2 and (sort_by(.start) | .[1] |
		(.blocks_alone | length) == 0 and
		any(.blocks[]; .level != null and .rate > 0))'
}

# The program ends while its first level runs, which then ends, too. It is traced,
# so that the record has its MPI calls as well as its bytes. Up to three times, as its
# ranks may end later where others use the processors, and it has more intervals then.
test_a_program_that_ends_early_has_no_curve_yet() {
	local i
	needs_pmix
	alice "sed 's/^run.*/timer timeout 0:00:09 every 10\nrun 1000000/' \
		/usr/share/lammps/examples/melt/in.melt >early.in"
	for i in 1 2 3; do
		run_in_blocks "early$i" 9 '' '--netprofile-trace lmp -in early.in -log none'
		wait_for 30 nothing_of_ours_runs
		wait_for no_jobs
		! (has_few_intervals "early$i") >/dev/null || break
	done
	has_few_intervals "early$i"
	alice "netprof show --json early$i" | jq -e '.intervals.usable == false and
		all(.levels[]; .slowdown == null)' >/dev/null ||
		fail "it says: $(alice "netprof show early$i")"
}

has_few_intervals() { # APP
	expect "$1" 'length == 1 and .[0].exit_code == 0 and
		(.[0].blocks | length >= 1 and length <= 2 and
			all(.rate > 1e5 and .calls > 10)) and
		(.[0].blocks_alone | length > 0 and all(has("calls") | not))'
}

# The next two tests take more than a minute, too long for `make check`.
is_long() {
	[ -n "${LONG_TESTS-}" ] || skip "it is long: LONG_TESTS=yes t/check calibrate"
}

# The counters show only the probes' own traffic, with an occasional outlier.
test_a_program_that_sends_nothing_has_no_traffic() {
	is_long
	needs_pmix
	run_in_blocks still 20 '' 'sleep 20'
	expect still 'length == 1 and (.[0].blocks | map(.rate) | sort |
		length >= 2 and .[(length - 1) / 2 | floor] < 5000)'
	wait_for no_jobs
}

# The level's program exits at once: the run continues, and the record says why.
test_a_level_that_cannot_start_is_dropped_and_the_run_continues() {
	local home

	is_long
	needs_pmix
	home=$(alice pwd)
	alice "mkdir bin && ln -s \$(command -v netprof-impactb) bin &&
		printf '#!/bin/sh\nexit 1\n' >bin/netprof-compressionb &&
		chmod +x bin/netprof-compressionb"
	run_in_blocks mute 40 "BinDir=$home/bin"
	expect mute 'length == 1 and .[0].exit_code == 0 and
		(.[0].blocks_alone // [] | length) == 0 and
		(.[0].blocks | length >= 3 and all(.level == null)) and
		(.[0].notes | map(select(test("did not come up"))) | length) >= 2'
	alice "rm -r bin"
	wait_for no_jobs
}

record_has_a_loaded_block() {
	records blocks | jq -e 'sort_by(.start) | length == 2 and
		(.[1].blocks | any(.level != null))' >/dev/null
}
