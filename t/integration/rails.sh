# Nodes with two devices, each under a leaf switch of its own: what is measured on
# which, and that a program on one rail shows there and nowhere else.
# shellcheck source=t/integration/placement.lib
. "$ROOT/t/integration/placement.lib"
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
# A pair of nodes can fill its leaf switch, so that two programs slow each other.
SUITE_CLUSTER=(--leaves 2 --nodes-per-leaf 4 --leaf-mbit 40 --nic-mbit 40 --rails 2
	--netprof "$BUILD")
PARALLEL=190
LIMIT_SEC=600 # a prediction needs a calibration and seven runs

# APP RAIL SEC: a program on four nodes of a leaf that uses the device of one rail.
on_rail() {
	alice "UCX_NET_DEVICES=eth$2 UCX_TLS=tcp,self srun -w 'n[0-3]' --mpi=pmix \
		--netprofile=$1 $(rundir)/build/netprof-compressionb --level=c5 \
		--duration=$3 >/dev/null"
}

# The records' leaves by their rail.
BY_RAIL='def rail(r): .leaves[] | select(.rail == r);'

# Bytes are those of the device itself: 1 KiB every 100 ms, by two pairs.
test_each_rail_has_its_pairs_of_probes_which_use_its_device() {
	local before after
	before=$("$ROOT/t/cluster" traffic leaf1r1)
	alice "srun -w 'n[4-7]' --netprofile=quiet $ALL_PROBED 40"
	after=$("$ROOT/t/cluster" traffic leaf1r1)
	expect quiet "$OTHER_NOTES"' length == 1 and (.[0] | (.leaves | length == 2 and
		all(.n_nodes == 4 and .n_pairs == 2 and .latency.n > 30) and
		map([.name, .rail]) == [["leaf1", "rail0"], ["leaf1r1", "rail1"]])
		and .probe.n_processes == 8 and .probe.transport == "tcp/eth0"
		and .traffic.n_nodes == 4 and .state == "complete"
		and .mpi_version == "none"
		and other_notes == [])'
	between "bytes on the second rail's leaf" $((after - before)) 60000 1000000
}

# Up to three times, as other programs delay probes, too: on both rails alike.
test_a_program_on_one_rail_loads_that_rail_alone() {
	local _
	for _ in 1 2 3; do
		rm -rf "${ALICE:?}"/{first,second}
		on_rail first 0 6s
		on_rail second 1 6s
		! (rails_differ) >/dev/null || break
	done
	rails_differ
	alice "netprof show second" >"$TMPDIR/page"
	grep -q '^ *Rails  *rail0: .*, rail1: .*; rail1 is the busiest' "$TMPDIR/page" ||
		fail "$(cat "$TMPDIR/page")"
	equal "rail that counts" \
		"$(alice 'netprof show --json second' | jq -r .fabric.busiest_rail)" rail1
}

rails_differ() {
	expect first "$BY_RAIL length == 1 and (.[0] |
		(rail(\"rail0\").latency.mean > 3 * rail(\"rail1\").latency.mean))"
	expect second "$BY_RAIL length == 1 and (.[0] |
		(rail(\"rail1\").latency.mean > 3 * rail(\"rail0\").latency.mean))"
}

# Slurm's topology has the switches, and NetDevices as many devices as each node.
test_rails_that_slurm_names_need_no_file() {
	local etc
	etc=$(rundir)/etc/slurm
	cp "$etc/netprof.conf" "$etc/topology.conf" "$TMPDIR"
	sed -i '/^Rails=/d; s/^NetDevices=.*/NetDevices=eth0,eth1/' "$etc/netprof.conf"
	sed -n 's/^SwitchName=\(leaf.\) \(.*\)/SwitchName=\1r1 \2/p' "$TMPDIR/topology.conf" \
		>>"$etc/topology.conf"
	echo "SwitchName=spiner1 Switches=leaf0r1,leaf1r1" >>"$etc/topology.conf"
	inside --user root scontrol reconfigure
	alice "srun -w 'n[4-7]' --netprofile=slurm $PROBED 8"
	cp "$TMPDIR/netprof.conf" "$TMPDIR/topology.conf" "$etc"
	inside --user root scontrol reconfigure
	expect slurm '.[0] | (.leaves | map([.name, .rail, .n_pairs]) ==
		[["leaf1", "eth0", 2], ["leaf1r1", "eth1", 2]])'
}

test_nodes_with_one_device_under_a_leaf_are_measured_on_their_only_rail() {
	local conf
	conf=$(rundir)/etc/slurm/rails.conf
	cp "$conf" "$TMPDIR/rails"
	sed -i '/leaf1r1/d' "$conf"
	alice "srun -w 'n[4-7]' --netprofile=single $PROBED 8"
	cp "$TMPDIR/rails" "$conf"
	expect single '.[0] | (.leaves | length == 1 and .[0].rail == "rail0" and
		.[0].n_pairs == 2) and .probe.n_processes == 4'
}

test_a_damaged_file_of_rails_is_noted_and_harms_nothing() {
	local conf
	conf=$(rundir)/etc/slurm/rails.conf
	cp "$conf" "$TMPDIR/rails"
	echo 'Rail=rail0 NIC=eth0' >>"$conf"
	alice "srun -w 'n[0-3]' --netprofile=damaged $PROBED 8"
	cp "$TMPDIR/rails" "$conf"
	expect damaged "$OTHER_NOTES"' .[0] | (.leaves | length == 1 and .[0].rail == null and
		.[0].n_pairs == 2) and (other_notes | length == 1 and
		(.[0] | contains("rails.conf:5: missing key: Leaf")))'
}

# APP LEVEL COMMAND: a program on two nodes of a leaf, and a level on its other two. The
# first node is $FIRST, or n0.
beside_level() {
	local at=${FIRST:-0}
	alice "salloc -Q -w 'n[$at-$((at + 3))]' srun -N2 -n2 -w 'n[$at-$((at + 1))]' \
		--mpi=pmix --netprofile=$1 ${2:+--netprofile-compress=$2} $3" >"$TMPDIR/$1"
}

# RAIL: a command that uses one rail for five seconds, and reports its rounds.
rounds_on() {
	echo "env UCX_NET_DEVICES=eth$1 UCX_TLS=tcp,self \
		$(rundir)/build/netprof-compressionb --level=c5 --duration=5s"
}

# Two tasks send each other 16 MB over the device that is named: it takes longer if the
# network is slower. At 40 Mbit/s these take more than three seconds, and most of the time
# of a run even where srun and python start slowly.
exchange_program() {
	script exchange 'exec python3 - "$1" <<EOF' \
		'import os, socket, subprocess, sys, threading, time' \
		'me = int(os.environ["SLURM_PROCID"])' \
		'name = "at.%s.%s." % (os.environ["SLURM_JOB_ID"], os.environ["SLURM_STEP_ID"])' \
		'ip = subprocess.run(["ip", "-4", "-o", "addr", "show", sys.argv[1]],' \
		'        capture_output=True, text=True).stdout.split()[3].split("/")[0]' \
		'listener = socket.create_server((ip, 20778))' \
		'with open(name + "new%d" % me, "w") as f: f.write(ip)' \
		'os.rename(name + "new%d" % me, name + str(me))' \
		'while not os.path.exists(name + str(1 - me)): time.sleep(0.02)' \
		'out = socket.create_connection((open(name + str(1 - me)).read(), 20778))' \
		'back = listener.accept()[0]' \
		'threading.Thread(target=out.sendall, args=(b"x" * 16000000,)).start()' \
		'left = 16000000' \
		'while left: left -= len(back.recv(65536))' EOF
}

# Mean round of a program, microseconds.
round_us() { # APP
	awk '$2 == "round" { n += $5; sum += $5 * $6 } END { print 1e6 * sum / n }' "$TMPDIR/$1"
}

# Up to three times, as other programs delay rounds, too: on both rails alike.
test_a_level_on_one_rail_slows_the_programs_of_that_rail_alone() {
	local _
	for _ in 1 2 3; do
		rm -rf "${ALICE:?}"/{same,other}
		beside_level same c5@rail1 "$(rounds_on 1)"
		beside_level other c5@rail1 "$(rounds_on 0)"
		for app in same other; do
			expect $app '.[0].level | .name == "c5" and .rails == "rail1" and
				.scope == "leaf" and .n_processes == 2'
		done
		! (is_slower_on_the_same) >/dev/null || break
	done
	is_slower_on_the_same
}

is_slower_on_the_same() {
	local slow='.level | .beside_round_sec.mean / .alone_round_sec.mean'
	echo "# rounds: $(round_us same) $(round_us other) us; level: $(records same |
		jq ".[0] | $slow") $(records other | jq ".[0] | $slow")"
	expect same ".[0] | $slow > 1.3 * $(records other | jq ".[0] | $slow")"
	between "round of a program with a level on its rail over one on the other" \
		"$(ratio "$(round_us same)" "$(round_us other)")" 1.3 100
}

# A device in Transport gives way to that of the rail.
test_probes_and_levels_of_each_rail_run_over_libfabric() {
	local conf before after
	conf=$(rundir)/etc/slurm/netprof.conf
	cp "$conf" "$TMPDIR/netprof.conf"
	sed -i 's,^Transport=.*,Transport=ofi:tcp/eth0,' "$conf"
	before=$("$ROOT/t/cluster" traffic leaf0r1)
	alice "srun -N4 -w 'n[0-3]' --netprofile=ofi $PROBED 40"
	after=$("$ROOT/t/cluster" traffic leaf0r1)
	beside_level ofi c5@rail1 "$PROBED 20"
	cp "$TMPDIR/netprof.conf" "$conf"
	expect ofi 'length == 2 and all(.leaves | map([.rail, .n_pairs > 0]) ==
			[["rail0", true], ["rail1", true]]) and
		all(.probe.transport | startswith("ofi:tcp")) and
		map(select(.level) | .level | .rails == "rail1" and
			.beside_round_sec.n > 5) == [true]'
	between "bytes on the second rail's leaf" $((after - before)) 60000 1000000
	records ofi | jq -e 'map(select(.level | not))[0].leaves |
		all(.latency.n > 30 and .traffic.n_nodes > 0)' >/dev/null ||
		fail "a rail was not measured: $(records ofi | jq -c 'map(.leaves[].traffic)')"
}

predict_together() {
	alice 'netprof predict --json right right' >"$TMPDIR/together"
}

slow_each_other() {
	jq -e '.predictions[0] | .slowdown > 0.2 and (.flags | contains("other-rail") | not)' \
		"$TMPDIR/together" >/dev/null
}

# Levels on all rails, as without a name after "@", and a calibration on one of them. What is
# predicted rests on single runs, so there are new ones, twice at most, if that shows nothing.
test_programs_on_different_rails_are_not_predicted_to_slow_each_other() {
	local app level _
	inside --user root -- bash -c "salloc -Q -w 'n[0-3]' netprof calibrate \
		--rail=rail1 --levels=P1:M1:B40ms,c5,c7 --seconds 0.5 --probe-seconds 1 --repeats 1" \
		>"$TMPDIR/fabric" 2>&1 || fail "$(cat "$TMPDIR/fabric")"
	equal "rail of the calibration" "$(jq -r '.rail + " " + .transport' \
		"$STORE/fabric/$NETPROF_CLUSTER"/*.json)" "rail1 tcp/eth1"
	exchange_program
	for level in '' c5 c7; do
		FIRST=4 beside_level right "$level" "bash exchange eth1" &
		beside_level left "$level" "bash exchange eth0"
		wait $!
	done
	for app in left right; do
		expect $app "length == 3 and all(.level == null or
			(.level.rails == \"rail0,rail1\" and .level.n_processes == 4))"
	done
	beside_level left c7@rail1 "bash exchange eth0"
	alice 'netprof predict left right' >"$TMPDIR/apart"
	grep -q '^left with right: no effect, because the co-runner does not load rail rail0,' "$TMPDIR/apart" ||
		fail "$(cat "$TMPDIR/apart")"
	equal "predicted for both" "$(alice 'netprof predict --json left right' |
		jq -c '[.predictions[] | .slowdown, .flags]')" '[0,"other-rail",0,"other-rail"]'
	predict_together
	for _ in 1 2; do
		! slow_each_other || break
		rm -rf "${ALICE:?}/right"
		for level in '' c5 c7; do
			FIRST=4 beside_level right "$level" "bash exchange eth1"
		done
		expect right "length == 3"
		predict_together
	done
	slow_each_other || fail "$(cat "$TMPDIR/together")"
	equal "runs that do not count" "$(alice 'netprof runs --json left' |
		jq -r '.runs[] | select(.level.rails == "rail1") | .use')" rail
}

# APP RAIL: publish the test data's program that slows others of its kind, as if it
# loaded that rail.
publish_on_rail() {
	give_profile "$DATA/own/fft" "$STORE/published/$1" \
		"s/\"app\": *\"fft\"/\"app\":\"$1\"/;s/\"leaves\": *\[{/&\"rail\":\"$2\",/"
}

# Half of the nodes of each leaf are given the other switch of the second rail.
test_placement_keeps_programs_apart_on_each_rail_that_both_load() {
	local etc running left right
	etc=$(rundir)/etc/slurm
	cp "$etc/netprof.conf" "$etc/rails.conf" "$TMPDIR"
	rm -rf "${STORE:?}"/fabric "${STORE:?}"/users/* # left by other tests
	give_profile "$DATA/fabric/hpc" "$STORE/fabric/$NETPROF_CLUSTER"
	publish_on_rail left rail0
	publish_on_rail right rail1
	sed -i -E '/^Rail=rail1/s/Nodes=.*/Nodes=/' "$etc/rails.conf"
	sed -i -E '/Leaf=leaf0r1/s/$/n[0-1,4-5]/; /Leaf=leaf1r1/s/$/n[2-3,6-7]/' \
		"$etc/rails.conf"
	printf '%s\n' Placement=enforce PlacementInterval=200ms 'Claim=*:all' \
		>>"$etc/netprof.conf"
	wait_for status_says 'Placement enforces'
	wait_for status_says 'leaf0+leaf0r1'
	store_is_read
	running=$(alice "sbatch --parsable -o /dev/null -J right -w n0 --exclusive \
		--netprofile=right --wrap 'sleep 300'")
	left=$(alice "sbatch --parsable -H -N1 --netprofile=left --wrap true")
	right=$(alice "sbatch --parsable -H -N1 --netprofile=right --wrap true")
	wait_for excludes "$right" 'n0 n1 n4 n5'
	(wait_for explains "$right") || fail "$(cat "$TMPDIR/why")"
	inside netprof status --json | jq -c '[.leaves[].name] | sort' >"$TMPDIR/leaves"
	excludes "$left" '' || fail "$(inside scontrol show job "$left")"
	echo 'Rail=rail0 NIC=eth0' >>"$etc/rails.conf"
	wait_for excludes "$right" 'n0 n1 n2 n3'
	(wait_for status_says 'rails.conf:5: missing key: Leaf') >"$TMPDIR/damaged" ||
		fail "$(inside netprof status 2>&1)"
	inside --user root scancel "$running" "$left" "$right"
	cp "$TMPDIR/netprof.conf" "$TMPDIR/rails.conf" "$etc"
	grep -q 'leaf0r1' "$TMPDIR/why" || fail "$(cat "$TMPDIR/why")"
	equal "sets of nodes" "$(cat "$TMPDIR/leaves")" \
		'["leaf0+leaf0r1","leaf0+leaf1r1","leaf1+leaf0r1","leaf1+leaf1r1"]'
}

# JOB: what is said of it is in $TMPDIR/why. A job has its exclusions before the file of the
# decision that includes it is written.
explains() {
	inside netprof explain "$1" >"$TMPDIR/why" 2>&1
}

excludes() { # JOB NODES
	[ "$(excluded "$1")" = "$2" ]
}
