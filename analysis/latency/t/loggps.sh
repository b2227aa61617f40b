# netprof loggps on a cluster whose links are known: what is added to a link
# appears where it belongs.
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
SUITE_CLUSTER=(--leaves 2 --nodes-per-leaf 2 --nic-mbit 20 --uplink-mbit 10
	--netprof "$BUILD")

# Both sides poll, and all nodes share the processors: before other programs, also
# where the kernel gives each session an equal share (autogroup in sched(7)).
hurried() {
	root 'mkdir -p hurried && cat >hurried/netprof-prtt <<"END"
#!/bin/sh
[ ! -w /proc/self/autogroup ] || echo -19 >/proc/self/autogroup
exec nice -n -19 netprof-prtt "$@"
END
		chmod +x hurried/netprof-prtt
		cat $NETPROF_CONF /etc/slurm/netprof.conf 2>/dev/null \
			>hurried/netprof.conf
		echo "BinDir=$PWD/hurried" >>hurried/netprof.conf; pwd'
}

loggps() { # NODES OPTIONS
	local home
	home=$(hurried)
	root "NETPROF_CONF=$home/hurried/netprof.conf salloc -Q -w '$1' \
		netprof loggps --json $2"
}

# Half of the shortest round trip, us: how it is divided between L and o cannot
# be measured where the sender's processor carries the message.
half_trip() { jq '1e6 * (.L_sec.value + .o_send_sec.value + .o_recv_sec.value)'; }

# The least of three, with that of G in a file: other programs only add to it.
least() {
	local i
	rm -f "$TMPDIR/G"
	for i in 1 2 3; do
		loggps "$1" '--blocks=5 --max-bytes=128K' 2>>"$TMPDIR/err" >"$TMPDIR/one"
		half_trip <"$TMPDIR/one"
		jq '1e9 * .G_sec_per_byte.value' "$TMPDIR/one" >>"$TMPDIR/G"
	done | sort -g | head -n 1
	sort -g -o "$TMPDIR/G" "$TMPDIR/G"
	sed -i '2,$d' "$TMPDIR/G"
}

test_without_an_allocation_it_says_how_to_get_one() {
	local out

	! out=$(root "netprof loggps" 2>&1) || fail "it ran"
	case $out in *"salloc -N2 --exclusive netprof loggps"*) ;;
	*) fail "it says: $out" ;; esac
}

test_who_may_not_write_the_store_is_told_before_anything_runs() {
	local out

	! out=$(alice "salloc -Q -N2 netprof loggps" 2>&1) || fail "it ran"
	case $out in *administrators* | *"cannot create"*) ;;
	*) fail "it says: $out" ;; esac
}

test_a_dry_run_leaves_nothing() {
	root "salloc -Q -w 'n[0-1]' netprof loggps --dry-run" 2>"$TMPDIR/err"
	grep -q '30 blocks' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
	[ ! -e "$STORE/fabric" ] || fail "it left $(find "$STORE/fabric")"
}

# LOW HIGH NODES OPTIONS: the time per byte, ns, of up to three measurements, as other
# programs disturb them.
per_byte() {
	local _ g
	for _ in 1 2 3; do
		loggps "$3" "$4" >"$TMPDIR/out"
		g=$(jq '1e9 * .G_sec_per_byte.value' "$TMPDIR/out")
		! (between "ns per byte" "$g" "$1" "$2") >/dev/null || return 0
	done
	between "ns per byte, thrice" "$g" "$1" "$2"
}

# 20 Mbit/s: 400 ns a byte, and 66 of 1514 are headers: 418.
test_a_shaped_link_gives_its_time_per_byte() {
	per_byte 385 455 'n[0-1]' --blocks=10
	jq -e '.from == "n0" and .to == "n1" and .leaf == "leaf0" and
		.transport == "tcp/eth0" and .blocks == 10 and (.across | not) and
		.g_sec.low > 0 and .L_sec.value >= 0' "$TMPDIR/out" >/dev/null ||
		fail "$(cat "$TMPDIR/out")"
}

test_what_was_measured_is_shown_to_everybody() {
	alice "netprof loggps --show --json" >"$TMPDIR/out"
	jq -e '.blocks == 10 and .cluster == $ENV.NETPROF_CLUSTER' \
		"$TMPDIR/out" >/dev/null || fail "$(cat "$TMPDIR/out")"
	alice "netprof loggps --show" | grep '^G  *time per byte ' >/dev/null ||
		fail "$(alice "netprof loggps --show")"
	! alice "netprof loggps --show --across" 2>"$TMPDIR/err" || fail "it was"
	grep -q 'across leaf switches' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
}

# 10 Mbit/s: the uplink is the slowest part.
test_across_leaves_the_uplink_counts() {
	per_byte 770 910 'n[0-3]' '--blocks=5 --max-trip=100ms --across'
	jq -e '.across and .from == "n0" and .to == "n2"' "$TMPDIR/out" >/dev/null ||
		fail "$(cat "$TMPDIR/out")"
}

only_latency() {
	between "us more ($before, $after)" \
		"$(awk "BEGIN { print $after - $before }")" 170 260
	between "G ($g0, $g)" "$(awk "BEGIN { print $g / $g0 }")" 0.9 1.15
}

# TCP's windows are 32 KiB here, and each waits for the latency once. Up to three times.
test_added_latency_is_latency_and_nothing_else() {
	local before after g0 g _
	for _ in 1 2 3; do
		cluster delay all 0
		before=$(least 'n[0-1]')
		g0=$(cat "$TMPDIR/G")
		cluster delay all 200
		after=$(least 'n[0-1]')
		g=$(cat "$TMPDIR/G")
		cluster delay all off
		! (only_latency) >/dev/null || break
	done
	only_latency
}

test_stopped_it_says_so_and_leaves_nothing_running() {
	local rc=0 n

	n=$(find "$STORE/fabric" -name '*.loggps' | wc -l)
	root "salloc -Q -w 'n[0-1]' netprof loggps --blocks=1000" \
		>"$TMPDIR/out" 2>&1 &
	wait_for root 'pgrep -f "^[^ ]*netprof-analysis loggps"'
	wait_for inside --user root --on n0 -- pgrep -x netprof-prtt
	root 'kill -INT $(pgrep -f "^[^ ]*netprof-analysis loggps")'
	wait $! || rc=$?
	[ "$rc" -ne 0 ] || fail "it says that it is done"
	grep -q "stopped" "$TMPDIR/out" || fail "it says: $(tail -n 2 "$TMPDIR/out")"
	equal "results" "$(find "$STORE/fabric" -name '*.loggps' | wc -l)" "$n"
	wait_for all_idle
}
