# Probes, levels and transfers over UCX and over libfabric: over a provider with
# wait descriptors, tcp;ofi_rxm, and over one without, udp;ofi_rxd. Runs that are
# compared run at the same time.
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
SUITE_CLUSTER=(--leaves 3 --nodes-per-leaf 4 --netprof "$BUILD")
PARALLEL=130
LIMIT_SEC=600
UCX=ucx TCP=ofi:tcp UDP=ofi:udp

# TRANSPORT NODES OPTIONS of srun and a command
over() {
	local transport=$1 nodes=$2 options=()
	shift 2
	while [[ $1 == -* ]]; do
		options+=("$1")
		shift
	done
	inside env NETPROF_TRANSPORT="$transport" srun -Q -w "$nodes" --mpi=pmix \
		"${options[@]}" bash "$(rundir)/lib/together.sh" "$@"
}

# Run the same over each, on a leaf of its own; the output is in $TMPDIR/TRANSPORT.
over_each() { # OPTIONS of srun and a command
	local pids=() p
	over $UCX 'n[0-3]' "$@" >"$TMPDIR/$UCX" 2>&1 & pids+=($!)
	over $TCP 'n[4-7]' "$@" >"$TMPDIR/$TCP" 2>&1 & pids+=($!)
	over $UDP 'n[8-11]' "$@" >"$TMPDIR/$UDP" 2>&1 & pids+=($!)
	for p in "${pids[@]}"; do
		wait "$p" || fail "$(tail -n 3 "$TMPDIR/$UCX" "$TMPDIR/$TCP" "$TMPDIR/$UDP")"
	done
}

# Number of matching lines in all outputs.
lines() { # PATTERN TRANSPORT...
	(cd "$TMPDIR" && awk -v p="$1" '$0 ~ p { n++ } END { print n + 0 }' "${@:2}")
}

# The smallest mean of the windows of a kind, in us.
mean_us() { # TRANSPORT lat|round
	awk -v kind="$2" '$2 == kind { m = 1e6 * $6; if (!best || m < best) best = m }
		END { print best + 0 }' "$TMPDIR/$1"
}

# Processor time as a share of a core, without starting, of the process that used
# least.
cpu() { # TRANSPORT
	awk '$2 == "cost" && seen[$3]++ { cpu[$3] += $4; sec[$3] += $5 }
		END { for (r in cpu) { c = cpu[r] / sec[r]
			if (!best || c < best) best = c }
		      print best + 0 }' "$TMPDIR/$1"
}

# Peak memory of the largest process, in kB.
memory() { # TRANSPORT
	awk '$2 == "cost" && $7 > most { most = $7 } END { printf "%.0f\n", most / 1024 }' \
		"$TMPDIR/$1"
}

cost_about_the_same() {
	between "latency over $TCP over UCX's" \
		"$(ratio "$(mean_us $TCP lat)" "$(mean_us $UCX lat)")" 0.3 4
	between "latency over $UDP over UCX's" \
		"$(ratio "$(mean_us $UDP lat)" "$(mean_us $UCX lat)")" 0.3 8
	# A spinning process uses a whole core, a hundred times as much.
	between "processor over $TCP over UCX's" \
		"$(ratio "$(cpu $TCP)" "$(cpu $UCX)")" 0.2 5
	between "processor over $UDP over UCX's" \
		"$(ratio "$(cpu $UDP)" "$(cpu $UCX)")" 0.2 10
}

# Up to three times, as other programs delay messages, too.
test_probes_measure_over_each() {
	local _
	needs_pmix
	for _ in 1 2 3; do
		over_each netprof-impactb --period=20ms --duration=4s --report-every=1
		all_say_what_they_measure
		! (cost_about_the_same) >/dev/null || break
	done
	cost_about_the_same
}

all_say_what_they_measure() {
	local t
	for t in $UCX $TCP $UDP; do
		equal "pairs over $t" "$(awk '$2 == "hello" && $7 != "-"' "$TMPDIR/$t" |
			wc -l)" 2
		equal "processes that ended over $t" "$(lines ' bye ' $t)" 4
		equal "notes over $t" "$(lines ' note ' $t)" 0
		equal "other lines over $t" "$(lines '^[^n][^p]' $t)" 0
	done
	equal "UCX says" "$(awk '$2 == "hello" { print $8 }' "$TMPDIR/$UCX" | sort -u)" \
		tcp/eth0
	equal "libfabric says" \
		"$(awk '$2 == "hello" { print $8, $9 }' "$TMPDIR/$TCP" | sort -u |
			sed 's/[0-9.]*$//')" 'ofi:tcp;ofi_rxm/eth0 libfabric-'
}

# The length of a round is the time that the network takes to carry it.
# Up to five times, as other programs delay rounds, too.
test_levels_are_the_same_over_each() {
	local level _
	needs_pmix
	for level in c4 c7; do
		for _ in 1 2 3 4 5; do
			over_each netprof-compressionb --level=$level --duration=3s
			equal "notes" "$(lines ' note ' $UCX $TCP $UDP)" 0
			! (are_the_same) >/dev/null || break
		done
		are_the_same
	done
}

are_the_same() {
	between "a round of $level over $TCP over UCX's" \
		"$(ratio "$(mean_us $TCP round)" "$(mean_us $UCX round)")" 0.7 1.4
	[ "$(mean_us $UDP round)" != 0 ] || fail "no round of $level over $UDP"
	between "processor of $level over $TCP over UCX's" \
		"$(ratio "$(cpu $TCP)" "$(cpu $UCX)")" 0.2 5
}

# The provider "net" says that there is work whenever it is asked. Up to three times, as
# above.
test_a_probe_sleeps_even_if_its_provider_never_lets_it() {
	local _
	needs_pmix
	for _ in 1 2 3; do
		probe_over_net
		! (sleeps_over_net) >/dev/null || break
	done
	sleeps_over_net
}

probe_over_net() {
	local pid
	over ofi:net 'n[4-7]' netprof-impactb --period=20ms --duration=4s \
		--report-every=1 >"$TMPDIR/net" 2>&1 & pid=$!
	over $UCX 'n[0-3]' netprof-impactb --period=20ms --duration=4s \
		--report-every=1 >"$TMPDIR/$UCX" 2>&1 || fail "$(cat "$TMPDIR/$UCX")"
	wait $pid || :
	! grep -q 'has no provider "net"' "$TMPDIR/net" || skip "no provider net"
}

sleeps_over_net() {
	between "exchanges over net" "$(awk '$2 == "lat" { n += $5 } END { print n + 0 }' \
		"$TMPDIR/net")" 10 10000
	between "processor over net over UCX's" "$(ratio "$(cpu net)" "$(cpu $UCX)")" 0.2 10
}

# Sizes as libfabric chooses them if they are not set.
test_pools_of_libfabric_are_small() {
	local pid size=()
	needs_pmix
	for f in TX_SIZE RX_SIZE; do
		size+=("FI_OFI_RXM_$f=16384" "FI_OFI_RXM_MSG_$f=256")
	done
	over $TCP 'n[0-3]' env "${size[@]}" FI_OFI_RXM_BUFFER_SIZE=16384 \
		netprof-impactb --duration=2s >"$TMPDIR/large" 2>&1 & pid=$!
	over $TCP 'n[4-7]' netprof-impactb --duration=2s >"$TMPDIR/$TCP" 2>&1 ||
		fail "$(cat "$TMPDIR/$TCP")"
	wait $pid || fail "$(cat "$TMPDIR/large")"
	echo "# $(memory $TCP) kB, with large pools $(memory large) kB"
	between "memory with large pools over that with netprof's" \
		"$(ratio "$(memory large)" "$(memory $TCP)")" 2 100
}

test_messages_of_all_sizes_are_timed_over_libfabric() {
	needs_pmix
	over $TCP 'n[0-1]' netprof-prtt --blocks=2 --max-bytes=128K >"$TMPDIR/prtt" 2>&1
	equal "sizes" "$(awk '$2 == "prtt" { print $6 }' "$TMPDIR/prtt" | sort -u | grep -c .)" \
		"$(awk '$2 == "prtt" && $4 == 0 { print $6 }' "$TMPDIR/prtt" | sort -u | grep -c .)"
	between "longest" "$(awk '$2 == "prtt" { print $6 }' "$TMPDIR/prtt" | sort -n |
		tail -n 1)" 30000 131072
}

# Up to three times, as other programs delay transfers, too: also those that others are
# compared with.
test_transfers_are_measured_over_libfabric() {
	local _
	needs_pmix
	cp -u "$BUILD/netprof-sharing" "$(shared)"
	inside tee schemes >/dev/null <<-'END'
		size 128K
		scheme in
		a: n1 -> n0
		b: n2 -> n0
	END
	for _ in 1 2 3; do
		over $TCP 'n[0-3]' "$(shared)/netprof-sharing" --repeats=4 schemes >"$TMPDIR/out"
		! (have_a_penalty) >/dev/null || break
	done
	grep -q '^# netprof-sharing .*, libfabric-.*, ofi:tcp;ofi_rxm/eth0, 4 processes' \
		"$TMPDIR/out" || fail "$(head -n 3 "$TMPDIR/out")"
	have_a_penalty
}

have_a_penalty() {
	between "penalty of two transfers to one node" \
		"$(awk '/penalty/ { sub(",", ""); print $10 }' "$TMPDIR/out" | sort -g |
			head -n 1)" 1.3 2.7
}

# With --wait, as the first that ends may leave the other one waiting for it; not killed at
# once, as srun may then end before their messages arrive.
test_nodes_that_measure_over_different_networks_say_so() {
	needs_pmix
	! over none 'n[0-1]' --wait=10 bash -c '
		[ "$SLURM_PROCID" = 0 ] && t=ucx || t=ofi:tcp
		NETPROF_TRANSPORT=$t exec netprof-impactb --duration=1s' \
		>"$TMPDIR/out" 2>&1 || fail "it ran"
	grep -qE '^netprof-impactb: n[01] measures over (ucx|ofi:tcp;ofi_rxm) and n[01] over .*: expected' \
		"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
}

# By itself libfabric sleeps a thousand times and takes 0.15 s (np_ofi.c).
test_libfabric_is_loaded_with_few_sleeps_and_little_processor_time() {
	needs_pmix
	over ofi:cxi 'n0' -n1 python3 -c '
import resource, subprocess
subprocess.run(["netprof-impactb", "--duration=1s"])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("used", used.ru_nvcsw, used.ru_utime + used.ru_stime)' \
		>"$TMPDIR/out" 2>&1 || fail "$(cat "$TMPDIR/out")"
	grep -q 'has no provider "cxi"' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	between "sleeps" "$(awk '$1 == "used" { print $2 }' "$TMPDIR/out")" 1 300
	between "processor time" "$(awk '$1 == "used" { print $3 }' "$TMPDIR/out")" 0.001 0.1
}

test_a_missing_provider_is_reported_in_one_line() {
	needs_pmix
	! over ofi:cxi 'n0' -n1 netprof-impactb --duration=1s >"$TMPDIR/out" 2>&1 ||
		fail "it ran"
	grep -q '^netprof-impactb: libfabric-.* has no provider "cxi" for eth0 on this node' \
		"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
}

# Over libfabric a dead peer is noticed only by its silence. One process runs until it is killed,
# the other until it gets a signal, or for four minutes if this test fails.
test_a_dead_peer_does_not_end_the_others_over_libfabric() {
	local srun n
	needs_pmix
	: >"$TMPDIR/out"
	over $TCP 'n[0-1]' -n2 --kill-on-bad-exit=0 bash -c '
		echo $$ >"probe.$SLURM_PROCID"
		exec netprof-impactb --period=20ms --duration=240s --report-every=1' \
		>"$TMPDIR/out" 2>&1 & srun=$!
	(wait_for has_exchanged 10) || fail "$(cat "$TMPDIR/out")"
	inside --on n1 bash -c 'kill -9 $(<probe.1)'
	n=$(cost_reports)
	(wait_for has_cost_reports $((n + 3))) || fail "$(cat "$TMPDIR/out")"
	inside --on n0 bash -c 'kill -USR1 $(<probe.0)'
	wait $srun || :
	equal "processes that ended in order" \
		"$(sed -n 's/^\(np1 bye .\).*/\1/p' "$TMPDIR/out" | grep . || cat "$TMPDIR/out")" \
		'np1 bye 0'
}

# The third of three probes stalls while the others connect to it, for longer than the ten
# seconds after which a silent peer is noted. Without netprof's care UCX would then use half
# a processor, and libfabric would send nothing to anybody.
test_a_peer_that_stalls_at_the_start_disturbs_no_other() {
	local transport latencies percent notes
	cp "$ROOT/t/integration/stalled_peer.py" "$(shared)"
	for transport in ucx ofi:tcp; do
		read -r latencies percent notes < <(alice "python3 $(shared)/stalled_peer.py \
			netprof-impactb $transport 14")
		between "latencies over $transport" "$latencies" 60 1000
		between "percent of a processor over $transport" "$percent" 0 10
		equal "notes about living peers over $transport" "$notes" 0
	done
}

has_exchanged() { # NUMBER
	awk -v least="$1" '$2 == "lat" { n += $5 } END { exit n < least }' "$TMPDIR/out"
}

# Of the first process: one each second.
cost_reports() { grep -c '^np1 cost 0 ' "$TMPDIR/out"; }

has_cost_reports() { # NUMBER
	[ "$(cost_reports)" -ge "$1" ]
}

# t/validate topology tests what latencies show; it depends on other work of the machine.
test_each_pair_of_nodes_is_measured_and_a_misplaced_node_is_named() {
	alice "salloc -Q -N12 netprof topology --times=10 --repeats=1 --save=lat" \
		>"$TMPDIR/found" 2>&1 || :
	grep -qE '^12 nodes on .* leaf switch|of these 12 nodes .* distinguish leaf switches' \
		"$TMPDIR/found" || fail "$(cat "$TMPDIR/found")"
	equal "pairs" "$(inside awk '$3 > 1e-6 && $3 < 1 { n++ } END { print n }' lat)" 66
	alice "awk '{ a = substr(\$1, 2); b = substr(\$2, 2)
		print \$1, \$2, int(a / 4) == int(b / 4) ? 1e-5 : 2e-5 }' lat >lat2
		netprof topology --latencies=lat2" >"$TMPDIR/found" || :
	grep -q "^Slurm's topology agrees" "$TMPDIR/found" || fail "$(cat "$TMPDIR/found")"
	alice "scontrol show topology | sed 's/n\[0-3\]/n[0-2]/; s/n\[4-7\]/n[3-7]/' >wrong
		netprof topology --latencies=lat2 --slurm=wrong" >"$TMPDIR/found" || :
	grep -q '^n3 is on leaf1 in .* found on leaf0$' "$TMPDIR/found" ||
		fail "$(cat "$TMPDIR/found")"
	equal "misplaced" "$(grep -c ' found on ' "$TMPDIR/found")" 1
}

# Otherwise the other probes would wait for its messages for ten minutes.
test_a_probe_that_dies_ends_the_measurement_of_the_topology() {
	local rc=0 begin=$EPOCHSECONDS
	alice "salloc -Q -w 'n[0-11]' netprof topology --times=10000 --repeats=20 --save=dead" \
		>"$TMPDIR/found" 2>&1 &
	wait_for probe_measures
	wait $! || rc=$?
	[ "$rc" -ne 0 ] || fail "it ended in order: $(cat "$TMPDIR/found")"
	grep -q 'the measurement ended early' "$TMPDIR/found" || fail "$(cat "$TMPDIR/found")"
	between "seconds until it ended" $((EPOCHSECONDS - begin)) 0 240
}

# Once a probe has measured for some time, kill it.
probe_measures() {
	inside --user root --on n11 -- bash -c 'pid=$(pgrep -o -f "^[^ ]*netprof-impactb.*--matrix") &&
		[ "$(awk "{ print \$14 + \$15 }" /proc/$pid/stat)" -ge 20 ] && kill -9 $pid' 2>/dev/null
}

test_latencies_that_do_not_tell_leaf_switches_apart_blame_no_node() {
	alice "awk '{ print \$1, \$2, 1e-5 }' lat >lat3"
	! alice "netprof topology --latencies=lat3" >"$TMPDIR/found" 2>&1 || fail "it agrees"
	equal "the answer" "$(sed 's/, of which .*//' "$TMPDIR/found")" \
		"netprof: the latencies of these 12 nodes (10.0 µs) do not distinguish leaf switches"
	! alice "netprof topology --latencies=lat3 --write=conf" >"$TMPDIR/found" 2>/dev/null ||
		fail "it wrote a topology"
	equal "topology.conf" "$(cat "$TMPDIR/found")" ""
}

# All parts, with short measurements. The part of the topology fails if latencies
# contradict Slurm's, which depends on other work of the machine, too.
test_check_fabric_writes_one_file_without_the_users_name() {
	local part
	inside -- bash -c "cd; salloc -Q -N8 netprof check --fabric=fabric.txt --seconds=1" \
		>"$TMPDIR/out" 2>&1 || :
	inside cat fabric.txt >"$TMPDIR/fabric" || fail "$(cat "$TMPDIR/out")"
	equal "parts that failed" "$(failed_parts)" ""
	equal "parts" "$(grep -c '^== ' "$TMPDIR/fabric")" 12
	for part in 'idle latencies and the cost of probes' 'the same over UCX'; do
		equal "probes that ended, $part" "$(fabric_part "$part" | grep -c '^np1 bye ')" 8
		fabric_part "$part" | grep '^np1 lat ' >/dev/null || fail "$part: no latencies"
	done
	grep -q '"coupling"' "$TMPDIR/fabric" || fail "no calibration"
	! grep -iw alice "$TMPDIR/fabric" || fail "it names the user"
}

fabric_part() { # TITLE
	awk -v title="== $1" '/^== / { in_part = $0 == title } in_part' "$TMPDIR/fabric"
}

failed_parts() {
	awk '/^== / { part = $0 }
		/^-- (exit [1-9]|error)/ && part !~ /share a leaf switch/ { print part }' "$TMPDIR/fabric"
}

test_a_flagged_step_is_measured_over_the_configured_transport() {
	sed -i "s,^Transport=.*,Transport=$TCP," "$(rundir)/etc/slurm/netprof.conf"
	alice "srun -N4 -w 'n[0-3]' --netprofile=ofi $ALL_PROBED 15"
	expect ofi 'length == 1 and (.[0] | .state == "complete" and
		.leaves[0].latency.n > 10 and (.ucx_version | startswith("libfabric-")) and
		.probe.transport == "ofi:tcp;ofi_rxm/eth0" and .traffic.n_nodes == 4)'
	# What the level sends counts, too: about 20 rounds of each node.
	alice "salloc -Q -w 'n[0-3]' srun -N4 --netprofile=ofi --netprofile-compress=c4 \
		$ALL_PROBED 6000"
	expect ofi 'map(select(.level != null)) | length == 1 and
		(.[0].level.beside_round_sec.n > 5)'
}
