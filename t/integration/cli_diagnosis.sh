# Diagnosis of jobs, flagged or not, from Slurm's accounting and a metrics server.
# Needs no cluster; also runs alone:
#
#	[BUILD=build] [GOLDEN=write] bash t/integration/cli_diagnosis.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/cli.lib"
PARALLEL=80
H=$ROOT/t/data/history

before_each() {
	setup
	export NETPROF_NOW=1764015700
	# for a server that gets no processor for a while
	echo MetricsTimeout=60s >"$S/usual.conf"
	export NETPROF_CONF=$S/usual.conf
}

serve() { # [MODE]: a metrics server; its address in URL
	rm -f "$S/port"
	python3 "$ROOT/t/integration/fake_prometheus.py" "${METRICS:-$H/metrics.txt}" "$S/port" "$@" 2>/dev/null &
	SERVER=$!
	# shellcheck disable=SC2064 # this one
	trap "kill $SERVER 2>/dev/null || :; rm -rf '$S'" EXIT
	wait_for test -e "$S/port"
	URL=http://127.0.0.1:$(<"$S/port")
}

explain() {
	netprof explain --accounting="$H/accounting.txt" --topology="$H/topology.txt" \
		--metrics-url="${URL:-none}" "$@"
}

blame() {
	netprof blame --accounting="$H/accounting.txt" --topology="$H/topology.txt" "$@"
}

# The address differs each time.
normal() { sed "s|${URL:-no url}|URL|"; }

one_line() { tr -s ' \n' ' '; }

explain_normal() { explain "$@" | normal; }

test_explain_equals_the_golden_files() {
	serve
	golden history-network.txt explain 125
	golden history-cpu.txt explain 127
	golden history-disk.txt explain 129
	golden history-link.txt explain 131
	golden history-unknown.txt explain 133
	golden history-two.txt explain 135
	golden history-not-slow.txt explain 137
	golden history-network.json explain --json 125
	golden history-network.parsable explain -P 125
}

# Serve the table of metrics with more rows: METRIC NODE USUAL DURING, where job 127 ran
# in the second period.
serve_also() { # < ROWS
	cp "$H/metrics.txt" "$S/metrics"
	awk '{
		print $1, $2, 1764000000, 1764010260, $3
		print $1, $2, 1764010260, 1764011034, $4
	}' >>"$S/metrics"
	METRICS=$S/metrics serve
}

# The neighbour of job 137 sends for 100 s only; that of job 127 never sends.
test_unusual_parts_of_a_run_have_a_place_and_neighbours() {
	cp "$H/metrics.txt" "$S/metrics"
	printf '%s\n' 'node_network_receive_bytes_total n2 1764015100 1764015200 4e10' \
		'node_pressure_memory_waiting_seconds_total n0 1764000000 1764010260 0' \
		'node_pressure_memory_waiting_seconds_total n0 1764010260 1764010560 0' \
		'node_pressure_memory_waiting_seconds_total n0 1764010560 1764011034 0.5' >>"$S/metrics"
	METRICS=$S/metrics serve
	when() {
		explain --json "$1" | jq -c '.accounting.timeline.unusual[] | [.signal, .node, .leaf, .jobs,
			(.from - '"$2"' | fabs < 60), (.to - '"$3"' | fabs < 60)]'
	}
	equal "traffic" "$(when 137 1764015100 1764015200)" \
		'["others_traffic",null,"leaf0",["138"],true,true]'
	contains "traffic" "$(explain 137 | one_line)" \
		'When for [0-9.]* .* from 2025-11-24T20:1[12]:[0-9]*: traffic of other jobs: up to [0-9.]* GB/s on leaf0, usually 4 MB/s; with 138'
	equal "a node" "$(when 127 1764010560 1764011034)" \
		'["cpu_wait","n1",null,["128"],false,true]
["memory_wait","n0",null,["128"],true,true]'
	contains "a node" "$(explain 127 | one_line)" \
		'When all the time: time that a process waited for a processor: up to 25 % on n1, usually 2.0 %; with 128'
}

test_signals_without_a_share_say_where_their_cost_is() {
	serve_also <<-END
		node_vmstat_pswpin n1 0 500
		node_pressure_memory_waiting_seconds_total n1 0 0
		node_nfs_rpc_retransmissions_total n0 0.1 40
		node_netstat_Tcp_RetransSegs n1 2 70
	END
	explain 127 | one_line >"$S/out"
	contains swap "$(cat "$S/out")" \
		'Unusual pages swapped: 500/s on n1, usually 0/s; it costs time in which processes wait for memory'
	contains nfs "$(cat "$S/out")" \
		'Unusual NFS requests repeated: 40/s on n0, usually 0.1/s; it costs time in which processes wait for file systems'
	contains tcp "$(cat "$S/out")" \
		'Unusual TCP segments repeated: 70/s on n1, usually 2/s; its cost is in that of other jobs on the leaf switches'
	causes() {
		explain --json 127 | jq -r '.accounting.signals[] | select(.unusual) | "\(.signal) \(.cause)"' | xargs
	}
	equal "their causes" "$(causes)" "cpu_wait cpu swap memory nfs io retransmits network"
	sed -i /node_pressure_memory/d "$S/metrics"
	kill "$SERVER"
	METRICS=$S/metrics serve
	contains "memory was not examined" "$(explain 127 | one_line)" \
		'Unusual pages swapped: 500/s on n1, usually 0/s; what it costs is unexplained'
	equal "memory was not examined" "$(causes)" \
		"cpu_wait cpu swap unexplained nfs io retransmits network"
}

# Job 127 waited for processors on n1; its neighbour, 128, has n2 and n3.
test_what_the_nodes_of_other_jobs_did_is_shown_if_it_is_unusual() {
	local queries verdict
	serve
	queries=$(explain --json 127 | jq .accounting.queries)
	verdict=$(explain --json 127 | jq -c '.accounting | [.verdict, .causes]')
	kill "$SERVER"
	cp "$H/metrics.txt" "$S/metrics"
	while read -r metric node usual during from; do
		printf '%s %s 1764000000 %s %s\n' "$metric" "$node" "${from:-1764010260}" "$usual"
		printf '%s %s %s 1764011034 %s\n' "$metric" "$node" "${from:-1764010260}" "$during"
	done >>"$S/metrics" <<-'END'
		node_nfs_rpcs_total n0 20 20
		node_nfs_rpcs_total n2 20 900
		node_nfs_rpcs_total n3 20 100
		node_load1 n0 4 4
		node_load1 n2 4 4
		node_load1 n3 4 30
		node_disk_read_bytes_total n3 5e5 5e8 1764010560
		node_disk_read_bytes_total n0 5e5 6e5
		node_pressure_io_waiting_seconds_total n2 0 0.9
	END
	METRICS=$S/metrics serve
	explain 127 | one_line >"$S/out"
	contains nfs "$(<"$S/out")" 'Unusual NFS requests on other nodes: 900/s on n2 .128., usually 20/s'
	contains load "$(<"$S/out")" \
		'Unusual processes that run or wait .load. on other nodes: 30 on n3 .128., usually 4 '
	contains disk "$(<"$S/out")" 'Unusual traffic of disks on other nodes: [0-9]* MB/s on n3 .128., usually 500 kB/s'
	contains when "$(<"$S/out")" \
		'When for 484 s from [^ ]*: traffic of disks on other nodes: up to 500 MB/s on n3, usually 500 kB/s; with 128'
	equal "all the time is said once" "$(grep -c 'NFS requests' <(explain 127))" 1
	explain --json 127 >"$S/json"
	equal "others" "$(jq -c '.accounting.others_signals[] | [.signal, .unusual, .job, .node, .usual]' "$S/json")" \
		'["disk",true,"128","n3",500000]
["nfs_calls",true,"128","n2",20]
["load",true,"128","n3",4]'
	equal "intervals" "$(jq -c '.accounting.timeline.unusual[] | select(.signal | startswith("others_")) |
		[.signal, .node, .leaf, .jobs]' "$S/json")" '["others_disk","n3",null,["128"]]
["others_nfs_calls","n2",null,["128"]]
["others_load","n3",null,["128"]]'
	equal "the neighbour" "$(jq -c '.accounting.neighbours[0] | [.job, .signals.nfs_calls, .signals.load,
		.signals.congestion]' "$S/json")" '["128",1000,30,null]'
	equal "the verdict is the same" "$(jq -c '.accounting | [.verdict, .causes]' "$S/json")" "$verdict"
	# disk, nfs_calls and load of 8 runs, and three timelines.
	equal "queries" "$(jq .accounting.queries "$S/json")" $((queries + 3 * 8 + 3))
	sed -i '/^node_nfs/s/ [19]00$/ 25/; /^node_load/s/ 30$/ 5/; /^node_disk/s/ 5e8$/ 5e5/' "$S/metrics"
	kill "$SERVER"
	METRICS=$S/metrics serve
	! explain 127 | grep -E 'other nodes' || fail "nothing is unusual"
	equal "nothing is unusual" "$(explain --json 127 | jq -c '.accounting.others_signals | map(.unusual)')" \
		'[false,false,false]'
}

test_a_node_whose_clock_is_wrong_is_named_and_not_blamed() {
	local skew
	for skew in 30 -30; do
		serve_also <<<"node_time_seconds n1 0.1 $skew"
		explain 127 | one_line >"$S/out"
		contains "$skew" "$(cat "$S/out")" \
			"Unusual clock that differs from the metrics server's: 30 s on n1, usually 0 s"
		contains "$skew: verdict" "$(cat "$S/out")" \
			'It was not the network .confidence 99 %.: 165 s .*due to waiting for processors on n1'
		kill "$SERVER"
	done
}

test_explain_makes_no_claim_without_data() {
	serve
	contains "too few runs" "$(explain 139)" '^Too few comparable runs to say'
	contains "a failed run" "$(explain 140)" '^Job 140 did not complete'
	contains "a run that goes on" "$(explain 141)" \
		'^Job 141 has run for 347 s so far; comparable runs'
}

# It is judged once it has taken longer than its comparable runs usually do.
test_a_running_job_has_run_so_far() {
	export NETPROF_NOW=1764016553
	contains "slow" "$(explain 141 | one_line)" \
		'^Job 141 has run for 20.0 min so far, [0-9.]* [a-z]* .[0-9]* %. longer than undisturbed\.'
	NETPROF_NOW=1764015970
	contains "not slow" "$(explain 141 | one_line)" \
		'^Job 141 was not slow: it has run for 10.3 min so far, and comparable runs took'
}

# The accounting as `sacct --json` of Slurm 23.11 prints it.
accounting_as_json() {
	python3 - "$H/accounting.txt" <<-'END'
		import csv, json, sys
		def number(n): return {"set": True, "infinite": False, "number": int(n)}
		def job(r):
		    date = lambda c: 0 if r[c] == "Unknown" else int(r[c])
		    return {"job_id": int(r["JobIDRaw"]), "user": r["User"],
		        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}},
		        "partition": r["Partition"], "state": {"current": [r["State"]]},
		        "time": {"submission": date("Submit"), "start": date("Start"),
		            "end": date("End"), "suspended": 0, "limit": number(r["TimelimitRaw"])},
		        "allocation_nodes": int(r["NNodes"]), "nodes": r["NodeList"],
		        "tres": {"allocated": [{"type": "cpu", "count": int(r["NCPUS"])}]},
		        "name": r["JobName"], "submit_line": r["SubmitLine"],
		        "steps": [{"step": {"name": "batch"}, "time": {"start": number(1)}}]}
		rows = list(csv.DictReader(open(sys.argv[1]), delimiter="|"))
		print(json.dumps({"jobs": [job(r) for r in rows if None not in r],
		    "meta": {}, "errors": [], "warnings": []}, indent=1))
	END
}

test_accounting_as_json_gives_the_same_answers() {
	local from=(--topology="$H/topology.txt")
	accounting_as_json >"$S/accounting.json"
	grep -q '"job_id": 125' "$S/accounting.json" || fail "no accounting"
	for job in 125 127 139 140 141; do
		equal "$job" "$(netprof explain --metrics-url=none --accounting="$S/accounting.json" \
			"${from[@]}" "$job" | grep -v 'row of the accounting\|^ *that could not\|not be read')" \
			"$(explain "$job" | grep -v 'row of the accounting\|^ *that could not\|not be read')"
	done
	equal blame "$(netprof blame --json --accounting="$S/accounting.json" "${from[@]}" |
		jq 'del(.damaged_rows)')" "$(blame --json | jq 'del(.damaged_rows)')"
	head -n 100 "$S/accounting.json" >"$S/cut.json"
	run netprof explain --accounting="$S/cut.json" 125
	equal "cut off" "$RC $(wc -l <<<"$ERR")" "1 1"
	contains "cut off" "$ERR" "$S/cut.json:[0-9]*: not JSON as sacct --json prints it"
}

# Runs of alice, jobs 101 to 112, and then 113, which may have another name and command;
# %d is the number of the run.
some_runs() { # NAME COMMAND [NAME COMMAND]
	awk -v name="$1" -v line="$2" -v last_name="${3-$1}" -v last_line="${4-$2}" 'BEGIN {
		print "JobID|User|Partition|State|Submit|Start|End|NNodes|NCPUS|NodeList|JobName|WorkDir|SubmitLine"
		for (i = 1; i <= 13; i++) {
			t = 1764000000 + 700 * i
			if (i == 13) {
				name = last_name
				line = last_line
			}
			printf "%d|alice|main|COMPLETED|%d|%d|%d|2|8|n[0-1]|" name "|/home/alice|" line "\n",
				100 + i, t, t, t + 600 + i % 3, i, i, i
		}
	}' >"$S/runs"
}

explain_run() { netprof explain --accounting="$S/runs" --metrics-url=none 113 "$@"; }

test_runs_are_compared_by_command_if_the_name_is_of_no_use() {
	local what
	compared() { explain_run | one_line | grep -o 'Compared .*'; }
	some_runs fft 'sbatch fft.sh %d'
	contains "the same name" "$(compared)" "^Compared 12 of 12 completed runs of alice's fft on 2 nodes"
	what='runs of alice.s "sbatch run.sh" on 2 nodes .*; chosen by command, as'
	some_runs 'fft-%d' 'sbatch -J fft-%d -o %d run.sh'
	contains "other names" "$(compared)" "^Compared 12 of 12 completed $what fewer than 3 have its name"
	equal "as JSON" "$(explain_run --json | jq -c '.accounting.comparable | [.runs, .same]')" '[12,"command"]'
	some_runs wrap 'sbatch run.sh'
	contains "the name that Slurm gives" "$(compared)" "12 completed $what its name does not say what it runs"
	some_runs wrap 'sbatch --wrap=./fft' wrap 'sbatch --wrap=./halo'
	contains "another command" "$(explain_run)" '^Too few comparable runs to say'
	some_runs 'fft-%d' '' fft-13 ''
	contains "nothing is known" "$(explain_run)" '^Too few comparable runs to say'
}

# netprof measures only steps on several nodes.
test_jobs_on_one_node_are_not_to_be_measured() {
	some_runs fft 'sbatch fft.sh'
	sed -i '2,$s/|2|8|n.0-1.|/|1|4|n0|/' "$S/runs"
	sed '1p; $!d' "$S/runs" >"$S/one"
	contains "one run" "$(netprof explain --accounting="$S/one" --metrics-url=none 113)" \
		'^Next +give later runs the same job name, so that they can be compared$'
	sed '$s/|[0-9]*|1|4|n0/|1764010600|1|4|n0/' "$S/runs" >"$S/slow"
	run netprof explain --accounting="$S/slow" --metrics-url=none 113
	contains "a slow run" "$OUT" '^Next +check what the job itself did \(its output and input\)$'
}

test_what_differs_from_the_usual_runs_is_a_suspect() {
	differences() { explain_run --json | jq -c '.accounting.differences[] | [.what, .value, .usual]'; }
	some_runs fft 'sbatch fft.sh 512'
	equal "nothing" "$(differences)" ""
	! explain_run | grep -e ^Different || fail "nothing differs"
	sed -i '$s/|2|8|n.0-1.|/|4|16|n[0-3]|/' "$S/runs"
	contains "nodes" "$(explain_run | one_line)" \
		'Different another number of nodes than in its usual runs: 4, usually 2 .12 of 12 runs of its name.'
	contains "none of its size" "$(explain_run)" '^Too few comparable runs to say'
	equal "nodes" "$(differences)" '["nodes","4","2"]'
	sed -i '$s/|4|16|n.0-3.|/|2|16|n[0-1]|/;$s/|main|/|gpu|/' "$S/runs"
	equal "processors and partition" "$(differences)" '["processors","16","8"]
["partition","gpu","main"]'
	some_runs fft 'sbatch -J fft fft.sh 512' fft 'sbatch -J fft -o 13 fft.sh 1024'
	contains "command" "$(explain_run | one_line)" 'Different it was submitted with another command than all comparable runs, perhaps for another program or input: "sbatch fft.sh 1024", the newest of them with "sbatch fft.sh 512"'
	equal "command" "$(differences)" '["command","sbatch fft.sh 1024","sbatch fft.sh 512"]'
	some_runs fft '' fft 'sbatch fft.sh'
	equal "commands that are not known" "$(differences)" ""
}

# Slurm's accounting has numbers of tasks of steps, not of jobs: twelve runs of 8 tasks
# and then one of TASKS.
runs_with_steps() { # TASKS
	some_runs fft 'sbatch fft.sh'
	awk -F'|' -v last="$1" 'BEGIN { OFS = "|" }
		{ $0 = $0 "|" (NR == 1 ? "NTasks" : ""); print }
		NR > 1 {
			id = $1
			$2 = ""
			$11 = "fft"
			$1 = id ".batch"; $NF = 1; print
			$1 = id ".0"; $NF = NR == 14 ? last : 8; print
		}' "$S/runs" >"$S/steps" && mv "$S/steps" "$S/runs"
}

test_runs_with_another_number_of_tasks_are_not_comparable() {
	local page
	runs_with_steps 8
	contains "as many" "$(explain_run | one_line)" \
		"Compared 12 of 12 completed runs of alice's fft on 2 nodes .8 processors, 8 tasks. in"
	equal "as many" "$(explain_run --json | jq -c '.accounting | [.n_tasks, .differences]')" '[8,[]]'
	runs_with_steps 4
	page=$(explain_run | one_line)
	contains "fewer" "$page" '^Too few comparable runs to say'
	contains "fewer" "$page" \
		'Different another number of tasks than in its usual runs: 4, usually 8 .12 of 12 runs of its name.'
	equal "fewer" "$(explain_run --json | jq -c '.accounting | [.n_tasks, .comparable.found,
		(.differences[] | .what, .value, .usual)]')" '[4,0,"tasks","4","8"]'
	groups() { netprof blame --json "$@" | jq -c '[.jobs, .compared, .groups]'; }
	equal "in the groups of blame" "$(groups --accounting="$S/runs")" '[13,12,1]'
	fake_slurm none "$S/runs"
	equal "blame does not ask for steps" "$(groups)" '[13,13,1]'
	page=$(netprof explain --metrics-url=none 113 | one_line)
	contains "live" "$page" 'Different another number of tasks than in its usual runs: 4, usually 8'
	contains "the query" "$(grep -ve --allocations "$S/asked")" '--jobs 113,112,111,.*,101$'
	sed -i '3i case "$*" in *--allocations*) ;; *) exit 1 ;; esac' "$S/bin/sacct"
	contains "without steps" "$(netprof explain --metrics-url=none 113 | one_line)" \
		"Compared 12 of 12 completed runs of alice's fft on 2 nodes .8 processors. in"
}

test_a_requeued_job_counts_from_its_last_start() {
	some_runs fft 'sbatch fft.sh'
	sed -i '$p;$s/COMPLETED|.*|1764009701/REQUEUED|1764009000|1764009000|1764009050/' "$S/runs"
	contains "once" "$(explain_run | one_line)" \
		' Requeued it was started 1 time before; only the last start counts here'
	equal "as JSON" "$(explain_run --json | jq -c '.accounting | [.requeues, .run_sec, .start]')" \
		'[1,601,1764009100]'
}

# Slurm has a row for each size of a job.
test_a_job_that_changed_its_size_is_not_called_requeued() {
	some_runs fft 'sbatch fft.sh'
	sed -i '$p;$s/COMPLETED|.*|1764009701/RESIZING|1764009000|1764009000|1764009100/' "$S/runs"
	contains "a part" "$(explain_run | one_line)" \
		' Resized its number of nodes changed while it ran; only the last part counts here'
	equal "as JSON" "$(explain_run --json | jq -c '.accounting | [.requeues, .verdict]')" '[0,"too_few"]'
}

# sacct has no filter for commands.
test_runs_of_any_name_are_queried_if_commands_are_compared() {
	some_runs 'fft-%d' 'sbatch -J fft-%d run.sh'
	fake_slurm none "$S/runs"
	contains live "$(netprof explain --metrics-url=none 113 | one_line)" \
		'Compared 12 of 12 completed runs of alice.s "sbatch run.sh" on 2 nodes'
	contains "the query" "$(grep -e --nnodes "$S/asked")" \
		'^--local .*--user alice --starttime=uts[0-9]* --endtime=uts[0-9]* --state=COMPLETED --nnodes=2$'
	rm "$S/asked"
	fake_slurm none
	netprof explain --metrics-url=none 125 >"$S/out"
	! grep -e --nnodes "$S/asked" || fail "it has enough runs"
}

# 20 runs of fft, of USUAL seconds, and job 4000 on the same leaf switch as NPmpi, which took
# SECONDS.
measured_job() { # SECONDS [USUAL]
	printf '%s\n' 'SwitchName=leaf0 Level=0 Nodes=n[0-7]' >"$S/topology"
	awk -v sec="$1" -v usual="${2-59}" 'BEGIN { OFMT = CONVFMT = "%d"; OFS = "|"
		t = 1718162100 - 20 * usual
		print "JobID|User|Partition|State|Submit|Start|End|NNodes|NCPUS|NodeList|JobName"
		for (i = 0; i < 20; i++) {
			print 100 + i, "alice", "p", "COMPLETED", t, t, t + usual + i * 7 % 3, 4, 8, "n[0-3]", "fft"
			t += usual + 100
		}
		t = 1718182100
		print 4000, "alice", "p", "COMPLETED", t, t, t + sec, 4, 8, "n[0-3]", "fft"
		print 3991, "bob", "p", "COMPLETED", t, t, t + sec, 4, 8, "n[4-7]", "NPmpi"
	}' >"$S/accounting"
}

# The probes of job 4000 took 2.5 times as long as those of undisturbed runs.
slow_probes() {
	local run
	run=$(ls "$S/store/users/$MY_UID/fft"/*-4000.0.json)
	jq -c '.leaves[0].hist |= map([.[0] + 10, .[1]]) |
		.leaves[0].latency |= (.mean *= 2.5 | .min *= 2.5 | .max *= 2.5 | .m2 *= 6.25)' \
		"$run" >"$S/run" && mv "$S/run" "$run"
}

explain_measured() { # OPTIONS
	netprof explain --accounting="$S/accounting" --topology="$S/topology" \
		--metrics-url=none 4000 "$@"
}

# No other run had neighbours, so only the probes can show their effect.
test_explain_uses_the_probes_of_a_measured_job() {
	local run
	setup_measured
	answer() {
		explain_measured --json | jq -c '.accounting | [.verdict, (.causes[] |
			select(.cause == "network") | .blamed, .sec.mean > 15), .probes_delayed > 0.1]'
	}
	measured_job 84
	equal "as fast as usual" "$(answer)" '["unexplained",false,false,false]'
	contains "as fast as usual" "$(explain_measured | one_line)" \
		'Its probes the network was as fast as usual: 0 % took longer'
	run=$(ls "$S/store/users/$MY_UID/fft"/*-4000.0.json)
	cp "$run" "$S/last"
	slow_probes
	jq -c '.start -= 1000 | .end -= 1000 | .exit_code = 143' "$run" \
		>"${run%/*}/20240612T083140Z-hpc-4000.0.json"
	cp "$S/last" "$run"
	equal "slower before it was requeued" "$(answer)" '["unexplained",false,false,false]'
	rm "${run%/*}/20240612T083140Z-hpc-4000.0.json"
	slow_probes
	equal "slower" "$(answer)" '["network",true,true,true]'
	contains "slower" "$(explain_measured | one_line)" \
		'Its probes the network was slower than usual: [3-9][0-9] % took longer'
}

# Job 4000 ran 255 minutes; the probes of minutes 100 to 115 took FACTOR times as long.
long_job() { # FACTOR
	local run
	run=$(ls "$S/store/users/$MY_UID/fft"/*-4000.0.json)
	jq -c --argjson f "$1" '.end = .start + 15300 | .neighbours = [] |
		.leaves[0] |= (.latency.n = 153000 | .latency.m2 *= 765 |
			.windows = {width_sec: 60, w: [range(255) |
				if . >= 100 and . < 115 then $f else 1 end |
				[600, 1.4e-4 * ., 1.6e-4 * ., 9e-4 * .]]} |
			.hist |= (map([.[0], .[1] * 720]) + [[110, 9000]]))' \
		"$run" >"$S/run" && mv "$S/run" "$run"
}

# The slow part is 6 % of the run, so few of its probes were delayed. The longer run time
# alone does not prove that the network was the cause.
test_a_slow_quarter_of_an_hour_in_a_long_run_shows() {
	local answer='.accounting | [(.causes[] | select(.cause == "network") |
			.sec.mean > 300, .confidence > 0.5), .probes_delayed < 0.1,
		(.probes_slow_part * 48 | round),
		([.timeline.steps[].probes_delayed | . >= 0.1] | index(true))]'
	setup_measured
	measured_job 15300 14400
	long_job 1
	equal "no slow part" "$(explain_measured --json | jq -c "$answer")" \
		'[false,false,true,0,null]'
	contains "no slow part" "$(explain_measured | one_line)" \
		'Its probes the network was as fast as usual: [0-9] % took longer'
	setup_measured
	measured_job 15300 14400
	long_job 15
	equal "slow part" "$(explain_measured --json | jq -c "$answer")" \
		'[true,true,true,4,18]'
	contains "slow part" "$(explain_measured | one_line)" \
		'Its probes the network was slower than usual for 21\.. min of 4.25 h, first at'
	explain_measured --plot="$S/slow.svg"
	contains "the plot" "$(cat "$S/slow.svg")" 'Delayed probes of the job'
	contains "its row" "$(explain_measured)" ' 100 %  3991$'
	contains "its interval" "$(explain_measured | one_line)" \
		' When for 21\.. min from [^ ]*: its probes: up to 100 % were delayed; with 3991'
}

test_explain_compares_the_run_times_with_what_the_profiles_predict() {
	setup_measured
	slow_probes
	said() {
		measured_job "$1"
		explain_measured | one_line
	}
	contains "they agree" "$(said 84)" \
		' Profiles predict 19.[0-9] s, which agrees with the [0-9.]* to [0-9.]* s that the run times'
	contains "they do not" "$(said 140)" \
		' Profiles predict 19.[0-9] s, less than the [0-9.]* to [0-9.]* s that the run times'
	as_json() {
		measured_job "$1"
		explain_measured --json | jq -c '.profiles |
			.prediction, (.predicted_sec >= .network_low_sec), (.predicted_sec > 19 and .predicted_sec < 20)' | xargs
	}
	equal "they agree, for programs" "$(as_json 84)" "agrees true true"
	equal "they do not, for programs" "$(as_json 140)" "less false true"
	[[ $(said 60) != *Profiles* ]] || fail "it was not slow"
	equal "it was not slow, for programs" "$(explain_measured --json | jq -c .profiles)" null
}

test_without_a_metrics_server_it_says_what_is_missing() {
	golden history-no-metrics.txt explain 125
}

# If the server is unusable, the output is still printed and says why.
test_a_failing_metrics_server_affects_only_the_metrics() {
	local mode
	for mode in html error refuse huge token gaps renamed 404 302 500 503 million; do
		serve $mode
		explain_normal 127 >"$S/out" || fail "$mode: exit $?"
		grep -q "^Compared" "$S/out" || fail "$mode: no page"
		case $mode in
		html) contains html "$(one_line <"$S/out")" 'expected JSON of Prometheus.* HTTP API, got "<!DOCTYPE html>' ;;
		error) contains error "$(one_line <"$S/out")" 'the server reports: parse error: unknown function' ;;
		refuse | token) contains "$mode" "$(one_line <"$S/out")" 'the server refuses .401.: does it need a token' ;;
		huge) contains huge "$(one_line <"$S/out")" 'a response of more than 16 MiB' ;;
		renamed) contains renamed "$(one_line <"$S/out")" 'other-n[0-3].cluster:9100' ;;
		404) contains 404 "$(one_line <"$S/out")" 'no /api/v1/query there .404.: expected the address of' ;;
		302) contains 302 "$(one_line <"$S/out")" 'the server redirects .302.: give its own address' ;;
		500 | 503) contains "$mode" "$(one_line <"$S/out")" "the server answers with status $mode" ;;
		million) contains million "$(one_line <"$S/out")" 'a response of more than a million samples' ;;
		gaps) contains gaps "$(cat "$S/out")" 'It was not the' ;;
		esac
		kill "$SERVER"
	done
	URL=http://127.0.0.1:1
	contains "nobody there" "$(explain 127 | one_line)" 'Missing .*: only Slurm.s accounting'
}

test_nodes_and_runs_without_samples_are_counted() {
	local METRICS=$S/table
	cp "$H/metrics.txt" "$S/table"
	serve label:nodename
	contains "another label" "$(explain 127 | one_line)" \
		'Missing 2 of its nodes have no samples on the metrics server; do nodes have other names'
	echo MetricsLabel=nodename | cat "$S/usual.conf" - >"$S/conf"
	diff "$ROOT/t/data/golden/history-cpu.txt" <(NETPROF_CONF=$S/conf explain_normal 127) ||
		fail "with the label of the server: another answer"
	kill "$SERVER"
	sed 's/ n1 / m1 /' "$H/metrics.txt" >"$S/table"
	serve
	contains "a node that was renamed" "$(explain 127 | one_line)" \
		'Missing 1 of its nodes has no samples on the metrics server'
	kill "$SERVER"
	# As if the server kept samples for two hours: it has none of four runs.
	awk '/^#/ || $4 > 1764003060' "$H/metrics.txt" >"$S/table"
	serve
	explain 127 | one_line >"$S/out"
	contains "old runs" "$(<"$S/out")" \
		'Missing 4 of the 18 comparable runs have no samples on the metrics server; does it keep them'
	contains "old runs: the verdict" "$(<"$S/out")" 'It was not the network .* due to waiting for processors on n1'
	equal "old runs, for programs" "$(explain --json 127 | jq .accounting.runs_without_samples)" 4
}

test_a_server_that_hangs_is_given_up_after_its_timeout() {
	serve hang
	printf '%s\n' MetricsTimeout=300ms >"$S/conf"
	NETPROF_CONF=$S/conf explain 127 >"$S/out"
	contains hang "$(one_line <"$S/out")" 'no response within 0.3 s \(MetricsTimeout\)'
}

# For Slingshot these are counters of cxi devices, for Omnistat those of any network.
test_tables_of_other_exporters_replace_the_metrics_of_node_exporter() {
	local exporter METRICS=$S/table
	for exporter in slingshot omnistat infiniband; do
		case $exporter in
		slingshot) sed 's/node_network_receive_bytes_total/omnistat_network_cxi_rx_ok_octets/
			s/node_network_transmit_bytes_total/omnistat_network_cxi_tx_ok_octets/' ;;
		omnistat) sed 's/node_network_receive_bytes_total/omnistat_network_rx_bytes/
			s/node_network_transmit_bytes_total/omnistat_network_tx_bytes/' ;;
		infiniband) sed 's/node_network_receive_/node_infiniband_port_data_received_/
			s/node_network_transmit_/node_infiniband_port_data_transmitted_/
			s/node_network_speed_bytes/node_infiniband_rate_bytes_per_second/' ;;
		esac <"$H/metrics.txt" >"$S/table"
		equal "$exporter" "$(grep -c '^node_network_[rt]' "$S/table" || :)" 0
		serve
		explain_normal 125 >"$S/without"
		contains "$exporter, not configured" "$(<"$S/without")" '^126 .* min +- '
		echo "MetricsTable=$exporter,node_exporter" | cat "$S/usual.conf" - >"$S/conf"
		NETPROF_CONF=$S/conf explain_normal 125 >"$S/with"
		diff "$ROOT/t/data/golden/history-network.txt" "$S/with" || fail "$exporter: another answer"
		kill "$SERVER"
	done
}

# Make an authority in DIR, and certificates of a server and a client signed by it.
make_certificates() { # DIR
	local name
	mkdir "$1"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
		-keyout "$1/ca.key" -out "$1/ca.pem" 2>/dev/null
	echo 'subjectAltName=IP:127.0.0.1' >"$1/names"
	for name in server client; do
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" \
			-keyout "$1/$name.key" -out "$1/$name.csr" 2>/dev/null
		openssl x509 -req -in "$1/$name.csr" -CA "$1/ca.pem" -CAkey "$1/ca.key" -CAcreateserial \
			-days 2 -extfile "$1/names" -out "$1/$name.pem" 2>/dev/null
	done
}

test_a_client_certificate_goes_to_the_server() {
	command -v openssl >/dev/null || skip "no openssl"
	make_certificates "$S/tls"
	serve "tls:$S/tls"
	URL=https${URL#http}
	answer() { NETPROF_CONF=$S/conf explain 127 | one_line; }
	echo "MetricsCAFile=$S/tls/ca.pem" | cat "$S/usual.conf" - >"$S/conf"
	contains "without one" "$(answer)" 'Missing .*https://127.0.0.1.*only Slurm.s accounting'
	printf '%s\n' "MetricsCertFile=$S/tls/client.pem" "MetricsKeyFile=$S/tls/client.key" >>"$S/conf"
	contains "with it" "$(answer)" 'It was not the'
	sed -i /CAFile/d "$S/conf"
	contains "from a server of an unknown authority" "$(answer)" 'Missing .*certificate.*only Slurm.s'
	printf '%s\n' "MetricsCAFile=$S/tls/ca.pem" "MetricsCertFile=$S/none" |
		cat "$S/usual.conf" - >"$S/conf"
	contains "a file that does not exist" "$(answer)" 'Missing .*only Slurm.s accounting'
}

test_a_token_goes_to_the_server() {
	serve token
	echo secret >"$S/token"
	echo "MetricsTokenFile=$S/token" | cat "$S/usual.conf" - >"$S/conf"
	contains "with the token" "$(NETPROF_CONF=$S/conf explain 127)" 'It was not the'
}

# Rows METRIC USUAL,DURING of n0, where job 125 ran in the second period.
test_throttling_disks_nfs_and_load_are_shown_if_they_are_unusual() {
	local at=1764009297 end=1764010140 metric usual METRICS=$S/table
	cp "$H/metrics.txt" "$S/table"
	while read -r metric usual; do
		printf '%s n0 %s %s %s\n' "$metric" 0 $at "${usual%,*}" "$metric" $at $end "${usual#*,}" >>"$S/table"
	done <<-'END'
		node_cpu_core_throttles_total 0,40
		node_cpu_package_throttles_total 0,10
		node_disk_read_bytes_total 5e5,5e8
		node_disk_written_bytes_total 5e5,5e5
		node_nfs_rpcs_total 20,900
		node_load1 4,9
	END
	serve
	explain 125 | one_line >"$S/out"
	contains throttling "$(<"$S/out")" 'Unusual throttling of processors: 50/s on n0, usually 0/s'
	contains disk "$(<"$S/out")" 'Unusual traffic of disks: 50[01] MB/s on n0, usually 1 MB/s'
	contains nfs "$(<"$S/out")" 'Unusual NFS requests: 900/s on n0, usually 20/s'
	contains load "$(<"$S/out")" 'Unusual processes that run or wait .load.: 9 on n0, usually 4'
	equal "the cause is the same" "$(explain --json 125 | jq -c '.accounting | [.verdict, .cause,
		(.signals[] | select(.signal == "load") | .usual)]')" '["network","network",4]'
	sed -i 's/ 900$/ 25/; s/ 9$/ 4/; s/5e8$/5e5/; s/ 40$/ 0/; s/ 10$/ 0/' "$S/table"
	kill "$SERVER"
	serve
	! explain 125 | grep -E 'throttling|disks|NFS|load' || fail "nothing is unusual"
}

# A job on ten leaf switches, the first one of 600 nodes, and three runs like it.
test_explain_says_which_nodes_it_did_not_query() {
	local missing='.accounting | [.leaves_not_queried, .nodes_not_queried]' METRICS=$S/table
	{
		echo 'SwitchName=big Level=0 Nodes=n[0-599]'
		seq 9 | awk '{ print "SwitchName=leaf" $1 " Level=0 Nodes=n" 599 + $1 }'
	} >"$S/topology"
	awk 'BEGIN { OFS = "|"
		print "JobID|User|Partition|State|Submit|Start|End|NNodes|NCPUS|NodeList|JobName"
		for (i = 0; i < 4; i++)
			for (big = 0; big < 2; big++) {
				t = 1764000000 + 2000 * i + 1000 * big
				print 10 * (big + 1) + i, "alice", "p", "COMPLETED", t, t, t + 600,
					big ? 10 : 1, 8, big ? "n[0,600-608]" : "n600", big ? "wide" : "one"
			} }' >"$S/accounting"
	echo 'node_network_receive_bytes_total n0 0 2e9 1e6' >"$S/table"
	serve
	explain_wide() {
		netprof explain --accounting="$S/accounting" --topology="$S/topology" \
			--metrics-url="$URL" "$@"
	}
	equal "too many" "$(explain_wide --json 23 | jq -c "$missing")" '[2,88]'
	contains "too many" "$(explain_wide 23 | one_line)" \
		'Missing .* at most 8 leaf switches and 512 nodes on each: 2 switches and 88 nodes were not queried'
	equal "all" "$(explain_wide --json 13 | jq -c "$missing")" '[0,0]'
}

# sacct and scontrol of a site, with fixed output.
fake_slurm() { # PRIVATE-DATA [ACCOUNTING]
	cat >"$S/bin/sacct" <<-END
		#!/bin/sh
		[ ! -w '$S' ] || echo "\$*" >>'$S/asked'
		for a; do
			case \$a in
			--delimiter=*) d=\${a#*=} ;;
			esac
		done
		case "\$*" in
		*--allocations*) steps='/^[0-9_]*\.[^|]*|/d;' ;;
		esac
		sed "\${steps}s/|/\$d/g" '${2-$H/accounting.txt}'
	END
	cat >"$S/bin/scontrol" <<-END
		#!/bin/sh
		case "\$*" in
		"show topology") cat '$H/topology.txt' ;;
		"show config") printf '%s\n' 'PrivateData             = $1' 'SlurmUser = slurm(64030)' ;;
		esac
	END
	chmod 755 "$S/bin/sacct" "$S/bin/scontrol"
}

# sacct before 21.08 has no column SubmitLine, and fails if a column is unknown.
test_sacct_without_submit_lines_is_queried_again_without_them() {
	cut -d'|' -f1-14 "$H/accounting.txt" >"$S/old"
	fake_slurm none "$S/old"
	sed -i '3i case "$*" in *SubmitLine*) exit 1 ;; esac' "$S/bin/sacct"
	contains "old" "$(netprof explain --metrics-url=none 125 | one_line)" \
		"Compared 18 of 18 completed runs of alice's fft on 2 nodes"
	equal "once" "$(grep -c SubmitLine "$S/asked")" 1
	sed -i '3s/.*/exit 1/' "$S/bin/sacct"
	refused 1 'job 125 was not found: .*accounting .sacct failed; run it by hand to see why' \
		netprof explain --metrics-url=none 125
}

# scontrol cuts lines at SLURM_TOPO_LEN, which the user may have set.
test_the_lines_of_the_topology_are_whole() {
	fake_slurm none
	sed -i "s|cat '\(.*topology.txt\)'|cut -c \"-\${SLURM_TOPO_LEN:-4096}\" '\1'|" "$S/bin/scontrol"
	contains "the leaf switch" "$(SLURM_TOPO_LEN=20 netprof explain --metrics-url=none 125)" \
		'^126 +halo +bob +leaf0'
}

test_private_jobs_have_no_names() {
	local out who=(setpriv --reuid=12345 --regid=12345 --clear-groups env)
	[ "$MY_UID" = 0 ] || skip "another user needs root"
	as_other() { "${who[@]}" "$S/bin/netprof" explain --metrics-url=none "$@"; }
	fake_slurm none
	contains "by sacct" "$(as_other 125)" '^126 +halo +bob'
	fake_slurm jobs
	out=$(as_other 125)
	contains "private" "$out" '^another job +leaf0'
	! grep -qE 'alice|fft|bob|halo|126' <<<"$out" || fail "a name: $out"
	serve_also <<<"node_nfs_rpcs_total n2 20 900"
	out=$("${who[@]}" "$S/bin/netprof" explain --metrics-url="$URL" 127)
	contains "what another job did" "$(one_line <<<"$out")" \
		'NFS requests on other nodes: 900/s on n2 .another job., usually 20/s'
	! grep -qE 'alice|fft|bob|halo|128' <<<"$out" || fail "a name: $out"
	out=$(as_other 125)
	contains "the job itself" "$(one_line <<<"$out")" \
		'Compared 18 of 18 completed runs of the same user and name on 2 nodes'
	equal "as JSON" "$(as_other --json 125 | jq -c '.accounting |
		[.user, .name, (.neighbours[0] | .job, .name, .user, .leaf)]')" \
		'[null,null,null,null,null,"leaf0"]'
	contains "root sees all" "$(netprof explain --metrics-url=none 125)" '^126 +halo +bob'
	grep -E '^JobID|alice' "$H/accounting.txt" >"$S/own"
	fake_slurm jobs "$S/own"
	contains "slurmdbd hides them" "$(as_other 125 | one_line)" \
		'Neighbours none that Slurm shows you'
	fake_slurm jobs
	printf '%s\n' '#!/bin/sh' 'exit 1' >"$S/bin/scontrol"
	out=$(as_other 125 | one_line)
	contains "scontrol fails" "$out" 'another job all'
	contains "and why" "$out" 'other users are private .PrivateData., so they have no names: scontrol failed'
}

# The owner of a file with the accounting may see all of its jobs.
test_jobs_of_a_file_are_private_too() {
	local file=(--accounting="$S/accounting.txt" --metrics-url=none 125)
	local who=(setpriv --reuid=12345 --regid=12345 --clear-groups env)
	[ "$MY_UID" = 0 ] || skip "another user needs root"
	as_other() { "${who[@]}" "$S/bin/netprof" explain "${file[@]}"; }
	cp "$H/accounting.txt" "$S"
	fake_slurm jobs
	contains "private" "$(as_other)" '^another job +all '
	fake_slurm none
	contains "not private" "$(as_other)" '^126 +halo +bob'
	fake_slurm jobs
	chown 12345 "$S/accounting.txt"
	contains "its owner" "$(as_other)" '^126 +halo +bob'
}

# root, the owner of a file and operators of Slurm have it.
test_blame_needs_the_right_to_see_the_jobs_of_others() {
	local user
	[ "$MY_UID" = 0 ] || skip "another user needs root"
	as_user() { setpriv --reuid="$1" --regid=12345 --clear-groups "$S/bin/netprof" "${@:2}"; }
	refuses() { # WHAT MESSAGE USER OPTIONS
		run as_user "$3" blame --json "${@:4}"
		equal "$1: status and output" "$RC $OUT" "1 "
		contains "$1" "$ERR" "^netprof: this lists the jobs of all users, which $2: it needs root, SlurmUser or an operator"
		! grep -qE 'alice|fft|bob|halo' <<<"$ERR" || fail "$1: a name: $ERR"
	}
	fake_slurm none
	equal "not private" "$(as_user 12345 blame --json | jq .jobs)" 41
	fake_slurm jobs
	refuses "private" 'are private .PrivateData.' 12345
	cp "$H/accounting.txt" "$S"
	refuses "in a file" 'are private .PrivateData.' 12345 --accounting="$S/accounting.txt"
	refused 1 'which are private' as_user 12345 report --blame -o "$S/page.html"
	chown 12345 "$S/accounting.txt"
	equal "its owner" "$(as_user 12345 blame --json --accounting="$S/accounting.txt" | jq .jobs)" 41
	equal "root" "$(netprof blame --json | jq .jobs)" 41
	for user in None Operator Administrator; do
		printf '%s\n' '#!/bin/sh' "[ \$5 = name=nobody ] && echo $user" >"$S/bin/sacctmgr"
		chmod 755 "$S/bin/sacctmgr"
		[ $user != None ] || { refuses $user 'are private .PrivateData.' nobody; continue; }
		equal $user "$(as_user nobody blame --json | jq .jobs)" 41
	done
	printf '%s\n' '#!/bin/sh' 'exit 1' >"$S/bin/scontrol"
	refuses "scontrol fails" 'may be private .PrivateData.: scontrol failed; .*' nobody
	equal "root without scontrol" "$(netprof blame --json | jq .topology)" false
}

test_blame_equals_the_golden_files() {
	golden blame.txt blame
	golden blame.json blame --json
	golden blame.parsable blame -P
	golden blame.prom blame --metrics
	blame --metrics -o "$S/blame.prom"
	equal "into a file" "$(cat "$S/blame.prom")" "$(blame --metrics)"
}

blame_costly() {
	netprof blame --accounting="$S/accounting" --topology="$S/topology" "$@"
}

# To six digits, as the last ones depend on the libraries.
blame_metrics() {
	blame_costly --metrics | awk '!/^#/ { $NF = sprintf("%.6g", $NF) } { print }'
}

test_blame_has_intervals_for_pairs_leaf_switches_and_nodes() {
	costly
	golden blame-rows.txt blame_costly
	golden blame-rows.parsable blame_costly -P
	golden blame-rows.prom blame_metrics
	blame_costly --json >"$S/rows.json"
	equal "rows" "$(jq -c '[.pairs, .leaves, .nodes | length]' "$S/rows.json")" '[1,1,1]'
	equal "intervals" "$(jq -c '[.pairs[0], .leaves[0], .nodes[0] | .node_hours |
		.low > 0 and .low < .mean and .mean < .high]' "$S/rows.json")" '[true,true,true]'
	equal "the only pair is the cost of its leaf switch" \
		"$(jq -c '.pairs[0].node_hours | map_values(. * 1e6 | round)' "$S/rows.json")" \
		"$(jq -c '.leaves[0].node_hours | map_values(. * 1e6 | round)' "$S/rows.json")"
	equal "the node" "$(jq -r '.nodes[0] | .node, .runs, (.slower.mean * 100 | round)' \
		"$S/rows.json" | xargs)" 'n6 12 10'
	blame_costly --metrics >"$S/rows.prom"
	is_openmetrics "$S/rows.prom" 13
	equal "ends of intervals" "$(sed -n 's/^netprof_blame_pair_\(low_\|high_\|\)node_hours{.*} //p' \
		"$S/rows.prom" | awk '{ printf "%.6g ", $1 }')" \
		"$(jq -r '.pairs[0].node_hours | .mean, .low, .high' "$S/rows.json" | awk '{ printf "%.6g ", $1 }')"
}

# Monitoring systems refuse a second value with the same labels.
test_blame_has_one_gauge_for_names_that_look_alike() {
	costly $'halo\x01'
	sed $'1d; s/^/9/; s/\x01/\x02/; s/n\\[\\(.\\)-\\(.\\)\\]/n[9\\1-9\\2]/; s/|n\\(.\\)|/|n9\\1|/' \
		"$S/accounting" >"$S/more"
	cat "$S/more" >>"$S/accounting"
	sed 's/Nodes=n\[\(.\)-\(.\)\]/Nodes=n[9\1-9\2]/; s/leaf./&-9/' "$S/topology" >"$S/others"
	cat "$S/others" >>"$S/topology"
	equal "rows" "$(blame_costly --json | jq -r '.pairs[].by' | xargs)" 'bob/halo? bob/halo?'
	blame_costly --metrics >"$S/rows.prom"
	is_openmetrics "$S/rows.prom" 13
}

# 16 times the same, on nodes of their own.
test_blame_says_how_many_rows_are_left_out() {
	local k
	costly
	mv "$S/accounting" "$S/one"
	mv "$S/topology" "$S/two"
	head -n 1 "$S/one" >"$S/accounting"
	for k in {1..16}; do
		sed "1d; s/^/$k/; s/n\[\(.\)-\(.\)\]/n[$k\1-$k\2]/; s/|n\(.\)|/|n$k\1|/; s/\$/$k/" \
			"$S/one" >>"$S/accounting"
		sed "s/Nodes=n\[\(.\)-\(.\)\]/Nodes=n[$k\1-$k\2]/; s/leaf./&-$k/" "$S/two" >>"$S/topology"
	done
	equal "rows" "$(blame_costly --json | jq -c '[.pairs, .leaves, .nodes | length]')" '[16,16,16]'
	equal "lines that say so" \
		"$(blame_costly | grep -c '^1 more (shown with --json)$')" 3
}

test_a_plot_is_written() {
	serve
	explain --plot="$S/job.svg" 125
	contains "the plot" "$(cat "$S/job.svg")" 'Traffic of leaf switch leaf0'
	contains "the neighbour" "$(cat "$S/job.svg")" '126 halo'
	contains "the excess" "$(cat "$S/job.svg")" 'excess'
	explain --plot="$S/usual.svg" 137
	! grep -q 'excess' "$S/usual.svg" || fail "a job that was not slow has an excess"
}

test_bad_input_is_reported_in_one_line() {
	local bad
	printf 'JobID|User\n1|a\n' >"$S/few"
	printf '<html>' >"$S/html"
	sed 's/1764000000/yesterday/' "$H/accounting.txt" >"$S/date"
	: >"$S/empty"
	for bad in few html date empty none; do
		run 1 netprof explain --accounting="$S/$bad" 101
		equal "$bad: lines" "$(wc -l <<<"$ERR")" 1
		contains "$bad" "$ERR" "$S/$bad"
	done
	refused 1 'expected what scontrol show topology prints' \
		netprof explain --accounting="$H/accounting.txt" --topology="$S/html" 101
	printf '%s\n' '# one' '---' '- topology: tree' >"$S/topology.yaml"
	run netprof explain --accounting="$H/accounting.txt" --topology="$S/topology.yaml" 101
	equal "YAML" "$RC $ERR" "1 netprof: $S/topology.yaml: a topology.yaml: no leaf switch:\
 expected what scontrol show topology prints"
	echo 'SwitchName=s0 Nodes=n[0-3]' >"$S/topology.conf"
	refused 1 "topology.conf: a topology.conf: no leaf switch" \
		netprof blame --accounting="$H/accounting.txt" --topology="$S/topology.conf"
	sed 's/n\[4-7\]/m[4-7]/; s/n\[0-3\]/n0/' "$H/topology.txt" >"$S/partly"
	run netprof blame --accounting="$H/accounting.txt" --topology="$S/partly"
	contains "nodes that it does not have" "$OUT" '^Missing +5 nodes of these jobs are on no'
	sed 's/n\[/m[/' "$H/topology.txt" >"$S/other"
	run netprof explain --accounting="$H/accounting.txt" --topology="$S/other" 105
	contains "none of its nodes" "$OUT" '^Neighbours +not known: the topology has none'
	refused 1 'job 99999 is not in .*accounting.txt' \
		netprof explain --accounting="$H/accounting.txt" 99999
	run 2 netprof explain --metrics-url=mon:9090 101
	run 2 netprof explain --since=never 101
	echo 'SwitchName=s0 Level=0 Nodes=n[0-' >"$S/cut"
	refused 1 "$S/cut: leaf switch s0: \"n\[0-\": expected a list of nodes" \
		netprof explain --accounting="$H/accounting.txt" --topology="$S/cut" 101
	run 2 netprof blame --topology="$H/topology.txt"
	run netprof blame --since=93d
	equal "too far back" "$RC $(head -n 1 "$S/err")" "2 netprof: the jobs of 93 days are too many\
 to ask slurmdbd for at once: --since is at most 92d"
	refused 2 '^netprof: .*--since is at most 92d' netprof report --blame --since=93d -o "$S/page.html"
}

# JOB SECONDS VERDICT [CAUSE BLAMED COST]: an answer for t/validate.d/blind.py.
blind_answer() {
	jq -n --argjson sec "$2" --arg verdict "$3" --arg cause "${4-}" \
		--argjson blamed "${5-false}" --argjson cost "${6-0}" '
		{ accounting: ({ run_sec: $sec, verdict: $verdict, neighbours: [], causes: [] } +
			if $cause == "" then {} else {
				excess_sec: { mean: 9, low: 8, high: 10 },
				causes: [{ cause: $cause, examined: ($cost != 0), blamed: $blamed,
					confidence: 0.5, exposure_sec: 4,
					sec: { mean: $cost, low: 1, high: 3 } }]
			} end) }
	' >"$S/blind/answers/$1.json"
}

test_the_blind_test_lists_what_is_missed_and_what_is_blamed_wrongly() {
	mkdir -p "$S/blind/answers"
	printf '%s\n' '1 melt none' '2 melt quiet' '3 melt network' '4 melt disk' \
		'5 melt network+cpu' '6 melt link' '7 melt cpu' '8 melt hog' >"$S/blind/labels"
	blind_answer 1 10 none
	blind_answer 2 12 clock clock true 2
	blind_answer 3 20 network network true 9
	blind_answer 4 20 none io false 2
	blind_answer 5 30 network network true 9
	blind_answer 6 11 none link false 2
	blind_answer 7 20 too_few
	blind_answer 8 20 unexplained cpu
	python3 "$ROOT/t/validate.d/blind.py" "$S/blind" >"$S/out"
	equal mistakes "$(sed -n 's/^| melt | //p' "$S/out")" "\
quiet | 12 | 11.0 (10 to 12) | clock | 9.0 (8.0 to 10.0) | wrong: clock | 2.0 (1.0 to 3.0) | 0.50 | 4.0 |
disk | 20 | 11.0 (10 to 12) | none | 9.0 (8.0 to 10.0) | missed: a disk | 2.0 (1.0 to 3.0) | 0.50 | 4.0 |
network+cpu | 30 | 11.0 (10 to 12) | network | 9.0 (8.0 to 10.0) | missed: processors | not judged | - | - |
cpu | 20 | 11.0 (10 to 12) | too_few | - | missed: processors | not judged | - | - |
hog | 20 | 11.0 (10 to 12) | unexplained | 9.0 (8.0 to 10.0) | missed: processors | not examined | - | - |"
	sed -i '/ melt \(none\|network\)$/!d' "$S/blind/labels"
	contains "no mistakes" "$(python3 "$ROOT/t/validate.d/blind.py" "$S/blind")" '^none$'
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
