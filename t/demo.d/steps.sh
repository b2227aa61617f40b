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

start_cluster() {
	local conf
	conf=$(mktemp)
	printf '%s\n' Placement=enforce PlacementInterval=500ms >"$conf"
	say "starting Slurm on 16 nodes under 2 leaf switches, in namespaces"
	t/cluster up --nodes-per-leaf 8 --netprof "$BUILD" --netprof-conf "$conf"
	rm "$conf"
}

stop_cluster() {
	say "stopping all that was started"
	t/cluster down
}

# Once per cluster, by an administrator: much shorter than usual.
calibrate() {
	say "how the interference levels press on each other here (40 s)"
	as root "salloc -Q -N8 -w n[0-7] --exclusive netprof calibrate \
		--levels=c0,c4 --repeats=1 --seconds=1.5 --probe-seconds=4"
}

# Two programs that nobody here wrote, each on a leaf switch of its own: alone,
# and beside two levels on the other nodes of the leaf.
submit_jobs() {
	LAUNCH=$(launcher)
	say "two LAMMPS programs, flagged: only --netprofile=NAME is new"
	job_script melt "lmp -in $LMP/melt/in.melt -log none"
	t/cluster run -- bash -c \
		"sed 's/^run.*/run 3000/' $LMP/flow/in.flow.couette >couette.in"
	job_script couette "lmp -in couette.in -log none"
	for app in melt couette; do
		as alice "sbatch --netprofile=$app $app.sh"
		for level in c0 c4; do
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

# NAME COMMAND: a job of a whole leaf that runs it on half of it.  One at a time, so that
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

	say "waiting for them (about a minute)"
	while left=$(jobs_left) && [ "$left" != 0 ] &&
		[ $((SECONDS - begin)) -lt 120 ]; do
		printf '\r%3d s, %s jobs left ' $((SECONDS - begin)) "$left"
		sleep 1
	done
	echo
}

show_profiles() {
	say "what they do to a leaf switch, and what they do to each other"
	as alice "netprof list"
	as alice "netprof show couette"
	as alice "netprof matrix"
}

# Both would fit under one leaf switch, where Slurm packs them.
place_jobs() {
	local id

	say "an administrator trusts these profiles, and lets them place jobs"
	for app in melt couette; do
		as root "netprof publish alice/$app"
	done
	sleep 6 # the plugin looks at the store every five seconds
	say "both programs, four nodes each: one leaf switch would hold them"
	as alice "sbatch -N4 --netprofile=melt -J melt --wrap 'sleep 12'"
	as alice "sbatch -N4 --netprofile=couette -J couette --wrap 'sleep 12'"
	as alice "sbatch -N4 --netprofile=couette -J another --wrap 'sleep 5'"
	sleep 2
	as alice "squeue -o '%.6i %.9j %.9T %.10r %N'"
	id=$(t/cluster run -- squeue -h -n another -o %i | head -1)
	as alice "netprof explain $id"
	as alice "netprof status"
	t/cluster run -- scancel -u alice
}
