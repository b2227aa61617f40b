# The cluster on one machine, on which every other suite depends.
# shellcheck shell=bash

PARALLEL=45

MELT='
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 20'

# lammps prints the number of its ranks.
lammps_ran_on_four() { # OUTPUT
	grep -q 'Loop time of .* on 4 procs for 20 steps with 2048 atoms' <<<"$1" ||
		fail "lammps did not run on 4 ranks: $1"
}

test_ordinary_users_submit_and_run_jobs() {
	local out
	out=$(batch -N4 <<<'#!/bin/sh
		id -un; srun sh -c "cat; hostname" | sort')
	equal "job's output" "$(xargs <<<"$out")" "alice n0 n1 n2 n3"
	equal "bob in a job" "$(inside --user bob srun sh -c 'cat; id -un')" bob
	equal "slurm's uid" "$(inside --user root id -u slurm)" "$(id -u slurm)"
}

test_exit_codes_are_passed_on() {
	local rc=0
	inside sh -c 'exit 7' || rc=$?
	equal "of a command" "$rc" 7
	rc=0
	inside srun -Q sh -c 'exit 9' || rc=$?
	equal "of a job" "$rc" 9
}

test_nodes_have_their_own_tmp_and_share_home() {
	local out
	inside srun -N8 sh -c 'touch /tmp/$(hostname) ~/from.$(hostname)'
	out=$(inside --on n3 ls /tmp)
	equal "/tmp of n3" "$(grep -xE 'n[0-9]' <<<"$out")" n3
	equal "files in home" "$(inside sh -c 'ls from.* | wc -l; rm from.*')" 8
	inside srun -N8 sh -c 'rm /tmp/$(hostname)'
}

test_the_machine_keeps_its_own_etc() {
	! getent passwd alice | grep "$(rundir)" || fail "our alice is a user of the machine"
	[ ! -e /etc/slurm/slurm.conf ] || ! grep -q "$(rundir)" /etc/slurm/slurm.conf ||
		fail "our slurm.conf is in the machine's /etc"
	! grep -qE '^10\.78\.' /etc/hosts || fail "our nodes are in /etc/hosts"
}

test_tasks_know_their_leaf() {
	local out
	out=$(inside srun -w n1,n4 sh -c 'cat; echo $SLURM_TOPOLOGY_ADDR' | sort | xargs)
	equal SLURM_TOPOLOGY_ADDR "$out" "spine.leaf0.n1 spine.leaf1.n4"
}

test_srun_starts_mpi_programs() {
	local out
	needs_pmix
	inside tee melt.in <<<"$MELT" >/dev/null
	out=$(inside srun -N4 --mpi=pmix lmp -in melt.in -log none)
	lammps_ran_on_four "$out"
	out=$(inside srun -N2 --mpi=pmix NPopenmpi -l 1024 -u 1024 -n 20 2>&1)
	grep -q '1024 bytes *20 times' <<<"$out" || fail "NetPIPE: $out"
}

test_mpirun_starts_mpi_programs_in_a_batch_script() {
	local out
	inside tee melt.in <<<"$MELT" >/dev/null
	out=$(batch -N4 -n4 <<<'#!/bin/sh
		mpirun lmp -in melt.in -log none')
	lammps_ran_on_four "$out"
	out=$(batch -N2 -n2 <<<'#!/bin/sh
		mpirun NPopenmpi -l 1024 -u 1024 -n 20 2>&1')
	grep -q '1024 bytes *20 times' <<<"$out" || fail "NetPIPE: $out"
}

# The largest share of a core, in percent, that a rank of a network-bound program used
# while it ran for longer than it takes to start.
rank_cpu() {
	inside srun -N2 --mpi=pmix bash -c '
		TIMEFORMAT="cpu %P"
		time NPopenmpi -l 16384 -u 16384 -n 60 >/dev/null 2>&1' 2>&1 |
		awk '$1 == "cpu" && $2 > m { m = $2 } END { print m + 0 }'
}

test_waiting_ranks_leave_the_core_to_others() {
	needs_pmix
	between "CPU use of a rank, percent" "$(rank_cpu)" 0.1 30
}

test_mpi_uses_the_shaped_network_and_launch_does_not() {
	local before after
	needs_pmix
	before=$(eth0_bytes)
	inside srun -N2 --mpi=pmix NPopenmpi -l 16384 -u 16384 -n 5 >/dev/null 2>&1
	after=$(eth0_bytes)
	between "bytes of NetPIPE on eth0" $((after - before)) 500000 10000000
	inside srun -N8 sh -c 'cat; head -c 1000000 /dev/zero' >/dev/null
	between "bytes of an srun on eth0" $(($(eth0_bytes) - after)) 0 10000
}

eth0_bytes() {
	inside --on n0 cat /sys/class/net/eth0/statistics/tx_bytes
}

test_a_lost_node_comes_back() {
	cluster kill-node n7
	equal "a lost place" "$(cluster status | grep -c '^n7 down')" 1
	cluster start-node n7
	equal "ran on" "$(inside srun -w n7 "${PRINT_HOST[@]}")" n7
	! has_pmix ||
		inside srun -w n6,n7 --mpi=pmix NPopenmpi -l 64 -u 64 -n 5 2>&1 | grep usec >/dev/null
}

test_daemons_do_not_hold_a_lock_of_their_caller() {
	exec 9>"$TMPDIR/lock"
	flock 9
	cluster kill-node n6
	cluster start-node n6
	exec 9>&-
	flock -n "$TMPDIR/lock" true || fail "the lock is still held"
}

test_a_daemon_that_ended_is_reported_and_started_again() {
	local out
	wait_for is_idle n6 # the job of the previous test
	inside --user root --on n6 kill -9 "$(cat "$(rundir)/pid/n6.daemon")"
	wait_for has_no_slurmd n6
	wait_for grep -q "exit code" "$(rundir)/log/slurmd.n6.out"
	out=$(cluster revive)
	grep -q '^n6: slurmd has ended: .*exit code 137' <<<"$out" || fail "$out"
	equal "ran on" "$(inside srun -w n6 "${PRINT_HOST[@]}")" n6
}

is_idle() { # NODE
	[ "$(inside sinfo -h -n "$1" -o %T)" = idle ]
}

has_no_slurmd() { # NODE
	cluster status | grep "^$1 up, no slurmd" >/dev/null
}

test_jobs_survive_a_killed_controller() {
	local id
	id=$(inside sbatch --parsable -o /dev/null --wrap 'sleep 300')
	wait_for state_is "$id" RUNNING
	# A regular shutdown saves all state, which otherwise takes some seconds.
	cluster restart-ctl
	wait_for state_is "$id" RUNNING
	cluster restart-ctl -9
	wait_for state_is "$id" RUNNING
	inside scancel "$id"
	equal "nodes afterwards" "$(inside srun -N8 "${PRINT_HOST[@]}" | wc -l)" 8
}

state_is() { # JOB STATE
	[ "$(inside squeue -h -j "$1" -o %T 2>/dev/null)" = "$2" ]
}

# Processors of a task that has requested processor 0, and all of them.
pinned_to_0() { # NODE
	# shellcheck disable=SC2016
	inside srun -Q -w "$1" sh -c 'cat
		taskset -pc 0 $$ >/dev/null 2>&1
		{ echo $$ >"$1/n0/cgroup.procs"; } 2>/dev/null
		taskset -pc $$ | sed "s/.*: //"' - "$(rundir)/cpuset/netprof-$NETPROF_CLUSTER"
}

test_a_program_that_pins_itself_stays_on_its_nodes_processors() {
	local first last
	[ "$(nproc --all)" -gt 1 ] || skip "one processor cannot be shared out"
	own_cluster --leaves 2 --nodes-per-leaf 2 --own-cpus
	first=$(inside srun -Q -w n0 sh -c 'cat; nproc')
	equal "on the first node" "$(pinned_to_0 n0)" 0
	equal "on the second leaf's first node" "$(pinned_to_0 n2)" 0
	for last in n1 n3; do
		[ "$(pinned_to_0 $last | grep -o '^[0-9]*')" -ge "$first" ] ||
			fail "$last has processors of the first node: $(pinned_to_0 $last)"
	done
	cluster down
	[ -z "$(find /sys/fs/cgroup -name "netprof-$NETPROF_CLUSTER" -print -quit)" ] ||
		fail "its cpusets are still there"
}

# As where the kernel has no cpusets: they cannot be mounted.
test_the_demo_starts_without_cpusets() {
	local bin=$TMPDIR/bin out
	mkdir "$bin"
	printf '%s\n' '#!/bin/sh' 'case "$*" in *mount_cpuset*) exit 1 ;; esac' \
		"exec $(command -v unshare) \"\$@\"" >"$bin/unshare"
	chmod 755 "$bin/unshare"
	export NETPROF_CLUSTER=$NETPROF_CLUSTER-own
	trap 'cluster down' EXIT
	out=$(
		cd "$ROOT"
		. t/demo.d/steps.sh
		slurm_up() { # CONF [OPTIONS]: smaller than the demo's
			t/cluster up --leaves 1 --nodes-per-leaf 2 \
				--netprof "$BUILD" --netprof-conf "$@"
		}
		PATH=$bin:$PATH start_cluster 2>&1
	) || fail "$out"
	grep -q -- '--own-cpus: no cpuset' <<<"$out" || fail "it has cpusets: $out"
	grep -q '^(Without cpusets' <<<"$out" || fail "$out"
	equal "nodes" "$(inside sinfo -h -N -o %n | wc -l)" 2
	[ ! -e "$(rundir)/cpuset" ] || fail "a directory of cpusets is left"
}

test_usage_errors_differ_from_failures() {
	local rc=0 out
	out=$(cluster up --leaves 0 2>&1) || rc=$?
	equal "exit code of --leaves 0" "$rc" 2
	grep -q -- '--leaves 0: expected' <<<"$out" || fail "$out"
	rc=0
	out=$(cluster up 2>&1) || rc=$?
	equal "exit code of a second up" "$rc" 1
	grep -q 'already up' <<<"$out" || fail "$out"
	rc=0
	out=$(cluster run --on n99 true 2>&1) || rc=$?
	equal "exit code of an unknown node" "$rc" 1
	rc=0
	out=$(cluster run --name no-such true 2>&1) || rc=$?
	equal "exit code of an unknown cluster" "$rc" 1
}
