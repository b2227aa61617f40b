# Profiles of real programs from Debian's packages distinguish a network-heavy
# program from a light one and from the idle network.
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"

LMP=/usr/share/lammps/examples

# On a sleeping node half of the latencies come from a processor waking up.
# The leaves are measured at the same time. A node sleeps longer if its probe starts late.
test_a_program_that_sleeps_is_never_moderate_or_heavy() {
	local sec
	rm -rf "${ALICE:?}/idle"
	alice "srun -N4 -w 'n[4-7]' --netprofile=sleep10 sh -c 'sleep 10; $PROBED 1' &
		srun -N4 -w 'n[0-3]' --netprofile=sleep4 sh -c 'sleep 4; $PROBED 1'
		srun -N4 -w 'n[0-3]' --netprofile=sleep6 sh -c 'sleep 6; $PROBED 1'; wait"
	for sec in 4 6 10; do
		use_is "sleep$sec" 'unknown|light'
		expect "sleep$sec" '.[0].traffic | .n_nodes == 4 and
			.bytes / .node_sec < 50000'
	done
	expect idle 'length > 0 and all(.source == "quiet")'
	equal baseline "$(field sleep10 Baseline)" quiet
}

test_the_idle_network_is_measured() {
	alice "srun -N4 -w 'n[0-3]' --netprofile=idle $PROBED 70"
	expect idle 'map(select(.source == null)) | length == 1 and
		.[0].leaves[0].latency.n > 100'
}

make_heavy() {
	alice "sed 's/^run.*/run 150/' $LMP/melt/in.melt >heavy.melt"
}

test_lammps_by_srun_is_heavy() {
	needs_pmix
	make_heavy
	alice "srun -N4 -n4 --mpi=pmix --netprofile=melt \
		lmp -in heavy.melt -log none >melt.out; grep -q 'Loop time' melt.out"
	use_is melt 'heavy|saturated'
}

# With each source of the idle network: a run, quiet moments, or none.
test_a_program_that_loads_the_leaf_is_never_light() {
	local run
	needs_pmix
	expect melt '.[0].traffic | .bytes / .node_sec > 100000'
	for run in "$ALICE"/idle/*; do
		[ "$(jq -r .source "$run")" = quiet ] || mv "$run" "$TMPDIR"
	done
	equal baseline "$(field melt Baseline)" quiet
	use_is melt 'unknown|heavy|saturated'
	mv "$ALICE/idle" "$TMPDIR/quiet"
	use_is melt unknown
	equal doubt "$(field melt Doubt)" baseline
	mv "$TMPDIR/quiet" "$ALICE/idle"
	find "$TMPDIR" -maxdepth 1 -name '*.json' -exec mv {} "$ALICE/idle" \;
	equal baseline "$(field melt Baseline)" run
}

test_lammps_by_mpirun_is_heavy() {
	make_heavy
	script mpi.sh "mpirun lmp -in heavy.melt -log none"
	batch -J meltrun -N4 -n4 --netprofile mpi.sh |
		grep 'Loop time'
	use_is meltrun 'heavy|saturated'
	expect meltrun '.[0].mpi_version | startswith("Open MPI ")'
}

test_netpipe_is_neither_idle_nor_saturated() {
	needs_pmix
	alice "srun -N2 -n2 --mpi=pmix --netprofile=netpipe \
		NPopenmpi -u 512 -n 1000 >/dev/null 2>&1"
	use_is netpipe 'light|moderate|heavy'
}

# Two copies that do not communicate. The nodes share few real processors, and the
# probes must get one when they wake, as with a program that leaves one free on each
# node: therefore the copies share the first. If the machine has other work, probes
# are delayed anyway: then latencies and byte counters contradict each other, and the
# verdict says so.
test_lammps_without_communication_is_light_or_its_delays_are_reported() {
	needs_pmix
	alice "{ sed '/^run/d' $LMP/melt/in.melt
		printf '%s\n' 'variable i loop 40' 'label again' 'run 30' \
			'shell sleep 0.1' 'next i' 'jump SELF again'; } >alone.melt
		srun -N2 -n2 --mpi=pmix --netprofile=separate nice -n 19 \
		taskset -c 0 lmp -partition 2x1 -in alone.melt -log none >/dev/null"
	use_is separate 'light|unknown'
	[ "$(field separate Use)" = light ] ||
		equal doubt "$(field separate Doubt)" silent
}

test_heavy_light_and_idle_are_clearly_apart() {
	local melt separate idle
	needs_pmix

	melt=$(field melt P50) separate=$(field separate P50)
	idle=$(field idle P50)
	awk -v m="$melt" -v s="$separate" -v i="$idle" \
		'BEGIN { exit !(m > 5 * s && m > 5 * i) }' ||
		fail "medians: melt $melt, separate $separate, idle $idle"
}

test_show_begins_with_the_verdict_on_these_profiles() {
	needs_pmix
	alice "netprof show melt" | sed -n 1p |
		grep -E '^melt (saturates the network|uses the network heavily)'
	alice "netprof show separate" | sed -n 1,2p | xargs |
		grep -E '^separate(: network use| uses the network lightly)'
}

# APP COLUMN: the field of `netprof show --parsable`.
field() {
	alice "netprof show $1 --parsable" | awk -F'|' -v c="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR == 2 { print $at[c] }'
}

use_is() {
	local use

	wait_for settled
	use=$(field "$1" Use)
	[[ $use =~ ^($2)$ ]] || fail "$1 is said to be '$use', not $2:
$(alice "netprof show $1")"
}
