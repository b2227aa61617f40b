# Jobs that a real slurmctld ran, replayed by netprof simulate from the accounting of
# a real slurmdbd.
# shellcheck shell=bash

# shellcheck source=t/integration/placement.lib
. "$ROOT/t/integration/placement.lib"
PARALLEL=100
SUITE_CLUSTER=(--leaves 2 --nodes-per-leaf 4 --leaf-mbit 20 --accounting --netprof "$BUILD")
LIMIT_SEC=600

before_each() { :; }

# USER: submit the jobs of standard input, lines "NAME OPTIONS -- SCRIPT" with single
# quotes where a shell needs them; print their numbers.
submit() {
	(echo 'job() { local o=(); until [ "$1" = -- ]; do o+=("$1"); shift; done
		sbatch --parsable -o /dev/null -J "${o[@]}" --wrap "$2"; }'; cat) |
		inside --user "$1" -- bash -e -s
}

queue_is_empty() {
	local jobs
	jobs=$(inside --user root -- squeue -h -t PD,R,CG -o '%i %r') &&
		[ -z "$(grep -v JobHeldUser <<<"$jobs")" ]
}

# All jobs wait behind one that has all nodes until the file "go" exists, so that
# their priorities alone decide in which order they start.
run_queue() { # JOBS in accounting afterwards
	inside rm -f go
	submit alice <<-'END' >"$TMPDIR/alice"
		job block -N8 --exclusive -t 10 -- 'until [ -e ~/go ]; do sleep 0.1; done'
		job last -N8 --exclusive --nice=1000 -t 1 -- 'sleep 1'
		for i in 1 2 3 4 5 6; do
			job fft -N$((i % 4 + 1)) --exclusive -t 1 -- "sleep $((i % 3 + 1))"
		done
		array=$(job array -n1 -a 0-5 -t 1 -- 'sleep $((2 + SLURM_ARRAY_TASK_ID % 2))')
		job dependent -N1 --exclusive -t 1 -d "afterok:$array" -- 'sleep 1'
		job 'a|b' -n1 -t 1 -- 'sleep 1
			echo two | cat
			echo three'
	END
	submit bob <<-'END' >"$TMPDIR/bob"
		for i in 1 2 3 4 5 6; do
			job halo -N$((i % 2 + 1)) --exclusive -t 1 -- "sleep $((i % 2 + 2))"
		done
		job pairs -n2 -t 1 -- 'sleep 2'
		job fails -n1 -t 1 -- 'exit 3'
		job held -H -N8 -t 1 -- true
		job cancelled -N8 --exclusive -t 1 -- true
		sleep 2.1
		scancel -n cancelled
	END
	inside sh -c 'touch ~/go'
	wait_for 300 queue_is_empty
	wait_for ended_in_accounting "$1"
}

# slurmctld informs slurmdbd a little later.
ended_in_accounting() { # JOBS [OPTIONS of sacct]
	[ "$(inside --user root -- sacct -a -X -n -P -S now-1days -o State "${@:2}" |
		grep -cE '^(COMPLETED|FAILED|CANCELLED)')" = "$1" ]
}

replay() { # OPTIONS of simulate
	inside --user root -- netprof simulate --last=1d "$@"
}

FIRST=0 # the first job of the queue that is compared

# The starts of Slurm and of a replay in $TMPDIR/starts: "JOB NAME SUBMIT START SIMULATED".
compare_starts() { # OPTIONS of simulate
	replay --policy=off --bf-interval=2 --fixed-run-times --events=/tmp/events "$@" >"$TMPDIR/page"
	inside --user root -- cat /tmp/events | sed -n 's/^off|//p' | cut -d'|' -f1,2,4 |
		tr '|' ' ' | sort >"$TMPDIR/simulated"
	inside --user root -- env SLURM_TIME_FORMAT=%s sacct -a -X -n -P -S now-1days \
		-o JobID,JobName,Start | sed 's/a|b/a-b/' | tr '|' ' ' | sort |
		join - "$TMPDIR/simulated" | awk -v first="$FIRST" '$1 + 0 >= first {
			print $1, $2, $4, $3, $5 }' >"$TMPDIR/starts"
	cat "$TMPDIR/starts"
}

# Of the pairs of jobs that Slurm started at least 3 s one after the other: how many
# the replay starts in that order, in per cent.
in_order() {
	awk '{ real[NR] = $4; s[NR] = $5 }
		END {
			for (i = 1; i <= NR; i++)
				for (k = 1; k <= NR; k++)
					if (real[k] >= real[i] + 3) {
						n++
						same += s[k] > s[i]
					}
			print int(100 * same / n)
		}' "$TMPDIR/starts"
}

# The mean error of the simulated starts, divided by the mean wait.
error_of_starts() {
	awk '{ error += $5 > $4 ? $5 - $4 : $4 - $5; wait += $4 - $3 }
		END { print error / wait }' "$TMPDIR/starts"
}

# Jobs whose names and command lines have delimiters and line breaks are read, too.
test_every_job_of_the_accounting_is_replayed() {
	give_store
	run_queue 25
	replay --json >"$TMPDIR/json"
	equal "jobs, and what was changed or left out" \
		"$(jq -c '[.jobs, .nodes, .leaves, .changed_or_excluded]' "$TMPDIR/json")" '[25,8,2,[]]'
	replay | tr -s ' \n' ' ' >"$TMPDIR/page"
	grep -q '8 nodes with 4 processors each, on 2 leaf switches below 1 other' "$TMPDIR/page" ||
		fail "the cluster: $(cat "$TMPDIR/page")"
	compare_starts
	# The one that was cancelled while it was pending does not start.
	equal "jobs that start" "$(wc -l <"$TMPDIR/starts")" 24
}

test_a_dependent_job_starts_after_the_array_that_it_waits_for() {
	local first
	compare_starts
	first=$(awk '$2 == "array" { print $5 }' "$TMPDIR/starts" | sort -n | head -n 1)
	# Each task takes at least 2 s.
	between "start of the dependent job, after the first task" \
		$(($(awk '$2 == "dependent" { print $5 }' "$TMPDIR/starts") - first)) 2 60
}

# The job with the largest nice value has the lowest priority, although it was submitted
# second. Up to three queues, as other programs delay Slurm, too.
test_a_replay_starts_jobs_in_the_order_and_about_when_slurm_did() {
	local jobs
	for jobs in 50 75; do
		! (starts_like_slurm) >/dev/null || break
		run_queue $jobs
		FIRST=$(head -n 1 "$TMPDIR/alice")
	done
	starts_like_slurm
}

starts_like_slurm() {
	local last error
	last_job() { sort -sk"$1,$1n" "$TMPDIR/starts" | tail -n 1 | cut -d' ' -f2; }
	compare_starts --completing=1
	error=$(error_of_starts)
	compare_starts
	equal "Slurm starts last" "$(last_job 4)" last
	equal "the replay starts last" "$(last_job 5)" last
	between "pairs of jobs in the same order, %" "$(in_order)" 80 100
	# The true time until nodes are free again lies between 0 and 1 s; "all jobs
	# start at once" has an error of 1.
	between "error of the starts" "$(printf '%s\n' "$error" "$(error_of_starts)" |
		sort -g | head -n 1)" 0 0.5
	compare_starts --order=submit
	last=$(last_job 5)
	[ "$last" != last ] || fail "priorities make no difference"
}

# Jobs of two nodes, of which the second sends BYTES to the first over the shaped
# network, on each of so many connections; 0: until it is cancelled. The file "sending"
# exists once all are connected.
transfer_script() { # BYTES [CONNECTIONS]
	cat <<-END
		#!/bin/bash
		to=\$(ip -4 -o addr show dev eth0 | awk '{ sub("/.*", "", \$4); print \$4 }')
		second=\$(scontrol show hostnames | tail -n 1)
		python3 -c '
		import socket, threading
		def drain(c):
		 while c.recv(65536): pass
		s = socket.create_server(("", 5001))
		for i in range(${2-1}): threading.Thread(target=drain, args=s.accept()[:1]).start()
		open("sending", "w")' &
		srun -Q -N1 -n1 -w "\$second" python3 -c '
		import socket, sys, threading, time
		def send():
		 s = None
		 while not s:
		  try: s = socket.create_connection((sys.argv[1], 5001))
		  except OSError: time.sleep(0.1)
		 left = $1 or 1 << 60
		 while left > 0: left -= s.send(b"x" * min(left, 65536))
		for i in range(${2-1}): threading.Thread(target=send).start()' "\$to"
		wait
	END
}

# Three jobs of two tasks and one of four.
run_tasks() {
	inside -- bash -c 'for n in 2 2 2 4; do
		sbatch -Q -N1 -n$n -x "n[2-7]" --exclusive -t 10 -o /dev/null -J tasks --wrap "srun -Q sleep 1.5"
	done'
}

# Five runs on each leaf of an application that fills a cable of 20 Mbit/s, on one
# leaf together with one that does so, too, over four connections, so that it gets a
# fifth; on the other with one that sleeps. The leaves carry 20 Mbit/s.
run_transfers() { # RUNS in accounting afterwards
	inside --user bob -- bash -c 'cat >loud.sh; rm -f sending
		sbatch -Q -N2 -w n[6-7] --exclusive -t 60 -o /dev/null -J loud loud.sh
		sbatch -Q -N2 -w n[2-3] --exclusive -t 60 -o /dev/null -J harmless --wrap "sleep 3600"' \
		< <(transfer_script 0 4)
	wait_for eval '[ "$(inside squeue -h -t R -n loud,harmless | wc -l)" = 2 ]'
	wait_for inside --user bob -- test -e sending
	transfer_script 4000000 | inside -- bash -c 'cat >victim.sh
		for i in 1 2 3 4 5; do
			for nodes in n[0-1] n[4-5]; do
				sbatch -Q -N2 -w "$nodes" --exclusive -t 10 -o /dev/null -J victim victim.sh
			done
		done'
	wait_for 300 prints_nothing inside squeue -h -n victim,tasks
	wait_for ended_in_accounting "$1" --name=victim
	inside --user bob -- scancel -u bob
	wait_for prints_nothing inside squeue -h -n loud,harmless
	wait_for ended_in_accounting $(($1 / 5)) --name=loud,harmless
}

# Neither of the two was measured. The truth is the difference of the run times on the
# two leaves. Up to three times as many runs, as other programs delay some, too.
test_blame_names_the_pair_that_costs_time_and_no_other() {
	local runs
	run_tasks
	for runs in 10 20 30; do
		run_transfers $runs
		inside --user root -- sacct -a -X -n -P -S now-1days --name=victim \
			-o NodeList,ElapsedRaw | tr '|' ' ' >"$TMPDIR/ran"
		inside --user root -- netprof blame --since=1d --json >"$TMPDIR/blame"
		equal "runs" "$(wc -l <"$TMPDIR/ran")" $runs
		! (is_to_blame) >/dev/null || break
	done
	cat "$TMPDIR/ran" "$TMPDIR/blame"
	is_to_blame
}

is_to_blame() {
	equal "pairs" "$(jq -r '.pairs[] | .slowed + " by " + .by' "$TMPDIR/blame")" \
		"alice/victim by bob/loud"
	# 2 nodes, as many runs on each leaf.
	awk '{ sum[$1] += $2 } END { print (sum["n[4-5]"] - sum["n[0-1]"]) * 2 / 3600 }' \
		"$TMPDIR/ran" >"$TMPDIR/truth"
	between "truth, node-hours" "$(<"$TMPDIR/truth")" \
		"$(jq '.pairs[0].node_hours.low' "$TMPDIR/blame")" \
		"$(jq '.pairs[0].node_hours.high' "$TMPDIR/blame")"
	# Commands of several lines are no damage.
	equal "rows that cannot be read" "$(jq .damaged_rows "$TMPDIR/blame")" 0
}

# explain for the first to the fourth of the jobs of run_tasks, from the live accounting or
# from a file: tasks, comparable runs and differences.
explain_tasks() { # 1-4 [FILE]
	local job
	job=$(inside --user root -- sacct -a -X -n -P -S now-1days --name=tasks -o JobID |
		sort -n | sed -n "$1p")
	if [ $# = 1 ]; then
		inside -- netprof explain --metrics-url=none --json "$job"
	else
		NETPROF_STORE=$TMPDIR "$BUILD/netprof" explain --json --metrics-url=none \
			--accounting="$2" --topology="$TMPDIR/topology" "$job"
	fi | jq -c '.accounting | [.n_tasks, .comparable.found, (.differences[] | .what, .value, .usual)]'
}

# slurmdbd has the number of tasks of each step, and of no job.
test_jobs_with_another_number_of_tasks_are_not_comparable() {
	wait_for ended_in_accounting 4 --name=tasks
	equal "as usual" "$(explain_tasks 1)" '[2,2]'
	equal "more than usual" "$(explain_tasks 4)" '[4,0,"tasks","4","2"]'
}

# Of victim.sh, a step's command has several lines.
test_saved_accounting_with_steps_gives_the_same_answers() {
	local f
	export NETPROF_CONF=/dev/null
	blame_file() {
		"$BUILD/netprof" blame --json --accounting="$TMPDIR/$1" \
			--topology="$TMPDIR/topology" | jq -c "$2"
	}
	mkdir "$TMPDIR/users" # of a profile store
	inside -- scontrol show topology >"$TMPDIR/topology"
	inside --user root -- env SLURM_TIME_FORMAT=%s sacct -a -D -P -S now-1days -o JobID,JobIDRaw,\
User,Partition,State,Submit,Start,End,Suspended,NNodes,NCPUS,NTasks,TimelimitRaw,NodeList,\
JobName,WorkDir,SubmitLine >"$TMPDIR/rows"
	# JSON of 22.05 has no users that are not in slurmdbd; here groups have the same names.
	inside --user root -- sacct -a -D -S now-1days --json >"$TMPDIR/printed" ||
		skip "sacct has no --json"
	jq '.jobs[] |= (.user = .group)' "$TMPDIR/printed" >"$TMPDIR/json"
	for f in rows json; do
		equal "$f: as usual" "$(explain_tasks 1 "$TMPDIR/$f")" '[2,2]'
		equal "$f: more than usual" "$(explain_tasks 4 "$TMPDIR/$f")" '[4,0,"tasks","4","2"]'
	done
	equal "blame" "$(blame_file json '[.groups, .pairs, .nodes]')" \
		"$(blame_file rows '[.groups, .pairs, .nodes]')"
	# The name of one job has the delimiter.
	equal "rows that cannot be read" "$(blame_file rows .damaged_rows)" 1
}
