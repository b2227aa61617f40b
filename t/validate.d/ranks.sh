# Placement of 64 ranks: real programs are traced with eight ranks on each of eight
# nodes, and `trace_place` compares their run time on a fat tree of 128 nodes in the
# order of Slurm, scattered, as a greedy method places them, and as the search of
# `netprof tolerance --place` does. On two processors 64 ranks mostly wait for a
# processor, which the traces contain as computation; therefore a SHRINK-th of it is
# used, and none. About fifteen minutes.
# shellcheck shell=bash disable=SC2086 # lists of words

RANK_TRACES=${RANK_TRACES:-$BUILD/rank-traces}
RANK_PROGRAMS=${RANK_PROGRAMS:-"melt couette crack silicon"}
SHRINK=${SHRINK:-32} # 64 ranks on two processors

. t/validate.d/accuracy.sh

ranks_command() { # NAME
	case $1 in
	silicon) echo "pw.x -in in" ;;
	*) echo "lmp -in in -log none" ;;
	esac
}

ranks_input() { # NAME
	case $1 in
	melt) lammps_input melt melt/in.melt 10 ;;
	couette) lammps_input couette flow/in.flow.couette 50 ;;
	crack) lammps_input crack crack/in.crack 20 ;;
	silicon) silicon silicon 1 ;;
	esac
}

ranks_trace() { # NAME
	rm -rf "$(shared)/$1"
	# shellcheck disable=SC2016,SC2046
	INSIDE_SEC=400 inside -- sh -c 'cd "$1" &&
		export LD_PRELOAD="$LD_PRELOAD:$2/build/libnetprof-mpi.so" \
			NETPROF_TRACE="$3" && shift 3 &&
		exec srun -Q -N8 -n64 --overcommit --mpi=pmix "$@" >out 2>&1' - \
		"$1" "$(rundir)" "$(shared)/$1" $(ranks_command "$1") || return
	inside --user root -- chmod -R a+rX "$(shared)/$1"
	cp -r "$(shared)/$1" "$RANK_TRACES/$1"
}

validate_ranks() {
	local a

	rm -rf "$RANK_TRACES"
	mkdir -p "$RANK_TRACES"
	cluster up --leaves 1 --nodes-per-leaf 8 --nonblocking-leaf \
		--nic-mbit 1000 --netprof "$BUILD"
	for a in $RANK_PROGRAMS; do
		ranks_input "$a"
		# Open MPI may fail to connect while it starts on a loaded machine.
		ranks_trace "$a" || ranks_trace "$a" ||
			echo "$a: $(inside -- tail -n 1 "$a/out")" >&2
	done
	cluster down
	ranks_table
}

ranks_table() {
	local a

	make -s BUILD="$BUILD" "$BUILD/trace_place"
	echo "date $(date +%F)"
	for a in $RANK_PROGRAMS; do
		[ ! -d "$RANK_TRACES/$a" ] ||
			"$BUILD/trace_place" "$RANK_TRACES/$a" "$SHRINK" 0
	done
}
