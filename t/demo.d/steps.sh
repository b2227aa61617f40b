# The steps of the demo; each says what it does before it does it.

LMP=/usr/share/lammps/examples

say() {
	printf '\n\033[1m== %s\033[0m\n' "$*"
}

# USER COMMAND: show it as the user would type it, then run it.
as() {
	local user=$1 prompt=$
	shift
	[ "$user" != root ] || prompt='#'
	printf '\033[2m%s@login%s\033[0m %s\n' "$user" "$prompt" "$*"
	t/cluster run --user "$user" -- bash -c "cd && $*"
}

slurm_up() { # CONF [OPTIONS of t/cluster up]
	t/cluster up --nodes-per-leaf 8 --nic-mbit 20 --leaf-mbit 120 \
		--netprof "$BUILD" --netprof-conf "$@"
}

start_cluster() {
	local conf
	conf=$(mktemp)
	printf '%s\n' Placement=enforce PlacementInterval=500ms >"$conf"
	say "starting Slurm on 16 nodes under 2 leaf switches, in namespaces"
	slurm_up "$conf" --own-cpus || {
		echo "(Without cpusets programs share all processors: times vary more.)"
		slurm_up "$conf" || { rm "$conf"; return 1; }
	}
	rm "$conf"
}

stop_cluster() {
	say "stopping all that was started"
	t/cluster down
}

# Once per cluster, by an administrator: much shorter than usual.
calibrate() {
	say "measuring how strongly three synthetic loads slow each other (1 min)"
	echo "A load level is a program of netprof that sends messages at a set rate."
	echo "The network is a small model of a switch: 20 Mbit/s a node, 120 a leaf switch."
	as root "salloc -Q -N8 -w n[0-7] --exclusive netprof calibrate \
		--levels=c0,c5,c6 --repeats=1 --seconds=2 --probe-seconds=6"
}

# Two programs that are not part of netprof, each on a leaf switch of its own: alone,
# and under three load levels on the other nodes of that switch.
submit_jobs() {
	LAUNCH=$(launcher)
	say "two LAMMPS programs, flagged: only --netprofile=NAME is new"
	job_script melt "lmp -in $LMP/melt/in.melt -log none"
	t/cluster run -- bash -c \
		"sed 's/^run.*/run 3000/' $LMP/flow/in.flow.couette >couette.in"
	job_script couette "lmp -in couette.in -log none"
	for app in melt couette; do
		as alice "sbatch --netprofile=$app $app.sh"
		for level in c0 c5 c6; do
			as alice "sbatch --netprofile=$app" \
				"--netprofile-compress=$level $app.sh"
		done
	done
}

# Debian's Slurm 26.05 has no plugin for srun to start MPI programs with.
launcher() {
	if t/cluster run -- srun --mpi=list 2>&1 | grep -q pmix; then
		echo srun -N4 -n4 --mpi=pmix
	else
		echo mpirun -n 4 --map-by node
	fi
}

# NAME COMMAND: a job of a whole leaf that runs it on half of it. One at a time, so that
# each profile is of one program.
job_script() {
	t/cluster run -- bash -c "cd && cat >$1.sh" <<-END
		#!/bin/sh
		#SBATCH -N8 --switches=1 --exclusive --output=/dev/null
		#SBATCH --job-name=$1 --dependency=singleton
		$LAUNCH $2
	END
}

jobs_left() {
	t/cluster run -- squeue -h -u alice -o '%j' | wc -l
}

watch_jobs() {
	local left begin=$SECONDS

	say "waiting for the jobs (about a minute)"
	while left=$(jobs_left) && [ "$left" != 0 ] &&
		[ $((SECONDS - begin)) -lt 120 ]; do
		printf '\r%3d s, %s job%s left ' $((SECONDS - begin)) "$left" \
			"$([ "$left" = 1 ] && echo ' ' || echo s)"
		sleep 1
	done
	echo
}

show_profiles() {
	say "how they use the leaf switch, and how they slow each other"
	as alice "netprof list"
	as alice "netprof show couette"
	as alice "netprof matrix"
}

# In one job of a whole leaf: couette on half of it, alone, and again while melt
# runs on the other half. Prints the two run times. Steps that leave out the first
# nodes of their job need the settings of PMIx (t/cluster.d/slurm.sh).
prove_script() {
	local couette melt
	case $LAUNCH in
	srun*) couette="$LAUNCH -w n[0-3]" melt="$LAUNCH -w n[4-7]" ;;
	*) couette="$LAUNCH --host n0,n1,n2,n3" melt="$LAUNCH --host n4,n5,n6,n7" ;;
	esac
	t/cluster run -- bash -c "cd && cat >prove.sh" <<-END
		#!/bin/bash
		export SLURM_PMIX_DIRECT_CONN=true SLURM_PMIX_FENCE=mixed
		timed() {
			local begin=\$EPOCHREALTIME
			$couette lmp -in couette.in -log none >/dev/null
			awk -v b=\$begin -v e=\$EPOCHREALTIME 'BEGIN { print e - b }'
		}
		timed
		while $melt lmp -in $LMP/melt/in.melt -log none >/dev/null; do
			:
		done &
		sleep 2
		timed
		kill %1
	END
}

# Run the pair that was predicted, and compare.
prove() {
	say "checking the prediction: couette alone, then while melt runs (30 s)"
	prove_script
	as alice "sbatch -Q -W -N8 -w n[0-7] --exclusive -o prove.out prove.sh"
	t/cluster run -- bash -c "cd && cat prove.out; \
		netprof predict --noheader \
			--format=Slowdown,Low,High couette melt" | awk -F'|' '
		NF == 1 { sec[++n] = $1 }
		NF == 3 && !seen++ { p = $1; low = $2; high = $3 }
		END {
			if (n < 2 || !seen)
				exit 1
			printf "couette with melt:  alone %.1f s, together %.1f s\n",
				sec[1], sec[2]
			printf "  predicted %+.0f %% (90 %% interval %+.0f %% to %+.0f %%)\n",
				100 * p, 100 * low, 100 * high
			printf "  measured  %+.0f %%\n", 100 * (sec[2] / sec[1] - 1)
		}' || echo "it could not be measured here"
	echo "(From three levels and one run of each; netprof validate does this for whole"
	echo "lists of programs, and netprof calibrate measures eight levels. If this"
	echo "machine does other work, its effect on run times may be larger.)"
}

# Both would fit under one leaf switch, where Slurm packs them.
place_jobs() {
	local id

	say "an administrator publishes these profiles, so that they place jobs"
	for app in melt couette; do
		as root "netprof publish alice/$app"
	done
	sleep 6 # the plugin looks at the store every five seconds
	say "both programs, four nodes each: one leaf switch would hold them"
	echo "These jobs only sleep: placement knows them by the names of their profiles."
	as alice "sbatch -N4 --exclusive --netprofile=melt -J melt --wrap 'sleep 12'"
	as alice "sbatch -N4 --exclusive --netprofile=couette -J couette --wrap 'sleep 12'"
	as alice "sbatch -N4 --exclusive --netprofile=couette -J another --wrap 'sleep 5'"
	sleep 2
	as alice "squeue -o '%.6i %.9j %.9T %.10r %N'"
	id=$(t/cluster run -- squeue -h -n another -o %i | head -1)
	as alice "netprof explain $id"
	as alice "netprof status"
	t/cluster run -- scancel -u alice
}

next_steps() {
	say "what next"
	cat <<-END
		t/sandbox                      every command, on sample records
		doc/user-guide.md              flag your own jobs
		doc/admin-guide.md             make deb or make rpm, calibrate, place jobs
		t/cluster up --help            a cluster like this one to play with
	END
}
