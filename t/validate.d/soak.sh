# A long run of many short jobs and some reconfigurations.  Memory and
# descriptors of slurmctld must level off, and no record of a flagged run may be lost.
#
# SOAK_JOBS: 20000, of which one in SOAK_EVERY (100) runs long enough for a
# record; SOAK_RECONFIGURES: 50.  PLACEMENT_PLUGIN=no: slurmctld without
# netprof, to compare.
# shellcheck shell=bash disable=SC2016 # for a shell inside

SOAK_JOBS=${SOAK_JOBS:-20000}
SOAK_EVERY=${SOAK_EVERY:-100}
SOAK_RECONFIGURES=${SOAK_RECONFIGURES:-50}
SOAK_AT_ONCE=200 # in the queue

# "SUBMITTED KB DESCRIPTORS RECORDS": of jobs that slurmctld has
soak_look() { # SUBMITTED
	inside --user root sh -c 'p=$(pgrep -o -x slurmctld)
		echo "$1 $(awk "\$1 == \"VmRSS:\" { print \$2 }" /proc/$p/status)" \
			"$(ls /proc/$p/fd | wc -l)" \
			"$(scontrol -o show job | grep -c ^JobId=)"' - "$1"
}

# FILE: memory of a job while slurmctld has its record, by least squares over
# the samples, and memory that remains of a job it has forgotten.
soak_per_job() {
	awk -v jobs="$SOAK_JOBS" '
		{ n++; x += $4; y += $2; xx += $4 * $4; xy += $4 * $2; last = $2 }
		NR == 1 { first = $2 }
		END {
			d = n * xx - x * x
			printf "%.1f kB while it is known, %.3f kB afterwards", \
				d ? (n * xy - x * y) / d : 0, (last - first) / jobs
		}' "$1"
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
	local dir step i records want told

	# shellcheck source=t/validate.d/placement.sh
	. "$ROOT/t/validate.d/placement.sh"
	dir=$(mktemp -d)
	printf '%s\n' MinJobAge=10 MaxJobCount=200000 >"$BUILD/placement.slurm.conf"
	PLACEMENT_CONF=ProbeAfter=200ms with_placement_cluster
	echo "soak: date $(date +%F); $SOAK_JOBS jobs, $SOAK_RECONFIGURES reconfigures," \
		"job_submit plugin: $PLACEMENT_PLUGIN"
	soak_submit 0 1 # the memory of the first job is not counted
	soak_look 0 >>"$dir/looks"
	step=$(((SOAK_JOBS + SOAK_RECONFIGURES - 1) / SOAK_RECONFIGURES))
	for ((i = 0; i < SOAK_JOBS; i += step)); do
		soak_submit "$i" "$((i + step < SOAK_JOBS ? i + step : SOAK_JOBS))"
		inside --user root scontrol reconfigure
		soak_look "$i" >>"$dir/looks"
	done
	until [ -z "$(inside squeue -h -o %i)" ]; do
		sleep 2
	done
	sleep 15 # until collectors have ended
	# slurmctld purges old jobs only occasionally.
	for ((i = 0; i < 400; i++)); do
		[ "$(inside scontrol -o show job | grep -c ^JobId=)" -gt 0 ] || break
		sleep 1
	done
	soak_look "$SOAK_JOBS" >>"$dir/looks"
	want=$(((SOAK_JOBS + SOAK_EVERY - 1) / SOAK_EVERY + 1)) # and the first
	records=$(cat "$STORE/users/$ALICE_UID/soak"/*.json | jq -s 'length')
	told=$(grep '(soak)' "$STORE/users/$ALICE_UID/netprof.log" | sed 's/.*(soak)[: ]*//' |
		sort | uniq -c | sort -rn)
	echo "memory of slurmctld, MB, as the looks were:" \
		"$(awk '{ printf "%.0f ", $2 / 1024 }' "$dir/looks")"
	echo "memory of slurmctld, kB, at most, in the second and the last quarter:" \
		"$(soak_growth "$dir/looks" 2)"
	echo "memory of a job in slurmctld: $(soak_per_job "$dir/looks")"
	echo "descriptors: $(soak_growth "$dir/looks" 3)"
	echo "flagged runs: $want, records: $records; others, as the log tells:"
	echo "$told"
	cluster down
	rm -rf "$dir"
}
