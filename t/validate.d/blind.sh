# Blind test of netprof explain on jobs that were not flagged. Jobs of real MPI
# programs are slowed by a cause chosen at random, or by none. netprof then explains
# each of them from Slurm's accounting (slurmdbd) and a real Prometheus with a
# node_exporter on each node; only when all answers are written are they compared
# with the labels.
#
# Causes: a neighbour on the leaf switch (NetPIPE); a CPU quota, or a busy neighbour,
# on one node; a slow disk on one node; a slow cable of one node; none, sometimes with
# a neighbour on the leaf that sends nothing or a sending one on the other leaf. Each
# job is the program and a checkpoint that every node writes at its end.
#
# The results go to doc/validation/blind.md.
# shellcheck shell=bash
. t/validate.d/accuracy.sh

BLIND_PROGRAMS=${BLIND_PROGRAMS-"melt waveguide water cavity"}
# Of each program; 25 jobs.
BLIND_CASES=${BLIND_CASES-"none none none quiet quiet quiet far far far
	network network network network network network cpu cpu hog
	disk disk disk link link network+cpu network+disk"}
# About 20 s each undisturbed, since Slurm's accounting has whole seconds.
WATER_STEPS=${WATER_STEPS:-400}
BLIND_SEED=${BLIND_SEED:-1}
BLIND_QUOTA=${BLIND_QUOTA:-6} # per cent of a processor, of one node
BLIND_DISK=${BLIND_DISK:-1500} # kilobytes per second, of one node
BLIND_LINK=${BLIND_LINK:-6} # Mbit/s, of one node; 20 otherwise
BLIND_LEAF=${BLIND_LEAF:-60} # Mbit/s

blind_inputs() {
	lammps_input melt melt/in.melt 280
	waveguide waveguide 260
	water water
	cavity cavity 220
}

# The plan, in random order: PROGRAM CASE.
blind_plan() {
	local p c
	for p in $BLIND_PROGRAMS; do
		for c in $BLIND_CASES; do
			echo "$p $c"
		done
	done | shuf --random-source=<(yes "$BLIND_SEED")
}

# USER NODES NAME: a batch job from stdin; its number.
blind_submit() {
	inside --user "$1" -- sbatch --parsable -w "$2" -J "$3" -o /dev/null -t 60 "${@:4}"
}

blind_ended() { # JOB
	[ -z "$(inside -- squeue -h -j "$1" 2>/dev/null)" ]
}

# FIRST: run NetPIPE both ways between two pairs of four nodes until it is cancelled.
# Each pair is a job, because an MPI program in a step that leaves out the first node
# of its job hangs here (t/cluster.d/slurm.sh).
blind_loud() {
	local bytes=$((RANDOM % 2 ? 1000000 : 262144)) p list=
	for p in "n$1,n$(($1 + 2))" "n$(($1 + 1)),n$(($1 + 3))"; do
		list=$list,$(blind_submit bob "$p" netpipe -N2 -n2 -D /tmp <<-END
			#!/bin/bash
			exec srun -Q --mpi=pmix NPopenmpi -2 -l $bytes -u $bytes \
				-n 10000000 -o /dev/null >/dev/null 2>&1
		END
		)
	done
	echo "${list#,}"
}

blind_quiet() {
	blind_submit bob "n[4-7]" sleeper -N4 -n4 --wrap "sleep 3600"
}

blind_hog() {
	blind_submit bob n1 hog -N1 -n2 --wrap \
		'for i in 1 2; do while :; do :; done & done; wait'
}

# PROGRAM CASE: run it with this cause; print the number of the job.
blind_run() {
	local beside='' id
	case $2 in
	network*) beside=$(blind_loud 4) ;;
	far) beside=$(blind_loud 12) ;;
	quiet) beside=$(blind_quiet) ;;
	hog) beside=$(blind_hog) ;;
	esac
	case $2 in
	cpu | *+cpu) cluster quota n1 "$BLIND_QUOTA" ;;
	disk | *+disk) cluster disk n2 "$BLIND_DISK" ;;
	link) cluster link n3 "$BLIND_LINK" ;;
	esac
	[ -z "$beside" ] || sleep 4
	id=$(blind_submit alice 'n[0-3]' "$1" -N4 -n4 <<-END
		#!/bin/bash
		cd ~/$1
		srun -Q --mpi=pmix $(program "$1") >/dev/null 2>&1
		srun -Q dd if=/dev/zero bs=1M count=6 oflag=direct status=none \
			of=\$CLUSTER_SHARED/checkpoint.%t 2>/dev/null ||
		srun -Q bash -c 'dd if=/dev/zero bs=1M count=6 oflag=direct status=none of=\$CLUSTER_SHARED/checkpoint.\$SLURM_PROCID'
	END
	)
	wait_for 600 blind_ended "$id"
	case $2 in
	cpu | *+cpu) cluster quota n1 off ;;
	disk | *+disk) cluster disk n2 off ;;
	link) cluster link n3 off ;;
	esac
	if [ -n "$beside" ]; then
		inside --user root -- scancel ${beside//,/ }
		wait_for 60 blind_ended "$beside"
	fi
	echo "$id"
}

blind_explain() { # JOB: its answer in JSON
	INSIDE_SEC=200 inside --user root -- netprof explain --json --since=1d \
		--metrics-url=http://127.0.0.1:9090 "$1"
}

# Answers before labels: netprof explains all jobs, in another order.
blind_answers() { # DIR
	local id
	mkdir -p "$1/answers"
	for id in $(cut -d' ' -f1 "$1/labels" | shuf); do
		blind_explain "$id" >"$1/answers/$id.json" || rm -f "$1/answers/$id.json"
	done
}

# Run all jobs, which takes most of an hour.
blind_jobs() { # DIR
	local dir=$1 program case id n=0
	echo MetricsInterval=1s >"$dir/netprof.conf"
	cluster up --leaves 2 --nodes-per-leaf 8 --leaf-mbit "$BLIND_LEAF" --own-cpus \
		--node-cgroups --accounting --netprof "$BUILD" \
		--netprof-conf "$dir/netprof.conf"
	cluster metrics 1
	blind_inputs
	: >"$dir/labels"
	while read -r program case; do
		id=$(blind_run "$program" "$case" </dev/null)
		echo "$id $program $case" >>"$dir/labels"
		n=$((n + 1))
		echo "blind: $n jobs" >&2
	done < <(blind_plan)
}

validate_blind() {
	local dir=${BLIND_DIR:-$(mktemp -d)}
	blind_jobs "$dir"
	blind_answers "$dir"
	cluster down
	python3 t/validate.d/blind.py "$dir"
}
