# Does placement keep its promises? On a running Slurm:
#
#   apart       jobs of all sizes in random order and waves: how often two that
#               conflict share a leaf, with placement and without, and what that
#               costs jobs without conflicts
#   throughput  submissions per second of sbatch, with and without placement
#   queue       real programs in a queue: run times and makespan, both ways
#
# PLACEMENT_PARTS selects parts; PLACEMENT_PLUGIN=no: no netprof in slurmctld.
# shellcheck shell=bash disable=SC2016,SC2046,SC2086 # lists of words

PLACEMENT_PARTS=${PLACEMENT_PARTS-"apart throughput queue"}
PLACEMENT_CONF=
PLACEMENT_PLUGIN=${PLACEMENT_PLUGIN:-yes}
SEEDS=${SEEDS-"1"}
SUBMISSIONS=${SUBMISSIONS:-100}
THROUGHPUT_ROUNDS=${THROUGHPUT_ROUNDS:-10}
THROUGHPUT_JOBS=${THROUGHPUT_JOBS:-600}

validate_placement() {
	local part

	for part in $PLACEMENT_PARTS; do
		"placement_$part"
	done
}

# Use the store, jobs and checks of the integration tests. Settings are the defaults,
# except for $PLACEMENT_CONF.
with_placement_cluster() { # OPTIONS of t/cluster up
	printf '%s\n' Placement=enforce MaxSlowdown=15% $PLACEMENT_CONF \
		>"$BUILD/placement.conf"
	cluster up --netprof "$BUILD" --netprof-conf "$BUILD/placement.conf" \
		--slurm-conf-extra "$BUILD/placement.slurm.conf" "$@"
	# shellcheck source=t/integration/placement.lib
	. "$ROOT/t/integration/placement.lib"
	give_store
	[ "$PLACEMENT_PLUGIN" = yes ] || {
		sed -i 's/^JobSubmitPlugins/#&/' "$(rundir)/etc/slurm/slurm.conf"
		cluster restart-ctl
	}
}

# Set the mode to off or enforce, and wait until the thread has read it.
placement_mode() {
	sed -i "s/^Placement=.*/Placement=$1/" "$CONF"
	sleep 6
}

# "MEAN HALF N" of a column of numbers: mean and half of the 95 % confidence
# interval (Student).
INTERVAL='function quantile(df,    t, n, v) {
		n = split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 " \
			"2.262 2.228 2.201 2.179 2.160 2.145 2.131 2.120 2.110 " \
			"2.101 2.093 2.086", v, " ")
		return df > n ? 2.0 + 1.8 / df : v[df]
	}
	{ n++; sum += $1; square += $1 * $1 }
	END {
		if (n < 2) { print sum / (n ? n : 1), "-", n + 0; exit }
		mean = sum / n
		var = (square - n * mean * mean) / (n - 1)
		printf "%.4g %.2g %d\n", mean, \
			quantile(n - 1) * sqrt((var > 0 ? var : 0) / n), n
	}'
interval() { awk "$INTERVAL"; }

## Apart

# SEED APPS: print the jobs as lines "WAVE HOW APP NODES SEC". A wave is submitted
# directly, or held and released, or with a common begin time; 0 to 4 s follow.
sequence() {
	awk -v seed="$1" -v apps="$2" -v n="$SUBMISSIONS" 'BEGIN {
		srand(seed)
		k = split(apps, app, " ")
		split("now held begin", how, " ")
		for (i = 0; i < n; i++) {
			if (left-- <= 0) {
				wave++
				left = int(2 + 14 * rand())
				h = how[int(1 + 3 * rand())]
				pause = int(5 * rand())
			}
			print wave, h, pause, app[int(1 + k * rand())], \
				int(1 + 6 * rand()), int(2 + 4 * rand())
		}
	}'
}

# Submit sequences from one shell on ctl as fast as sbatch can. Print the numbers of
# the jobs, one on each line, in the order of the sequence.
submit_sequence() { # FILE
	INSIDE_SEC=900 inside bash -c '
		end_wave() {
			[ -z "$held" ] || scontrol release ${held# }
			sleep "$pause"
		}
		last= held= pause=0
		while read -r wave how next app nodes sec; do
			if [ "$wave" != "$last" ]; then
				[ -z "$last" ] || end_wave
				last=$wave held= pause=$next
				begin=$(date -d "+2 sec" +%FT%T)
			fi
			opts=
			[ "$how" != held ] || opts=-H
			[ "$how" != begin ] || opts=--begin=$begin
			id=$(sbatch --parsable -N"$nodes" -o /dev/null -J "$app" \
				--exclusive --netprofile="$app" $opts \
				--wrap "sleep $sec")
			[ "$how" != held ] || held="$held $id"
			echo "$id"
		done
		end_wave' <"$1"
}

# MODE FILE NAME: run the sequence; write NAME.ids and NAME.ran.
run_sequence() {
	placement_mode "$1"
	submit_sequence "$2" >"$3.ids"
	until [ -z "$(inside squeue -h -o %i)" ]; do
		sleep 1
	done
	jobs_that_ran | awk 'NR == FNR { want[$1]; next } $1 in want' \
		"$3.ids" - | sort -n >"$3.ran"
	met 4 $(cat "$3.ids") >"$3.met"
	starts_of $(cat "$3.ids") >"$3.delays"
}

# ID...: lines "ID NAME DELAY" with the seconds from its eligible time to its start.
starts_of() {
	inside env SLURM_TIME_FORMAT=%s scontrol -o show jobs |
		awk -v ids="$*" 'BEGIN {
			n = split(ids, id, " ")
			for (i = 1; i <= n; i++)
				want[id[i]]
		}
		{
			split("", v)
			for (i = 1; i <= NF; i++) {
				eq = index($i, "=")
				v[substr($i, 1, eq - 1)] = substr($i, eq + 1)
			}
			if (v["JobId"] in want)
				print v["JobId"], v["JobName"], \
					v["StartTime"] - v["SubmitTime"]
		}'
}

# Number of conflicting jobs that started within the same second, on any leaves.
same_second() { # RAN
	awk '{ t[NR] = $3; a[NR] = $2 }
		END { for (i = 1; i <= NR; i++) for (k = i + 1; k <= NR; k++)
			if (t[i] == t[k] && (a[i] == "fft" && a[k] != "none" ||
			    a[k] == "fft" && a[i] != "none")) n++
		print n + 0 }' "$1"
}

makespan() { # RAN
	awk 'NR == 1 || $3 < from { from = $3 } $4 > to { to = $4 }
		END { print to - from }' "$1"
}

row_apart() { # LABEL NAME
	local delays

	delays=$(awk '{ s[$2] += $3; n[$2]++; if ($3 > m[$2]) m[$2] = $3 }
		END { split("fft halo none", a, " ")
		for (i = 1; i <= 3; i++) if (n[a[i]])
			printf "%8.1f/%-3d", s[a[i]] / n[a[i]], m[a[i]]
		else printf "%12s", "-" }' "$2.delays")
	printf '%-24s %5d %9d %9d %9d %s\n' "$1" "$(wc -l <"$2.ran")" \
		"$(wc -l <"$2.met")" "$(same_second "$2.ran")" \
		"$(makespan "$2.ran")" "$delays"
}

# Both modes had the same jobs: print by how much each started later.
later() { # NAME NAME
	paste -d' ' <(sort -n "$1.delays") <(sort -n "$2.delays") |
		awk '{ print $6 - $3 }' | interval
}

placement_apart() {
	local seed mode dir=$BUILD/placement

	mkdir -p "$dir"
	echo MinJobAge=3600 >"$BUILD/placement.slurm.conf"
	PLACEMENT_CONF=PlacementInterval=500ms \
		with_placement_cluster --leaves 4 --nodes-per-leaf 4
	echo "apart: date $(date +%F); $SUBMISSIONS submissions of 1 to 6 nodes" \
		"on 4 leaves of 4, sleeping 2 to 5 s"
	printf '%-24s %5s %9s %9s %9s %s\n' "" jobs "together" "one pass" \
		"makespan" "mean/max s to start: fft, halo, unknown"
	for seed in $SEEDS; do
		sequence "$seed" "fft fft halo halo none" >"$dir/mixed"
		sequence "$seed" "halo halo none" >"$dir/harmless"
		for mode in enforce off; do
			run_sequence "$mode" "$dir/mixed" "$dir/mixed-$mode"
			row_apart "mixed $seed, $mode" "$dir/mixed-$mode"
			run_sequence "$mode" "$dir/harmless" "$dir/harmless-$mode"
			row_apart "harmless $seed, $mode" "$dir/harmless-$mode"
		done
		echo "harmless jobs start later by (mean, +- 95 %, n), s:" \
			"$(later "$dir/harmless-off" "$dir/harmless-enforce")"
		[ ! -s "$dir/mixed-enforce.met" ] || cat "$dir/mixed-enforce.met"
	done
	cluster down
}

## Throughput

# SETTING: none (no plugin in slurm.conf), off, enforce, or conflicts, which is
# enforce with jobs most of which conflict with others.
throughput_setting() {
	local plugins=JobSubmitPlugins=netprof mode=${1/conflicts/enforce}

	[ "$mode" != none ] || plugins="#$plugins"
	sed -i "s/^#*JobSubmitPlugins=.*/$plugins/" \
		"$(rundir)/etc/slurm/slurm.conf"
	[ "$mode" = none ] || sed -i "s/^Placement=.*/Placement=$mode/" "$CONF"
	cluster restart-ctl
	sleep 2.5 # for the first decision
}

# CPU time that slurmctld has used, in hundredths of a second.
controller_ticks() {
	inside --user root sh -c 'cat /proc/$(pgrep -o -x slurmctld)/stat' |
		sed 's/.*) //' | awk '{ print $12 + $13 }'
}

# Ended jobs cost time, too, so every measurement begins without any.
no_job_known() { ! inside scontrol -o show jobs | grep -q JobId=; }

# APP...: submissions per second from two shells at once; no job can start.
submissions_per_sec() {
	inside bash -c '
		some() {
			local i n=$1
			shift
			for ((i = 0; i < n; i++)); do
				sbatch --parsable -N1 -o /dev/null \
					--netprofile="${@:1 + i % $#:1}" \
					--wrap "sleep 1" >/dev/null
			done
		}
		n=$1
		shift
		some 20 "$@" & some 20 "$@" & wait # slower just after a start
		from=${EPOCHREALTIME/./}
		some $n "$@" & some $n "$@" & wait
		echo $((${EPOCHREALTIME/./} - from))' \
		- $((THROUGHPUT_JOBS / 2)) "$@" |
		awk -v n="$THROUGHPUT_JOBS" '{ print 1e6 * n / $1 }'
}

placement_throughput() {
	local round setting s apps ticks dir=$BUILD/placement
	local order=(${THROUGHPUT_SETTINGS:-none off enforce conflicts})

	mkdir -p "$dir"
	rm -f "$dir"/rate.* "$dir"/cpu.*
	printf '%s\n' MinJobAge=2 MaxJobCount=200000 >"$BUILD/placement.slurm.conf"
	with_placement_cluster --leaves 4 --nodes-per-leaf 2
	for ((round = 0; round < THROUGHPUT_ROUNDS; round++)); do
		for ((s = 0; s < ${#order[@]}; s++)); do
			setting=${order[(s + round) % ${#order[@]}]}
			apps="halo none halo"
			[ "$setting" != conflicts ] || apps="fft none halo"
			throughput_setting "$setting"
			block >/dev/null
			ticks=$(controller_ticks)
			submissions_per_sec $apps >>"$dir/rate.$setting"
			echo $(((($(controller_ticks) - ticks) * 10000) /
				(THROUGHPUT_JOBS + 40))) >>"$dir/cpu.$setting"
			cancel_all
			wait_for 60 no_job_known
		done
	done
	echo "throughput: date $(date +%F); $THROUGHPUT_JOBS submissions by two" \
		"shells, $THROUGHPUT_ROUNDS interleaved rounds; mean, +- 95 %, n"
	for setting in "${order[@]}"; do
		echo "  $setting: $(interval <"$dir/rate.$setting") jobs/s;" \
			"CPU time of slurmctld, us a job:" \
			"$(interval <"$dir/cpu.$setting")"
	done
	for setting in "${order[@]:1}"; do
		paste -d' ' "$dir/rate.$setting" "$dir/rate.none" |
			awk '{ print $1 / $2 }' >"$dir/ratio"
		echo "  $setting over none: $(interval <"$dir/ratio")," \
			"median $(sort -g "$dir/ratio" | awk '{ v[NR] = $1 }
			END { print v[int((NR + 1) / 2)] }')"
	done
	cluster down
}

## Queue

# Half of the jobs load the switch, the other half computes. Because 16 nodes here
# share two cores, `wait` stands for programs that only compute: four nodes without
# messages.
QUEUE_PROGRAMS=${QUEUE_PROGRAMS-"melt couette crack wait wait wait"}
QUEUE_EACH=${QUEUE_EACH:-2} # of each of these, in one round
QUEUE_ROUNDS=${QUEUE_ROUNDS:-5}
QUEUE_LEVELS=${QUEUE_LEVELS-"c0 c2 c3"}
QUEUE_WAIT_SEC=10
QUEUE_NODES=${QUEUE_NODES:-4} # of each job

# Each once.
queue_kinds() { printf '%s\n' $QUEUE_PROGRAMS | sort -u; }

queue_command() { # PROGRAM
	case $1 in
	wait) echo "srun -Q sleep $QUEUE_WAIT_SEC" ;;
	*) echo "srun -Q --mpi=pmix $(program "$1")" ;;
	esac
}

# A job as a user would write it, which also records when it ran.
queue_script() { # PROGRAM
	inside -- bash -c "mkdir -p ~/$1 && cat >~/$1/job.sh" <<-END
		#!/bin/bash
		cd ~/$1
		from=\$EPOCHREALTIME
		$(queue_command "$1") >/dev/null 2>&1 || echo "$1 failed" >>"\$CLUSTER_SHARED/failed"
		echo "\$SLURM_JOB_ID $1 \$from \$EPOCHREALTIME \$SLURM_JOB_NODELIST" >>"\$CLUSTER_SHARED/ran"
	END
}

# PROGRAM...: submit all of them at once, in this order; print their submit time and
# lines "ID PROGRAM START END NODES".
run_queue() {
	rm -f "$(shared)/ran" "$(shared)/failed"
	echo "0 submitted $EPOCHREALTIME - -"
	INSIDE_SEC=900 inside bash -c 'for p; do
			sbatch -Q -N"$0" --exclusive -J "$p" -o /dev/null "$p/job.sh"
		done
		while squeue -h -o %i | grep -q .; do sleep 0.2; done' \
		"$QUEUE_NODES" "$@" >/dev/null
	cat "$(shared)/ran"
	[ ! -e "$(shared)/failed" ] || { cat "$(shared)/failed" >&2; return 1; }
}

# Make the profiles as a user would: calibrate, then flagged runs without load and
# under levels.
queue_profiles() {
	local p level

	INSIDE_SEC=900 inside --user root salloc -Q -N8 -w 'n[0-7]' --exclusive \
		netprof calibrate --levels="${QUEUE_LEVELS// /,}" --repeats=1 \
		--seconds=2 --probe-seconds=6 >/dev/null 2>&1
	for p in $(queue_kinds); do
		[ "$p" != wait ] || continue
		for level in "" $QUEUE_LEVELS; do
			queue_measure "$p" ${level:+--netprofile-compress="$level"}
		done
	done
	sleep 1
}

# PROGRAM [OPTIONS]: make one run on half of the first leaf, with the rest kept free.
queue_measure() {
	INSIDE_SEC=300 inside -- salloc -Q -N8 -w 'n[0-7]' --exclusive bash -c \
		"$(run_program "$1" "$1" "${*:2}")" ||
		fail "$*: $(inside -- tail -n 3 netprof.log)"
}

# SEED: every program QUEUE_EACH times, shuffled.
queue_order() {
	local p i

	for p in $QUEUE_PROGRAMS; do
		for ((i = 0; i < QUEUE_EACH; i++)); do
			echo "$p"
		done
	done | awk -v seed="$1" 'BEGIN { srand(seed) } { print rand(), $1 }' |
		sort | cut -d' ' -f2 | xargs
}

# ALONE RAN: print "MEAN-SLOWDOWN MAKESPAN" of a round; the slowdown is the run time
# divided by that alone.
queue_result() {
	awk 'NR == FNR { s[$2] += $4 - $3; n[$2]++; next }
		$2 == "submitted" { from = $3; next }
		{ jobs++; slow += ($4 - $3) / (s[$2] / n[$2]); if ($4 > to) to = $4 }
		END { print slow / jobs, to - from }' \
		<(grep -v submitted "$1") "$2"
}

# FILE...: the times alone, then the rounds: print the mean slowdown of each program.
queue_table() {
	awk '$2 == "submitted" { next }
		FILENAME ~ /alone$/ { s[$2] += $4 - $3; n[$2]++; next }
		{
			m = FILENAME ~ /enforce/
			t[$2, m] += $4 - $3
			k[$2, m]++
		}
		END {
			printf "%-10s %8s %10s %10s\n", "program", "alone s", \
				"off", "enforce"
			for (p in s) {
				a = s[p] / n[p]
				printf "%-10s %8.2f %10.2f %10.2f\n", p, a, \
					t[p, 0] / k[p, 0] / a, t[p, 1] / k[p, 1] / a
			}
		}' "$@"
}

# Time of each program with the machine to itself.
queue_alone() {
	local p i

	for ((i = 0; i < 3; i++)); do
		for p in $(queue_kinds); do
			run_queue "$p"
		done
	done
}

queue_cluster() { # OPTIONS of t/cluster up
	printf '%s\n' Placement=off PlacementInterval=200ms \
		"MaxSlowdown=${QUEUE_LIMIT:-10%}" TrustedUsers=20001 \
		$(printf 'JobNameApp=%s:%s\n' $(for p in $(queue_kinds); do
			echo "$p" "$p"; done)) >"$BUILD/placement.conf"
	cluster up --leaves 2 --nodes-per-leaf 8 --netprof "$BUILD" \
		--netprof-conf "$BUILD/placement.conf" "$@"
	# shellcheck source=t/integration/placement.lib
	. "$ROOT/t/integration/placement.lib"
	# shellcheck source=t/validate.d/accuracy.sh
	. "$ROOT/t/validate.d/accuracy.sh"
	make_inputs
	# Twice as long, so that starting a job takes only a small part.
	inside -- bash -c "cd && sed -Ei \
		's/^run[[:space:]]+([0-9]+)/echo run \$((2 * \1))/e' \
		$(queue_kinds | sed '/wait/d; s/$/\/in/' | xargs)"
}

placement_queue() {
	local p round mode dir=$BUILD/placement/queue modes=(off enforce) m

	rm -rf "$dir"
	mkdir -p "$dir"
	queue_cluster
	for p in $(queue_kinds); do
		queue_script "$p"
	done
	queue_profiles
	echo "queue: date $(date +%F); each round $QUEUE_EACH jobs of 4 nodes of" \
		"each program, on 2 leaves of 8; limit ${QUEUE_LIMIT:-10%}"
	inside netprof matrix
	queue_alone >"$dir/alone"
	for ((round = 0; round < QUEUE_ROUNDS; round++)); do
		for ((m = 0; m < 2; m++)); do
			mode=${modes[(m + round) % 2]}
			placement_mode "$mode"
			run_queue $(queue_order "$round") >"$dir/$mode.$round"
			queue_result "$dir/alone" "$dir/$mode.$round" \
				>>"$dir/result.$mode"
		done
	done
	queue_table "$dir/alone" "$dir"/off.* "$dir"/enforce.*
	paste -d' ' "$dir/result.off" "$dir/result.enforce" >"$dir/both"
	echo "mean +- 95 %, n rounds:"
	echo "  mean slowdown, off:        $(awk '{ print $1 }' "$dir/both" | interval)"
	echo "  mean slowdown, enforce:    $(awk '{ print $3 }' "$dir/both" | interval)"
	echo "  enforce over off, paired:  $(awk '{ print $3 / $1 }' "$dir/both" | interval)"
	echo "  makespan, enforce over off: $(awk '{ print $4 / $2 }' "$dir/both" | interval)"
	cluster down
}
