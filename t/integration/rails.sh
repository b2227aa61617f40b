# Nodes with two devices, each under a leaf switch of its own: what is measured on
# which, and that a program on one rail shows there and nowhere else.
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
SUITE_CLUSTER=(--leaves 2 --nodes-per-leaf 4 --rails 2 --netprof "$BUILD")
BESIDE=40

# APP RAIL SEC: a program on four nodes of a leaf that uses the device of one rail.
on_rail() {
	alice "UCX_NET_DEVICES=eth$2 UCX_TLS=tcp,self srun -w 'n[0-3]' --mpi=pmix \
		--netprofile=$1 $(rundir)/build/netprof-compressionb --level=c5 \
		--duration=$3 >/dev/null"
}

# The records' leaves by their rail.
BY_RAIL='def rail(r): .leaves[] | select(.rail == r);'

test_each_rail_has_its_pairs_of_probes() {
	alice "srun -w 'n[0-3]' --netprofile=quiet sleep 4"
	expect quiet 'length == 1 and (.[0] | (.leaves | length == 2 and
		all(.n_nodes == 4 and .n_pairs == 2 and .latency.n > 30) and
		map([.name, .rail]) == [["leaf0", "rail0"], ["leaf0r1", "rail1"]])
		and .probe.n_processes == 8 and .probe.transport == "tcp/eth0"
		and .traffic.n_nodes == 4 and .state == "complete"
		and .mpi_version == "none"
		and (.notes | length == 0))'
}

# Bytes are those of the device itself: 1 KiB every 100 ms, by two pairs.
test_probes_of_a_rail_use_its_device() {
	local before after
	before=$("$ROOT/t/cluster" traffic leaf1r1)
	alice "srun -w 'n[4-7]' --netprofile=bytes sleep 5"
	after=$("$ROOT/t/cluster" traffic leaf1r1)
	expect bytes '.[0].leaves | map(.n_pairs) == [2, 2]'
	between "bytes on the second rail's leaf" $((after - before)) 60000 1000000
}

test_a_program_on_one_rail_loads_that_rail_alone() {
	on_rail first 0 6s
	on_rail second 1 6s
	expect first "$BY_RAIL length == 1 and (.[0] |
		(rail(\"rail0\").latency.mean > 3 * rail(\"rail1\").latency.mean))"
	expect second "$BY_RAIL length == 1 and (.[0] |
		(rail(\"rail1\").latency.mean > 3 * rail(\"rail0\").latency.mean))"
	alice "netprof show second" >"$TMPDIR/page"
	grep -q '^ *Rails  *rail0: .*, rail1: .*; rail1 is the busiest' "$TMPDIR/page" ||
		fail "$(cat "$TMPDIR/page")"
	equal "rail that counts" \
		"$(alice 'netprof show --json second' | jq -r .fabric.busiest_rail)" rail1
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
	alice "srun -w 'n[4-7]' --netprofile=slurm sleep 4"
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
	alice "srun -w 'n[4-7]' --netprofile=single sleep 3"
	cp "$TMPDIR/rails" "$conf"
	expect single '.[0] | (.leaves | length == 1 and .[0].rail == "rail0" and
		.[0].n_pairs == 2) and .probe.n_processes == 4'
}

test_a_damaged_file_of_rails_is_noted_and_harms_nothing() {
	local conf
	conf=$(rundir)/etc/slurm/rails.conf
	cp "$conf" "$TMPDIR/rails"
	echo 'Rail=rail0 NIC=eth0' >>"$conf"
	alice "srun -w 'n[0-3]' --netprofile=damaged sleep 3"
	cp "$TMPDIR/rails" "$conf"
	expect damaged '.[0] | (.leaves | length == 1 and .[0].rail == null and
		.[0].n_pairs == 2) and (.notes | length == 1 and
		(.[0] | contains("rails.conf:5: the line lacks a key: Leaf")))'
}
