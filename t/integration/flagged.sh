# Flagged steps on a running Slurm: records, and effects visible to users.
# Runs on the cluster that t/check started with --netprof.
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
PARALLEL=300

test_every_step_of_a_batch_job_has_its_record() {
	script two.sh "srun -N4 -n4 $ALL_PROBED 15" "srun -N2 -n2 $ALL_PROBED 20"
	batch -N4 -n4 --netprofile=two two.sh
	expect two 'length == 2 and all(.state == "complete" and
		.exit_code == 0 and .leaves[0].latency.n > 10 and
		.probe.transport == (if env.NETPROF_TRANSPORT == "ofi:tcp" then
			"ofi:tcp;ofi_rxm/eth0" else "tcp/eth0" end)) and
		(map(.n_nodes) | sort) == [2, 4]'
}

test_concurrent_steps_are_measured_each_on_its_own_nodes() {
	script both.sh "srun -N4 -n4 --exact -w 'n[0-3]' $PROBED 15 &" \
		"srun -N4 -n4 --exact -w 'n[4-7]' $PROBED 15 &" wait
	batch -N8 -n8 --netprofile=both both.sh
	expect both 'length == 2 and all(.leaves[0].latency.n > 10) and
		(map(.nodes) | sort) == ["n[0-3]", "n[4-7]"] and
		(map(.leaves[].name) | unique) == ["leaf0", "leaf1"]'
}

# Neighbours are looked for three seconds after the start, and at the end: slurmctld counts
# that all jobs are asked for. The second step begins when the first runs, which ends when
# both have looked; it ends when the collector of the first has ended, which looks for the
# last time after srun.
test_a_concurrent_step_on_the_leaf_is_recorded_as_a_neighbour() {
	script first.sh 'touch beside.0' 'until [ -e beside.1 ]; do sleep 0.1; done' \
		'sleep 6' 'until [ -e beside.seen ]; do sleep 0.1; done'
	script second.sh 'touch beside.1' 'until [ -e beside.over ]; do sleep 0.1; done'
	script beside.sh 'rm -f beside.{0,1,seen,over}' \
		'looks() { sdiag | sed -n "s/.*REQUEST_JOB_INFO .*count:\([0-9]*\).*/\1/p"; }' \
		'from=$(looks)' \
		'srun -N2 -n2 --exact -w "n[0-1]" bash first.sh & first=$!' \
		'until [ -e beside.0 ]; do sleep 0.1; done' \
		'srun -N2 -n2 --exact -w "n[2-3]" bash second.sh &' \
		'until [ "$(looks)" -ge $((from + 2)) ]; do sleep 0.5; done' \
		'touch beside.seen; wait $first' \
		'while [ "$(pgrep -c netprof-collect)" -gt 1 ]; do sleep 0.1; done' \
		'touch beside.over; wait'
	batch -N4 -n4 -w 'n[0-3]' --netprofile=beside beside.sh
	expect beside 'length == 2 and all(.neighbours | length == 1 and
		.[0].step_id != null and .[0].leaf == "leaf0") and
		(sort_by(.step_id) | map(.neighbours[0].overlap_sec) |
			.[0] > 5 and .[1] > 2)'
}

test_another_job_on_the_leaf_is_recorded_as_a_neighbour() {
	alice "srun -Q -J other -N2 -w 'n[2-3]' sleep 300 &
		until squeue -h -t R -n other | grep -q .; do sleep 0.1; done
		srun -N2 -w 'n[0-1]' --netprofile=near sleep 5
		scancel -n other; wait" 2>/dev/null
	expect near 'length == 1 and (.[0].neighbours | length == 1 and
		.[0].nodes == "n[2-3]" and .[0].leaf == "leaf0")'
}

# Compared with an unflagged one, up to three times, as other programs delay steps, too.
test_exclusive_steps_are_measured_and_not_delayed() {
	local i flag ms=()
	# shellcheck disable=SC2016
	script excl.sh 'a=${EPOCHREALTIME/./}' \
		'srun --exclusive -N4 -n16 --mem=1000 sleep 3' \
		'echo $(((${EPOCHREALTIME/./} - a) / 1000))'
	for i in 1 2 3; do
		for flag in --comment=plain --netprofile=excl; do
			ms+=("$(batch -N4 -n16 --exclusive --mem=1000 $flag excl.sh | tail -n 1)")
		done
		((ms[-1] > ms[-2] + 1000)) || break
	done
	((ms[-1] <= ms[-2] + 1000)) || fail "ms, not flagged and flagged in turn: ${ms[*]}"
	batch -N4 -n16 --exclusive --mem=1000 --netprofile=excl2 \
		--wrap "srun --exclusive -N4 -n16 --mem=1000 $PROBED 15"
	expect excl2 'length == 1 and .[0].leaves[0].latency.n > 10'
}

test_each_task_of_an_array_has_its_record() {
	# On nodes of their own, because PROBED counts the messages of all steps.
	batch --array=3-4 -N4 -n4 --exclusive -o /dev/null --netprofile=arr \
		--wrap "srun $PROBED 15"
	expect arr 'length == 2 and (map(.array_task_id) | sort) == [3, 4] and
		(map(.nodes) | sort) == ["n[0-3]", "n[4-7]"] and
		all(.leaves[0].latency.n > 10)'
}

# The variables of the task remain in the environment of the job that it submits.
test_a_job_submitted_from_a_task_of_an_array_is_not_that_task() {
	batch --array=5 -N1 -o /dev/null --wrap \
		"sbatch -Q --wait -N2 -o /dev/null --netprofile=fromarr --wrap 'srun $PROBED 12'"
	expect fromarr 'length == 1 and (.[0] | .array_job_id == null and
		.array_task_id == null and .leaves[0].latency.n > 5)'
}

test_each_component_of_a_heterogeneous_job_has_its_record() {
	alice "salloc -Q -N2 : -N2 --netprofile=het \
		srun --het-group=0,1 $PROBED 24"
	expect het 'length == 2 and (map(.het_component) | sort) == [0, 1] and
		all(.leaves[0].latency.n > 5 and .neighbours == [] and .n_tasks == 2)'
	alice "salloc -Q -N1 : -N3 --netprofile=hetone \
		srun --het-group=0 sleep 1 : --het-group=1 $PROBED 12"
	expect hetone 'length == 1 and (.[0] | .het_component == 1 and .n_tasks == 3 and
		.leaves[0].latency.n > 5)'
}

test_a_heterogeneous_job_that_srun_makes_is_measured() {
	alice "srun -N2 --netprofile=hetrun $PROBED 24 : -N2 $PROBED 24"
	expect hetrun 'length == 2 and all(.leaves[0].latency.n > 5)'
}

# The second component alone, which is never the first thread of srun to call the plugin.
test_a_step_of_the_second_component_alone_is_measured() {
	alice "salloc -Q -N2 : -N2 --netprofile=het2 \
		srun --het-group=1 $PROBED 12"
	expect het2 'length == 1 and (.[0] | .het_component == 1 and
		.leaves[0].latency.n > 5 and .neighbours == [])'
}

test_steps_of_two_components_are_neighbours() {
	script other.sh 'touch other.up' 'exec sleep 300'
	# shellcheck disable=SC2016
	script both.sh 'rm -f other.up' 'srun --het-group=1 bash other.sh & other=$!' \
		'until [ -e other.up ]; do sleep 0.1; done' \
		"srun --het-group=0 --netprofile=het3 $PROBED 60" \
		'while pgrep -f "netprof-collector --job=$SLURM_JOB_ID "; do sleep 0.1; done' \
		'kill $other; wait'
	alice "salloc -Q -N2 : -N2 bash both.sh >/dev/null 2>&1 || :"
	expect het3 'length == 1 and (.[0] | .het_component == 0 and
		(.neighbours | length) == 1)'
}

# The options of Slurm that ask for leaf switches or for a network.
test_steps_with_switches_and_network_and_exclusive_nodes_are_measured() {
	local option i=0 pids=() pid
	# None shares nodes with another, because PROBED counts the messages of all.
	for option in --switches=1 --switches=1@1:00 \
		"--network=sn_all -w n[0-3]" "-w n[4-7]"; do
		i=$((i + 1))
		# shellcheck disable=SC2086 # several
		batch -N4 -n4 --exclusive $option --netprofile=asks$i \
			--wrap "srun $PROBED 15" &
		pids+=($!)
	done
	alice "srun -Q -N2 -w 'n[0-1]' --exclusive --network=sn_all --netprofile=asks5 \
		$PROBED 15" &
	for pid in "${pids[@]}" $!; do
		wait "$pid"
	done
	for i in 1 2 3 4; do
		expect asks$i 'length == 1 and (.[0] | .exit_code == 0 and
			.n_nodes == 4 and all(.leaves[]; .latency.n > 5))'
	done
	for i in 1 2; do
		expect asks$i '.[0].leaves | length == 1 and .[0].n_pairs == 2'
	done
	expect asks5 'length == 1 and .[0].leaves[0].latency.n > 5'
	# Slurm 24.05 and 24.11 have them, for topologies of blocks.
	for option in --exclusive=topo --segment=2; do
		alice "srun $option -N2 true" 2>/dev/null || continue
		alice "srun $option -N2 --netprofile=asks6 $PROBED 12"
		expect asks6 'all(.leaves[0].latency.n > 5)'
	done
}

test_a_job_submitted_from_a_flagged_one_has_its_own_options() {
	script inner.sh '#SBATCH --netprofile=inner' "srun $PROBED 12"
	batch -N1 --netprofile=outer --wrap 'sbatch -Q --wait -N2 -o /dev/null ~/inner.sh'
	expect inner 'length == 1 and .[0].leaves[0].latency.n > 5'
}

test_steps_that_export_nothing_are_measured() {
	alice "srun -N2 --export=NONE --netprofile=bare /bin/$PROBED 12"
	expect bare 'length == 1 and .[0].leaves[0].latency.n > 5'
}

test_a_step_of_two_components_in_an_ordinary_job_has_one_record() {
	alice "salloc -Q -N4 --netprofile=parts srun -N2 $PROBED 12 : -N2 $PROBED 12"
	expect parts 'length == 1 and (.[0] | .het_component == null and
		.n_nodes == 4 and .n_tasks == 4 and .leaves[0].n_pairs == 2)'
}

test_a_component_that_is_not_in_the_step_is_not_measured() {
	alice "salloc -Q -N2 : -N2 --netprofile=het1 srun $PROBED 8"
	expect het1 'length == 1 and .[0].het_component == 0'
	! logged "het1" || fail "$(logged het1)"
}

test_steps_in_salloc_are_measured() {
	alice "salloc -Q -N4 --netprofile=sal srun -N4 $PROBED 15"
	expect sal 'length == 1 and .[0].leaves[0].latency.n > 10'
}

test_tasks_laid_out_otherwise_are_another_workload() {
	alice "echo -e 'n6\nn6\nn6\nn7' >hosts
		export NETPROF_APP=spread
		srun -N2 -w 'n[0-1]' --ntasks-per-node=2 $PROBED 12 &
		srun -N2 -w 'n[2-3]' --ntasks-per-node=2 $PROBED 12 &
		srun -N2 -w 'n[4-5]' --ntasks-per-node=2 -m cyclic $PROBED 12 &
		SLURM_HOSTFILE=hosts srun -n4 -m arbitrary $PROBED 12
		wait"
	expect spread 'sort_by(.nodes) | map(.tasks_per_node) ==
			["2(x2)", "2(x2)", "2(x2)", "3,1"] and
		map(.task_order) == ["block", "block", "cyclic", "block"] and
		(map(.fingerprint) | .[0] == .[1] and (unique | length) == 3)'
}

test_a_direct_srun_is_measured() {
	alice "srun -N4 --netprofile=dir $PROBED 15"
	expect dir 'length == 1 and .[0].leaves[0].latency.n > 10'
}

test_mpirun_in_a_batch_script_is_measured_on_all_its_nodes() {
	batch -J mpijob -N4 -n4 --netprofile --wrap "mpirun $PROBED 15"
	expect mpijob 'length == 1 and (.[0] | .n_nodes == 4 and
		.leaves[0].latency.n > 10)'
}

# At the end of the script Slurm kills the srun that mpirun did not wait for.
test_the_record_of_a_run_that_ends_with_its_script_is_saved() {
	batch -J last --array=1-3 -N4 -n4 --exclusive -o /dev/null --netprofile \
		--wrap "mpirun $ALL_PROBED 15"
	expect last 'length == 3 and all(.state == "complete" and
		.exit_code == 0 and .leaves[0].latency.n > 10)'
}

test_a_program_killed_by_the_end_of_its_script_has_failed() {
	local start pids=()
	# shellcheck disable=SC2016
	script left.sh "$PROBED 24" 'touch left.$SLURM_JOB_ID' 'exec sleep 300'
	for start in mpirun srun; do
		batch -J left -N4 -n4 --exclusive --netprofile=left --wrap "$start bash left.sh &
			until [ -e left.\$SLURM_JOB_ID ]; do sleep 0.1; done" &
		pids+=($!)
	done
	wait "${pids[0]}"
	wait "${pids[1]}"
	expect left 'length == 2 and all(.exit_code == 137)'
}

test_the_exit_code_of_mpi_daemons_is_not_that_of_the_program() {
	script orted "$ALL_PROBED 20" 'exit 1'
	batch -J daemons -N3 -n3 --netprofile --wrap \
		'chmod +x ~/orted; ! srun -x $SLURMD_NODENAME -N2 -n2 ~/orted'
	expect daemons 'length == 1 and .[0].state == "complete" and
		.[0].exit_code == 0'
}

# Suspended by an administrator, as by preemption with PreemptMode=SUSPEND.
test_a_run_that_was_suspended_is_not_compared_with_others() {
	alice "srun -N2 --netprofile=gap $ALL_PROBED 8"
	script gap.sh "$ALL_PROBED 10" 'touch gap.up' \
		'until [ -e gap.over ]; do sleep 0.1; done' 'sleep 1'
	alice 'rm -f gap.up gap.over'
	inside --user root -- bash -c 'until [ -e "$1/gap.up" ]; do sleep 0.1; done
		id=$(squeue -h -n gap -t R -o %i)
		scontrol suspend "$id" && sleep 3 && scontrol resume "$id"
		touch "$1/gap.over"' - "$(rundir)/home/alice" &
	batch -J gap -N2 --netprofile=gap --wrap 'srun bash gap.sh'
	wait $!
	expect gap 'map(.suspended // false) == [false, true] and
		all(.state == "complete")'
	alice "netprof show gap" >"$TMPDIR/show"
	grep -q "1 in suspended jobs" "$TMPDIR/show" || fail "$(cat "$TMPDIR/show")"
}

test_mpirun_on_one_node_is_not_measured() {
	batch -J onenode -N1 -n2 --netprofile --wrap 'mpirun sleep 1'
	no_profile onenode
}

test_netprof_app_flags_a_step_without_the_option() {
	alice "NETPROF_APP=byenv srun -N4 $PROBED 15"
	expect byenv 'length == 1 and .[0].leaves[0].latency.n > 10'
}

test_without_a_name_the_program_names_the_profile() {
	alice "cp ${PROBED#bash } waits && chmod 755 waits
		srun -N4 --netprofile ./waits 8"
	expect waits 'length == 1'
}

test_an_unflagged_step_leaves_nothing() {
	alice "srun -N4 -J plain sleep 1"
	no_profile plain
	! logged "plain" || fail "$(logged plain)"
}

test_one_node_is_not_measured_and_one_line_says_why() {
	alice "srun -N1 --netprofile=lonely sleep 1"
	no_profile lonely
	wait_for_logged "one node, which uses no switch"
}

# The step lasts until then: slurmctld is asked for its nodes while it runs.
test_a_step_without_a_peer_on_the_leaf_is_not_measured_and_one_line_says_why() {
	alice "srun -N2 -w n0,n4 --netprofile=apart sh -c 'for i in \$(seq 600); do
		! grep -qs \"(apart)\" $ALICE/netprof.log || break; sleep 0.1; done'"
	no_profile apart
	wait_for_logged "(apart).*no two nodes of the step share a leaf"
}

test_a_leaf_with_one_node_is_not_measured_and_the_record_says_so() {
	alice "srun -N3 -w n0,n1,n4 --netprofile=part sh -c \
		'[ \$SLURMD_NODENAME = n4 ] || exec $PROBED 12'"
	expect part '.[0].leaves | length == 2 and
		(map(select(.name == "leaf1"))[0].skipped | test("only one node")) and
		(map(select(.name == "leaf0"))[0].latency.n > 5)'
}

test_three_nodes_make_a_triangle() {
	alice "srun -N3 -w 'n[0-2]' --netprofile=tri $PROBED 30"
	expect tri '.[0].leaves[0] | .n_pairs == 3 and .latency.n > 30'
}

test_output_and_exit_code_do_not_change() {
	local run
	for run in plain:-Jplain flag:--netprofile=quiet; do
		# Otherwise srun may report that it waits for nodes of the previous run.
		wait_for all_idle
		alice "srun -N4 -w 'n[0-3]' -l ${run#*:} sh -c \
			'cat; sleep 1; echo out; echo err >&2; exit 5' \
			>${run%:*}.out 2>${run%:*}.err; echo \$? >${run%:*}.rc"
	done
	alice "
	# The number of nodes that srun reports in one line varies.
	one_each() { while IFS= read -r l; do case \$l in
		'srun: error: '*': task'*) l=\${l#srun: error: }
			for n in \$(scontrol show hostnames \${l%%:*}); do
				echo \$n: \${l##*: }; done ;;
		*) echo \"\$l\" ;; esac; done; }
	for f in out err rc; do
		one_each <plain.\$f | sort >a
		one_each <flag.\$f | sort >b
		[ -s a ] && cmp a b || { head plain.* flag.*; exit 1; }; done
	one_each <flag.err | grep -c 'n[0-3]: Exited with exit code 5' | grep -qx 4 ||
		{ one_each <flag.err; exit 1; }"
	alice "srun -N2 --netprofile=fails sh -c '$PROBED 8; exit 5' 2>/dev/null" || :
	expect fails 'length == 1 and .[0].exit_code == 5'
}

# Up to four times, as other programs delay steps, too. From the second time on 0.1 s of
# processor time is timed in turn with the steps, and the limit grows as that takes longer.
test_a_flagged_step_waits_at_most_300_ms_longer() {
	local ms extra limit i

	for i in 1 2 3 4; do
		ms=$(alice "for i in 1 2 3 4 5 6 7; do
			for f in --comment=x --netprofile=fast; do
				s=\$(date +%s%N); srun -N4 \$f true; e=\$(date +%s%N)
				echo \$f \$(((e - s) / 1000000))
			done
			[ $i = 1 ] || perl -MTime::HiRes=time -e '\$s = time;
				do { \$x += \$_ for 1 .. 1e4; @t = times } until \$t[0] + \$t[1] >= 0.1;
				printf qq(work %d\n), 1e3 * (time - \$s)'
			done" | extra_ms)
		read -r extra limit <<<"$ms"
		[ "$extra" -gt "$limit" ] || return 0
	done
	fail "the median is $extra ms longer, expected at most $limit"
}

# Reads lines "--comment=x MS", "--netprofile=fast MS" and perhaps "work MS"; prints the
# difference of the first medians, and what it may be.
extra_ms() {
	sort -k1,1 -k2,2n | awk '{ n[$1]++; v[$1, n[$1]] = $2 }
		function median(k) { return v[k, int((n[k] + 1) / 2)] }
		END { work = median("work")
			print median("--netprofile=fast") - median("--comment=x"),
				int(300 * (work > 100 ? work / 100 : 1)) }'
}

# After a signal to a starting step and the end of its job, slurmstepd would keep the
# node for a minute.
test_nodes_are_free_at_once_after_very_short_steps() {
	# shellcheck disable=SC2016
	alice 'for nodes in "n[0-3]" "n[4-7]"; do
			for i in $(seq 10); do
				srun -Q -w "$nodes" --netprofile=fast true
			done &
		done; wait'
	wait_for 30 all_idle
}

# The second step is too short for a record, except on a loaded machine. Quiet, because srun
# says so where slurmctld does not know yet that the first one has ended.
test_no_step_of_netprof_is_visible_and_steps_keep_their_numbers() {
	local out

	script seen.sh "$PROBED 12" 'touch numbers.up' \
		'until [ -e numbers.seen ]; do sleep 0.1; done'
	# shellcheck disable=SC2016
	script numbers.sh 'rm -f numbers.{up,seen}' 'srun -J first -N4 -n4 bash seen.sh &' \
		'until [ -e numbers.up ]; do sleep 0.1; done' \
		'squeue -s -h -j $SLURM_JOB_ID -o "%i %j" | grep -v batch' \
		'touch numbers.seen' wait \
		'srun -Q -N2 -n2 sh -c "cat; echo \$SLURM_STEP_ID \${SLURM_NETPROF_RENDEZVOUS-none}"'
	out=$(batch -N4 -n4 --netprofile=numbers numbers.sh | sort -u)
	[[ $out =~ ^1\ none$'\n'[0-9]+\.0\ first$ ]] || fail "$out"
	expect numbers 'all(.step_id <= 1) and (map(select(.step_id == 0)) |
		length == 1 and .[0].leaves[0].latency.n > 5)'
}

# wait(2) of the program must find only its own children, and all open files must be
# its own.
test_the_program_has_no_child_and_no_open_file_of_netprof() {
	# cat: as in PRINT_HOST
	local what="cat; ps -o comm= --ppid \$\$; ls /proc/\$\$/fd
		env | cut -d= -f1 | sort"

	alice "srun -N2 -l sh -c '$what' | sort >plain.own
		srun -N2 -l --netprofile=own sh -c '$PROBED 12; $what' | sort >flag.own
		diff plain.own flag.own" || fail "it sees more"
	expect own 'length == 1 and .[0].leaves[0].latency.n > 5'
}

test_probes_end_with_the_tasks_of_the_step() {
	alice "rm -f both.over; srun -N4 -n8 --ntasks-per-node=2 --netprofile=both-tasks sh -c \
		'[ \$SLURM_LOCALID = 0 ] || { $PROBED 25 both.over; touch both.over; }'"
	wait_for no_probe_runs n0
	# until the last of the tasks ends, not the first
	expect both-tasks '.[0] | .state == "complete" and
		.probe.elapsed_sec > 1.8'
}

no_probe_runs() { # NODE
	! inside --user root --on "$1" -- pgrep 'netprof-(agent|impactb)' >/dev/null
}

# As Slurm kills them if it tracks processes by cgroup: on all nodes at once. Up to three
# times, as probes that ended three seconds before the step, as on a busy machine, were lost.
test_probes_that_are_killed_as_the_step_ends_were_complete() {
	local i
	# shellcheck disable=SC2016
	script kill.sh '[ "$SLURM_PROCID" != 0 ] || { '"$PROBED 20"'; touch kill.now; }' \
		'until [ -e kill.now ]; do sleep 0.02; done' 'pkill -9 netprof'
	for i in 1 2 3; do
		alice "rm -f kill.now; srun -N4 --netprofile=killed$i bash kill.sh"
		! (was_complete "killed$i") >/dev/null || break
	done
	was_complete "killed$i"
}

was_complete() { # APP
	expect "$1" '.[0] | .state == "complete" and
		.leaves[0].latency.n > 5'
	! logged "($1)" || fail "$(logged "($1)")"
}

# However long it takes to start on a loaded machine.
test_a_step_that_ends_early_is_reported_as_too_short() {
	local conf
	conf=$(inside -- sh -c '{ cat /etc/slurm/netprof.conf
		echo ProbeAfter=30s; } >~/brief.conf; echo ~/brief.conf')
	alice "NETPROF_CONF=$conf srun -N4 --netprofile=brief true"
	no_profile brief
	wait_for_logged "(brief).*too short"
}

test_a_few_pairs_measure_a_leaf() {
	NETPROF_CONF=$(inside -- sh -c '{ cat /etc/slurm/netprof.conf
		echo ProbePairs=1; } >~/pairs.conf; echo ~/pairs.conf')
	# Not all nodes have a probe: the first that has sent enough ends the tasks on its leaf.
	alice "rm -f pairs.over.*; NETPROF_CONF=$NETPROF_CONF srun -N8 --netprofile=pairs \
		sh -c 'over=pairs.over.\$((SLURM_NODEID / 4))
			$PROBED 30 \$over; touch \$over'"
	expect pairs '.[0] | .n_nodes == 8 and .probe.n_processes == 4 and
		all(.leaves[]; .n_pairs == 1 and .latency.n > 5)'
}

test_a_bad_name_is_refused_before_anything_is_submitted() {
	local out

	! out=$(alice "sbatch -N2 --netprofile=a/b --wrap true" 2>&1) ||
		fail "it was submitted: $out"
	case $out in *'application name "a/b": expected'*) ;;
	*) fail "it says: $out" ;; esac
	[ -z "$(alice 'squeue -h -n wrap')" ] || fail "a job is there"
}

test_a_bad_level_is_refused_with_a_message() {
	local out

	! out=$(alice "srun -N2 --netprofile=x --netprofile-compress=c99 true" \
		2>&1) || fail "it ran"
	case $out in *c99*) ;; *) fail "it says: $out" ;; esac
}

test_the_record_says_which_mpi_the_program_had() {
	local mpi home
	home=$(rundir)/home/alice
	for mpi in openmpi mpich; do
		command -v "mpicc.$mpi" >/dev/null || skip "no mpicc.$mpi"
		"mpicc.$mpi" -o "$home/version-$mpi" "$ROOT/t/mpi/version.c"
	done
	alice "rm -f version.over
		srun -N2 -w 'n[0-1]' --netprofile=openmpi \
			./version-openmpi version.over >openmpi.says &
		srun -N2 -w 'n[2-3]' --netprofile=mpich \
			./version-mpich version.over >mpich.says &
		srun -N2 -w 'n[4-5]' --netprofile=script \
			sh -c './version-mpich version.over; true' >/dev/null &
		srun -N2 -w 'n[6-7]' --netprofile=late \
			sh -c 'sleep 2; ./version-mpich version.over' >/dev/null; wait" &
	probed_on n0 n2 n4 n6
	wait_for none_looks # who looks for an MPI ends when it has found one
	touch "$home/version.over"
	wait $!
	for mpi in openmpi mpich; do
		sed -n 's/^Open MPI v\([0-9a-z.]*\).*/Open MPI \1/p
			s/^MPICH Version:[[:space:]]*/MPICH /p' \
			"$home/$mpi.says" | sort -u >"$TMPDIR/$mpi"
		[ -s "$TMPDIR/$mpi" ] || fail "$mpi does not say its version"
		expect "$mpi" "length == 1 and
			.[0].mpi_version == \"$(cat "$TMPDIR/$mpi")\""
	done
	expect script ".[0].mpi_version == \"$(cat "$TMPDIR/mpich")\""
	expect late ".[0].mpi_version == \"$(cat "$TMPDIR/mpich")\""
	wait_for none_looks
	alice 'netprof compare openmpi mpich' | grep '^Different: .*the MPI library' >/dev/null ||
		fail "$(alice 'netprof compare openmpi mpich')"
}

none_looks() {
	! pgrep -u 20001 -f "^$(rundir)/build/netprof-mpi" >/dev/null
}

# A ring over TCP: each task sends its own name to the next, ten times a second, for
# four seconds at least, until it has reached the next and the one before has reached
# it, and the probe of its node has sent some messages.
ring_program() {
	script ring.py 'exec python3 - <<EOF' \
		'import os, socket, subprocess, threading, time' \
		'names = subprocess.run(["scontrol", "show", "hostnames"],' \
		'        capture_output=True, text=True).stdout.split()' \
		'me = int(os.environ["SLURM_PROCID"])' \
		'listener = socket.create_server(("", 20777))' \
		'heard = set()' \
		'def answer():' \
		'    while True:' \
		'        got = listener.accept()[0].recv(3200, socket.MSG_WAITALL)' \
		'        if len(got) == 3200: heard.add(got[:8])' \
		'threading.Thread(target=answer, daemon=True).start()' \
		'def sent(): return int(open("/sys/class/net/eth0/statistics/tx_bytes").read())' \
		'begin, before, reached, i = time.time(), sent(), False, 0' \
		'while i < 40 or time.time() < begin + 60 and not (' \
		'        reached and heard and sent() > before + 12 * 1200):' \
		'    time.sleep(0.1)' \
		'    i += 1' \
		'    try:' \
		'        to = (names[(me + 1) % len(names)], 20777)' \
		'        with socket.create_connection(to, 2) as s:' \
		'            s.sendall(b"%08d" % me * 400)' \
		'            reached = True' \
		'    except OSError:  # not begun yet, or over already' \
		'        pass' \
		'print(me, sorted(int(h) for h in heard))' EOF
}

test_a_program_that_uses_sockets_and_no_mpi_is_recorded_as_not_mpi() {
	ring_program
	alice 'srun -N3 -n3 --netprofile=ring bash ring.py' | sort >"$TMPDIR/ring"
	printf '%s\n' '0 [2]' '1 [0]' '2 [1]' | cmp - "$TMPDIR/ring" ||
		fail "the tasks heard $(cat "$TMPDIR/ring")"
	expect ring 'length == 1 and .[0].mpi_version == "none" and
		.[0].leaves[0].latency.n > 5'
	alice 'netprof show ring' | grep '^Fabric .*, not MPI$' >/dev/null ||
		fail "$(alice 'netprof show ring')"
}

test_a_program_of_which_libraries_do_not_tell_is_not_called_not_mpi() {
	local home
	home=$(rundir)/home/alice
	echo 'int access(char *, int), usleep(int);
		int nap(void) { while (access("nap.over", 0)) usleep(100000); return 0; }' \
		>"$TMPDIR/nap.h"
	echo '#include "nap.h"
		int main(void) { return nap(); }' >"$TMPDIR/nap.c"
	gcc -w -static -o "$home/static-nap" "$TMPDIR/nap.c" || skip "no static libc"
	echo '#include "nap.h"
		int MPI_Init(void) { return 0; }
		int main(void) { return MPI_Init() + nap(); }' >"$TMPDIR/nap.c"
	gcc -w -o "$home/part-nap" "$TMPDIR/nap.c"
	alice "rm -f nap.over
		srun -N2 -w 'n[0-1]' --netprofile=static ./static-nap &
		srun -N2 -w 'n[2-3]' --netprofile=ownmpi ./part-nap; wait" &
	probed_on n0 n2
	touch "$home/nap.over"
	wait $!
	expect static 'length == 1 and (.[0] | has("mpi_version") | not)'
	expect ownmpi 'length == 1 and (.[0] | has("mpi_version") | not)'
}

# The reports of two whole seconds suffice: the last one is lost where a probe does not end at once.
test_the_period_can_be_chosen() {
	alice "srun -N2 --netprofile=often --netprofile-period=10ms $PROBED 250"
	expect often '.[0] | .probe.period_sec == 0.01 and
		.leaves[0].latency.n > 100'
}

test_a_level_on_the_steps_nodes_is_timed_alone_and_with_the_step() {
	alice "srun -N4 --netprofile=press --netprofile-compress=c3 sleep 4"
	expect press 'length == 1 and (.[0] | .level.scope == "node" and
		.level.nodes == .nodes and .alone_sec >= 2 and
		.level.alone_round_sec.n > 5 and .level.beside_round_sec.n > 5)'
}

test_a_level_runs_on_idle_nodes_of_the_allocation_where_there_are_some() {
	alice "salloc -Q -N4 -w 'n[0-3]' srun -N2 -w 'n[0-1]' \
		--netprofile=aside --netprofile-compress=c3 sleep 3"
	expect aside '.[0] | .level.scope == "leaf" and
		.level.nodes == "n[2-3]" and .level.beside_round_sec.n > 5'
}

# Like Apptainer, Podman and enroot: other files, in namespaces of the user. Probes
# run outside, and no file of netprof is inside.
test_a_step_in_a_container_prints_what_it_prints_without_netprof() {
	local run how n=0 pids=() pid

	alice 'mkdir -p box && touch box/over && for f in /bin/sh /bin/sleep \
			$(ldd /bin/sh /bin/sleep | grep -o " */[^ ]*" | tr -d ":" | sort -u); do
		mkdir -p "box/${f%/*}" && cp -Lu "$f" "box/$f"; done'
	run='unshare --user --map-root-user --mount chroot box /bin/sh -c
		"echo out; echo err >&2; sleep 1; until [ -e /over ]; do sleep 0.1; done"'
	run=${run//$'\n'/ }
	alice "srun -N4 $run" >"$TMPDIR/plain" 2>"$TMPDIR/plain.err" ||
		skip "no namespaces for users: $(cat "$TMPDIR/plain.err")"
	equal "lines without netprof" "$(sort -u "$TMPDIR"/plain*)" $'err\nout'
	alice 'rm box/over'
	wait_for all_idle # otherwise srun says that it waits
	for how in '' --netprofile-trace; do
		alice "srun -N4 -w 'n[$n-$((n + 3))]' --netprofile=boxed $how $run" \
			>"$TMPDIR/out$how" 2>"$TMPDIR/err$how" &
		pids+=($!)
		n=4
	done
	probed_on n0 n4
	alice 'touch box/over'
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	for how in '' --netprofile-trace; do
		cmp "$TMPDIR/plain" "$TMPDIR/out$how" ||
			fail "with $how: $(cat "$TMPDIR/out$how")"
		cmp "$TMPDIR/plain.err" "$TMPDIR/err$how" ||
			fail "with $how: $(cat "$TMPDIR/err$how")"
	done
	expect boxed 'length == 2 and all(.leaves[0].latency.n > 5 and
		.exit_code == 0)'
}
