# Traces of MPI programs, under each MPI that is here. Needs a cluster for the
# tests of srun only; the others also run alone:
#
#	[BUILD=build] bash analysis/latency/t/trace.sh
# shellcheck shell=bash

if [ -z "${ROOT-}" ]; then # not from t/check
	. "$(dirname "${BASH_SOURCE[0]}")/../../../t/lib.sh"
	ALONE=yes
	BUILD=${BUILD:-build}
fi
PARALLEL=105

SHIM=$(readlink -f "$ROOT/$BUILD/libnetprof-mpi.so")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl=self,vader HYDRA_LAUNCHER=fork
MPIS="openmpi mpich"

netprof() { "$ROOT/$BUILD/netprof" "$@"; }

before_each() {
	[ -e "$SHIM" ] || skip "no libnetprof-mpi.so for this processor"
	cd "$TMPDIR" || fail "no $TMPDIR"
	export NETPROF_TRACE=$TMPDIR/trace
	rm -rf "$NETPROF_TRACE"
}

# build MPI SOURCE [ARGS]: ./SOURCE-MPI without its suffix
build() {
	local mpi=$1 source=$2 compiler=mpicc
	[[ $source != *.f* ]] || compiler=mpifort
	shift 2
	command -v "$compiler.$mpi" >/dev/null || skip "no $compiler.$mpi"
	"$compiler.$mpi" -O1 -w -o "${source%.*}-$mpi" "$ROOT/t/mpi/$source" "$@"
}

# traced MPI RANKS PROGRAM [ARGS]: what it prints
traced() {
	local mpi=$1 ranks=$2 many=()
	shift 2
	[ "$mpi" != openmpi ] || many=(--oversubscribe)
	timeout 200 "mpirun.$mpi" "${many[@]}" -n "$ranks" \
		env LD_PRELOAD="$SHIM${PRELOADED:+:$PRELOADED}" "$@"
}

# What a member of the summary is.
sum_of() { netprof trace --json "$NETPROF_TRACE" | jq -r "$1"; }

# Messages of each pair as they are sent and received: "FROM TO SENT RECEIVED";
# without those of WITHOUT bytes.
pairs() {
	netprof trace --goal "$@" "$NETPROF_TRACE" | awk -v without="${WITHOUT-}b" '
		$3 == without { next }
		$1 == "rank" { rank = $2 }
		$2 == "send" { sent[rank " " $5]++ }
		$2 == "recv" { got[$5 " " rank]++ }
		END { for (k in sent) print k, sent[k], got[k] + 0
			for (k in got) if (!(k in sent)) print k, 0, got[k] }'
}

# Of these pairs, of which there is one at least, those that have not received what was sent.
unequal_pairs() {
	pairs 2>/dev/null | awk '$3 != $4 { print } END { if (!NR) print "no pairs" }'
}

every_call() { # MPI [ARGS]
	local mpi=$1
	build "$mpi" every_call.c
	equal "$mpi" "$(traced "$mpi" 4 ./every_call-"$mpi" "${@:2}")" done
	equal "ranks" "$(sum_of '.ranks, .ranks_cut, .not_followed' |
		xargs)" "4 0 0"
	equal "unequal pairs" "$(unequal_pairs)" ""
	# 5 blocking, 16 nonblocking, 6 persistent, 4 probed, 2 loose, 500 of
	# many: of each rank; 1 in each of 4 communicators and in the
	# row, of MPI_COMM_SELF, and in 20 copies; 1 of two ranks in "made".
	equal "messages" "$(sum_of '.messages_sent')" \
		$((4 * (5 + 16 + 6 + 4 + 2 + 500 + 4 + 1 + 1 + 20) + 2))
	equal "received" "$(sum_of '.messages_received')" \
		"$(sum_of '.messages_sent')"
}

test_every_call_of_c_is_followed_under_open_mpi() { every_call openmpi; }
test_every_call_of_c_is_followed_under_mpich() { every_call mpich; }

test_threads_may_call_at_once() {
	local mpi
	for mpi in $MPIS; do
		rm -rf "$NETPROF_TRACE"
		every_call "$mpi" threads
	done
}

# Which request a thread completes is a matter of time: of 40 runs, four once had a message
# that nobody received.
test_requests_of_threads_are_not_mistaken_for_each_other() {
	local i
	build mpich threads.c
	for i in {1..20}; do
		rm -rf "$NETPROF_TRACE"
		traced mpich 1 ./threads-mpich
		netprof trace --goal "$NETPROF_TRACE" >goal 2>warnings ||
			fail "run $i: $(cat warnings)"
		equal "messages" "$(sum_of '.messages_sent, .messages_received' | xargs)" "2400 2400"
	done
}

test_both_mpis_give_the_same_graph_of_the_same_program() {
	local mpi
	for mpi in $MPIS; do
		build "$mpi" every_call.c
		NETPROF_TRACE=$TMPDIR/$mpi traced "$mpi" 4 ./every_call-"$mpi"
		# By those of 8 each agrees on communicators in its own way.
		WITHOUT=8 NETPROF_TRACE=$TMPDIR/$mpi pairs | sort >"pairs-$mpi"
	done
	[ -s pairs-mpich ] || fail "no pairs"
	cmp pairs-openmpi pairs-mpich || fail "they differ"
}

test_fortran_is_followed_by_each_of_its_modules() {
	local mpi program
	for mpi in $MPIS; do
		for program in ring_mpif.f ring_mpi.f90 ring_f08.f90; do
			build "$mpi" "$program"
			rm -rf "$NETPROF_TRACE"
			equal "$mpi $program" "$(traced "$mpi" 3 \
				"./${program%.*}-$mpi" | xargs)" done
			equal "$mpi $program" "$(sum_of '.messages_sent,
				.messages_received, .collectives.allreduce,
				.bytes_sent' | xargs)" "3 3 3 12"
			equal "unequal pairs" "$(unequal_pairs)" ""
		done
	done
}

test_kill_leaves_a_trace_of_all_that_was_done() {
	local mpi
	for mpi in $MPIS; do
		build "$mpi" killed.c
		rm -rf "$NETPROF_TRACE"
		# Not all of Open MPI's launchers say so when they end.
		traced "$mpi" 2 "./killed-$mpi" >out 2>&1 || :
		! grep "not killed" out || fail "it was not killed"
		equal "sent by rank 0, $mpi" "$(pairs 2>warnings |
			awk '$1 == 0 { print $3 }')" 1000
		equal "unequal pairs" "$(unequal_pairs)" ""
		grep -q 'rank.0: rank 0: the trace ends before' warnings ||
			fail "$(cat warnings)"
	done
}

test_what_is_not_followed_is_reported() {
	local mpi call
	for mpi in $MPIS; do
		build "$mpi" inter.c
		rm -rf "$NETPROF_TRACE"
		equal "$mpi" "$(traced "$mpi" 2 "./inter-$mpi")" done
		netprof trace --goal "$NETPROF_TRACE" 2>warnings >/dev/null ||
			fail "$(cat warnings)"
		grep -q 'rank 0: a message on an intercommunicator is not supported' \
			warnings || fail "$(cat warnings)"
		grep -q 'MPI_Win_create is not supported' warnings ||
			fail "$(cat warnings)"
		[ "$mpi" = mpich ] || continue # the only one here that has MPI 4
		for call in Alltoallw_init Bcast_init_c Neighbor_alltoall_init \
				Neighbor_alltoall_c; do
			grep -q "MPI_$call is not supported" warnings ||
				fail "no $call: $(cat warnings)"
		done
	done
}

test_a_trace_keeps_to_its_size_and_the_program_goes_on() {
	local bytes
	build openmpi pingpong.c
	NETPROF_TRACE_SIZE=1000000 traced openmpi 2 ./pingpong-openmpi 500 >out
	[ -s out ] || fail "the program ended"
	for f in "$NETPROF_TRACE"/rank.*; do
		bytes=$(stat -c %s "$f")
		[ "$bytes" -le 500000 ] || fail "$f has $bytes"
	done
	equal "unequal pairs" "$(unequal_pairs)" ""
	equal "cut" "$(sum_of .ranks_cut)" 2
}

test_a_trace_that_is_cut_from_outside_ends_no_program() {
	local mpi
	for mpi in $MPIS; do
		build "$mpi" truncated.c
		rm -rf "$NETPROF_TRACE"
		traced "$mpi" 2 "./truncated-$mpi" "$NETPROF_TRACE/rank.0" \
			>out 2>&1 || fail "$mpi: it ended with $?: $(cat out)"
		equal "$mpi" "$(cat out)" "done"
	done
}

# One rank, as the MPI writes files of its own for several.
test_a_limit_on_files_ends_no_program() {
	build openmpi truncated.c
	equal "output" "$(traced openmpi 1 \
		sh -c "ulimit -f 0; exec ./truncated-openmpi" 2>&1)" \
		"netprof: rank 0 is not traced: $NETPROF_TRACE: File too large
done"
}

# run_one MPI WAY: status and output of a program of one rank.
run_one() {
	local status=0
	timeout 60 "./ends-$1" "$2" >out 2>/dev/null || status=$?
	echo "$2 $status $(cat out)"
}

test_programs_end_as_they_do_untraced() {
	local mpi way untraced
	for mpi in $MPIS; do
		build "$mpi" ends.c -pthread
		for way in exit _exit MPI_Abort exec signal killed threads \
				fork _Fork reuse chdir environment; do
			rm -rf "$NETPROF_TRACE"
			untraced=$(run_one "$mpi" "$way")
			equal "$mpi" "$(LD_PRELOAD=$SHIM run_one "$mpi" \
				"$way")" "$untraced"
			[ -s "$NETPROF_TRACE/rank.0" ] ||
				fail "$mpi, $way: no trace"
		done
	done
}

# As `program 2>&1 | head` does.
test_a_message_that_nobody_reads_ends_no_program() {
	build mpich ends.c -pthread
	{ sleep 0.3
		NETPROF_TRACE=/proc/none LD_PRELOAD=$SHIM \
			./ends-mpich exit 2>&1 >out || echo $? >status
	} | true
	equal "status" "$(cat status)" 3
}

# The MPI's library comes later than ours, and the program starts it itself.
test_a_program_that_loads_its_mpi_runs() {
	local mpi
	cc -o loaded "$ROOT/t/mpi/loaded.c" -ldl
	for mpi in $MPIS; do
		build "$mpi" loaded.c -DPLUGIN -shared -fPIC
		equal "$mpi" "$(LD_PRELOAD=$SHIM timeout 60 ./loaded \
			"./loaded-$mpi" 2>&1)" done
	done
}

test_a_link_of_somebody_else_is_not_followed() {
	build openmpi pingpong.c
	[ "$(id -u)" = 0 ] || skip "not root"
	mkdir -p theirs
	ln -s theirs "$NETPROF_TRACE"
	chown -h 20002 "$NETPROF_TRACE"
	traced openmpi 2 ./pingpong-openmpi 10 >out 2>err
	[ -s out ] || fail "the program ended"
	grep -q 'rank 0 is not traced: .*: Too many levels of symbolic links' \
		err || fail "$(cat err)"
	equal "written" "$(ls theirs)" ""
	chown -h 0 "$NETPROF_TRACE"
	traced openmpi 2 ./pingpong-openmpi 10 >out 2>err
	equal "errors by a link of one's own" "$(cat err)" ""
	equal "written" "$(ls theirs | xargs)" "rank.0 rank.1"
	ln -s . middle
	chown -h 20002 middle
	NETPROF_TRACE=$PWD/middle/new traced openmpi 2 ./pingpong-openmpi 10 \
		>out 2>err
	grep -q 'rank 0 is not traced: .*: Too many levels of symbolic links' \
		err || fail "in the middle: $(cat err)"
	[ ! -e new ] || fail "written through a link in the middle"
	chown -h 0 middle
	NETPROF_TRACE=$PWD/middle/new traced openmpi 2 ./pingpong-openmpi 10 \
		>out 2>err
	equal "written through the middle" "$(ls new | xargs)" "rank.0 rank.1"
}

# A root that has a program and what it needs, and not the library.
test_a_program_in_a_container_does_not_notice() {
	local so
	[ "$(id -u)" = 0 ] || skip "not root"
	mkdir -p root/bin
	cp "$(command -v env)" root/bin
	for so in $(ldd root/bin/env | grep -o '/[^ ]*'); do
		install -D "$so" "root$so"
	done
	equal "output" "$(LD_PRELOAD=$SHIM sh -c \
		"chroot root /bin/env | grep LD_PRELOAD || :" 2>&1)" ""
	mkdir -p "root${SHIM%/*}"
	cp "$ROOT/$BUILD/quiet_poll.so" "root${SHIM%/*}"
	equal "others stay" "$(LD_PRELOAD=$SHIM:${SHIM%/*}/quiet_poll.so sh -c \
		"chroot root /bin/env | grep LD_PRELOAD || :" 2>&1)" \
		"LD_PRELOAD=${SHIM%/*}/quiet_poll.so"
}

# As with job_container/tmpfs; netprof-saver, which writes the files, has others.
test_a_trace_goes_where_the_program_has_its_files() {
	[ "$(id -u)" = 0 ] || skip "not root"
	unshare --net --mount true 2>/dev/null || skip "no namespaces"
	build openmpi pingpong.c
	mkdir own
	mkfifo control
	declare -f traced >functions
	# shellcheck disable=SC2016
	SHIM=$SHIM SAVER=$ROOT/$BUILD/netprof-saver unshare --net bash -ec '
		ip link set lo up
		"$SAVER" <>control &
		until grep -q @netprof/saver/0 /proc/net/unix; do
			sleep 0.02
		done
		unshare --mount bash -ec ". ./functions
			mount -t tmpfs none own
			NETPROF_TRACE=\$PWD/own/trace traced openmpi 2 \
				./pingpong-openmpi 10 >/dev/null
			ls own/trace"
		kill $!' >out 2>&1 || fail "$(cat out)"
	equal "files" "$(xargs <out)" "rank.0 rank.1"
	[ ! -e own/trace ] || fail "written elsewhere"
}

# Requests without a descriptor, with one that is no ring, and with positions
# beyond it; then a proper one.
test_bad_requests_to_write_a_trace_are_refused() {
	command -v python3 >/dev/null || skip "no python3"
	[ "$(id -u)" = 0 ] && unshare --net true || skip "no namespaces"
	mkfifo control
	mkdir users
	SAVER=$ROOT/$BUILD/netprof-saver unshare --net python3 - >out <<-'END' ||
		import array, os, socket, struct, subprocess, time
		fifo = os.open("control", os.O_RDWR)
		saver = subprocess.Popen([os.environ["SAVER"]], stdin=fifo)
		page, ring = os.sysconf("SC_PAGESIZE"), 1 << 20

		def ask(fields, fd, positions):
		    s = socket.socket(socket.AF_UNIX)
		    s.settimeout(60)
		    s.connect("\0netprof/saver/0")
		    text = b"".join(f.encode() + b"\0" for f in fields)
		    rights = [] if fd is None else [(socket.SOL_SOCKET,
		        socket.SCM_RIGHTS, array.array("i", [fd]))]
		    s.sendmsg([struct.pack("IIII", 0x6e707331, 6, 0, len(text)),
		               text], rights)
		    answers = []
		    for p in [None] + positions:
		        if p is not None:
		            s.send(struct.pack("Q", p))
		        got = s.recv(8)
		        answers.append(struct.unpack("q", got)[0] if got else None)
		    return answers

		for _ in range(3000):
		    if "@netprof/saver/0" in open("/proc/net/unix").read():
		        break
		    time.sleep(0.02)
		good = [os.getcwd() + "/made", "", "7", "", "22"]
		memory = os.memfd_create("ring")
		os.truncate(memory, page + ring)
		os.pwrite(memory, b"record", page)
		print(ask(good, None, []))
		print(ask(good[:3], memory, []))
		print(ask(good, os.open("/dev/null", os.O_RDONLY), [6]))
		print(ask(good, memory, [ring + 1]))
		print(ask(good, memory, [6, 3]))
		print(ask(["/proc/none"] + good[1:], memory, []))
		print(ask(good, memory, [6]))
		# slurmctld reads the store whatever the umask.
		print(ask([os.getcwd() + "/users", "0/app/1.0.trace", "3", "4",
		          "777"], memory, [6]))
		print(saver.poll())
		saver.kill()
	END
		fail "$(cat out)"
	equal "answers" "$(xargs -d '\n' <out)" "[-71] [-71] [0, -71] [0, -71]\
 [0, 6, -71] [-2] [0, 6] [0, 6] None"
	equal "file" "$(cat made/rank.7)" record
	equal "modes" "$(cd users/0 && stat -c '%a %n' . app app/1.0.trace \
		app/1.0.trace/rank.3 | xargs)" "750 . 750 app 750 app/1.0.trace\
 600 app/1.0.trace/rank.3"
}

# The loader ends a program that is to preload a library for a newer glibc.
test_programs_with_an_older_glibc_start() {
	local so
	command -v objdump >/dev/null || skip "no objdump"
	for so in "${SHIM%.so}"*.so "${SHIM%-mpi.so}-delay.so"; do
		objdump -T "$so" | sed -n 's/.*(GLIBC_\([^)]*\)).*/\1/p' >needs
		equal "newer than 2.17, for ${so##*/}" \
			"$(echo 2.17 | sort -Vu - needs |
				sed '1,/^2\.17$/d' | xargs)" ""
	done
}

test_programs_without_mpi_do_not_notice() {
	equal "output" "$(LD_PRELOAD=$SHIM sh -c 'echo same' 2>&1)" same
	[ ! -e "$NETPROF_TRACE" ] || fail "a trace"
}

test_a_directory_that_cannot_be_made_is_told_and_nothing_else_happens() {
	build openmpi pingpong.c
	NETPROF_TRACE=/proc/none traced openmpi 2 ./pingpong-openmpi 10 \
		>out 2>err
	[ -s out ] || fail "the program ended"
	grep -q 'netprof: rank 0 is not traced: /proc/none: ' err ||
		fail "$(cat err)"
}

test_a_program_of_debian_is_traced_and_read_back() {
	traced openmpi 2 lmp -log none -in \
		/usr/share/lammps/examples/melt/in.melt >out 2>&1 ||
		skip "lmp does not run here: $(tail -n 1 out)"
	equal "unequal pairs" "$(unequal_pairs)" ""
	[ "$(sum_of .messages_sent)" -gt 500 ] || fail "$(sum_of .)"
	netprof tolerance "$NETPROF_TRACE" >out || fail "no tolerance"
	netprof tolerance --collective=allreduce=ring "$NETPROF_TRACE" >ring
	! cmp -s out ring || fail "another algorithm changes nothing"
}

test_text_of_liballprof_is_the_same_graph() {
	local mpi
	for mpi in $MPIS; do
		build "$mpi" every_call.c
		rm -rf "$NETPROF_TRACE" text
		traced "$mpi" 4 "./every_call-$mpi" >out
		netprof trace --liballprof=text "$NETPROF_TRACE"
		equal "the time is the same" "$(netprof trace --json text |
			jq "(.sec - $(sum_of .sec) | fabs) < 1e-4")" true
		pairs | sort >binary
		NETPROF_TRACE=$TMPDIR/text pairs | sort >from-text
		[ -s binary ] || fail "no pairs"
		cmp binary from-text || fail "$(diff binary from-text | head)"
	done
}

# The user's program, where users are; what was preloaded still is.
on_the_cluster() {
	[ "${NETPROF_CLUSTER:-none}" != none ] || skip "needs a cluster"
	needs_pmix
	# shellcheck source=t/integration/flagged.lib
	. "$ROOT/t/integration/flagged.lib"
	unset NETPROF_TRACE
	wait_for all_idle # otherwise srun says that it waits
	build openmpi every_call.c
	inside -- bash -c 'cat >~/every_call; chmod +x ~/every_call' \
		<every_call-openmpi
}

# WANTED CMD...: that is what it prints. netprof-saver copies the end of a trace after the
# program has ended.
prints() {
	[ "$("${@:2}")" = "$1" ]
}

summary_of_every_call() {
	alice 'netprof trace --json every_call' |
		jq -c '[.ranks, .ranks_cut, .messages_sent]'
}

test_srun_leaves_a_trace_that_is_found_by_its_application() {
	local trace i
	on_the_cluster
	for i in 1 2 3 4 5; do
		alice "srun -N2 -n4 --mpi=pmix --netprofile-trace \
			~/every_call" >out || fail "$(cat out)"
		equal "output" "$(cat out)" done
	done
	trace=$(echo "$ALICE"/every_call/*.trace | xargs -n1 | tail -n 1)
	[ -d "$trace" ] || fail "no trace in $(ls "$ALICE")"
	# Four are kept.
	equal "traces" "$(find "$ALICE"/every_call -name '*.trace' | wc -l)" 4
	equal "owner" "$(stat -c %u "$trace/rank.3")" 20001
	(wait_for prints "[4,0,2238]" summary_of_every_call) ||
		equal "summary" "$(summary_of_every_call)" "[4,0,2238]"
	alice 'netprof tolerance every_call' | grep '2238\|4 ranks' >/dev/null ||
		fail "no tolerance"
}

test_srun_traces_into_a_directory_and_keeps_what_was_preloaded() {
	on_the_cluster
	alice "cd /tmp; srun -N1 -n4 --mpi=pmix --netprofile-trace=\$HOME/t1 \
		bash -c 'echo \$LD_PRELOAD; exec ~/every_call'" >out 2>err ||
		fail "$(cat out err)"
	grep -q 'quiet_poll.so:.*libnetprof-mpi.so' out || fail "$(cat out)"
	(wait_for prints 4 ranks_of_t1) || equal "ranks" "$(ranks_of_t1)" 4
	equal "errors" "$(cat err)" ""
}

ranks_of_t1() {
	alice 'netprof trace --json ~/t1' | jq .ranks
}

# By netprof-saver, as the files of other traces on the cluster.
test_srun_leaves_a_trace_of_all_that_a_killed_program_did() {
	on_the_cluster
	build openmpi killed.c
	inside -- bash -c 'cat >~/killed; chmod +x ~/killed' <killed-openmpi
	alice "srun -N1 -n2 --mpi=pmix --netprofile-trace=\$HOME/t2 \
		~/killed; echo" >out 2>&1
	! grep "not killed" out || fail "it was not killed"
	(wait_for prints 1000 sent_by_rank_0) ||
		equal "sent by rank 0" "$(sent_by_rank_0)" 1000
}

sent_by_rank_0() {
	alice 'netprof trace --goal ~/t2' 2>/dev/null | awk '$1 == "rank" { rank = $2 }
		$2 == "send" && rank == 0 { n++ } END { print n }'
}

test_srun_keeps_a_trace_to_its_size() {
	on_the_cluster
	build openmpi pingpong.c
	inside -- bash -c 'cat >~/pingpong; chmod +x ~/pingpong' \
		<pingpong-openmpi
	alice "srun -N1 -n2 --mpi=pmix \
		--netprofile-trace=\$HOME/t3 sh -c 'NETPROF_TRACE_SIZE=1000000 \
		exec ~/pingpong 500'" >out || fail "$(cat out)"
	wait_for settled # the saver may copy the end of a trace after the program has ended
	alice 'stat -c %s ~/t3/rank.*' >sizes
	awk '$1 > 500000 || $1 < 400000 { bad = 1 } END { exit bad || NR != 2 }' sizes ||
		fail "$(xargs <sizes)"
	equal "cut" "$(alice 'netprof trace --json ~/t3' | jq .ranks_cut)" 2
}

test_a_program_that_is_not_dynamically_linked_runs_without() {
	on_the_cluster
	printf 'int main(void) { return 7; }' | gcc -static -xc -o static - ||
		skip "nothing to link static programs with"
	inside -- bash -c 'cat >~/static; chmod +x ~/static' <static
	alice "srun -v -N1 -n2 --netprofile-trace ~/static; echo \$?" \
		>out 2>err
	equal "exit code" "$(cat out)" 7
	! grep "ld.so" err || fail "$(cat err)"
	alice "srun -N1 --netprofile-trace sh -c 'cat; echo \$LD_PRELOAD'" |
		grep libnetprof-mpi >/dev/null || fail "others are not traced"
}

test_a_batch_job_traces_its_steps_and_no_others() {
	on_the_cluster
	script two.sh 'srun -n4 --mpi=pmix ~/every_call'
	batch -N2 -n4 --netprofile=batched --netprofile-trace two.sh >out
	[ -d "$ALICE"/batched/*.trace ] || fail "no trace: $(cat out)"
	batch -N2 -n4 --netprofile=untraced two.sh >out
	! compgen -G "$ALICE/untraced/*.trace" >/dev/null || fail "a trace"
}

[ -z "${ALONE-}" ] || run_alone "${BASH_SOURCE[0]}"
