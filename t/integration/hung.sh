# File servers that hang or refuse. Flagged jobs behave like unflagged ones, and
# records that could not be written are written when the server answers again.
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
# shellcheck source=t/integration/hung.lib
. "$ROOT/t/integration/hung.lib"
PARALLEL=160

SUITE_CLUSTER=(--leaves 1 --netprof "$BUILD"
	--slurm-conf-extra "$ROOT/t/integration/hung.slurm.conf")
! has_cgroups || SUITE_CLUSTER+=(--cgroup)

PLACES=(ctl n0 n1 n2 n3)
TABLE=${HUNG_TABLE-/dev/null} # the table in doc/validation/measurement.md

before_each() {
	[ -e /dev/fuse ] || skip "no FUSE here"
	wait_for all_idle
	mkdir -p "$STATE"
	trap restore EXIT
}

# Shells that are started before home hangs and wait to submit. Each prints a line
# "LABEL CODE BEGIN END", and for a script the state and restarts of its job.
SHELLS=()
start_shell() { # COMMAND
	alice "cd /tmp; echo >>$STATE.ready; until [ -e $STATE.go ]; do sleep 0.02; done; $1" \
		>>"$TMPDIR/out" &
	SHELLS+=($!)
}

run_srun() { # LABEL OPTIONS COMMAND [ENVIRONMENT]
	start_shell "begin=\$EPOCHREALTIME
		${4-} timeout 120 srun -Q $2 $3 >/dev/null 2>&1; rc=\$?
		echo $1 \$rc \$begin \$EPOCHREALTIME"
}

run_sbatch() { # LABEL OPTIONS
	start_shell "id=\$(sbatch --parsable -o /dev/null $2 --wrap \
			'srun -Q -N2 sleep 4; exit 3')
		for ((i = 0; i < 600; i++)); do
			sleep 0.2
			left=\$(squeue -h -j \$id) && [ -z \"\$left\" ] && break
		done
		scontrol show job \$id | tr ' ' '\n' >/tmp/job.\$id
		get() { sed -n \"s/^\$1=//p\" /tmp/job.\$id | head -n 1; }
		echo $1 \$(get ExitCode) \$(date -d \$(get StartTime) +%s) \
			\$(date -d \$(get EndTime) +%s) \
			\$(get JobState) \$(get Restarts)"
}

shells_wait() {
	[ "$(cat "$STATE.ready" 2>/dev/null | wc -l)" = ${#SHELLS[@]} ]
}

# Like all_idle, with a home that answers.
no_node_works() {
	prints_nothing inside --user root -- sinfo -h -t alloc,mix,comp -o %n
}

go() { touch "$STATE.go"; }

# Start each kind of job, flagged and unflagged, all at the same time.
start_jobs() { # APP
	local flag as
	for as in plain flagged; do
		flag=
		[ $as = plain ] || flag=--netprofile=$1
		run_srun "$as,srun" "-N2 $flag" "sh -c 'sleep 4; exit 7'"
		run_srun "$as,srun_-N1" "-N1 $flag" "sh -c 'exit 5'"
		run_sbatch "$as,sbatch" "-N2 $flag"
	done
	wait_for shells_wait
}

# WHAT [N]: check the started jobs of 3 kinds, or N, and print a table row for each
# flagged one and the unflagged one of its kind; LATE has the kinds whose times differ. No
# node keeps processes of them.
as_unflagged() {
	local rc=0
	wait "${SHELLS[@]}" || :
	awk '{ printf "%s %s %.1f %s %s\n", $1, $2, $4 - $3, $5, $6 }' \
		"$TMPDIR/out" | sort >"$TMPDIR/jobs"
	awk -v what="$1" -v table="$TABLE" -v kinds="${2-3}" '
		{ code[$1] = $2; sec[$1] = $3; rest[$1] = $4 " " $5 }
		END {
			for (f in code) {
				if (f !~ /^flagged/)
					continue
				split(f, part, ",")
				p = "plain," part[2]
				what_is = what
				if (part[3] != "")
					what_is = what " " part[3]
				gsub("_", " ", what_is)
				kind = part[2]
				gsub("_", " ", kind)
				printf "| %s | %s | %s | %s s | %s | %s s |\n",
					what_is, kind, code[p], sec[p],
					code[f], sec[f] >>table
				more = sec[f] - sec[p]
				if (more > 2 || more < -2)
					print f
				bad += code[f] != code[p] || code[f] ~ /^0/ ||
					rest[f] != rest[p]
				n++
			}
			exit bad || n < kinds
		}' "$TMPDIR/jobs" >"$TMPDIR/late" || rc=$?
	[ "$rc" = 0 ] || fail "$1: $(tr '\n' ';' <"$TMPDIR/jobs")"
	mapfile -t LATE <"$TMPDIR/late"
	wait_for no_node_works
	equal "nodes that are not idle" \
		"$(inside --user root -- sinfo -h -N -t drain,down,fail,no_respond,comp -o '%n %E')" ""
}

# COMMAND...: run it once more, and then again, if as_unflagged or wait_for_records finds
# jobs that are late: one of several that start at once may be late by itself on a busy
# machine. None of a kind is in time where netprof holds it up.
not_late() {
	local turn kind all=() LATE=()
	for turn in 1 2 3; do
		"$@"
		echo "turn $turn, late: ${LATE[*]-}; $(tr '\n' ';' <"$TMPDIR/jobs")"
		mapfile -t all < <(for kind in "${LATE[@]}"; do
			[ $turn = 1 ] || [[ " ${all[*]} " == *" $kind "* ]] || continue
			echo "$kind"; done)
		[ ${#all[@]} -gt 0 ] || return 0
		restore
		wait_for settled
		mkdir -p "$STATE"
		rm -rf "$TMPDIR/out" "${ALICE:?}"/*/
		SHELLS=()
	done
	fail "late in all turns: ${all[*]}"
}

kept() { # APP RECORDS [JQ]
	cat "$ALICE/$1"/*.json 2>/dev/null |
		jq -es "length == $2 and all(${3-.state == \"complete\"})" >/dev/null
}

# APP RECORDS: wait for them. A step whose probes began too late on a busy machine to be
# measured counts as late.
wait_for_records() {
	wait_for kept "$@" '.state != "running"'
	wait_for settled
	kept "$@" || {
		LATE+=(incomplete-records)
		records "$1" | jq -c 'map({state, notes})'
	}
}

# The mount hangs SECONDS after the jobs were submitted, and answers when they have
# ended: then all of them are in the store.
hangs() { # DIRECTORY NAME WHEN SECONDS
	local app=hung-${2// /-}-${3// /-}
	fail_at "$1" one
	start_jobs "$app"
	if [ "$4" = 0 ]; then
		is one hang
		go
	else
		go
		sleep "$4"
		is one hang
	fi
	as_unflagged "$2 hangs $3"
	is one ok
	wait_for_records "$app" 2
}

test_a_store_that_hangs_at_submission() {
	not_late hangs "$STORE" store "at submission" 0
}

test_a_store_that_hangs_as_the_steps_start() {
	not_late hangs "$STORE" store "as the steps start" 0.6
}

test_a_store_that_hangs_as_the_steps_end() {
	not_late hangs "$STORE" store "as the steps end" 3.5
}

test_a_home_that_hangs_at_submission() {
	not_late hangs "$(rundir)/home/alice" home "at submission" 0
}

test_a_home_that_hangs_as_the_steps_end() {
	not_late hangs "$(rundir)/home/alice" home "as the steps end" 3.5
}

mpi_program() { # NAME LINE...: compile it into the shared directory
	needs_pmix
	command -v mpicc.openmpi >/dev/null || skip "no mpicc.openmpi"
	printf '%s\n' '#include <mpi.h>' '#include <unistd.h>' "${@:2}" |
		mpicc.openmpi -x c -o "$(shared)/$1" -
}

# Programs of 4 s that make few MPI calls, and as many as they can. Each traced rank
# writes a byte when its trace has begun.
build_traced() {
	mpi_program calls '#include <stdio.h>' '#include <stdlib.h>' \
		'int main(int argc, char **argv) { int one = 1, got;' \
		'MPI_Init(&argc, &argv); double begin = MPI_Wtime();' \
		"FILE *f = getenv(\"NETPROF_TRACE\") ? fopen(\"$STATE.begun\", \"a\") : 0;" \
		'if (f) { putc(0, f); fclose(f); }' \
		'while (MPI_Wtime() < begin + 4) {' \
		'MPI_Sendrecv(&one, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0,' \
		'MPI_COMM_SELF, MPI_STATUS_IGNORE);' \
		'if (argc > 1) usleep(10000); }' \
		'MPI_Finalize(); return 7; }'
}

traces_begun() { # RANKS
	[ "$(wc -c <"$STATE.begun")" = "$1" ]
}

# Both ranks' exchanges with themselves, and nothing is missing at the end.
whole_trace() { # DIRECTORY
	"$ROOT/$BUILD/netprof" trace --json "$1" 2>&1 | jq -c \
		'[.ranks, .ranks_cut, .messages_sent]' | tee "$TMPDIR/trace"
	jq -e '.[0] == 2 and .[1] == 0 and .[2] > 50' "$TMPDIR/trace"
}

# The server is lost in mid-run: programs end as untraced ones do. The trace of
# one that made few calls is written when the server answers again.
traced_to_store() {
	local calls
	calls=$(shared)/calls
	build_traced
	fail_at "$STORE" one
	run_srun "plain,srun" "-N2 --mpi=pmix" "$calls few"
	run_srun "flagged,srun,few" "-N2 --mpi=pmix --netprofile=few \
		--netprofile-trace" "$calls few"
	run_srun "flagged,srun,many" "-N2 --mpi=pmix --netprofile=many \
		--netprofile-trace" "$calls"
	wait_for shells_wait
	go
	wait_for traces_begun 4
	is one hang
	as_unflagged "store hangs while traced, calls:" 2
	is one ok
	wait_for whole_trace "$ALICE"/few/*.trace
	wait_for settled # nothing is being written
	rm -r "$ALICE"/few "$ALICE"/many
}

test_a_store_that_hangs_while_programs_are_traced() { not_late traced_to_store; }

# The same for a directory that the user chose.
traced_to_directory() {
	local calls dir
	calls=$(shared)/calls
	build_traced
	dir=$(rundir)/failing/traces
	install -d -o 20001 "$dir"
	fail_at "$dir" one
	run_srun "plain,srun" "-N2 --mpi=pmix" "$calls few"
	run_srun "flagged,srun" "-N2 --mpi=pmix --netprofile-trace=$dir/$turn" \
		"$calls few"
	wait_for shells_wait
	go
	wait_for traces_begun 2
	is one hang
	as_unflagged "directory of a trace hangs while traced" 1
	is one ok
	wait_for whole_trace "$dir/$turn"
}

test_a_directory_of_traces_that_hangs_while_programs_run() { not_late traced_to_directory; }

# Nothing is traced to a store that does not answer when the step starts.
traced_to_nowhere() {
	local seven
	seven=$(shared)/seven
	mpi_program seven 'int main(void) { MPI_Init(0, 0);' \
		'MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 7; }'
	fail_at "$STORE" one
	run_srun "plain,srun" "-N2 --mpi=pmix" "$seven"
	run_srun "flagged,srun" "-N2 --mpi=pmix --netprofile-trace" "$seven"
	wait_for shells_wait
	is one hang
	go
	as_unflagged "store for traces hangs at submission" 1
	is one ok
	equal "traces" "$(find "$ALICE" -name '*.trace')" ""
}

test_a_trace_for_a_store_that_hangs() { not_late traced_to_nowhere; }

# The trace goes to the user's own directory, and the server of the store is lost while
# the program runs.
traced_to_tmp() {
	local seven
	seven=$(shared)/seven
	mpi_program seven 'int main(void) { MPI_Init(0, 0);' \
		'for (int i = 0; i < 400; i++) {' \
		'MPI_Barrier(MPI_COMM_WORLD); usleep(10000); }' \
		'MPI_Finalize(); return 7; }'
	fail_at "$STORE" one
	run_srun "plain,srun" "-N2 --mpi=pmix" "$seven"
	run_srun "flagged,srun" "-N2 -w n[0-1] --mpi=pmix --netprofile=beside \
		--netprofile-trace=/tmp/trace$turn" "$seven"
	wait_for shells_wait
	go
	wait_for on n0 "[ -e /tmp/trace$turn/rank.0 ] || [ -e /tmp/trace$turn/rank.1 ]"
	is one hang
	as_unflagged "store hangs while a trace is written to /tmp" 1
	is one ok
	wait_for_records beside 1
	wait_for are_whole
}

# Both nodes have one, of all calls.
are_whole() {
	[ "$(for p in "${PLACES[@]}"; do on "$p" \
		"cat /tmp/trace$turn/rank.* 2>/dev/null | wc -c"; done |
		awk '$1 > 400 * 8' | wc -l)" = 2 ]
}

test_a_trace_beside_the_store_when_that_hangs() { not_late traced_to_tmp; }

tasks_began() { # JOBS
	[ "$(compgen -G "$STATE.[0-9]*" | wc -l)" = "$1" ]
}

has_no_saver() { # PLACE
	on "$1" "! pgrep -x netprof-saver"
}

# Nobody could write the trace but the program, which would wait for the server.
# srun looks whether the directory answers, before the tasks begin.
traced_without_saver() {
	local calls dir p
	calls=$(shared)/calls
	build_traced
	calls="sh -c 'touch $STATE.\$SLURM_JOB_ID
		until [ -e $STATE.hangs ]; do sleep 0.02; done; exec $calls few'"
	dir=$(rundir)/failing/unsaved
	install -d -o 20001 "$dir"
	fail_at "$dir" one
	for p in n0 n1; do
		on "$p" "kill \$(pgrep -x netprof-saver)"
		wait_for has_no_saver "$p"
	done
	run_srun "plain,srun" "-N2 -w n[2-3] --mpi=pmix" "$calls"
	start_shell "begin=\$EPOCHREALTIME
		timeout 120 srun -Q -N2 -w n[0-1] --mpi=pmix \
			--netprofile-trace=$dir/$turn $calls 2>/tmp/untraced; rc=\$?
		echo flagged,srun \$rc \$begin \$EPOCHREALTIME"
	wait_for shells_wait
	go
	wait_for tasks_began 2
	is one hang
	touch "$STATE.hangs"
	as_unflagged "directory of a trace hangs, and no saver runs" 1
	is one ok
	for p in n0 n1; do
		on "$p" "kill \$(cat $(rundir)/pid/$p.daemon)"
		wait_for on "$p" "! pgrep -x slurmd"
	done
	cluster revive >/dev/null
	for p in n0 n1; do
		wait_for on "$p" "pgrep -x netprof-saver"
	done
	equal "what the ranks say" "$(on ctl "sed -n \
		's/^netprof: rank [01]/rank N/p' /tmp/untraced" | sort -u)" \
		"rank N is not traced: $dir/$turn: netprof-saver is not running"
}

test_a_directory_of_traces_that_hangs_where_no_saver_runs() { not_late traced_without_saver; }

# The MPI reads its settings there, so that the programs have another one; netprof
# does not look for it.
traced_without_home() {
	local calls
	calls=$(shared)/calls
	build_traced
	fail_at "$(rundir)/home/alice" one
	run_srun "plain,srun" "-N2 --mpi=pmix" "$calls few" HOME=/tmp
	run_srun "flagged,srun" "-N2 --mpi=pmix --netprofile=homeless \
		--netprofile-trace" "$calls few" HOME=/tmp
	wait_for shells_wait
	is one hang
	go
	as_unflagged "home hangs as a traced program starts" 1
	is one ok
	wait_for whole_trace "$ALICE"/homeless/*.trace
	wait_for settled
	rm -r "$ALICE"/homeless
}

test_a_home_that_hangs_as_a_traced_program_starts() { not_late traced_without_home; }

all_loaded() { # FILE to which each of the four processes writes a byte
	[ "$(wc -c <"$1")" = 4 ]
}

# A program has loaded it, and we want to know which MPI it is. The program itself needs
# the server no more: the library is locked in memory, nothing in it is called or looked
# up later, and no other process of its node loads it, which would discard the pages of
# a file system with direct I/O.
library_hangs() {
	local dir libs
	dir=$(shared)
	libs=$(rundir)/failing/libs
	install -d "$libs"
	echo 'const char ompi_version_string[] = "4.1.4";' |
		gcc -shared -fPIC -x c -o "$libs/libmpi.so.40" -
	printf '%s\n' '#include <fcntl.h>' '#include <sys/mman.h>' \
		'#include <unistd.h>' 'int main(void) {' \
		'if (mlockall(MCL_CURRENT)) return 1;' \
		"int fd = open(\"$dir/up\", O_WRONLY | O_APPEND);" \
		'write(fd, "x", 1); close(fd); sleep(6); _exit(7); }' |
		gcc -w -x c -o "$dir/waits" - -Wl,--no-as-needed,-rpath,"$libs" \
		-Wl,-z,now -L "$libs" -l:libmpi.so.40
	install -m 666 /dev/null "$dir/up"
	fail_at "$libs" one
	run_srun "plain,srun" "-N2 -w n[0-1]" "$dir/waits"
	run_srun "flagged,srun" "-N2 -w n[2-3] --netprofile=library" "$dir/waits"
	wait_for shells_wait
	go
	wait_for all_loaded "$dir/up" # until then it needs the server itself
	is one hang
	as_unflagged "library of MPI hangs" 1
	is one ok
	wait_for_records library 1
}

test_an_mpi_library_on_a_server_that_hangs() { not_late library_hangs; }

savers_are() { # PROCESSES on n0
	[ "$(on n0 'pgrep -cx netprof-saver')" = "$1" ]
}

# As in an upgrade of netprof: the old saver stays until everything is written.
slurmd_restarts() {
	fail_at "$STORE" one
	run_srun plain,srun -N2 "sh -c 'sleep 4; exit 7'"
	run_sbatch plain,sbatch -N2
	run_sbatch flagged,sbatch "-N2 -w n[0-1] --netprofile=outlives"
	run_srun flagged,srun "-N2 --netprofile=other" "sh -c 'sleep 4; exit 7'"
	run_srun plain,srun_-N1 -N1 "sh -c 'exit 5'"
	run_srun flagged,srun_-N1 "-N1 --netprofile=other" "sh -c 'exit 5'"
	wait_for shells_wait
	is one hang
	go
	as_unflagged "store hangs over a restart of slurmd"
	on n0 "kill \$(cat $(rundir)/pid/n0.daemon)"
	wait_for on n0 "! pgrep -x slurmd"
	cluster revive >/dev/null
	wait_for savers_are 3
	is one ok
	wait_for_records outlives 1
	wait_for savers_are 1
}

test_pending_records_outlive_slurmd() { not_late slurmd_restarts; }

# The server denies root all access; netprof accesses nothing as root.
store_refuses() {
	local kind
	run_srun plain,srun -N2 "sh -c 'sleep 4; exit 7'"
	for kind in readonly quota full stale denied squash; do
		install -d "$(rundir)/failing/$kind"
		install -d -m 3777 "$(rundir)/failing/$kind/users"
		fail_at "$(rundir)/failing/$kind" $kind
		run_srun "flagged,srun,$kind" "-N2 --netprofile=refused" \
			"sh -c 'sleep 4; exit 7'" \
			"NETPROF_STORE=$(rundir)/failing/$kind"
	done
	wait_for shells_wait
	for kind in readonly quota full stale denied squash; do
		is $kind $kind
	done
	go
	as_unflagged "store is" 6
	is stale ok # the write was retried; other requests are next
	wait_for [ -e "$(rundir)/failing/squash/users/20001/refused" ]
	wait_for [ -e "$(rundir)/failing/stale/users/20001/refused" ]
}

test_a_store_that_refuses() { not_late store_refuses; }
