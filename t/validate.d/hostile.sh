# An hour with a hostile user and ordinary ones: bob keeps changing other people's
# jobs and his own, claims published names, and keeps the reader of the store busy.
# In alternating minutes he is active or stopped; the submissions of the other users
# are compared, and slurmctld's memory is recorded.
#
# HOSTILE_MIN: minutes, 60. PLACEMENT_PLUGIN=no: slurmctld without netprof, to
# compare.
# shellcheck shell=bash disable=SC2016,SC2046,SC2086 # lists of words

HOSTILE_MIN=${HOSTILE_MIN:-60}
HOSTILE_TURN_SEC=60
HOSTILE_LIST=100000 # bytes; a longer list cannot be an argument of a command

# Loops that run in the cluster as bob until they are killed; $1 is a job of alice.
HOSTILE_CLIENTS='
	cd
	list=n[0-7]$(head -c '$HOSTILE_LIST' /dev/zero | tr "\0" ",")
	strange() {
		while :; do
			scontrol update jobid="$1" excnodelist="n$((RANDOM % 8)),$list"
		done
	}
	own() {
		id=$(sbatch --parsable -H --array=0-499 -o /dev/null \
			--netprofile=halo --wrap "sleep 1")
		while :; do
			scontrol update jobid="$id" excnodelist="n$((RANDOM % 8))"
			scontrol update jobid="${id}_$((RANDOM % 500))" \
				excnodelist="n$((RANDOM % 8)),$list"
		done
	}
	claim() {
		while :; do
			id=$(sbatch --parsable -o /dev/null -N1 --netprofile=fft \
				--wrap "sleep 30") || sleep 1
			sleep 2
			scancel "$id"
		done
	}
	files() {
		mkdir -p "$NETPROF_STORE/users/20002/fft"
		cd "$NETPROF_STORE/users/20002/fft" || exit
		head -c 4000000 /dev/zero | tr "\0" "[" >bad-0.json
		for i in $(seq 15); do ln -f bad-0.json "bad-$i.json"; done
		while :; do
			touch bad-0.json
			mv bad-1.json "bad-$((RANDOM + 100)).json"
			ln -f bad-0.json bad-1.json
			sleep 0.1
		done
	}
	strange "$1" & strange "$1" & own & claim & files &
	wait'

# Alice submits every half second until the file is removed; prints each time in ms.
HOSTILE_OTHERS='
	while [ -e "$1.on" ]; do
		app=$(shuf -n 1 -e halo fft none)
		a=${EPOCHREALTIME/./}
		id=$(sbatch --parsable -o /dev/null -N1 --netprofile=$app \
			--wrap "echo \$SLURM_JOB_ID >>$1.ran")
		b=${EPOCHREALTIME/./}
		echo "$b $((b - a)) ${id:--}"
		sleep 0.5
	done'

controller_kb() {
	inside --user root sh -c 'cat /proc/$(pgrep -o -x slurmctld)/status' |
		awk '$1 == "VmRSS:" { print $2 }'
}

# Stop or continue all processes of bob.
bob_is() { # STOP|CONT
	inside --user root pkill -"$1" -u 20002 || :
}

# FILE: "SINCE-US STOP|CONT" of each turn, and slurmctld's memory in kB.
hostile_turns() {
	local i what=STOP

	for ((i = 0; i < HOSTILE_MIN * 60 / HOSTILE_TURN_SEC; i++)); do
		bob_is "$what"
		echo "${EPOCHREALTIME/./} $what $(controller_kb)"
		sleep "$((HOSTILE_TURN_SEC - 5))"
		echo "${EPOCHREALTIME/./} - $(controller_kb)" # ends are not counted
		sleep 5
		[ "$what" = STOP ] && what=CONT || what=STOP
	done
	bob_is CONT
}

# TURNS SUBMISSIONS: ratio of the medians of turns, from the mean of their logarithms
# with its 95 % interval; then memory.
hostile_figures() {
	awk 'FNR == NR { at[++n] = $1; what[n] = $2; next }
		{
			for (; k < n && $1 >= at[k + 1]; k++)
				;
			if (k && what[k] != "-")
				print k, what[k], $2 / 1000
		}' "$1" "$2" | sort -k1,1n -k3,3g |
		awk '{ v[$1, ++m[$1]] = $3; what[$1] = $2; if ($1 > n) n = $1 }
		END {
			for (k = 1; k <= n; k++) {
				if (!m[k])
					continue
				mid = v[k, int((m[k] + 1) / 2)]
				all[what[k]] += mid; c[what[k]]++
				if (what[k] == "STOP")
					calm = mid
				else if (calm)
					print mid / calm
			}
		}' >"$3"
	echo "submission beside him over without him, medians of turns:" \
		"$(interval <"$3") (mean, +- 95 %, n)"
	awk 'NR == 1 { first = $3 } $3 > most { most = $3 }
		END { printf "slurmctld: %.0f MB at first, %.0f MB at most, " \
			"%.0f MB at the end\n", first / 1024, most / 1024, $3 / 1024 }' "$1"
}

validate_hostile() {
	local dir job others

	# shellcheck source=t/validate.d/placement.sh
	. "$ROOT/t/validate.d/placement.sh"
	dir=$(mktemp -d)
	echo "MaxJobCount=20000" >"$BUILD/placement.slurm.conf"
	with_placement_cluster
	echo "hostile: date $(date +%F), $HOSTILE_MIN minutes, job_submit plugin: $PLACEMENT_PLUGIN"
	job=$(job halo 1 -H)
	: >"$(shared)/others.on"
	inside true
	INSIDE_SEC=$((HOSTILE_MIN * 60 + 600)) inside bash -c "$HOSTILE_OTHERS" - \
		"$(inside sh -c 'echo $CLUSTER_SHARED')/others" >"$dir/others" &
	others=$!
	# Not waited for: nsenter stops itself when its child is stopped.
	inside --user bob env NETPROF_STORE="$STORE" setsid -f \
		bash -c "$HOSTILE_CLIENTS" - "$job" >/dev/null 2>&1
	sleep 10
	hostile_turns >"$dir/turns"
	rm "$(shared)/others.on"
	wait "$others"
	inside --user root pkill -KILL -u 20002 || :
	inside --user root scancel -u bob
	wait_for 300 alice_has_none
	hostile_figures "$dir/turns" "$dir/others" "$dir/ratios"
	awk 'NR == FNR { ran[$1]; next } !($3 in ran) { lost++ }
		END { printf "submissions of others: %d, lost: %d\n", FNR, lost }' \
		"$(shared)/others.ran" "$dir/others"
	echo "lines of netprof in slurmctld's log: $(grep -c 'netprof: ' "$LOG")," \
		"naming his uid but for submissions:" \
		"$(grep 'netprof: .*\b20002\b' "$LOG" | grep -vc submission)"
	cluster down
	rm -rf "$dir"
}

alice_has_none() {
	[ -z "$(inside squeue -h -u alice -t pending,running -o '%i %r' |
		grep -v JobHeldUser)" ]
}
