# Flagged steps on nodes configured as in production: processes are tracked and
# memory is constrained by cgroups, and each job has an extern step (Contain).
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
BESIDE=90
LIMIT_SEC=120

# Cgroups version 1, which t/cluster can mount for itself.
has_cgroups() {
	# shellcheck disable=SC2016
	unshare --mount sh -ec 'for c in freezer memory cpuacct; do
		mount -t cgroup -o $c $c /mnt
		umount /mnt
	done' 2>/dev/null
}

! has_cgroups || SUITE_CLUSTER=(--leaves 1 --cgroup --netprof "$BUILD")

before_each() {
	has_cgroups || skip "no cgroups of version 1"
	wait_for 30 all_idle
}

# At once if processes are tracked by cgroup, as in production.
test_the_record_of_a_run_that_ends_with_its_script_is_saved() {
	batch -J last -N4 -n4 --netprofile --wrap 'mpirun sleep 2'
	expect last 'length == 1 and all(.state == "complete" and
		.exit_code == 0 and .leaves[0].latency.n > 10)'
}

# Lines "MS MS" of alternating unflagged and flagged steps.  If Slurm finds a process
# of netprof in a step's cgroup, it checks again after 1 s.
none_is_late() {
	[ "$(wc -l <<<"$1")" = 10 ] || fail "too few: $1"
	# below the 1 s that a second check takes
	awk 'NR % 2 { plain = $1; next } $1 > plain + 700 { late++ }
		END { exit late > 1 }' <<<"$1" ||
		fail "ms, not flagged and flagged in turn: ${1//$'\n'/ }"
}

test_no_step_ends_later() {
	none_is_late "$(alice "for i in 1 2 3 4 5; do
		for flag in -v --netprofile=brief; do
			begin=\$(date +%s%N)
			srun -N4 -n8 \$flag sleep 2 2>/dev/null
			echo \$(((\$(date +%s%N) - begin) / 1000000))
		done
	done")"
}

# Time from the end of the script until Slurm frees the nodes.
test_no_job_ends_later() {
	none_is_late "$(alice "for i in 1 2 3 4 5; do
		for flag in -Jplain --netprofile=ended; do
			id=\$(sbatch --parsable -o /dev/null -N2 -n2 \$flag \\
				--wrap 'srun sleep 3; date +%s%N >end')
			while squeue -h -j \$id | grep -q .; do sleep 0.05; done
			echo \$(((\$(date +%s%N) - \$(cat end)) / 1000000))
		done
	done" 2>/dev/null)"
}

# Does a step succeed that allocates so many KiB within so many seconds?
takes() { # KIB SEC KEEP_SEC OPTION...
	local kib=$1 sec=$2 keep=$3

	shift 3
	alice "srun -Q -N2 -n2 --mem=64 $* perl -e '
		my (\$n, \$sec) = ($kib / 64, $sec);
		for (1 .. \$n) {
			push @taken, qq(\1) x 65536;
			select undef, undef, undef, \$sec / \$n if \$sec;
		}
		sleep $keep;'" 2>"$TMPDIR/takes"
}

# With one more page Slurm would count the step as out of memory.
test_a_step_keeps_the_memory_that_it_asked_for() {
	local low=16384 high=65536 half passed=0

	[ -z "${SANITIZE-}" ] || skip "netprof-agent is larger with sanitizers"
	while ((high - low > 128)); do
		half=$(((low + high) / 2))
		if takes $half 0 0; then low=$half; else high=$half; fi
	done
	((high < 65536 && low > 16384)) || fail "no limit: $low to $high KiB"
	# The kernel charges pages in batches for each processor, so the limit varies.
	while ((low > 16384 && passed < 4)); do
		if takes $low 0 3; then
			passed=$((passed + 1))
		else
			passed=0
			low=$((low - 128))
		fi
	done
	low=$((low - 512)) # the sleeping netprof-agent, and a margin
	takes $low 0 3 --netprofile=full || fail "$low: $(<"$TMPDIR/takes")"
	takes $low 5 0 --netprofile=grows || fail "$low: $(<"$TMPDIR/takes")"
	expect full 'all(any(.notes[]; test("left, as its cgroup uses 6. of 64 MiB")))'
	expect grows 'all(any(.notes[]; test("left, as its cgroup uses 4. of 64 MiB")) and
		.leaves[0].latency.n > 2)'
}

# The collector runs beside srun and uses the script's share of the job's memory.
test_a_script_keeps_the_memory_that_the_job_asked_for() {
	batch -N2 -n2 --mem=64 --netprofile=tight --wrap 'srun sleep 8 &
		sleep 3
		perl -e '\''push @taken, qq(\1) x 65536 for 1 .. 640; sleep 2'\'' &&
		wait $!'
	expect tight 'length == 1 and (.[0] | .state == "cut" and
		any(.notes[]; test("not measured further: its cgroup uses [45]. of 64 MiB")))'
	wait_for 15 logged "(tight) is not measured further: its cgroup uses [45]. of 64 MiB" >/dev/null
}
