# Could Slurm itself keep jobs apart, with a hierarchical resource per leaf (25.05
# and later)? fft requests more than half of it, halo less than half: two halo fit
# on a leaf, and no other pair does. HRES_MODES selects the modes (1, 2 and 3; mode 3
# needs 25.11).
# shellcheck shell=bash

HRES_RUNS=${HRES_RUNS:-10}

# Mode 3 also requires a layer with all nodes.
hres_file() { # MODE LEAVES NODES-PER-LEAF
	local l
	printf -- '---\n- resource: leaf\n  mode: MODE_%d\n  layers:\n' "$1"
	for ((l = 0; l < $2; l++)); do
		hres_layer $((l * $3)) $(((l + 1) * $3 - 1)) 100
	done
	[ "$1" != 3 ] || hres_layer 0 $(($2 * $3 - 1)) -1
}

hres_layer() { # FIRST LAST COUNT
	printf '    - nodes:\n      - "n[%d-%d]"\n      count: %d\n' "$@"
}

# APP SECONDS [OPTIONS of sbatch]: submit a job and print its id.
hres_job() {
	local ask=56
	[ "$1" = fft ] || ask=45
	inside sbatch --parsable -N1 -t1 -o /dev/null -J "$1" \
		${HRES_ASK:+-L "leaf:$ask"} "${@:3}" --wrap "sleep $2"
}

# Pairs that met in HRES_RUNS times five jobs that start in one pass, and three
# tasks of an array; and how long all of it took.
hres_runs() {
	local i app block jobs met=0 array=0 begin=$SECONDS
	for ((i = 0; i < HRES_RUNS; i++)); do
		block=$(inside sbatch --parsable -N8 --exclusive -o /dev/null \
			-J block --wrap 'sleep 300')
		jobs=()
		for app in fft halo fft halo fft; do
			jobs+=("$(hres_job "$app" 1.5)")
		done
		sleep 0.5
		inside --user root scancel "$block"
		wait_for 120 all_done "${jobs[@]}"
		met=$((met + $(met 2 "${jobs[@]}" | wc -l)))
		jobs=("$(hres_job fft 2 --array=1-3)")
		wait_for 120 all_done "${jobs[@]}"
		array=$((array + $(met 2 "${jobs[@]}" | wc -l)))
	done
	echo "pairs that met on a leaf: $met of five jobs, $array of arrays" \
		"(n $HRES_RUNS), $((SECONDS - begin)) s"
}

# Wait until the state is known: running, ended, or the reason for waiting.
hres_state() { # JOB
	wait_for 60 hres_is_known "$1"
	echo "$(field "$1" JobState) $(field "$1" NodeList), $(field "$1" Reason)"
}

hres_is_known() { # JOB
	! state_is "$1" PENDING || [[ $(field "$1" Reason) != @(None|Priority) ]]
}

# Submit a long job; print its id once it runs.
hres_stays() { # APP [OPTIONS of sbatch]
	local id
	id=$(hres_job "$1" 600 -t20 "${@:2}")
	wait_for 60 state_is "$id" RUNNING
	echo "$id"
}

hres_restart() {
	cluster restart-ctl
	wait_for 60 inside scontrol ping
	wait_for 60 all_registered
}

hres_over() { # JOB...
	inside --user root scancel "$@"
	wait_for 60 all_done "$@"
}

hres_several_leaves() {
	local a b n
	a=$(hres_stays fft -N3 -w 'n[0,2,4]')
	for n in n1 n3 n5; do
		b=$(hres_job fft 1 -w "$n")
		echo "fft on n[0,2,4], another on $n: $(hres_state "$b")"
		hres_over "$b"
	done
	hres_over "$a"
	if a=$(hres_job fft 1 -N2 -w 'n[0-1]'); then
		echo "fft alone on both nodes of a leaf: $(hres_state "$a")"
		hres_over "$a"
	else
		echo "fft alone on both nodes of a leaf: refused"
	fi
}

# Nodes chosen by the user; a restarted controller; a removed request.
hres_one_leaf() {
	local a b
	a=$(hres_stays fft -w n0)
	b=$(hres_job fft 1 -w n1)
	echo "fft on the leaf of another, by its user's choice: $(hres_state "$b")"
	hres_restart
	sleep 6
	echo "and after slurmctld ended and started: $(hres_state "$b")"
	inside --user root scontrol update JobId="$b" Licenses= || :
	wait_for 60 all_done "$b"
	echo "when what it asks for is taken away: $(field "$b" JobState)"
	hres_over "$a"
}

# A job on all leaves is at the head of the queue: may those behind it start?
hres_overtaken() {
	local a wide jobs=() i
	a=$(hres_job fft 8)
	sleep 1
	wide=$(hres_job fft 1 -N4 -w 'n[0,2,4,6]')
	for ((i = 0; i < 12; i++)); do
		jobs+=("$(hres_job fft 4)")
	done
	wait_for 300 all_done "$a" "$wide" "${jobs[@]}"
	echo "of 12 fft behind one on all leaves, started before it:" \
		"$(jobs_that_ran | awk -v w="$wide" -v ids="${jobs[*]}" '
			BEGIN { split(ids, l, " "); for (i in l) of[l[i]] = 1 }
			$1 == w { at = $3 }
			$1 in of { s[$1] = $3 }
			END { for (i in s) n += s[i] < at; print n + 0 }')"
}

hres_mode() { # MODE
	local conf
	conf=$(rundir)/etc/slurm/slurm.conf
	hres_file "$1" 4 2 >"$(rundir)/etc/slurm/resources.yaml"
	if ! cluster restart-ctl || ! inside scontrol show licenses | grep -q leaf; then
		echo "mode $1: $(inside scontrol --version) has no such resource:" \
			"$(grep -iE 'hres|resources.yaml|mode' "$(rundir)/log/slurmctld.log" |
				tail -n 1)"
		return
	fi
	wait_for 60 all_registered
	echo "mode $1, $(inside scontrol --version), $(date +%F)"
	HRES_ASK=
	echo "nothing asked for: $(hres_runs)"
	HRES_ASK=yes
	echo "asked for: $(hres_runs)"
	hres_several_leaves
	hres_one_leaf
	hres_overtaken
	sed -i 's/^SchedulerParameters=.*/&,bf_licenses/' "$conf"
	hres_restart
	echo "with bf_licenses: $(hres_overtaken)"
	sed -i 's/,bf_licenses$//' "$conf"
}

validate_hres() {
	local mode
	cluster up --leaves 4 --nodes-per-leaf 2
	# shellcheck source=t/integration/placement.lib
	. t/integration/placement.lib
	for mode in ${HRES_MODES:-1 2 3}; do
		hres_mode "$mode"
	done
}
