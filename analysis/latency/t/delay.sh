# libnetprof-delay.so: latency for programs of people who are not root.
# shellcheck shell=bash

setup() {
	DELAY=$ROOT/$BUILD/libnetprof-delay.so
	QUIET=$ROOT/$BUILD/quiet_poll.so
	mpicc.openmpi -O1 -o "$TMPDIR/overlap" "$ROOT/t/mpi/overlap.c"
}

# Run a command before other programs, also where the kernel gives each session an
# equal share of the processors (autogroup in sched(7)).
hurry() { # COMMAND...
	setsid -w sh -c '[ ! -w /proc/self/autogroup ] || echo -19 >/proc/self/autogroup
		exec nice -n -19 "$@"' - "$@"
}

# Median us: TRIP SEND WAIT WAIT_AFTER_COMPUTING of two ranks on this host, by
# its loopback, which Open MPI 5.0 does not take by itself. Both poll, and would
# wait for whole time slices of other programs without a higher priority.
overlap() { # DELAY_US
	OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo \
		OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		hurry mpirun.openmpi --oversubscribe \
		-n 2 -x LD_PRELOAD="$DELAY:$QUIET" -x NETPROF_DELAY_US="$1" \
		"$TMPDIR/overlap"
}

# The median us of a sleep of so many: what such a delay takes on this machine,
# in addition to whatever else it does.
asleep() { # US
	hurry perl -MTime::HiRes=usleep,time -e 'for (1 .. 100) {
			my $from = time; usleep($ARGV[0]); push @t, time - $from }
		@t = sort { $a <=> $b } @t; printf "%.0f\n", 1e6 * $t[50]' "$1"
}

# The least of the runs in $TMPDIR/runs, as other programs only add to it.
least() {
	awk '{ for (i = 1; i <= NF; i++)
			if (NR == 1 || $i < least[i]) least[i] = $i }
		END { for (i = 1; i <= 9; i++) printf "%s ", least[i] }' "$TMPDIR/runs"
}

as_promised() {
	local t0 s0 w0 c0 sleep t s w c
	read -r t0 s0 w0 c0 sleep t s w c <<<"$(least)"
	echo "without: $t0 $s0 $w0 $c0; with 4000 us: $t $s $w $c;" \
		"such a sleep: $sleep"
	ratio() { awk "BEGIN { print ($1) / $sleep }"; }
	between "more of a round trip, in sleeps" "$(ratio "$t - $t0")" 1.8 2.8
	# What is waited for is sent after an answer: there and back again.
	between "more of a wait, in sleeps" "$(ratio "$w - $w0")" 1.8 2.8
	between "a send, in sleeps" "$(ratio "$s")" 0 0.13
	between "a wait after computing, in sleeps" "$(ratio "$c")" 0 0.25
}

# Three runs, or up to fifteen if others disturb these: without a delay, of a sleep, and
# with a delay that is as long, by turns.
test_delivery_is_delayed_and_neither_the_sender_nor_computation() {
	local i
	setup
	for ((i = 1; i <= 15; i++)); do
		echo "$(overlap 0) $(asleep 4000) $(overlap 4000)" >>"$TMPDIR/runs"
		((i < 3)) || ! (as_promised) >/dev/null || break
	done
	as_promised
}

# Send random bytes from one process to another over a delayed connection, $c for the receiver.
transfer() { # BYTES CODE, in Perl, that receives and prints them
	setup
	head -c "$1" /dev/urandom >"$TMPDIR/sent"
	LD_PRELOAD=$DELAY NETPROF_DELAY_US=3000 timeout 60 perl -MSocket -e '
		socket(my $l, PF_INET, SOCK_STREAM, 0) or die;
		bind($l, sockaddr_in(0, INADDR_LOOPBACK)) and listen($l, 1) or die;
		my ($port) = sockaddr_in(getsockname($l));
		if (fork) {
			accept(my $c, $l) or die;
			eval $ARGV[1];
		} else {
			socket(my $s, PF_INET, SOCK_STREAM, 0) or die;
			connect($s, sockaddr_in($port, INADDR_LOOPBACK)) or die;
			local $/;
			open(my $f, "<", $ARGV[0]) or die;
			my $all = <$f>;
			while (length $all) {
				my $n = syswrite($s, $all, 1 + int rand 90000) or die;
				substr($all, 0, $n, "");
			}
		}' "$TMPDIR/sent" "$2" >"$TMPDIR/got"
	cmp "$TMPDIR/sent" "$TMPDIR/got"
}

test_what_it_delivers_is_what_was_sent() {
	transfer 3000000 'while (sysread($c, my $got, 1 + int rand 70000)) { print $got }'
}

# More than the buffer of the socket holds.
test_all_bytes_of_a_large_message_are_received_at_once() {
	transfer 4000000 'recv($c, my $got, 4000000, MSG_WAITALL); print $got'
}

test_what_is_no_delay_is_told_and_nothing_is_delayed() {
	local v out
	setup
	for v in x -1 1e9 '' 5us nan; do
		out=$(LD_PRELOAD=$DELAY NETPROF_DELAY_US=$v /bin/true 2>&1)
		[ "$(wc -l <<<"$out")" = 1 ] || fail "'$v': it says '$out'"
		case $out in *"NETPROF_DELAY_US=$v: expected 0 to 10000000 micro"*) ;;
		*) fail "'$v': it says '$out'" ;; esac
	done
	equal "without a delay" "$(LD_PRELOAD=$DELAY /bin/echo fine 2>&1)" fine
}
