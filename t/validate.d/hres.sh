# Would Slurm itself keep jobs apart, by a hierarchical resource per leaf (25.05
# and later)?  Half and more of it is asked for by fft, less than half by halo:
# two halo fit on a leaf, nothing else does.
# shellcheck shell=bash

HRES_RUNS=${HRES_RUNS:-10}

hres_file() { # LEAVES NODES-PER-LEAF
	local l
	printf -- '---\n- resource: leaf\n  mode: MODE_2\n  layers:\n'
	for ((l = 0; l < $1; l++)); do
		printf '    - nodes:\n      - "n[%d-%d]"\n      count: 100\n' \
			$((l * $2)) $(((l + 1) * $2 - 1))
	done
}

# APP SECONDS [OPTIONS of sbatch]: its id.
hres_job() {
	local ask=56
	[ "$1" = fft ] || ask=45
	inside sbatch --parsable -N1 -o /dev/null -J "$1" ${HRES_ASK:+-L "leaf:$ask"} \
		"${@:3}" --wrap "sleep $2"
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
		wait_for 60 all_done "${jobs[@]}"
		met=$((met + $(met 2 "${jobs[@]}" | wc -l)))
		jobs=("$(hres_job fft 2 --array=1-3)")
		wait_for 60 all_done "${jobs[@]}"
		array=$((array + $(met 2 "${jobs[@]}" | wc -l)))
	done
	echo "pairs that met on a leaf: $met of five jobs, $array of arrays" \
		"(n $HRES_RUNS), $((SECONDS - begin)) s"
}

validate_hres() {
	local a b c
	cluster up --leaves 4 --nodes-per-leaf 2
	# shellcheck source=t/integration/placement.lib
	. t/integration/placement.lib
	hres_file 4 2 >"$(rundir)/etc/slurm/resources.yaml"
	if ! cluster restart-ctl || ! inside scontrol show licenses | grep leaf; then
		echo "this Slurm has no hierarchical resources: $(inside scontrol --version)"
		return
	fi
	echo "$(inside scontrol --version), $(date +%F)"
	echo "nothing asked for: $(hres_runs)"
	HRES_ASK=yes
	echo "asked for: $(hres_runs)"
	a=$(hres_job fft 20 -N3)
	sleep 2
	b=$(hres_job fft 1 -N1)
	sleep 3
	echo "fft on three nodes: $(field "$a" NodeList); another fft: $(field "$b" JobState) $(field "$b" NodeList)"
	inside --user root scancel "$a" "$b"
	a=$(hres_job fft 30 -w n0)
	b=$(hres_job fft 1 -w n1)
	sleep 3
	echo "fft on the leaf of another, by its user's choice: $(field "$b" JobState), $(field "$b" Reason)"
	inside --user root scontrol update JobId="$b" Licenses= || :
	sleep 3
	echo "when what it asks for is taken away: $(field "$b" JobState)"
	inside --user root scancel "$a" "$b"
	c=$(hres_job fft 20 -N8)
	sleep 2
	b=$(hres_job halo 1)
	sleep 3
	echo "halo while fft is on all leaves: $(field "$b" JobState), $(field "$b" Reason)"
	inside --user root scancel "$c" "$b"
}
