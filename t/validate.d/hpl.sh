# Communication time of each task of HPL, measured and predicted, with its tasks mapped
# to nodes in three ways, as J. Vienne's last tables: eight tasks of Debian's hpcc on
# four nodes of one leaf. A run is traced; `netprof replay` gets the trace's
# computation and messages, and the bandwidth and latency of one transfer alone.
# Ten to thirty minutes, most of them for the other tests of hpcc.
# shellcheck shell=bash disable=SC2016 # texts for other shells

HPL_N=${HPL_N:-2000} HPL_NB=${HPL_NB:-80} HPL_MBIT=${HPL_MBIT:-100}
HPL_MODELS=${HPL_MODELS:-gige,maxmin,none}
HPL_MAPPINGS=${HPL_MAPPINGS:-node core random}
HPL_TRACES=${HPL_TRACES:-$BUILD/hpl-traces} # kept, for hpl_table

hpl_input() {
	sed -e "s/^1000 *Ns/$HPL_N Ns/" -e "s/^80 *NBs/$HPL_NB NBs/" \
		-e 's/^2 *Qs/4 Qs/' /usr/share/doc/hpcc/examples/_hpccinf.txt
}

# Seconds of a transfer of 1 byte with its answer, and of one of 1 MiB.
hpl_network() {
	inside sh -c 'printf "scheme %s\nsize %s\nreference %s\na: n0 -> n1\n" \
		latency 1 1 bandwidth 1M 1M >alone.scheme'
	INSIDE_SEC=300 inside srun -Q -N2 --mpi=pmix netprof-sharing alone.scheme |
		sed -n 's/^reference [0-9]* took \([0-9.]*\)s.*/\1/p'
}

hpl_options() { # MAPPING
	case $1 in
	node) echo "--distribution=cyclic" ;;
	core) echo "--distribution=block" ;;
	random)
		inside sh -c 'printf "n%s\n" 2 0 3 3 1 0 2 1 >hosts'
		echo "--distribution=arbitrary"
		;;
	esac
}

hpl_trace() { # MAPPING
	local options
	options=$(hpl_options "$1")
	rm -rf "${HPL_TRACES:?}/$1" "$(shared)/hpl-$1"
	hpl_network >"$HPL_TRACES/$1.network"
	hpl_input | inside sh -c 'mkdir -p "$1" && cat >"$1/hpccinf.txt"' - "$1"
	INSIDE_SEC=1500 inside -- sh -c 'cd "$1" && rm -f hpccoutf.txt map &&
		export LD_PRELOAD="$LD_PRELOAD:$2/build/libnetprof-mpi.so" \
			NETPROF_TRACE="$3" SLURM_HOSTFILE="$PWD/../hosts" &&
		[ "$4" = --distribution=arbitrary ] || unset SLURM_HOSTFILE
		exec srun -Q -N4 -n8 --overcommit --mpi=pmix "$4" sh -c \
			"echo \$SLURM_PROCID \$SLURM_NODEID >>map && exec hpcc" >out 2>&1' \
		- "$1" "$(rundir)" "$(shared)/hpl-$1" "$options" || return
	inside --user root -- chmod -R a+rX "$(shared)/hpl-$1"
	cp -r "$(shared)/hpl-$1" "$HPL_TRACES/$1"
	inside sort -n "$1/map" | awk '{ print $2 }' | paste -sd, >"$HPL_TRACES/$1.map"
	inside grep '^WR' "$1/hpccoutf.txt" >"$HPL_TRACES/$1.result"
}

# HPL is hpcc's last test, and the only one that uses no collective. Each task begins
# when its last collective ended.
hpl_cut() { # FROM TO
	local rank
	mkdir -p "$2"
	for rank in "$1"/*.txt; do
		awk -F: '/^#/ { print; next }
			/^MPI_(All|Ba|Bc|Ga|Re[^c]|Sc|Sendr)/ { n = 0; begin = $NF; next }
			/^MPI_Finalize/ { exit }
			{ line[n++] = $0 }
			END {
				print "MPI_Init:-:0:0:" begin
				for (i = 0; i < n; i++)
					print line[i]
			}' "$rank" >"$2/${rank##*/}"
	done
}

# Microseconds in calls that communicate, by task.
hpl_measured() { # DIR
	local rank
	for rank in "$1"/*.txt; do
		awk -F: '/^MPI_(Send|Recv|I[^n]|Wait|Probe|Test)/ { sum += $NF - $2 }
			END { printf "%d %.0f\n", NR, sum }' "$rank"
	done
}

hpl_table() {
	local of out map
	out=$(mktemp -d)
	echo "date $(date +%F), N $HPL_N, NB $HPL_NB, links of $HPL_MBIT Mbit/s"
	for of in $HPL_MAPPINGS; do
		[ -d "$HPL_TRACES/$of" ] || continue
		map=$(cat "$HPL_TRACES/$of.map")
		"$BUILD/netprof" trace --liballprof="$out/$of" "$HPL_TRACES/$of" >/dev/null
		hpl_cut "$out/$of" "$out/$of.hpl"
		hpl_measured "$out/$of.hpl" >"$out/measured"
		echo "mapping $of: tasks on nodes $map; $(awk '{ print $6 " s" }' \
			"$HPL_TRACES/$of.result")"
		"$BUILD/netprof" replay --parsable --model="$HPL_MODELS" --map="$map" \
			--eager=64K "$(awk 'NR == 2 { printf "--bandwidth=%.0f", 1048576 / $1 }' \
				"$HPL_TRACES/$of.network")" \
			"$(awk 'NR == 1 { printf "--latency=%.0fus", 5e5 * $1 }' \
				"$HPL_TRACES/$of.network")" "$out/$of.hpl" |
			hpl_errors "$out/measured"
	done
	rm -r "$out"
}

# The table of one mapping: for each model the predicted time and its error.
hpl_errors() { # MEASURED; standard input: netprof replay --parsable
	awk -F'|' -v file="$1" '
	BEGIN {
		while ((getline line <file) > 0) {
			split(line, w, " ")
			measured[tasks++] = w[2] / 1e6
		}
	}
	NR > 1 {
		if (!($2 in seen)) {
			seen[$2] = 1
			model[models++] = $2
		}
		wait[$2, $4] = $8
	}
	END {
		printf "%6s%12s", "task", "measured"
		for (m = 0; m < models; m++)
			printf "%12s%9s", model[m], "error"
		print ""
		for (t = 0; t < tasks; t++) {
			printf "%6d%10.3f s", t, measured[t]
			for (m = 0; m < models; m++) {
				e = wait[model[m], t] / measured[t] - 1
				sum[m] += e < 0 ? -e : e
				printf "%10.3f s%+7.0f %%", wait[model[m], t], 100 * e
			}
			print ""
		}
		printf "%18s", "mean of |error|"
		for (m = 0; m < models; m++)
			printf "%19.0f %%", 100 * sum[m] / tasks
		print ""
	}'
}

validate_hpl() {
	local of
	mkdir -p "$HPL_TRACES"
	cluster up --leaves 1 --nodes-per-leaf 4 --nonblocking-leaf \
		--nic-mbit "$HPL_MBIT" --netprof "$BUILD"
	for of in $HPL_MAPPINGS; do
		# Open MPI may fail to connect while it starts on a loaded machine.
		hpl_trace "$of" || hpl_trace "$of" ||
			echo "$of: $(inside -- tail -n 1 "$of/out")" >&2
	done
	cluster down
	hpl_table
}
