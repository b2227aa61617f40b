# The steps of the demo; each says what it does before it does it.

LMP=/usr/share/lammps/examples

say() {
	printf '\n\033[1m== %s\033[0m\n' "$*"
}

# Show a command as the user would type it, then run it as alice.
as_alice() {
	printf '\033[2malice@login$\033[0m %s\n' "$*"
	t/cluster run -- bash -c "cd && $*"
}

start_cluster() {
	say "starting Slurm on 8 nodes under 2 leaf switches, in namespaces"
	t/cluster up --netprof "$BUILD"
}

stop_cluster() {
	say "stopping all that was started"
	t/cluster down
}

measure_idle() {
	say "the network at rest, as a reference (12 s)"
	as_alice "srun -N4 --netprofile=idle sleep 12"
}

# Three programs that nobody here wrote, each on one leaf switch.
submit_jobs() {
	say "three LAMMPS jobs, flagged: only --netprofile=NAME is new"
	t/cluster run -- bash -c \
		"sed 's/^run.*/run 2500/' $LMP/melt/in.melt >long.melt"
	batch melt "lmp -in $LMP/melt/in.melt -log none"
	batch couette "lmp -in $LMP/flow/in.flow.couette -log none"
	batch separate "nice -n 19 lmp -partition 4x1 -in long.melt -log none"
}

# NAME COMMAND: a job of 4 nodes that runs it.  One at a time, so that each
# profile is of one program.
batch() {
	t/cluster run -- bash -c "cd && cat >$1.sh" <<-END
		#!/bin/sh
		#SBATCH -N4 -n4 --output=/dev/null
		#SBATCH --job-name=demo --dependency=singleton
		srun --mpi=pmix $2
	END
	as_alice "sbatch --netprofile=$1 $1.sh"
}

watch_jobs() {
	local left

	say "waiting for them (about a minute)"
	for _ in $(seq 170); do
		left=$(t/cluster run -- squeue -h -u alice -o '%j' | wc -l)
		[ "$left" != 0 ] || break
		printf '\r%3d s, %s jobs left ' "$SECONDS" "$left"
		sleep 1
	done
	echo
}

show_profiles() {
	say "what each of them does to its leaf switch"
	as_alice "netprof list"
	for app in melt couette separate; do
		as_alice "netprof show $app"
	done
}
