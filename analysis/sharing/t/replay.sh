# netprof replay: programs played on a network.
# Needs no cluster; also runs alone: [BUILD=build] bash analysis/sharing/t/replay.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/../../../t/integration/cli.lib"
PARALLEL=yes
RING=$ROOT/t/data/sharing/ring.workload
FAN=$ROOT/t/data/sharing/fan.workload

test_the_pages_are_as_agreed() {
	setup
	golden replay.txt netprof replay "$FAN"
	golden replay-two.txt env LC_ALL=C netprof replay --model=maxmin,none \
		--set=fabric=2 "$RING" "$FAN"
	between "columns" "$(cat "$ROOT"/t/data/golden/replay*.txt | wc -L)" 60 80
	! grep ' $' "$ROOT"/t/data/golden/replay*.txt || fail "blanks at the end"
	printf 'tasks 1\n0: compute 1ms\n' >"$S/one"
	equal "one of each" "$(netprof replay "$S/one" | head -n 1)" \
		"one: 1 task, 1 operation"
}

test_disjoint_programs_meet_in_the_switch_alone() {
	setup
	equal "ports" "$(netprof replay --json "$RING" "$FAN" | jq -c \
		'[.programs[].models[].slowdown] | unique')" '[0]'
	netprof replay --json --set=fabric=2 --model=maxmin "$RING" "$FAN" \
		>"$S/json"
	between "slowdown of the ring" \
		"$(jq '.programs[0].models.maxmin.slowdown' "$S/json")" 0.05 3
	equal "operations that are listed" \
		"$(jq '.programs[1].models.maxmin.together.operations | length' \
		"$S/json")" "$(jq '.programs[1].operations' "$S/json")"
}

test_tasks_are_mapped() {
	setup
	map() {
		netprof replay --json --model=none "$@" "$RING" | jq -c \
			'[.programs[0].models.none.alone.tasks[].node]'
	}
	equal "in turn" "$(map --nodes=2 --cores=2)" '[0,1,0,1]'
	equal "node by node" "$(map --cores=2 --map=core)" '[0,0,1,1]'
	equal "given" "$(map --map=3,0,0,1)" '[3,0,0,1]'
	equal "the same seed" "$(map --cores=2 --map=random --seed=4)" \
		"$(map --cores=2 --map=random --seed=4)"
}

test_execution_graphs_are_programs() {
	setup
	cat >"$S/a.goal" <<-'END'
		num_ranks 2
		rank 0 {
		a: calc 2000000
		b: send 1250000b to 1 tag 3
		b requires a
		}
		rank 1 {
		a: recv 1250000b from 0 tag 3
		b: calc 1000000
		b requires a
		}
	END
	equal "2 ms, 10 ms at 125 MB/s, 1 ms" "$(netprof replay --json \
		--model=maxmin "$S/a.goal" | jq \
		'.programs[0].models.maxmin.alone.end_sec')" 0.013
}

test_parsable_lines_have_all_fields() {
	setup
	netprof replay -P "$RING" "$FAN" | awk -F'|' 'NF != 12 { exit 1 }
		END { exit NR != 65 }'
}

test_wrong_use_and_bad_files_are_told() {
	local i
	setup
	row() { refused "$1" "$2" netprof replay "${@:3}"; } # STATUS PATTERN ARGS...
	row 2 'replay needs a program: a file or a directory of traces'
	row 2 'no such option' --frob "$RING"
	row 2 'needs an argument' --model
	row 2 'no model "x"' --model=x "$RING"
	row 2 'fabric is 0, expected more' --set=fabric=0 "$RING"
	row 2 '--latency=3: expected a time' --latency=3 "$RING"
	row 2 '--bandwidth=0: expected more than 0' --bandwidth=0 "$RING"
	row 2 '--eager=x: expected bytes' --eager=x "$RING"
	row 2 '--seed has no effect without --map=random' --seed=7 "$RING"
	row 2 '--set=beta has no effect without --model=gige' --set=beta=0.9 \
		--model=maxmin "$RING"
	row 2 '--cores has no effect with a list' --cores=2 --map=0,1 "$RING"
	row 2 '--nodes "0": expected a whole number' --nodes=0 "$RING"
	row 2 '--map: expected one of node' --map=0,1 "$RING"
	row 2 'more nodes than tasks' --map=0,1,2,3,4 "$RING"
	row 2 'node 3, but --nodes=2' --nodes=2 --map=0,1,2,3 "$RING"
	row 2 'more than 8 programs' 1 2 3 4 5 6 7 8 9
	row 1 '/nonexistent: No such file' /nonexistent
	row 1 'ring.workload: 4 tasks, and 2 nodes of 1 core: expected no more tasks' --nodes=2 "$RING"
	printf 'tasks 2\n0: recv 1\n0: send 1\n1: recv 0\n1: send 0\n' >"$S/dead"
	row 1 'deadlock after 0 s: task 0 waits to receive from task 1' "$S/dead"
	printf 'tasks 2\n0: send 1 4\n0: recv 1\n1: send 0 4\n1: recv 0\n' >"$S/both"
	row 1 'task 0 waits to send to task 1; sends of at most --eager bytes do not wait' "$S/both"
	printf 'tasks 2\n0: jump\n' >"$S/bad"
	row 1 'bad:2: "jump": expected compute' "$S/bad"
	echo num_ranks 48 >"$S/all.goal"
	for i in {0..23}; do
		printf 'rank %d {\n' "$i"
		printf 'send 1000000b to %d\n' {24..47}
		printf '}\n'
	done >>"$S/all.goal"
	for i in {24..47}; do
		printf 'rank %d {\n' "$i"
		printf 'recv 1000000b from %d\n' {0..23}
		printf '}\n'
	done >>"$S/all.goal"
	row 1 '^netprof: [^:]*all.goal: model myrinet: 576 communications from 24 nodes to 24 that all' \
		--model=myrinet "$S/all.goal"
	row 1 'README' "$ROOT/t/data/README"
	printf '# ours\ntask 2\n0: send 1\n' >"$S/task"
	row 1 'task:2: "task": expected tasks N first' "$S/task"
}

# The programs of the manual page are programs.
test_examples_of_the_manual_work() {
	local n
	setup
	n=$(examples netprof-workload.5 "$S/a" netprof replay)
	equal "examples" "$n" 2
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
