# A long run of many short jobs and some reconfigurations. Memory and
# descriptors of slurmctld must level off, and no record of a flagged run may be lost.
#
# SOAK_JOBS: 20000, of which one in SOAK_EVERY (100) runs long enough for a
# record; SOAK_RECONFIGURES: 50. PLACEMENT_PLUGIN=no: slurmctld without
# netprof, to compare.
#
# The resident memory of a process says little about what it keeps, because malloc
# returns little to the system. Therefore gdb asks slurmctld for malloc_info three times,
# when it has forgotten all jobs: after a tenth of them, at the end, and after as many
# reconfigurations again without a job.
# shellcheck shell=bash disable=SC2016 # for a shell inside

SOAK_JOBS=${SOAK_JOBS:-20000}
SOAK_EVERY=${SOAK_EVERY:-100}
SOAK_RECONFIGURES=${SOAK_RECONFIGURES:-50}
SOAK_AT_ONCE=200 # in the queue

# "SUBMITTED KB DESCRIPTORS", of slurmctld
soak_look() { # SUBMITTED
	inside --user root sh -c 'p=$(pgrep -o -x slurmctld)
		echo "$1 $(awk "\$1 == \"VmRSS:\" { print \$2 }" /proc/$p/status)" \
			"$(ls /proc/$p/fd | wc -l)"' - "$1"
}

soak_reconfigure() {
	inside --user root scontrol reconfigure
}

# Wait until slurmctld, which purges old jobs only occasionally, has forgotten all.
soak_forgotten() {
	local i

	for ((i = 0; i < 400; i++)); do
		[ "$(inside scontrol -o show job | grep -c ^JobId=)" -gt 0 ] || return 0
		sleep 1
	done
	echo "slurmctld still has jobs" >&2
}

# "IN-USE FREE", kB of slurmctld's heap, all arenas
soak_heap() {
	inside --user root sh -c '
		rm -f /tmp/heap
		gdb -p "$(pgrep -o -x slurmctld)" -batch -nx -iex "set auto-solib-add off" \
			-ex "sharedlibrary libc.so" \
			-ex "set \$f = ((void *(*)(char *, char *))fopen)(\"/tmp/heap\", \"w\")" \
			-ex "call ((int (*)(int, void *))malloc_info)(0, \$f)" \
			-ex "call ((int (*)(void *))fclose)(\$f)" >/dev/null 2>&1
		sed "/<heap /,/<\/heap>/d" /tmp/heap' |
		awk -F '"' '
			/total type="(fast|rest)"/ { free += $6 }
			/total type="mmap"/ { mapped += $6 }
			/system type="current"/ { all += $4 }
			END {
				if (!all)
					exit 1
				printf "%d %d\n", (all + mapped - free) / 1024, free / 1024
			}' || { echo "soak: gdb cannot ask slurmctld for its heap" >&2; return 1; }
}

# Submit jobs FROM .. TO - 1; every tenth is of an application that conflicts with itself.
soak_submit() { # FROM TO
	INSIDE_SEC=1200 inside bash -c '
		for ((i = $1; i < $2; i++)); do
			if ((i % $3 == 0)); then
				sbatch -Q -N2 -o /dev/null --netprofile=soak \
					--wrap "srun -Q sleep 3" >/dev/null
			else
				app=halo
				((i % 10)) || app=fft
				sbatch -Q -N1 -o /dev/null --netprofile=$app \
					--wrap true >/dev/null
			fi
			((i % 50)) || while [ "$(squeue -h -r -o %i | wc -l)" -gt $4 ]; do
				sleep 0.5
			done
		done' - "$1" "$2" "$SOAK_EVERY" "$SOAK_AT_ONCE"
}

# FILE: growth from the second quarter to the last one, in percent; the first quarter is
# for initial growth.
soak_growth() { # FILE COLUMN
	awk -v col="$2" '{ v[NR] = $col }
		END {
			for (i = int(NR / 4) + 1; i <= NR / 2; i++)
				if (v[i] > a) a = v[i]
			for (i = int(NR * 3 / 4) + 1; i <= NR; i++)
				if (v[i] > b) b = v[i]
			printf "%d then %d (%+.1f %%)", a, b, 100 * (b / a - 1)
		}' "$1"
}

validate_soak() {
	local dir begin step i records want logged early late idle

	# shellcheck source=t/validate.d/placement.sh
	. "$ROOT/t/validate.d/placement.sh"
	dir=$(mktemp -d)
	printf '%s\n' MinJobAge=10 MaxJobCount=200000 >"$BUILD/placement.slurm.conf"
	PLACEMENT_CONF=ProbeAfter=200ms with_placement_cluster
	echo "soak: date $(date +%F); $SOAK_JOBS jobs, $SOAK_RECONFIGURES reconfigures," \
		"job_submit plugin: $PLACEMENT_PLUGIN"
	begin=$((SOAK_JOBS / 10))
	soak_submit 0 "$begin"
	soak_forgotten
	early=$(soak_heap)
	step=$(((SOAK_JOBS - begin + SOAK_RECONFIGURES - 1) / SOAK_RECONFIGURES))
	for ((i = begin; i < SOAK_JOBS; i += step)); do
		soak_submit "$i" "$((i + step < SOAK_JOBS ? i + step : SOAK_JOBS))"
		soak_reconfigure
		soak_look "$i" >>"$dir/looks"
	done
	soak_forgotten
	sleep 15 # until collectors have ended
	soak_look "$SOAK_JOBS" >>"$dir/looks"
	late=$(soak_heap)
	for ((i = 0; i < SOAK_RECONFIGURES; i++)); do
		soak_reconfigure
	done
	sleep 5
	idle=$(soak_heap)
	want=$(((SOAK_JOBS + SOAK_EVERY - 1) / SOAK_EVERY))
	records=$(cat "$STORE/users/$ALICE_UID/soak"/*.json | jq -s 'length')
	logged=$({ grep '(soak)' "$STORE/users/$ALICE_UID/netprof.log" || :; } | sed 's/.*(soak)[: ]*//' |
		sort | uniq -c | sort -rn)
	echo "memory of slurmctld, MB, as the looks were:" \
		"$(awk '{ printf "%.0f ", $2 / 1024 }' "$dir/looks")"
	echo "memory of slurmctld, kB, at most, in the second and the last quarter:" \
		"$(soak_growth "$dir/looks" 2)"
	echo "heap of slurmctld, kB in use and free, all jobs forgotten: after $begin jobs $early;" \
		"after $SOAK_JOBS jobs and $SOAK_RECONFIGURES reconfigures $late; after" \
		"$SOAK_RECONFIGURES reconfigures more $idle"
	awk -v early="${early% *}" -v late="${late% *}" -v idle="${idle% *}" \
		-v jobs=$((SOAK_JOBS - begin)) -v n="$SOAK_RECONFIGURES" 'BEGIN {
			printf "in use: %+.3f kB for each job that is forgotten, " \
				"%+.1f kB for each reconfigure\n", \
				(late - early - (idle - late)) / jobs, (idle - late) / n
		}'
	echo "descriptors: $(soak_growth "$dir/looks" 3)"
	echo "flagged runs: $want, records: $records; others, as the log says:"
	echo "$logged"
	cluster down
	rm -rf "$dir"
}
