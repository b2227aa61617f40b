# What counts as a leaf switch in each topology of Slurm; topologies that this
# release of Slurm does not have are skipped.
# shellcheck source=t/integration/placement.lib
. "$ROOT/t/integration/placement.lib"
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
PARALLEL=15

before_each() { :; }

slurm_from() { # VERSION
	[ "$(printf '%s\n' "$1" "$(slurmd -V | cut -d' ' -f2)" | sort -V | head -n 1)" = "$1" ]
}

with_topology() { # KIND
	own_cluster --topology "$1" --netprof "$BUILD" \
		--netprof-conf "$ROOT/t/integration/placement.netprof.conf"
	. "$ROOT/t/integration/placement.lib"
	. "$ROOT/t/integration/flagged.lib"
	MARK=0
	give_store
}

# Probes are paired within leaf switches, and jobs that conflict get different ones.
leaves_are_known() {
	pairs_are '[["leaf0", 2], ["leaf1", 1]]'
	leaves_keep_apart
}

pairs_are() { # [[LEAF, PAIRS], ...]
	alice "srun -N6 -w 'n[0-5]' --netprofile=six $PROBED 8"
	expect six ".[0].leaves | map([.name, .n_pairs]) | sort == $1"
}

leaves_keep_apart() {
	store_is_read
	BLOCK=$(block)
	pending fft >/dev/null
	wait_for is_restricted "$(pending fft)"
}

# Jobs run, and one line says why placement ignores them.
no_leaves_are_known() { # NODES
	wait_for said "Slurm knows no leaf switches: placement needs"
	alice "srun -w '$1' --netprofile=six $PROBED 8"
	expect six '.[0] | .exit_code == 0 and (.leaves | map(.name) == [""])'
	sleep 3
	equal "lines about it" "$(said "knows no leaf switches" | wc -l)" 1
}

# Two trees, a node on both, nodes that do not exist yet, lists with blanks, names
# with dots: placement and probes work, and one line names the node.
test_mistakes_that_slurm_tolerates_are_reported_in_one_line() {
	with_topology odd
	alice "srun -N4 -w 'n[0-3]' --netprofile=four $PROBED 8"
	expect four '.[0].leaves | map([.name, .n_pairs]) == [["rack0.ib", 2]]'
	store_is_read
	block -N4 -w 'n[0-3]' >/dev/null
	block -N4 -w 'n[4-7]' >/dev/null
	pending fft >/dev/null
	wait_for is_restricted "$(pending fft)"
	equal "lines about it" "$(said "node n3 is on leaf switches rack0.ib and rack1.ib: the first is used" |
		wc -l)" 1
}

test_topology_tree_by_topology_yaml() {
	slurm_from 25.05 || skip "Slurm is older"
	with_topology tree.yaml
	leaves_are_known
}

leaf_is() { # PARTITION NODES LEAF: that netprof calibrate would measure
	local out
	out=$(inside --user root -- salloc -Q -p "$1" -w "$2" \
		netprof calibrate --dry-run 2>&1) || :
	grep -q "^leaf switch $3: " <<<"$out" || fail "calibrate in $1: $out"
}

# The cluster's topology has only the first leaf.
test_a_partition_may_have_a_topology_of_its_own() {
	slurm_from 25.05 || skip "Slurm is older"
	with_topology several.yaml
	alice "srun -p racks -N4 --netprofile=four $PROBED 8 &
		srun -p main -N4 -w 'n[0-3]' --netprofile=others $PROBED 8; wait"
	expect four '.[0].leaves | map([.name, .n_pairs]) | sort ==
		[["rack0", 1], ["rack1", 1]]'
	expect others '.[0].leaves | map([.name, .n_pairs]) == [["leaf0", 2]]'
	leaf_is racks 'n[4-7]' rack0
	leaf_is main 'n[0-3]' leaf0
	store_is_read
	block -p racks -N4 >/dev/null
	block -N4 -w 'n[0-3]' >/dev/null
	pending fft -p racks >/dev/null
	wait_for is_restricted "$(pending fft -p racks)"
	MARK=$(wc -c <"$LOG")
	pending fft -p flat >/dev/null
	wait_for said "ignored: placement does not know which nodes"
}

test_a_base_block_counts_as_a_leaf_switch() {
	slurm_from 23.11 || skip "Slurm is older"
	with_topology block
	leaves_are_known
}

# A job on one of two blocks would keep jobs of its kind off that block.
test_jobs_with_segments_or_blocks_of_their_own_are_left_alone() {
	local a
	slurm_from 26.05 || skip "Slurm is older"
	with_topology block
	store_is_read
	job fft 300 -w n0 >/dev/null
	wait_for status_says ' 1 running'
	for a in '-N8 --segment=4' '-N4 --segment=2' '-N2 --exclusive=topo'; do
		MARK=$(wc -c <"$LOG")
		# shellcheck disable=SC2086 # several
		a=$(job fft 1 $a)
		wait_for all_done "$a"
		equal "$a" "$(field "$a" JobState)" COMPLETED
		equal "exclusions" "$(field "$a" ExcNodeList)" "(null)"
	done
}

test_a_base_block_by_topology_yaml() {
	slurm_from 25.05 || skip "Slurm is older"
	with_topology block.yaml
	leaves_are_known
}

test_a_flat_network_is_measured_without_placement() {
	slurm_from 25.05 || skip "Slurm is older"
	with_topology flat
	no_leaves_are_known 'n[0-5]'
}

test_a_ring_is_measured_without_placement() {
	slurm_from 26.05 || skip "Slurm is older"
	with_topology ring.yaml
	no_leaves_are_known 'n[0-3]' # a job runs within one ring
}

test_a_torus_is_measured_without_placement() {
	slurm_from 26.05 || skip "Slurm is older"
	with_topology torus3d.yaml
	no_leaves_are_known 'n[0-5]'
}
