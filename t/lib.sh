# The integration tests' library; sourced by t/check and by every test.
#
# A suite is a file t/integration/NAME.sh with functions test_*, which run in the
# order of the file, each in its own shell. The name of the function says what a
# user relies on; the first command that fails is the reason of a failure. Suites
# run on the cluster $NETPROF_CLUSTER. A suite may set:
#
#	SUITE_CLUSTER=(--leaves 1 --standby)	# arguments of t/cluster up
#	LIMIT_SEC=600				# for each test; 300 otherwise
#	PARALLEL=yes				# it may run at the same time as others;
#						# a number: its seconds (t/check)
#	before_each() { ...; }			# in the test's shell
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CLUSTER_BASE=${NETPROF_CLUSTER_DIR:-/var/lib/netprof-cluster}
LIMIT_SEC=300

## For tests

fail() {
	echo "why: $*"
	exit 1
}

# The tested feature is not available here; counts neither as passed nor as failed.
skip() {
	echo "why: $*"
	exit 77
}

# With SANITIZE: tests make allocations fail, and leaks in libraries are ignored.
export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1
export LSAN_OPTIONS=suppressions=$ROOT/t/lsan.supp:print_suppressions=0

# Can srun start MPI programs?
has_pmix() {
	inside srun --mpi=list 2>&1 | grep pmix >/dev/null # not -q: srun would get SIGPIPE
}

needs_pmix() {
	has_pmix || skip "Slurm has no mpi/pmix"
}

cluster() {
	"$ROOT/t/cluster" "$@"
}

# inside [OPTIONS of t/cluster run] CMD...; never longer than a test may take
inside() {
	timeout -k 2 "${INSIDE_SEC:-$((LIMIT_SEC - 20))}" "$ROOT/t/cluster" run "$@"
}

# Run a batch script from standard input as alice, print its output and return its
# exit code, for an array the largest; where a signal ended it, 128 and the signal's number.
# sbatch --wait polls only every few seconds.
batch() { # OPTIONS of sbatch
	# shellcheck disable=SC2016
	inside sh -c '
		id=$(sbatch --parsable -o "batch.%j" "$@") || exit
		until left=$(squeue -h -j "$id" 2>/dev/null) && [ -z "$left" ]; do sleep 0.2; done
		[ ! -e "batch.$id" ] || { cat "batch.$id"; rm "batch.$id"; }
		exit "$(scontrol show job "$id" |
			sed -n "s/.* ExitCode=\([0-9]*\):\([0-9]*\).*/\1 \2/p" |
			while read -r code signal; do
				[ "$signal" = 0 ] || code=$((128 + signal))
				echo "$code"
			done | sort -n | tail -n 1)"
		' - "$@"
}

# Slurm drops the output of tasks that end before srun has closed their input. So tasks that
# only print something read it to its end before.
# shellcheck disable=SC2034
PRINT_HOST=(sh -c 'cat; hostname')

# The files contain no control characters, and none that hide or reverse text.
is_plain() { # FILE...
	! LC_ALL=C grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f\xad]|\xd8\x9c|'\
'\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf' "$@"
}

need_root() {
	[ "$(id -u)" = 0 ] || fail "namespaces need root"
}

# wait_for [SECONDS] CMD...: return as soon as CMD succeeds; fail after SECONDS. The
# three minutes without SECONDS only end a test that would wait for ever: events that take
# a second here may take many on a machine that is slow or busy.
# CMD runs less often the longer it takes, because suites share the processors.
# The reason of a failure goes to the standard output, with that of CMD.
wait_for() {
	local sec=180 begin=${EPOCHREALTIME/./} so_far pause=0.05
	[[ ! $1 =~ ^[0-9]+$ ]] || { sec=$1; shift; }
	until "$@"; do
		so_far=$((${EPOCHREALTIME/./} - begin))
		((so_far < sec * 1000000)) || fail "not within $sec s: $*"
		((so_far < 300000)) || pause=0.1
		((so_far < 1000000)) || pause=0.15
		((so_far < 5000000)) || pause=0.3
		sleep $pause
	done
}

# CMD...: it succeeds and prints nothing. Commands of Slurm print nothing, too, when
# slurmctld does not answer in time.
prints_nothing() {
	local out
	out=$("$@") && [ -z "$out" ]
}

no_jobs() { prints_nothing inside squeue -h; }

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { print b ? a / b : -1 }'; }

# Lines "WITH WITHOUT" on standard input: the paired ratios, their median, and the interval
# that holds it with at least 95 % (order statistics, no assumption).
ratios() {
	awk '{ print $1 / $2 }' | sort -g | awk '{ r[NR] = $1 }
		function binom(n, k,  i, c) {
			c = 1
			for (i = 1; i <= k; i++)
				c = c * (n - k + i) / i
			return c
		}
		END {
			n = NR
			for (k = 0; 2 * (p += binom(n, k) / 2 ^ n) < 0.05; k++)
				;
			lo = k < 1 ? 1 : k
			printf "n %d  median %.4f  95 %% interval [%.4f, %.4f]\n",
				n, (r[int((n + 1) / 2)] + r[int(n / 2) + 1]) / 2,
				r[lo], r[n + 1 - lo]
		}'
}

# equal WHAT GOT WANTED
equal() {
	[ "$2" = "$3" ] || fail "$1: '$2', expected '$3'"
}

# between WHAT VALUE LOW HIGH: decimal numbers
between() {
	awk -v v="$2" -v lo="$3" -v hi="$4" \
		'BEGIN { exit !(v ~ /^[0-9.]+$/ && v >= lo && v <= hi) }' ||
		fail "$1: $2, expected $3 to $4"
}

# A cluster for this test only, removed when the test ends.
own_cluster() { # ARGS of t/cluster up
	export NETPROF_CLUSTER=$NETPROF_CLUSTER-own
	trap 'end_own_cluster $?' EXIT
	cluster up "$@"
}

# The logs go with the cluster: print what a failed test may need of them.
end_own_cluster() { # STATUS of the test
	case $1 in
	0 | 77) ;;
	*)	tail -v -n 25 "$(rundir)"/log/slurmctld*.log || : ;;
	esac
	cluster down
}

# Directories of the cluster as seen from outside.
rundir() { echo "$CLUSTER_BASE/$NETPROF_CLUSTER"; }
shared() { echo "$(rundir)/shared"; }

## For t/check

PASSED=0
FAILED=0

ok() { # NAME [SECONDS]
	echo "ok $1${2:+ # $2 s}"
	PASSED=$((PASSED + 1))
}

not_ok() { # NAME WHY [LOG]
	echo "not ok $1: $2"
	[ $# -lt 3 ] || tail -n 60 "$3" | comment
	FAILED=$((FAILED + 1))
}

# Seconds since BEGIN, with one decimal.
took() { # BEGIN in microseconds, as EPOCHREALTIME without its point
	local tenths=$(((${EPOCHREALTIME/./} - $1) / 100000))

	echo "$((tenths / 10)).$((tenths % 10))"
}

comment() { cut -c1-400 | sed 's/^/#   /'; }

# The shell of one test.
test_shell() { # SUITE FUNCTION
	set -euE -o pipefail
	trap 'echo "why: ${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND"' ERR
	# shellcheck disable=SC1090
	. "$1"
	! declare -F before_each >/dev/null || before_each
	"$2"
}

# In the background, because a trap of this shell runs only during `wait`.
run_test() { # SUITE FUNCTION LIMIT
	local name log rc=0 why begin=${EPOCHREALTIME/./}
	name="$(basename "$1" .sh): ${2#test_}"
	name=${name//_/ }
	log=$TMP/log
	rm -rf "$TMP/test"
	mkdir "$TMP/test"
	# shellcheck disable=SC2016
	TMPDIR=$TMP/test timeout -k 5 "$3" bash -c '. "$1"; test_shell "$2" "$3"' \
		- "$ROOT/t/lib.sh" "$1" "$2" </dev/null >"$log" 2>&1 &
	RUNNING=$!
	wait "$RUNNING" || rc=$?
	RUNNING=
	case $rc in
	0) ok "$name" "$(took "$begin")"; return ;;
	77) echo "skipped $name: $(sed -n 's/^why: //p' "$log")"; return ;;
	124) not_ok "$name" "not done within $3 s" "$log" ;;
	*)
		why=$(grep -m1 '^why: ' "$log") || why="why: exit code $rc in $(took "$begin") s"
		not_ok "$name" "${why#why: }" "$log" ;;
	esac
	echo "#   processes that ran, in the last 1, 5 and 15 minutes: $(cut -d' ' -f-3 /proc/loadavg)"
	[ "$NETPROF_CLUSTER" = none ] || revive
}

# Print why the cluster may be to blame for a failure, and repair it for the next test.
revive() {
	timeout 200 "$ROOT/t/cluster" revive 2>&1 | comment || :
}

# Remove clusters that a killed test may have left.
down_all() { # PREFIX
	local d
	for d in "$CLUSTER_BASE/$1" "$CLUSTER_BASE/$1"-*; do
		[ ! -d "$d" ] || cluster down --name "${d##*/}"
	done
}

suite_setting() { # SUITE: its limit and the arguments of its cluster, one per line
	bash -c '. "$1"; . "$2"; echo "$LIMIT_SEC"
		[ "${#SUITE_CLUSTER[@]}" = 0 ] || printf "%s\n" "${SUITE_CLUSTER[@]}"' \
		- "$ROOT/t/lib.sh" "$1"
}

# SUITE: run its tests, which need no cluster.
run_alone() {
	local t

	TMP=$(mktemp -d)
	trap 'rm -rf "$TMP"' EXIT
	NETPROF_CLUSTER=none
	for t in $(grep -oE '^test_[a-z0-9_]+' "$1"); do
		run_test "$1" "$t" "$LIMIT_SEC"
	done
	echo "$PASSED passed, $FAILED failed"
	[ "$FAILED" = 0 ]
}

run_suite() { # SUITE
	local setting tests t main=$NETPROF_CLUSTER
	mapfile -t setting < <(suite_setting "$1")
	if [ "${#setting[@]}" -gt 1 ]; then
		NETPROF_CLUSTER=$main-$(basename "$1" .sh)
		if ! cluster up "${setting[@]:1}"; then
			not_ok "$(basename "$1" .sh): its cluster" "does not come up"
			NETPROF_CLUSTER=$main
			return
		fi
	fi
	mapfile -t tests < <(grep -oE '^test_[a-z0-9_]+' "$1")
	for t in "${tests[@]}"; do
		run_test "$1" "$t" "${setting[0]}"
		down_all "$NETPROF_CLUSTER-own"
	done
	[ "$NETPROF_CLUSTER" = "$main" ] || cluster down
	NETPROF_CLUSTER=$main
}
