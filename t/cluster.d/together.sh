#!/usr/bin/env bash
# together.sh PROGRAM...: runs PROGRAM once all tasks of the step, or of mpirun, have started.
# A message of PMIx to a slurmstepd that does not listen yet is lost, and the step then waits
# for ever: probes wait half a second before their first one, in which a busy machine may not
# have started the other nodes' tasks. Tasks of srun also read their input to its end, as
# Slurm drops the output of those that end before srun has closed it.
set -eu
here=together.$SLURM_JOB_ID.${PMIX_NAMESPACE-$SLURM_STEP_ID}
all=${OMPI_COMM_WORLD_SIZE-$SLURM_STEP_NUM_TASKS}
tasks=()

# Without a process for each nap: nothing is ever written there.
exec {never}<> <(:)

echo >>~/"$here"
for ((i = 0; i < 3000; i++)); do
	mapfile tasks <~/"$here"
	((${#tasks[@]} < all)) || break
	read -rt 0.02 -u "$never" || :
done
exec {never}>&-
[ -n "${OMPI_COMM_WORLD_SIZE-}" ] || read -rd '' _ || :
exec "$@"
