# No failure of netprof may harm a job: one test for each failure.
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"

PARALLEL=125

# The job that must not be affected: prints ok, exits with 7.
JOB="sh -c 'sleep 4; echo ok; exit 7'"

# SRUN-OPTION [ENVIRONMENT]: run the job flagged; it must behave as if unflagged.
# srun reports the tasks that exited with 7, as always; netprof must print nothing.
unharmed() {
	local out

	out=$(alice "err=\$(mktemp); ${2-} srun -N4 $1 $JOB 2>\$err; echo rc=\$?
		grep -v 'Exited with exit code 7' \$err || true" | sort | tr '\n' ' ')
	[ "$out" = "ok ok ok ok rc=7 " ] || fail "$1: it printed: $out"
}

# Run these at the same time.
at_once() { # FUNCTION...
	local f pids=()
	for f; do
		"$f" &
		pids+=($!)
	done
	for f in "${pids[@]}"; do
		wait "$f"
	done
}

# Until netprof has noticed.
no_probe_binary() {
	local JOB="sh -c 'for i in \$(seq 600); do [ ! -e nobin.over ] || break; sleep 0.1; done
		echo ok; exit 7'"
	alice 'rm -f nobin.over'
	unharmed --netprofile=nobin "NETPROF_CONF=$(conf BinDir=/nowhere)" &
	wait_for_logged "(nobin).*netprof-impactb"
	alice 'touch nobin.over'
	wait $!
}

no_collector() {
	unharmed --netprofile=noatt "NETPROF_CONF=$(conf LibexecDir=/nowhere)"
}

broken_configuration() {
	unharmed --netprofile=badconf "NETPROF_CONF=$(conf Period=soon)"
}

test_programs_missing_and_configuration_broken() {
	at_once no_probe_binary no_collector broken_configuration
	expect nobin '.[0] | .exit_code == 7 and (.notes[0] | test("ended"))'
	wait_for_logged "/nowhere/netprof-collector: No such file"
}

no_srun() { ! alice "pgrep -u alice srun" >/dev/null; }

timed_unharmed() { # ARGUMENTS of unharmed: seconds that it takes
	local begin=$EPOCHSECONDS

	unharmed "$@" >&2
	echo $((EPOCHSECONDS - begin))
}

# A file system without a server, on the login host and on the nodes: a process that waits
# for it can only be killed. srun waits up to five seconds for a collector, and the job takes four.
test_collector_on_a_file_system_that_hangs() {
	local plain flagged conf pid place

	[ -e /dev/fuse ] || skip "no FUSE here"
	HUNG=()
	for place in login n0 n1 n2 n3; do
		at "$place" 'mkdir -p /run/hung && exec 9<>/dev/fuse && mount -i -t fuse \
			-o fd=9,rootmode=40000,user_id=0,group_id=0,allow_other \
			none /run/hung && exec sleep 300' >/dev/null 2>&1 &
		HUNG+=($!)
	done
	for place in login n0 n1 n2 n3; do
		wait_for at "$place" "grep -q /run/hung /proc/mounts"
	done
	conf=$(conf LibexecDir=/run/hung)
	timed_unharmed "--comment=plain -w n[4-7]" >"$TMPDIR/plain" &
	pid=$!
	flagged=$(timed_unharmed "--netprofile=hung -w n[0-3]" "NETPROF_CONF=$conf")
	wait $pid
	plain=$(<"$TMPDIR/plain")
	[ "$flagged" -ge 7 ] || fail "srun did not wait: $flagged s"
	[ "$flagged" -le $((plain + 15)) ] || fail "$flagged s, unflagged $plain s"
	wait_for no_srun
	kill "${HUNG[@]}"
	for place in login n0 n1 n2 n3; do
		at "$place" "umount -l /run/hung"
	done
}

at() { # PLACE COMMAND, as root
	if [ "$1" = login ]; then
		root "$2"
	else
		inside --user root --on "$1" -- bash -c "$2"
	fi
}

no_store() { unharmed --netprofile=nostore NETPROF_STORE=/nowhere; }
store_read_only() { unharmed --netprofile=ro NETPROF_STORE=/run/ro; }
store_full() { unharmed --netprofile=full NETPROF_STORE=/run/full; }
store_of_another_user() { unharmed --netprofile=squat NETPROF_STORE=/run/squat; }

test_store_missing_read_only_full_and_of_another_user() {
	root "mkdir -p /run/ro && mount -t tmpfs -o size=1m none /run/ro &&
		mkdir -m 3777 /run/ro/users && mount -o remount,ro /run/ro
		mkdir -p /run/full &&
		mount -t tmpfs -o size=16k,nr_inodes=100 none /run/full &&
		mkdir -m 3777 /run/full/users
		head -c 100k /dev/zero >/run/full/fill || true
		mkdir -p /run/squat/users/20001 && chmod 3777 /run/squat/users"
	at_once no_store store_read_only store_full store_of_another_user
	root "umount -l /run/ro /run/full"
}

# A write would kill srun with SIGXFSZ; the program keeps its limit and its signal
# settings.
test_no_file_may_be_written() {
	local n flag said=()
	for n in 1 2; do
		for flag in '' --netprofile=nofile; do
			said+=("$(alice "ulimit -f 0; srun -N$n $flag sh -c \
				'cat; ulimit -f; grep ^SigIgn /proc/self/status; exit 3' \
				2>/dev/null | sort -u | xargs
				echo rc=\${PIPESTATUS[0]}")")
		done
		equal "on $n nodes" "${said[1]}" "${said[0]}"
		[[ ${said[0]} == 0*rc=3 ]] || fail "on $n nodes: ${said[0]}"
		said=()
	done
}

# The 64 socket names of a job by which slurmstepd finds its collectors.
test_socket_names_taken_by_another_user_are_reported() {
	local id taken
	id=$(alice "rm -f go; sbatch --parsable -o /dev/null -N2 -n2 --netprofile=names \
		--wrap 'until [ -e go ]; do sleep 0.1; done; srun $PROBED 12; rm go'")
	wait_for alice "squeue -h -t R -j $id | grep -q ."
	taken=$(shared)/taken
	rm -f "$taken"
	inside --user bob --on "$(alice "squeue -h -j $id -o %B")" -- perl -MSocket -e '
		for my $i (0 .. 63) {
			socket my $s, AF_UNIX, SOCK_STREAM, 0;
			bind $s, pack("S a*", AF_UNIX, "\0netprof/$ARGV[0]/$i") or die;
			listen $s, 1;
			push @s, $s;
		}
		open my $f, ">", $ARGV[1] or die;
		sleep 1 while -e $ARGV[1]' "$id" "$taken" &
	wait_for test -e "$taken"
	alice "touch go"
	wait_for_logged "(names).*sockets netprof/$id/. are in use"
	expect names 'length == 1'
	rm "$taken"
	wait
}

# The saver of a login host ends with its last connection. A client that connects just then is
# refused, and starts another saver, or gets its reply.
test_a_saver_that_ends_loses_no_request() {
	inside -- perl -MSocket -e '
		$SIG{CHLD} = $SIG{PIPE} = "IGNORE";
		alarm 240;
		sub start {
			socketpair my $end, my $other, AF_UNIX, SOCK_STREAM, 0 or die;
			return $end if fork;
			open STDIN, "<&", $other or die;
			exec $ARGV[0], "--own" or die;
		}
		sub client {
			for my $i (0 .. 3) {
				socket my $s, AF_UNIX, SOCK_STREAM, 0 or die;
				return $s if connect $s,
					pack "S a*", AF_UNIX, "\0netprof/saver/$ARGV[1]/$i";
			}
			return;
		}
		sub gets_reply { # to CHECK, request 1, whether a directory answers
			my ($s) = @_;
			syswrite $s, pack "L4 a*", 0x6e707331, 4, 1, 2, "/\0";
			return sysread $s, my $head, 16;
		}
		my ($lost, $refused, $s) = (0, 0, start());
		for (1 .. 300) {
			gets_reply($s) or $lost++;
			undef $s; # its last connection
			select undef, undef, undef, rand 3e-4;
			$s = client() or $refused++, $s = start();
		}
		print "$lost lost, $refused refused\n";
		exit($lost || !$refused)' "$(rundir)/build/netprof-saver" 20001
}

# The connections that one user after the other gets, of 600 each, from a saver of the whole
# node, with socket names of its own.
connections_of() { # DESCRIPTORS USERS
	inside --user root -- prlimit --nofile="$1" unshare -n perl -MSocket -e '
		$SIG{CHLD} = $SIG{PIPE} = "IGNORE";
		alarm 240;
		pipe my $control, my $slurmd or die; # open as long as this process
		if (!fork) {
			close $slurmd;
			open STDIN, "<&", $control or die;
			exec $ARGV[0] or die;
		}
		sub client {
			socket my $s, AF_UNIX, SOCK_STREAM, 0 or die;
			until (connect $s, pack "S a*", AF_UNIX, "\0netprof/saver/0") {
				select undef, undef, undef, 0.01;
			}
			return $s;
		}
		sub gets_reply { # to CHECK, request 1, whether a directory answers
			my ($s) = @_;
			syswrite $s, pack "L4 a*", 0x6e707331, 4, 1, 2, "/\0";
			return sysread $s, my $head, 16;
		}
		sub connect_as {
			my ($uid) = @_;
			pipe my $r, my $w or die;
			if (!fork) {
				$> = $< = $uid;
				close $slurmd;
				my @s = map { client() } 1 .. 600;
				# The last one is refused, as those before it are by then.
				sysread $s[-1], my $end, 1;
				my $n = grep { !defined recv $_, $end, 1, MSG_DONTWAIT } @s;
				syswrite $w, (gets_reply($s[0]) ? $n : "none") . "\n";
				sysread $control, $end, 1;
				exit;
			}
			close $w;
			my $n = <$r>;
			chomp $n;
			return $n;
		}
		print join " ", map { connect_as($_) } 20001 .. 20000 + $ARGV[1];
		' "$(rundir)/build/netprof-saver" "$2"
}

test_users_leave_room_in_the_saver() {
	equal "connections" "$(connections_of 8192 6)" "512 512 512 256 128 64"
	# Two for each connection, and 160 more.
	equal "connections" "$(connections_of 960:960 3)" "200 100 50"
}

test_requests_to_the_saver_take_no_more_than_their_share() {
	local mib traces kept

	cp "$ROOT/t/integration/ask_saver.py" "$(shared)"
	read -r mib traces kept < <(alice "mkdir -p ask && rm -rf ask/* &&
		python3 $(shared)/ask_saver.py $(rundir)/build/netprof-saver \$PWD/ask")
	between "MiB to look into a library with a table of 2000" "$mib" 0 300
	equal "traces that count after other replies" "$traces" 6
	equal "descriptors that it keeps without need" "$kept" 0
}

test_pmix_plugin_missing() {
	local so JOB="sh -c '$PROBED 15; echo ok; exit 7'"

	so=$(inside --user root -- bash -c \
		'ls /usr/lib/*/slurm-wlm/mpi_pmix.so 2>/dev/null || true')
	[ -z "$so" ] || root "mount --bind /dev/null $so"
	unharmed --netprofile=nopmix
	[ -z "$so" ] || root "umount $so"
	expect nopmix '.[0].leaves[0].latency.n > 10'
}

# srun itself needs 72 KiB.
test_a_small_stack() {
	local JOB="sh -c 'echo ok; exit 7'"

	unharmed --comment=unflagged "ulimit -s 112;"
	unharmed "--netprofile=stack --netprofile-period=200ms --netprofile-trace" \
		"ulimit -s 112;"
}

test_a_probe_that_hangs_at_its_start() {
	local bin

	bin=$(alice 'mkdir -p hang && cat >hang/netprof-impactb <<"END"
#!/bin/sh
trap "" USR1 TERM
[ "$SLURMD_NODENAME" = n0 ] && exec sleep 600
exec netprof-impactb "$@"
END
		chmod +x hang/netprof-impactb; pwd')/hang
	# The other pair still measures.
	alice "rm -f hang.over; NETPROF_CONF=$(conf "BinDir=$bin") srun -N4 -w 'n[0-3]' \
		--netprofile=hang sh -c '$PROBED 20 hang.over; touch hang.over'"
	expect hang '.[0].leaves[0].latency.n > 10'
	wait_for is_gone n0 'sleep 600'
}

is_gone() { # NODE PROGRAM
	! inside --user root --on "$1" -- pgrep -f "$2" >/dev/null
}

# OPTION [COMMAND]: ms that srun takes to end after its tasks; COMMAND is run before.
ms_to_end() {
	alice "rm -f up over; srun -N4 $1 sh -c \
			'echo >>up; until [ -e over ]; do sleep 0.02; done' &
		until [ \"\$(cat up 2>/dev/null | wc -l)\" = 4 ]; do sleep 0.1; done
		${2-:}
		s=\$(date +%s%N); touch over; wait \$! || exit
		echo \$(((\$(date +%s%N) - s) / 1000000))"
}

# A stopped collector keeps its files open; srun does not wait for it. Up to three times,
# as other programs delay steps, too.
test_a_stopped_collector() {
	local plain still _
	for _ in 1 2 3; do
		plain=$(ms_to_end --comment=plain)
		still=$(ms_to_end --netprofile=still 'until pgrep netprof-collect >/dev/null; do
			sleep 0.1; done; sleep 1; pkill -STOP netprof-collect')
		alice "pkill -KILL netprof-collect"
		[ "$still" -gt $((plain + 1500)) ] || break
	done
	between "ms with a stopped collector" "$still" 0 $((plain + 1500))
}

test_kill_9_of_a_probe() {
	while_running probe9 netprof-impactb n0
	expect probe9 '.[0] | .exit_code == 7 and .leaves[0].latency.n > 0'
}

test_kill_9_of_all_probes() {
	while_running probes9 netprof-impactb n0 n1 n2 n3
	expect probes9 '.[0] | .exit_code == 7 and .leaves[0].latency.n > 0'
}

test_kill_9_of_the_collector() {
	while_running att9 netprof-collect ctl
	wait_for no_side_steps || fail "its steps live on"
	expect att9 'length == 1 and .[0].state == "running"'
}

# What the tasks of a step do, and how its user waits until they are measured.
LASTS="$PROBED 25; touch up; exec sleep 60"
IS_UP="until [ -e up ]; do sleep 0.1; done"

test_kill_9_of_srun() {
	alice "rm -f up; srun -N4 --netprofile=srun9 sh -c '$LASTS' & $IS_UP
		kill -9 \$!; wait \$!; [ \$? = 137 ]"
	expect srun9 '.[0] | .exit_code == null and .leaves[0].latency.n > 10'
	wait_for no_side_steps || fail "its steps live on"
}

# APP: it was measured, and the log has nothing about it.
was_measured() {
	expect "$1" '.[0] | .leaves[0].latency.n > 10'
	! logged "($1)" || fail "$(logged "($1)")"
}

# APP CMD: a step of this application is measured, and then ended by CMD.
ended_by() {
	local code
	code=$(alice "rm -f up; srun -J $1 --time=5 -N4 --netprofile=$1 \
			sh -c '${LASTS/60/280}' >/dev/null & $IS_UP
		$2
		wait \$!; echo \$?" 2>"$TMPDIR/err")
	[ "$code" = 143 ] || fail "$1 ended with '$code', expected 143: $(tail -n 5 "$TMPDIR/err")"
}

# Up to three times, as probes that ended three seconds before the step, as where a busy node
# ends its tasks late, were lost.
test_scancel() {
	local i
	for i in 1 2 3; do
		ended_by "cancel$i" "scancel -u alice"
		! (was_measured "cancel$i") >/dev/null || break
	done
	was_measured "cancel$i"
}

# Slurm's limits are whole minutes, but the end of a job can be made earlier. Up to three
# times, as above.
test_time_limit() {
	local i
	for i in 1 2 3; do
		ended_by "limit$i" \
			"scontrol update jobid=\$(squeue -h -n limit$i -o %i) endtime=now"
		! (was_measured "limit$i") >/dev/null || break
	done
	was_measured "limit$i"
}

test_a_step_shorter_than_one_period() {
	# longer only if it takes longer until it is being measured
	alice "srun -N4 --netprofile=short --netprofile-period=10s sh -c 'sleep 4
		for i in \$(seq 600); do ls $ALICE/short/*.json && break; sleep 0.1; done' >/dev/null 2>&1"
	expect short 'length == 1 and .[0].exit_code == 0'
	! logged "(short)" || fail "$(logged "(short)")"
}

test_a_node_lost_in_the_middle() {
	alice "rm -f up"
	alice "srun -N4 -w 'n[0-3]' --no-kill --netprofile=lost sh -c '$LASTS'" \
		>/dev/null 2>&1 &
	wait_for alice "[ -e up ]"
	cluster kill-node n3
	sleep 3
	cluster start-node n3
	alice "scancel -u alice"
	wait
	expect lost '.[0].leaves[0].latency.n > 10'
	wait_for all_idle || fail "$(alice sinfo)"
}

# ---- shared functions ----

# KEY=VALUE: print the name of a copy of netprof.conf with this additional line.
conf() {
	alice "{ cat /etc/slurm/netprof.conf; echo '$1'; } >~/conf.${1%%=*}
		echo ~/conf.${1%%=*}"
}

# APP PROGRAM PLACE...: run the job flagged, and kill the program on these places once
# the probes of all nodes have reported what they measured, as they do once a second, and
# there is a record.
while_running() {
	local app=$1 program=$2 place JOB="sh -c '$PROBED 25; touch up.\$SLURM_NODEID
		until [ -e over ]; do sleep 0.1; done; echo ok; exit 7'"

	shift 2
	alice "rm -f up.* over"
	unharmed "--netprofile=$app" &
	wait_for alice "[ -e up.0 ] && [ -e up.1 ] && [ -e up.2 ] && [ -e up.3 ]"
	wait_for is_recorded "$app"
	for place; do
		inside --user root --on "$place" -- pkill -9 -u alice "$program" ||
			fail "nothing to kill on $place"
	done
	alice "touch over"
	wait $!
}

is_recorded() { compgen -G "$ALICE/$1/*.json" >/dev/null; } # APP

no_side_steps() {
	local steps
	steps=$(alice "squeue -s -h -o %j") && ! grep -q netprof <<<"$steps"
}

all_idle() {
	[ "$(alice "sinfo -h -o %T" | sort -u)" = idle ]
}
