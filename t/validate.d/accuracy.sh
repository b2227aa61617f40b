# How good are the predictions?  Programs that nobody here wrote, each alone,
# beside every interference level, and beside every other on disjoint nodes of
# one leaf, through srun and the plugin; then `netprof accuracy` on what came
# out.  Two programs are set aside: no choice of models or levels saw them.
#
# The measured pairs go to $PAIRS_DIR (build/), in the layout of
# netprof-pairs(5); doc/accuracy-pairs.json is such a file.
# shellcheck shell=bash

# Beside c7 programs of small messages take twenty times as long.
LEVELS=${LEVELS-"c0 c1 c2 c3 c4 c5 c6"}
ALONE_RUNS=${ALONE_RUNS:-3}
LEVEL_RUNS=${LEVEL_RUNS:-1}
PAIR_RUNS=${PAIR_RUNS:-2}
LEVEL_SEC=${LEVEL_SEC:-3}
LMP=/usr/share/lammps/examples

# NAME: the command of a program, run in alice's directory of that name.
# Inputs of clearly different communication; steps cut so that each takes some
# four seconds alone on four nodes.
program() {
	case $1 in
	melt) echo "lmp -in in.melt -log none" ;;
	couette) echo "lmp -in in.flow.couette -log none" ;;
	crack) echo "lmp -in in.crack -log none" ;;
	peptide) echo "lmp -in in.peptide -log none" ;;
	friction) echo "lmp -in in.friction -log none" ;;
	colloid) echo "lmp -in in.colloid -log none" ;;
	shear) echo "lmp -in in.shear -log none" ;;
	micelle) echo "lmp -in in.micelle -log none" ;;
	esac
}
PROGRAMS=${PROGRAMS-"melt couette crack peptide friction colloid"}
ASIDE=${ASIDE-"shear micelle"}

# NAME FROM SED: an input of LAMMPS's examples, shortened.
input() {
	inside -- bash -c "mkdir -p ~/$1 && cd ~/$1 && cp $LMP/$2/* . &&
		gunzip -f ./*.gz 2>/dev/null; sed -i '$3' in.*"
}

make_inputs() {
	input melt melt 's/^run.*/run 70/'
	input couette flow 's/^run.*/run 2900/'
	input crack crack 's/^run.*/run 650/'
	input peptide peptide 's/^run.*/run 10/'
	input friction friction 's/^run.*/run 1350/'
	input colloid colloid 's/^run.*/run 950/'
	input shear shear 's/^run.*/run 220/'
	input micelle micelle 's/^run.*/run 430/'
}

# SHELL: as alice, inside an allocation of both halves of the leaf.
A_NODES='n[0-3]' B_NODES='n[4-7]'

# NAME PROFILE NODES OPTIONS: one run; its record is the measurement.
run_program() {
	echo "cd ~/$1 && srun -Q -N4 -n4 -w '$3' --overlap --mpi=pmix \
		--netprofile=$2 $4 $(program "$1") >/dev/null 2>&1"
}

in_allocation() {
	INSIDE_SEC=1000 inside -- salloc -Q -N8 bash -c "$1"
}

measure_alone() { # NAME
	local i

	for ((i = 0; i < ALONE_RUNS; i++)); do
		in_allocation "$(run_program "$1" "$1" "$A_NODES" "")"
	done
}

measure_curve() { # NAME
	local level i

	for level in $LEVELS; do
		for ((i = 0; i < LEVEL_RUNS; i++)); do
			in_allocation "$(run_program "$1" "$1" "$A_NODES" \
				"--netprofile-compress=$level")"
		done
	done
}

# A B: both in a loop on their halves until each has PAIR_RUNS runs, so that
# each run has the other beside it from start to end.  Jobs of their own, as
# mpi.conf does not suit steps that leave out the job's first nodes.
measure_pair() {
	INSIDE_SEC=1000 inside -- bash -c "cd && rm -f stop done.a done.b
	loop() { while [ ! -e ~/stop ]; do eval \"\$1\"; echo x >>~/\$2; done; }
	loop $(printf %q "$(run_program "$1" "$1.with.$2" "$A_NODES" "")") done.a &
	loop $(printf %q "$(run_program "$2" "$2.with.$1" "$B_NODES" "")") done.b &
	enough() { [ \"\$(wc -l 2>/dev/null <~/\$1)\" -ge $PAIR_RUNS ]; }
	until enough done.a && enough done.b; do sleep 0.1; done 2>/dev/null
	touch ~/stop; date +%s.%N >~/stopped; wait"
	drop_late_runs "$1.with.$2"
	drop_late_runs "$2.with.$1"
}

# PROFILE: its last run may have ended beside nobody.
drop_late_runs() {
	local stopped f

	sleep 0.5
	stopped=$(cat "$(rundir)/home/alice/stopped")
	for f in "$(rundir)/store/users/20001/$1"/*.json; do
		jq -e ".end < $stopped" "$f" >/dev/null || rm -f "$f"
	done
}

# A level is a program, too: what the other levels do to it and it to them.
measure_levels() {
	local i j

	for i in $LEVELS; do
		for j in $LEVELS; do
			in_allocation "srun -Q -N4 -n4 -w '$A_NODES' --overlap \
				--mpi=pmix --netprofile=level.$i \
				--netprofile-compress=$j netprof-compressionb \
				--level=$i --duration=$LEVEL_SEC >/dev/null"
		done
	done
}

# Progress with time left, on standard error.
step() {
	local now=$EPOCHSECONDS

	DONE=$((DONE + 1))
	printf '\r%d of %d, %d min left: %-40s' "$DONE" "$TODO" \
		$(((now - BEGAN) * (TODO - DONE + 1) / DONE / 60)) "$*" >&2
	"$@"
}

# Records of profiles as the members of a netprof-pairs file.
pairs_file() {
	local store
	store=$(rundir)/store/users/20001
	cat "$store"/*/*.json | jq -s --arg programs "$PROGRAMS $ASIDE" \
		--arg levels "$LEVELS" --arg date "$(date +%F)" '
	def run_sec: .end - .start - .alone_sec;
	def stats: {n: length, mean: (add / length), sd: (if length < 2
		then 0 else (add / length) as $m | (map((. - $m) * (. - $m))
		| add / (length - 1) | sqrt) end)};
	def slow($alone): if length == 0 then null else
		map(. / $alone.mean - 1) | stats
		| .sd = ([.sd, $alone.sd / $alone.mean] | max) end;
	def rounds: if length == 0 then null else
		map(.level | .beside_round_sec.mean / .alone_round_sec.mean - 1)
		| stats end;
	def latency: map(.leaves[0]) | {n: (map(.latency.n) | add),
		mean_sec: ((map(.latency | .n * .mean) | add) /
			(map(.latency.n) | add)),
		sd_sec: ((map(.latency.m2) | add) /
			(map(.latency.n) | add) | sqrt),
		min_sec: (map(.latency.min) | min),
		max_sec: (map(.latency.max) | max),
		bins: (map(.hist[]) | group_by(.[0]) |
			map([.[0][0], (map(.[1]) | add)]))};
	map(select(.exit_code == 0 and .leaves[0].latency.n > 0)) as $all |
	($programs | split(" ") | map(select(. != ""))) as $p |
	($levels | split(" ")) as $l |
	def at($app; $level): $all | map(select(.app == $app and
		.level.name == $level));
	($p | map(. as $a | {key: $a, value: (at($a; null) | map(run_sec)
		| stats)}) | from_entries) as $alone |
	{format: "netprof-pairs", schema: 1, name: ("validate-" + $date),
	 programs: $p, levels: $l,
	 alone_sec: ($p | map($alone[.])),
	 program_beside_program: ($p | map(. as $a | $p | map(. as $b |
		at($a + ".with." + $b; null) | map(run_sec)
		| slow($alone[$a])))),
	 program_beside_level: ($p | map(. as $a | $l | map(. as $i |
		at($a; $i) | map(run_sec) | slow($alone[$a])))),
	 level_beside_program: ($l | map(. as $i | $p | map(. as $a |
		at($a; $i) | rounds))),
	 level_beside_level: ($l | map(. as $i | $l | map(. as $j |
		at("level." + $j; $i) | rounds))),
	 probes: (([["idle", ($all | map(select(.app == "idle")))]] +
		($p | map([., at(.; null)])) +
		($l | map(. as $i | [$i, at("idle"; $i)])))
		| map(select(.[1] | length > 0) | {key: .[0], value: (.[1]
		| latency)}) | from_entries)}'
}

validate_accuracy() {
	local a b n all p=($PROGRAMS $ASIDE) l=($LEVELS)

	n=${#p[@]} all="$PROGRAMS $ASIDE"
	TODO=$((n * 2 + n * (n + 1) / 2 + 2)) DONE=0 BEGAN=$EPOCHSECONDS
	cluster up --leaves 1 --nodes-per-leaf 8 --own-cpus --netprof "$BUILD"
	make_inputs
	step measure_idle
	step measure_levels
	for a in $all; do
		step measure_alone "$a"
		step measure_curve "$a"
	done
	for ((a = 0; a < n; a++)); do
		for ((b = a; b < n; b++)); do
			step measure_pair "${p[a]}" "${p[b]}"
		done
	done
	sleep 3
	pairs_file >"$BUILD/accuracy-pairs.json"
	cluster down
	echo >&2
	report_accuracy "$BUILD/accuracy-pairs.json"
}

# The idle leaf, and what the probes see under each level.
measure_idle() {
	local level

	in_allocation "srun -Q -N4 -w '$A_NODES' --netprofile=idle sleep 20"
	for level in $LEVELS; do
		in_allocation "srun -Q -N4 -w '$A_NODES' --netprofile=idle \
			--netprofile-compress=$level sleep 8"
	done
}

report_accuracy() { # FILE
	local aside=${ASIDE// /,}

	echo "chosen with: $PROGRAMS; set aside: $ASIDE"
	"$BUILD/netprof" accuracy "$1" --without="$aside"
	echo "pairs with a program that was set aside:"
	"$BUILD/netprof" accuracy "$1" --only="$aside"
}
