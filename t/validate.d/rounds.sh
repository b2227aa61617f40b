# The number of rounds in which ranks create a communicator, from the additional time
# of each call on links with 2 ms more latency; an allreduce takes log2 of the ranks.
# A minute.
# shellcheck shell=bash

validate_rounds() {
	local mpi pm n

	cluster up --leaves 1 --nodes-per-leaf 8 --leaf-mbit 4000 --nic-mbit 1000
	for mpi in openmpi mpich; do
		"mpicc.$mpi" -O1 -o "$(shared)/$mpi" t/mpi/communicators.c
		pm=pmix
		[ "$mpi" = openmpi ] || pm=pmi2
		for n in 2 4 8; do
			rounds_of "$mpi" "$n" "$pm"
		done
	done
	cluster down
}

# Ranks of MPICH sometimes hang in MPI_Finalize() after printing everything.
rounds_of() { # MPI RANKS SLURM'S-PLUGIN
	local us
	for us in 500 2500; do
		cluster delay all "$us"
		INSIDE_SEC=15 inside -- srun -Q -N"$2" -n"$2" --mpi="$3" \
			"$(shared)/$1" >"$(shared)/$us" 2>/dev/null || :
	done
	paste -d ' ' "$(shared)"/{500,2500} | awk -v what="$1, $2 ranks:" '
		{ more = $4 - $2; if (NR == 1) one = more
		  else what = what sprintf(" %s %.1f", $1, more / one) }
		END { print what }'
}
