# Accuracy of predictions for real programs: each is run alone, under every load
# level, and beside every other program on disjoint nodes of one leaf, through srun
# and the plugin; then `netprof accuracy` evaluates the results. Two programs are set
# aside: models and levels were chosen without them.
#
# The measured pairs become doc/validation/pairs/main.json (netprof-pairs(5)), and the
# tables of doc/validation/accuracy.md are printed again.
# shellcheck shell=bash disable=SC2206 # lists of words

# Two programs of four nodes each can send a third more than the leaf carries.
# With the test cluster's default of 80 Mbit/s one of them fills it, and the other may
# take nine times as long.
LEAF_MBIT=${LEAF_MBIT:-120}
LEVELS=${LEVELS-"c0 c1 c2 c3 c4 c5 c6 c7"}
# Runs under a level start when probes and level are running, others together with
# the probes, which takes some tenths of a second more. Therefore the slowdown by a
# level is relative to runs under this idle level.
NO_LEVEL=P1:M1:B1s:S8
ALONE_RUNS=${ALONE_RUNS:-3}
LEVEL_RUNS=${LEVEL_RUNS:-1}
PAIR_RUNS=${PAIR_RUNS:-2}
LEVEL_SEC=${LEVEL_SEC:-5} # of which the first and the last half second are excluded
PRESSURE_SEC=${PRESSURE_SEC:-6} # of each level beside each program
PRESSURE_RUNS=${PRESSURE_RUNS:-2} # the first before the pairs, the others after
LMP=/usr/share/lammps/examples
QE=/usr/share/doc/quantum-espresso/examples

# NAME: print the command of a program, which runs in alice's directory of that name.
# Programs, or inputs, of clearly different communication.
program() {
	case ${1%.long} in
	silicon) echo "pw.x -in in" ;;
	waveguide) echo "meep in" ;;
	cavity) echo "gerris2D in" ;;
	water) echo "gmx_mpi mdrun -s in.tpr -ntomp 1 -pin off -noconfout -nsteps $(water_steps "$1")" ;;
	*) echo "lmp -in in -log none" ;;
	esac
}
PROGRAMS=${PROGRAMS-"melt couette crack silicon waveguide water"}
ASIDE=${ASIDE-"cavity solid"}

# Each takes about eight seconds alone on four nodes, and runs endlessly in the
# directory NAME.long.
make_inputs() {
	lammps melt melt/in.melt 140
	lammps couette flow/in.flow.couette 5800
	lammps crack crack/in.crack 1300
	lammps solid peri/in.peri.pmb 100
	silicon silicon 2
	silicon silicon.long 100000
	waveguide waveguide 160
	waveguide waveguide.long 1e9
	water water
	water water.long
	cavity cavity 120
	cavity cavity.long 1000000000
}

# NAME INPUT STEPS: an example input of LAMMPS with this number of steps.
lammps() {
	lammps_input "$1" "$2" "$3"
	lammps_input "$1.long" "$2" 1000000000
}

lammps_input() { # NAME INPUT STEPS
	inside -- bash -c "mkdir -p ~/$1 && cd ~/$1 &&
		cp -r $LMP/$(dirname "$2")/* . && gunzip -f ./*.gz 2>/dev/null
		sed 's/^run.*/run $3/' $(basename "$2") >in"
}

# Quantum ESPRESSO: molecular dynamics of eight displaced atoms of silicon, so that
# there are forces. Transposes for FFT: all to all.
silicon() { # NAME STEPS
	inside -- bash -c "mkdir -p ~/$1 && cd ~/$1 &&
		zcat $QE/EPW/sic/pp/Si.pz-vbc.UPF.gz >Si.UPF && cat >in" <<-END
		&control
		  calculation = 'md', nstep = $2, dt = 20, disk_io = 'none'
		  pseudo_dir = '.', outdir = 'out'
		/
		&system
		  ibrav = 1, celldm(1) = 10.26, nat = 8, ntyp = 1
		  ecutwfc = 12, nosym = .true.
		/
		&electrons
		  conv_thr = 1e-4
		/
		&ions
		/
		ATOMIC_SPECIES
		Si 28.086 Si.UPF
		ATOMIC_POSITIONS crystal
		Si 0.00 0.00 0.00
		Si 0.51 0.50 0.00
		Si 0.50 0.00 0.50
		Si 0.00 0.50 0.50
		Si 0.25 0.26 0.25
		Si 0.75 0.75 0.25
		Si 0.75 0.25 0.75
		Si 0.25 0.75 0.75
		K_POINTS gamma
	END
}

# Meep: light in a straight waveguide, finite differences in two dimensions.
waveguide() { # NAME UNTIL
	inside -- bash -c "mkdir -p ~/$1 && cd ~/$1 && cat >in" <<-END
		(set! geometry-lattice (make lattice (size 16 16 no-size)))
		(set! geometry (list (make block (center 0 0)
			(size infinity 1 infinity)
			(material (make dielectric (epsilon 12))))))
		(set! sources (list (make source (component Ez) (center -7 0)
			(src (make continuous-src (frequency 0.15))))))
		(set! pml-layers (list (make pml (thickness 1.0))))
		(set! resolution 10)
		(run-until $2)
	END
}

# GROMACS: 510 molecules of water, particle-mesh Ewald.
water() { # NAME
	inside -- bash -c "mkdir -p ~/$1 && cd ~/$1 && cat >in.mdp &&
		printf '%s\n' '#include \"oplsaa.ff/forcefield.itp\"' \
			'#include \"oplsaa.ff/spce.itp\"' '[ system ]' water \
			'[ molecules ]' >in.top &&
		{ gmx solvate -cs spc216 -box 2.5 2.5 2.5 -p in.top -o in.gro &&
		gmx grompp -f in.mdp -c in.gro -p in.top -o in.tpr; } >gmx.log 2>&1" <<-END
		integrator = md
		dt = 0.001
		gen-vel = yes
		gen-seed = 1
		ld-seed = 1
		coulombtype = PME
		nstlog = 0
		nstenergy = 0
	END
}

water_steps() { # NAME
	[[ $1 == *.long ]] && echo 1000000000 || echo "${WATER_STEPS:-200}"
}

# Gerris: a lid drives the fluid in a square cavity, a quarter of it on each
# node; multigrid, so messages of many sizes.
cavity() { # NAME STEPS
	inside -- bash -c "mkdir -p ~/$1 && cd ~/$1 && cat >in" <<-END
		4 4 GfsSimulation GfsBox GfsGEdge {} {
			Time { iend = $2 }
			Refine 5
			SourceViscosity 1e-4
		}
		GfsBox { pid = 0
			top = Boundary { BcDirichlet U 1 }
			left = Boundary { BcDirichlet V 0 } }
		GfsBox { pid = 1
			top = Boundary { BcDirichlet U 1 }
			right = Boundary { BcDirichlet V 0 } }
		GfsBox { pid = 2
			bottom = Boundary { BcDirichlet U 0 }
			right = Boundary { BcDirichlet V 0 } }
		GfsBox { pid = 3
			bottom = Boundary { BcDirichlet U 0 }
			left = Boundary { BcDirichlet V 0 } }
		1 2 right
		2 3 bottom
		3 4 left
		4 1 top
	END
}

# NAME: seconds until other programs start beside it, while it is setting up.
start_up_sec() {
	case $1 in
	silicon) echo 15 ;;
	*) echo 5 ;;
	esac
}

# SHELL: run as alice inside an allocation of both halves of the leaf.
A_NODES='n[0-3]' B_NODES='n[4-7]'

# NAME PROFILE [OPTIONS]: make one run; its record is the measurement.
run_program() {
	echo "cd ~/$1 && srun -Q -N4 -n4 -w '$A_NODES' --overlap --mpi=pmix \
		--netprofile=$2 ${3-} $(program "$1") >/dev/null 2>&1"
}

in_allocation() {
	INSIDE_SEC=1000 inside -- salloc -Q -N8 bash -c "$1"
}

measure_alone() { # NAME
	local i

	for ((i = 0; i < ALONE_RUNS; i++)); do
		in_allocation "$(run_program "$1" "$1")"
		in_allocation "$(run_program "$1" "$1" \
			"--netprofile-compress=$NO_LEVEL")"
	done
}

# Slowdowns of the program by the levels.
measure_curve() { # NAME
	local level i

	for level in $LEVELS; do
		for ((i = 0; i < LEVEL_RUNS; i++)); do
			in_allocation "$(run_program "$1" "$1" \
				"--netprofile-compress=$level")"
		done
	done
}

# PROFILE: each level, measured from a step that does nothing.
run_levels() {
	echo "for i in $LEVELS; do srun -Q -N4 -w '$A_NODES' --netprofile=$1 \
		--netprofile-compress=\$i sleep $PRESSURE_SEC; done"
}

# Slowdowns of the levels by the program.
measure_pressure() { # NAME
	beside "$1" "$1.slowdowns" "$(run_levels "$1.slowdowns")"
}

measure_pair() { # VICTIM CORUNNER
	beside "$2" "$1.with.$2" "for i in $(seq -s ' ' "$PAIR_RUNS"); do
		$(run_program "$1" "$1.with.$2")
	done"
}

# PROGRAM PROFILE SHELL: run SHELL beside a program that neither starts nor ends
# meanwhile. It is a separate job, because mpi.conf does not allow steps that leave
# out the job's first nodes.
beside() {
	local since=$EPOCHSECONDS
	INSIDE_SEC=1000 inside -- bash -c "cd ~/$1.long &&
	sbatch -Q -N4 -w '$B_NODES' -J beside -o /dev/null --wrap \
		'srun -n4 --mpi=pmix $(program "$1.long")' &&
	until squeue -h -n beside -t R | grep -q .; do sleep 0.1; done
	sleep $(start_up_sec "$1")
	$3
	squeue -h -n beside -t R | grep -q . || exit 9
	scancel -n beside
	while squeue -h -n beside | grep -q .; do sleep 0.1; done" || {
		echo "$1 ended beside $2: not measured" >&2
		find "$(rundir)/store/users/20001/$2" -newermt "@$since" \
			-name '*.json' -delete
	}
}

# Levels under each other.
measure_levels() {
	local i j

	for i in $LEVELS; do
		for j in $LEVELS; do
			in_allocation "srun -Q -N4 -n4 -w '$A_NODES' --overlap \
				--mpi=pmix --netprofile=level.${i//:/-} \
				--netprofile-compress=$j netprof-compressionb \
				--level=$i --duration=$LEVEL_SEC >/dev/null"
		done
	done
}

# Print progress and the time left on standard error.
step() {
	local now=$EPOCHSECONDS

	DONE=$((DONE + 1))
	printf '\r%d of %d, %d min left: %-40s' "$DONE" "$STEPS" \
		$(((now - BEGAN) * (STEPS - DONE + 1) / DONE / 60)) "$*" >&2
	"$@"
}

# A netprof-pairs file with six digits and a row of a matrix in each line.
pairs_text() {
	jq -r '
	def six_digits: if . == floor then . else
		pow(10; 5 - (fabs | log10 | floor)) as $k |
		(. * $k | round) / $k end;
	def text: "{\n" + (to_entries | map(" \(.key | tojson): " +
		(.value | if type == "array" and (.[0] | type) == "array" then
			"[\n" + (map("  " + tojson) | join(",\n")) + "\n ]"
		elif type == "object" then "{\n" + (to_entries |
			map("  \(.key | tojson): \(.value | tojson)") |
			join(",\n")) + "\n }"
		else tojson end)) | join(",\n")) + "\n}";
	walk(if type == "number" then six_digits else . end) | text'
}

# Records of profiles as the members of a netprof-pairs file.
pairs_file() {
	local store
	store=$(rundir)/store/users/20001
	cat "$store"/*/*.json | jq -rs --arg programs "$PROGRAMS $ASIDE" \
		--arg levels "$LEVELS" --arg date "$(date +%F)" \
		--arg no_level "$NO_LEVEL" '
	def run_sec: .end - .start - .alone_sec;
	def stats: if length == 0 then null else {n: length,
		mean: (add / length), sd: (if length < 2 then 0 else
		(add / length) as $m | (map((. - $m) * (. - $m))
		| add / (length - 1) | sqrt) end)} end;
	def slow($alone): if length == 0 or $alone == null then null else
		map(. / $alone.mean - 1) | stats
		| .sd = ([.sd, $alone.sd / $alone.mean] | max) end;
	def rounds: map(.level | .beside_round_sec.mean /
		.alone_round_sec.mean - 1) | stats;
	def rounds($alone): map(.level.beside_round_sec.mean /
		($alone | map(.level.beside_round_sec.mean) |
		add / length) - 1) | stats;
	def latency: map(.leaves[0]) | {n: (map(.latency.n) | add),
		mean_sec: ((map(.latency | .n * .mean) | add) /
			(map(.latency.n) | add)),
		sd_sec: ((map(.latency.m2) | add) /
			(map(.latency.n) | add) | sqrt),
		min_sec: (map(.latency.min) | min),
		max_sec: (map(.latency.max) | max),
		bins: (map(.hist[]) | group_by(.[0]) |
			map([.[0][0], (map(.[1]) | add)]))};
	map(select(.leaves[0].latency.n > 0 and .exit_code == 0)) as $all |
	($programs | split(" ") | map(select(. != ""))) as $p |
	($levels | split(" ")) as $l |
	def at($app; $level): $all | map(select(.app == $app and
		.level.name == $level));
	def run_secs($level): . as $a | {key: $a, value: (at($a; $level) |
		map(run_sec) | stats)};
	($p | map(run_secs(null)) | from_entries) as $alone |
	($p | map(run_secs($no_level)) | from_entries) as $base |
	{format: "netprof-pairs", schema: 1, name: ("validate-" + $date),
	 programs: $p, levels: $l,
	 alone_sec: ($p | map($alone[.])),
	 program_beside_program: ($p | map(. as $a | $p | map(. as $b |
		at($a + ".with." + $b; null) | map(run_sec)
		| slow($alone[$a])))),
	 program_beside_level: ($p | map(. as $a | $l | map(. as $i |
		if $base[$a] and $alone[$a] then
		at($a; $i) | map(run_sec - $base[$a].mean + $alone[$a].mean)
		| slow($alone[$a]) else null end))),
	 level_beside_program: ($l | map(. as $i | $p | map(. as $a |
		at($a + ".slowdowns"; $i) | rounds(at("idle.slowdowns"; $i))))),
	 level_beside_level: ($l | map(. as $i | $l | map(. as $j |
		at("level." + ($j | gsub(":"; "-")); $i) | rounds))),
	 probes: (([["idle", ($all | map(select(.app == "idle")))]] +
		($p | map([., at(.; null)])) +
		($l | map(. as $i | [$i, at("idle"; $i)])))
		| map(select(.[1] | length > 0) | {key: .[0], value: (.[1]
		| latency)}) | from_entries)}' | pairs_text
}

validate_accuracy() {
	local a b n all p=($PROGRAMS $ASIDE)

	n=${#p[@]} all="$PROGRAMS $ASIDE"
	STEPS=$((n * 2 + n * n + 2 + PRESSURE_RUNS * (n + 1)))
	DONE=0 BEGAN=$EPOCHSECONDS
	cluster up --leaves 1 --nodes-per-leaf 8 --leaf-mbit "$LEAF_MBIT" \
		--own-cpus --netprof "$BUILD"
	make_inputs
	step measure_idle
	step measure_levels
	for a in $all; do
		step measure_alone "$a"
		step measure_curve "$a"
	done
	measure_pressures
	for ((a = 0; a < n; a++)); do
		for ((b = 0; b < n; b++)); do
			step measure_pair "${p[a]}" "${p[b]}"
		done
	done
	for ((a = 1; a < PRESSURE_RUNS; a++)); do
		measure_pressures
	done
	sleep 3
	pairs_file >"$BUILD/accuracy-pairs.json"
	cluster down
	echo >&2
	write_accuracy
}

# Each level beside each program, and alone.
measure_pressures() {
	local a

	step measure_free_levels
	for a in $PROGRAMS $ASIDE; do
		step measure_pressure "$a"
	done
}

measure_free_levels() {
	INSIDE_SEC=1000 inside -- bash -c "$(run_levels idle.slowdowns)"
}

# Latencies on the idle leaf and under each level.
measure_idle() {
	local level

	in_allocation "srun -Q -N4 -w '$A_NODES' --netprofile=idle sleep 20"
	for level in $LEVELS; do
		in_allocation "srun -Q -N4 -w '$A_NODES' --netprofile=idle \
			--netprofile-compress=$level sleep 8"
	done
}

# The results are saved even if printing the tables fails.
write_accuracy() {
	cp "$BUILD/accuracy-pairs.json" doc/validation/pairs/main.json
	NETPROF=$BUILD/netprof t/figures doc/validation/accuracy.md >"$BUILD/accuracy.md"
	sed -i "s/Measured on 20[0-9-]*/Measured on $(date +%F)/" \
		"$BUILD/accuracy.md"
	mv "$BUILD/accuracy.md" doc/validation/accuracy.md
	echo "doc/validation/accuracy.md and doc/validation/pairs/main.json are written"
}
