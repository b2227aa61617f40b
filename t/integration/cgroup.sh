# Flagged steps on nodes configured as in production: processes are tracked and
# memory is constrained by cgroups, and each job has an extern step (Contain).
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
PARALLEL=85

! has_cgroups || SUITE_CLUSTER=(--leaves 1 --cgroup --netprof "$BUILD")

before_each() {
	has_cgroups || skip "no cgroups of version 1"
	wait_for all_idle
}

# At once if processes are tracked by cgroup, as in production.
test_the_record_of_a_run_that_ends_with_its_script_is_saved() {
	batch -J last -N4 -n4 --netprofile --wrap "mpirun $ALL_PROBED 15"
	expect last 'length == 1 and all(.state == "complete" and
		.exit_code == 0 and .leaves[0].latency.n > 10)'
}

# SHELL-COMMANDS print the ms of a step or job with the option $flag, here of unflagged
# and flagged ones in turn, each two at the same time. If Slurm finds a process of
# netprof in a step's cgroup, it checks again after 1 s. Other programs delay steps, too, but
# both kinds alike: up to three times, until at most one more of the flagged ones is late than
# of the others.
none_is_late() { # OPTION OPTION SHELL-COMMANDS
	local i ms
	for i in 1 2 3; do
		ms=$(alice "ms() { local flag=\$1 id left; $3; }
			for i in 1 2 3 4 5; do
				ms $1 >plain.ms & ms $2 >flagged.ms
				wait; cat plain.ms flagged.ms
			done" 2>/dev/null)
		[ "$(wc -l <<<"$ms")" = 10 ] || fail "too few: $ms"
		# below the 1 s that a second check takes
		! awk 'NR % 2 { plain = $1; next } $1 > plain + 700 { late++ }
			$1 < plain - 700 { late-- }
			END { exit late > 1 }' <<<"$ms" || return 0
	done
	fail "ms, not flagged and flagged in turn: ${ms//$'\n'/ }"
}

# Time from the end of the last task until srun ends: launches take longer or shorter.
test_no_step_ends_later() {
	none_is_late -v --netprofile=brief "rm -f end.\$flag
		srun -N4 -n8 --ntasks-per-node=2 \$flag sh -c \
			'sleep 2; date +%s%N >>end.\$0' \$flag
		echo \$(((\$(date +%s%N) - \$(sort -n end.\$flag | tail -n 1)) / 1000000))"
}

# Time from the end of the script until Slurm frees the nodes.
test_no_job_ends_later() {
	none_is_late -Jplain --netprofile=ended "id=\$(sbatch --parsable -o /dev/null \\
			-N2 -n2 \$flag --wrap 'srun sleep 3; date +%s%N >end.\$SLURM_JOB_ID')
		until left=\$(squeue -h -j \$id) && [ -z \"\$left\" ]; do sleep 0.05; done
		echo \$(((\$(date +%s%N) - \$(cat end.\$id)) / 1000000))"
}

# NAME: does a step succeed that allocates so many KiB? It keeps these for KEEP_SEC, or
# until the file NAME.over exists. It spends SEC, if not 0, on those from 40 to 52 MiB, once
# the probes have sent some messages, and goes on when its node has none: the agent leaves at
# 48 of 64 MiB.
takes() { # NAME KIB SEC KEEP_SEC OPTION...
	local name=$1 kib=$2 sec=$3 keep=$4

	shift 4
	alice "srun -Q -N2 -n2 --mem=64 $* perl -e '
		sub nap { select undef, undef, undef, shift }
		sub sent { open my \$f, q(<), q(/sys/class/net/eth0/statistics/tx_bytes); <\$f> }
		\$begin = sent();
		for (1 .. $kib / 64) {
			push @taken, qq(\1) x 65536;
			next if !$sec || \$_ <= 640 || \$_ > 832;
			for (1 .. 600) { last if sent() > \$begin + 8 * 1200; nap(0.1) }
			nap($sec / 192);
			next if \$_ != 832;
			for (1 .. 600) { last if system q(pgrep netprof-impactb >/dev/null); nap(0.1) }
		}
		for (1 .. 10 * $keep) { last if -e q($name.over); nap(0.1) }'" 2>"$TMPDIR/$name"
}

# The agent of the step of that name has left, or the step has ended.
has_left() { # NAME PID
	logged "($1) lost a probe" || ! kill -0 "$2" 2>/dev/null
}

# With one more page Slurm would count the step as out of memory.
test_a_step_keeps_the_memory_that_it_asked_for() {
	local low=16384 high=65536 half passed=0 grows full

	[ -z "${SANITIZE-}" ] || skip "netprof-agent is larger with sanitizers"
	while ((high - low > 128)); do
		half=$(((low + high) / 2))
		if takes search $half 0 0; then low=$half; else high=$half; fi
	done
	((high < 65536 && low > 16384)) || fail "no limit: $low to $high KiB"
	# The kernel charges pages in batches for each processor, so the limit varies.
	while ((low > 16384 && passed < 4)); do
		if takes search $low 0 3; then
			passed=$((passed + 1))
		else
			passed=0
			low=$((low - 128))
		fi
	done
	low=$((low - 512)) # the sleeping netprof-agent, and a margin
	takes grows $low 10 0 --netprofile=grows &
	grows=$!
	takes full $low 0 60 --netprofile=full &
	full=$!
	wait_for has_left full $full
	alice 'touch full.over'
	wait $full || fail "$low: $(<"$TMPDIR/full")"
	wait $grows || fail "$low: $(<"$TMPDIR/grows")"
	# The agent may look while the step still allocates.
	expect full 'all(any(.notes[];
		test("ended before the step: [^:]*: its cgroup uses (4[89]|[56].) of 64 MiB")))'
	expect grows 'all(any(.notes[];
			test("ended before the step: [^:]*: its cgroup uses (4[89]|5.) of 64 MiB")) and
		.leaves[0].latency.n > 2)'
}

# The collector runs on the host of srun and uses the script's share of the job's memory. The log
# has one line for each step. If the probe on this node leaves before the collector has
# noticed, the line is about the probe.
test_a_script_keeps_the_memory_that_the_job_asked_for() {
	script tight.sh 'srun bash -c "until [ -e tight.over ]; do sleep 0.1; done" &' \
		"until compgen -G '$ALICE/tight/*.json' >/dev/null; do sleep 0.1; done" \
		"sleep 1; perl -e 'push @taken, qq(\1) x 65536 for 1 .. 640;
		for (1 .. 1200) {
			open my \$record, q(<), <$ALICE/tight/*.json>;
			last if \$record && grep /not measured further/, <\$record>;
			select undef, undef, undef, 0.1;
		}' && touch tight.over && wait \$!"
	batch -N2 -n2 --mem=64 --netprofile=tight tight.sh
	expect tight 'length == 1 and (.[0] | .state == "cut" and
		any(.notes[]; test("not measured further: its cgroup uses [45]. of 64 MiB")))'
	wait_for_logged \
		"(tight) \(is not measured further\|lost a probe: n.\): its cgroup uses [45]. of 64 MiB"
}
