# The command netprof on a store of fixtures. Needs no cluster; also runs alone:
#
#	[BUILD=build] [GOLDEN=write] bash t/integration/cli.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/cli.lib"
PARALLEL=110

test_text_output_equals_the_golden_files() {
	setup
	golden show-lammps.txt netprof show lammps
	golden show-hpcc.txt netprof show hpcc
	golden show-saturated.txt netprof show NPmpi
	golden show-light.txt netprof show postprocess
	golden show-too-few.txt netprof show hello
	golden show-never-measured.txt netprof show serial
	golden show-without-idle.txt netprof show elsewhere
	golden show-idle.txt netprof show idle
	golden show-published.txt netprof show cp2k
	golden list.txt netprof list
	golden runs-lammps.txt netprof runs lammps
	golden show-ascii.txt env LC_ALL=C netprof show hpcc
	golden show-curve.txt netprof show fft
	golden show-no-effect.txt netprof show spmv
	golden predict.txt netprof predict fft halo
	golden predict-several.txt netprof predict halo fft lammps
	golden predict-fallback.txt netprof predict fft cp2k
	golden predict-no-effect.txt netprof predict spmv qmc
	golden predict-uplink.txt netprof predict --scope=uplink fft NPmpi
	golden predict-model.txt netprof predict --model=queue lammps fft
	golden matrix.txt netprof matrix
	golden matrix-no-effect.txt netprof matrix spmv qmc
}

tolerance() { # ARGS...: of files below t/data
	(cd "$ROOT/t/data/loggps" && netprof tolerance "$@")
}

sleeps() { # PID
	[ "$(cut -d' ' -f3 "/proc/$1/stat")" = S ]
}

test_a_tolerance_is_printed() {
	setup
	golden tolerance.txt tolerance --critical -L 1us -o 1us -G 0.5ns \
		nonblocking.goal
	printf 'num_ranks 2\nrank 0 {\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n}\n' \
		>"$S/zero.goal"
	tolerance -L 0ns -o 0ns -G 0ns "$S/zero.goal" >"$S/out"
	! grep -E '[0-9] %  (1|2|5|more)' "$S/out" ||
		fail "a change of nothing: $(cat "$S/out")"
	! grep -E 'account| 0 s .* %$' "$S/out" || fail "a share of nothing"
	apart() { # NAME, THE END OF THE LINE, TEXT: the nodes of two ranks
		printf "$3" >"$S/topology.conf"
		run 1 tolerance --topology="$S/topology.conf" "$S/zero.goal"
		equal "lines about $1" "$(wc -l <"$S/err")" 1
		contains "$1" "$ERR" "rank 0 sends to rank 1, but no switch of \
.*topology.conf is above both of their nodes, n0 and n1$2$"
	}
	apart "two trees" '' 'SwitchName=s0 Nodes=n0\nSwitchName=s1 Nodes=n1\n'
	apart "a node on two switches" \
		', if only the first of several switches counts: .*topology.conf:2: node n0 is on s0 and s1: the first is used' \
		'SwitchName=s0 Nodes=n0\nSwitchName=s1 Nodes=n[0-1]\n'
	apart "a switch below two" \
		', if only the first of several switches counts: .*topology.conf:4: switch s0 is below t and u: the first is used' \
		'SwitchName=s0 Nodes=n0\nSwitchName=s1 Nodes=n1\nSwitchName=t Switches=s0\nSwitchName=u Switches=s[0-1]\n'
	mkfifo "$S/pipe"
	cat "$ROOT/t/data/loggps/nonblocking.goal" >"$S/pipe" &
	wait_for sleeps $! # in open(2): before that the pipe has no writer
	timeout 60 netprof tolerance "$S/pipe" >"$S/out" ||
		fail "not read from a pipe"
	wait
	golden tolerance-any.txt tolerance -L 100ns -G 0ns --up-to=200ns \
		--rendezvous=1G paper_example.goal recdoub16.goal
	golden tolerance.json tolerance --json --critical -L 1us -o 1us \
		-G 0.5ns --first-byte-free rendezvous.goal
	golden tolerance.parsable tolerance -P -L 200ns -G 5ns \
		--first-byte-free paper_example.goal deadlock_if_rendezvous.goal
	printf 'SwitchName=a Nodes=n[0-7]\nSwitchName=b Nodes=n[8-15]\n%s\n' \
		'SwitchName=c Switches=a,b' >"$S/topology.conf"
	tolerance -P --topology="$S/topology.conf" recdoub16.goal |
		grep '|base|wire|274|.*|20$' >/dev/null ||
		fail "not the wires of a tree"
	golden tolerance-dragonfly.txt tolerance --topology=dragonfly:3x3x2 \
		--critical recdoub16.goal
	equal "a better placement" "$(tolerance --topology=dragonfly:3x3x2 \
		--place=2000 --json recdoub16.goal | jq -c '.programs[0].placement |
		[.after_ns < .before_ns, (.node_of_rank | sort) == [range(16)]]')" \
		"[true,true]"
	golden tolerance-turns.txt tolerance -g 100ns -o 200ns --shared-links \
		nonblocking.goal
	golden tolerance-pairs.txt tolerance --threshold=0.5,3,10 --pairs \
		--critical --sweep=bandwidth -L 1us -o 1us nonblocking.goal \
		recdoub16.goal
	golden tolerance-noise.txt tolerance --overlap --noise=50us:2us \
		--sweep=overhead -L 1us recdoub16.goal
	mkfifo "$S/forgotten"
	run tolerance --noise="$S/forgotten" recdoub16.goal
	contains "noise from a FIFO" "$ERR" 'forgotten: a FIFO without a writer'
	printf '0 5\n100 two\n' >"$S/detours"
	run tolerance --noise="$S/detours" recdoub16.goal
	contains "noise that is no number" "$ERR" 'detours:2: "100 two", expected a start and a length'
	run tolerance --noise="$S" recdoub16.goal
	contains "noise from a directory" "$ERR" 'Is a directory'
	tolerance -L 1us -o 100ns -G 0.5ns -O 0.2ns recdoub16.goal |
		grep 'overhead o 100 ns and 0.2 ns per byte' >/dev/null ||
		fail "no overhead per byte"
	run 2 tolerance -G 0.5ns -O 1ns recdoub16.goal
	run 1 tolerance --rendezvous=4K deadlock_if_rendezvous.goal
	equal "output" "$OUT" ""
	equal "lines" "$(wc -l <"$S/err")" 1
	contains "the first" "$ERR" 'deadlock: 4 operations wait'
	contains "the last" "$ERR" 'goal:5: rank 0, receive of 10000 bytes from'
}

# The output is SVG, the same each time, with these texts.
is_picture() { # FILE TEXT...
	local file=$1 text
	shift
	contains "the beginning of $file" "$(head -c 5 "$file")" '^<[?]xml'
	contains "the end of $file" "$(tail -n 1 "$file")" '^</svg>$'
	! grep -nE 'nan|inf"' "$file" || fail "$file has no numbers"
	for text; do
		grep -qF ">$text</text>" "$file" || fail "$file lacks $text"
	done
}

test_an_application_is_drawn() {
	local app
	setup
	golden plot-fft.txt netprof plot fft
	golden plot-lammps-ascii.txt env LC_ALL=C netprof plot --only=time lammps
	golden plot-fft.json netprof plot --json --only=curve fft
	equal "ASCII" "$(netprof plot --ascii --only=time lammps)" \
		"$(cat "$ROOT/t/data/golden/plot-lammps-ascii.txt")"
	netprof plot --only=curve fft -o "$S/readme.svg"
	cmp "$S/readme.svg" "$ROOT/doc/fft.svg" || fail "the picture of README"
	netprof plot fft -o "$S/a.svg"
	is_picture "$S/a.svg" fft 'Latency of probes' 'Slowdown (%)' \
		'measured, 95 % interval' 'Estimated utilisation over time' \
		'idle (median 12.0 µs, p99 24.4 µs)'
	netprof plot --output="$S/b.svg" fft
	cmp "$S/a.svg" "$S/b.svg" || fail "the same is drawn differently"
	equal "files" "$(cd "$S" && echo [ab].*)" "a.svg b.svg"
	netprof plot fft -o "$S/a.png"
	equal PNG "$(head -c 4 "$S/a.png" | tail -c 3)" PNG
	netprof plot fft -o "$S/a.pdf"
	equal PDF "$(head -c 4 "$S/a.pdf")" %PDF
	run 0 netprof plot cp2k -o "$S/c.svg"
	contains "without a curve" "$ERR" '^netprof: cp2k: a panel is missing: not measured under synthetic load; .*--netprofile-calibrate job\.sh$'
	for app in $(netprof list -P | tail -n +2 | cut -d'|' -f1 | sort -u); do
		[ "$app" != serial ] || continue
		netprof plot "$app" 2>/dev/null >"$S/page" || fail "plot $app"
		between "columns of $app" "$(LC_ALL=C.UTF-8 wc -L <"$S/page")" \
			40 80
		! grep ' $' "$S/page" || fail "blanks at the end: $app"
	done
}

test_other_results_are_drawn() {
	setup
	netprof matrix --plot="$S/matrix.svg"
	is_picture "$S/matrix.svg" 'Slowdown of each pair' fft '+79 %*' \
		'is slowed' 'slows it'
	tolerance -L 1us -o 1us --plot="$S/tolerance.svg" nonblocking.goal
	is_picture "$S/tolerance.svg" 'Run time (% longer)' nonblocking.goal \
		'Messages on the critical path (λ)' 'Share of the run time (ρ, %)' \
		'to 1 %: +3.17 µs'
	tolerance --pairs --sweep=bandwidth -L 1us --plot="$S/pairs.svg" \
		recdoub16.goal
	is_picture "$S/pairs.svg" 'Added time per byte (ns)' 'to 1 %: +0.0427 ns' \
		'Bytes on the critical path (λ)' \
		'Messages on the critical path between ranks' 'From rank' \
		'To rank'
	netprof scale --at=64 --plot="$S/scale.svg" \
		"$ROOT"/t/data/mpip/solver.*.mpiP
	is_picture "$S/scale.svg" solver contention '64*' Processes
	netprof status --plot="$S/status.svg"
	is_picture "$S/status.svg" hpc leaf3 busy 'Worst predicted slowdown'
	netprof replay --plot="$S/replay.svg" \
		"$ROOT"/t/data/sharing/{fan,ring}.workload
	is_picture "$S/replay.svg" 'Run together' computing 'Time (s)' Task
	refused 2 '--plot=x.gif: .* ends in .svg, .png or .pdf$' netprof matrix --plot=x.gif
}

test_a_matrix_marks_predictions_of_another_model() {
	setup
	# halo has runs under load levels, but none without.
	grep -L '"level"' "$S/store/users/$MY_UID/halo"/*.json | xargs rm
	golden matrix-half.txt netprof matrix fft halo cp2k
}

test_json_has_the_data_of_the_text() {
	setup
	golden show-lammps.json netprof show --json lammps
	golden show-lammps.parsable netprof show --parsable lammps
	golden list.json netprof list --json
	golden list.parsable netprof list -P
	equal names "$(netprof list --names | sort -u)" \
		"$(netprof list -P | tail -n +2 | cut -d'|' -f1 | sort -u)"
	equal "published names" "$(netprof list --names --published)" \
		"$(netprof list -P --published | tail -n +2 | cut -d'|' -f1)"
	golden runs-lammps.json netprof runs --json lammps
	golden runs-lammps.parsable netprof runs --parsable lammps
	golden show-curve.json netprof show --json fft
	golden predict.json netprof predict --json halo fft lammps
	golden predict.parsable netprof predict -P halo fft cp2k
	golden matrix.json netprof matrix --json fft halo cp2k
	golden matrix.csv netprof matrix --csv fft halo cp2k
}

test_json_and_parsable_agree() {
	local json parsable app
	setup
	for app in $(netprof list -P | tail -n +2 | cut -d'|' -f1 | sort -u); do
		json=$(netprof show --json "$app" | jq -r '[.app, .verdict.use,
			.latency.n // "", .verdict.delayed_share,
			.idle.p99_sec // ""] | map(tostring) | join("|")')
		parsable=$(netprof show -P "$app" | awk -F'|' '
			NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			{ printf "%s|%s|%s|%s|%s\n", $at["App"], $at["Use"],
			  $at["Probes"], $at["DelayedShare"], $at["IdleP99"] }')
		equal "$app" "$(jq -rn --arg s "$parsable" '$s | split("|") |
			.[3] |= (tonumber | tostring) |
			.[4] |= (if . == "" then . else tonumber | tostring end) |
			join("|")')" "$json"
	done
}

test_every_parsable_line_has_all_fields() {
	local cmd
	setup
	for cmd in "show lammps" "show serial" "show elsewhere" "show fft" \
		list "runs lammps" "runs serial" "predict fft halo" \
		"predict fft cp2k lammps"; do
		# shellcheck disable=SC2086
		netprof $cmd -P | awk -F'|' -v cmd="$cmd" '
			NR == 1 { n = NF }
			NF != n { print "why: " cmd ": " NF " fields, not " n; bad = 1 }
			END { exit bad || NR < 2 }'
	done
}

test_every_page_fits_a_screen() {
	local app locale
	setup
	export COLUMNS=80
	for locale in C.UTF-8 C; do
		for app in $(netprof list -P | tail -n +2 | cut -d'|' -f1 | sort -u); do
			LC_ALL=$locale netprof show "$app" >"$S/page"
			between "lines of $app" "$(wc -l <"$S/page")" 5 24
			between "columns of $app" "$(LC_ALL=C.UTF-8 wc -L <"$S/page")" \
				20 80
		done
		for app in "matrix" "predict fft halo cp2k lammps" \
			"predict spmv qmc" "predict --model=zero fft halo"; do
			# shellcheck disable=SC2086
			LC_ALL=$locale netprof $app >"$S/page"
			between "columns of $app" \
				"$(LC_ALL=C.UTF-8 wc -L <"$S/page")" 20 80
			between "lines of $app" "$(wc -l <"$S/page")" 5 24
			! grep ' $' "$S/page" || fail "blanks at the end: $app"
		done
		LC_ALL=$locale netprof list >"$S/page"
		between "columns of list" "$(LC_ALL=C.UTF-8 wc -L <"$S/page")" 20 80
	done
	[ -z "$(LC_ALL=C netprof show lammps | tr -d '\n\40-\176')" ] ||
		fail "not ASCII where the locale is not UTF-8"
}

# A long name is cut on a narrow terminal, shown on a wide one, and never cut in a
# pipe; tables of many columns are divided only on a terminal.
test_tables_follow_the_width_of_the_output() {
	local name=weather-forecast-ensemble-mean i unmeasured
	setup
	cp -r "$S/store/users/$MY_UID/fft" "$S/store/users/$MY_UID/$name"
	sed -i "s/\"app\":\"fft\"/\"app\":\"$name\"/" "$S/store/users/$MY_UID/$name"/*.json
	contains "cut" "$(COLUMNS=70 netprof list)" '^weather-fo~ '
	contains "in 80 columns" "$(COLUMNS=80 netprof list)" '^weather-forecast-en~ '
	contains "in 100 columns" "$(COLUMNS=100 netprof list)" "^$name  "
	contains "in a pipe" "$(netprof list)" "^$name "
	equal "where the owners are, in a pipe" \
		"$(netprof list | awk '{ print index($0, " " $2) }' | sort -u)" "$((${#name} + 1))"
	sed -i "s/\"leaf2\"/\"$name\"/" "$S/store/placement/state.json"
	equal "lengths of lines of leaf switches, in a pipe" "$(netprof status |
		awk '/^Leaf / { on = 1 } !NF { on = 0 } on { print length }' | sort -u | wc -l)" 1
	between "columns of a matrix" "$(COLUMNS=60 netprof matrix | wc -L)" 30 60
	contains "levels that do not fit" "$(COLUMNS=60 netprof show fft)" '^Under load \(more\) '
	contains "names of a matrix" "$(COLUMNS=80 netprof matrix)" ' weather-forec~'
	equal "tables on a terminal" "$(COLUMNS=80 netprof matrix | grep -c "^fft ")" 3
	contains "in a pipe" "$(netprof matrix)" " $name\$"
	equal "tables in a pipe" "$(netprof matrix | grep -c '^fft ')" 1
	for i in {10..39}; do
		unmeasured=an-application-that-was-never-measured-$i
		cp -r "$S/store/users/$MY_UID/NPmpi" "$S/store/users/$MY_UID/$unmeasured"
		sed -i "s/\"app\":\"NPmpi\"/\"app\":\"$unmeasured\"/" \
			"$S/store/users/$MY_UID/$unmeasured"/*.json
	done
	contains "all applications without a row" "$(netprof matrix)" "$unmeasured"
	equal "sides on a terminal" "$(COLUMNS=80 netprof compare fft halo lammps hpcc |
		grep -c '^Latency')" 2
	equal "sides in a pipe" "$(netprof compare fft halo lammps hpcc "$name" |
		grep -c '^Latency')" 1
}

# The order in which each command lists the load levels of fft.
levels_are_listed_as() { # WHAT NAMES
	equal "$1, show" "$(netprof show fft | sed -n 's/([^)]*)//g; s/^Under load//p' | xargs)" "$2"
	equal "$1, show --json" "$(netprof show --json fft | jq -r '[.levels[].name] | join(" ")')" "$2"
	equal "$1, show --parsable" "$(netprof show -P --noheader --format=Levels fft | tr , '\n' |
		cut -d: -f1 | xargs)" "$2"
	equal "$1, list --json" "$(netprof list --json | jq -r '.profiles[] |
		select(.app == "fft") | [.levels[].name] | join(" ")')" "$2"
	equal "$1, calibrate" "$(netprof calibrate --app=fft --repeats=3 --dry-run -- sbatch job.sh \
		2>&1 >"$S/commands" | grep -o 'under c[0-7]' | cut -d' ' -f2 | xargs)" "$2"
}

test_levels_are_in_the_order_of_their_utilisation() {
	local f names="c0 c1 c2 c3 c4 c5 c6 c7"
	setup
	levels_are_listed_as "of the sample" "$names"
	# A new file, so that results in the cache are not used any more.
	for f in "$S"/store/fabric/hpc/*.json; do
		jq -c '.probes |= . + {c0: .c7, c7: .c0}' "$f" >"$S/f"
		mv "$S/f" "$f"
	done
	levels_are_listed_as "where c0 loads most" "c7 c1 c2 c3 c4 c5 c6 c0"
	equal "utilisations" "$(netprof show --json fft | jq -c '[.levels[].estimated_utilisation] |
		[. == sort, .[0] > 0, .[-1] < 1]')" "[true,true,true]"
	equal "utilisations, list" \
		"$(netprof list --json | jq -c '.profiles[] | select(.app == "fft") | .levels')" \
		"$(netprof show --json fft | jq -c .levels)"
	equal "utilisations, runs" "$(netprof runs fft | awk '$NF == "level" { print $(NF - 2), $(NF - 1) }' |
		sort -u)" "$(netprof show --json fft | jq -r '.levels[] | "\(.name) \(.estimated_utilisation)"' |
		awk '{ printf "%s %.2f\n", $1, $2 }' | sort)"
	equal "the same, --json" "$(netprof runs --json fft | jq -c '[.runs[].level | select(.) |
		{name, estimated_utilisation}] | unique')" "$(netprof show --json fft |
		jq -c '[.levels[] | {name, estimated_utilisation}] | unique')"
	contains "the same, calibrate" "$(netprof calibrate --app=fft --repeats=3 --dry-run -- \
		sbatch job.sh 2>&1 >"$S/commands")" \
		', 1 under c7 \(estimated utilisation 0[.][0-9]*\), 1 under c1 \(0[.][0-9]*\), '
	contains "wide enough" "$(COLUMNS=107 netprof runs fft)" '^Run .* Level +Est. utilisation Use$'
	contains "not wide enough" "$(COLUMNS=106 netprof runs fft)" '^Run .* Level +Use$'
	contains "without levels" "$(netprof runs NPmpi)" '^Run .* Level Use$'
	equal "a command is printed as a shell reads it" "$(netprof calibrate --app=fft --dry-run -- \
		sbatch --wrap="a 'b'; c" 2>/dev/null | head -n 1)" \
		"sbatch --netprofile=fft --dependency=singleton '--wrap=a '\\''b'\\''; c'"
	rm -r "$S/store/fabric/hpc"
	levels_are_listed_as "without a calibration" "$names"
	equal "utilisations without a calibration" "$(netprof show --json fft |
		jq -c '[.levels[].estimated_utilisation] | unique')" "[null]"
	contains "runs without a calibration" "$(netprof runs fft)" '^Run .* Level Use$'
}

test_a_curve_from_one_run_says_so() {
	setup
	make_blocks stencil
	make_blocks restless 100000
	show=$(netprof show stencil)
	[[ $show == *"ran up to 50 % longer (load c6, 3 intervals)"* ]] ||
		fail "it says: $(head -n 3 <<<"$show")"
	grep -q '^Intervals  *2 loads measured in intervals of 1 run (32 s), which' \
		<<<"$show" || fail "nothing about intervals: $show"
	grep -q '^Under load  *c1  *c6$' <<<"$show" || fail "intervals are no runs: $show"
	compared=$(netprof compare stencil halo | tr -s ' \n' ' ')
	contains "no run counts" "$compared" \
		'The conditions cannot be compared: stencil has no run without load of which the time counts\.'
	[[ $compared != *Equal* ]] || fail "conditions of one side only: $compared"
	equal "a pair of one application" "$(netprof predict --noheader --format=Victim fft fft)" fft
	show=$(netprof predict stencil halo | tr -s ' \n' ' ')
	[[ $show == *"Data stencil: 2 of 8 load levels; 2 levels from intervals within 32 s of 1 run halo"* ]] ||
		fail "predict says: $show"
	show=$(netprof show restless)
	grep -q 'do not agree' <<<"$(tr -s ' \n' ' ' <<<"$show")" ||
		fail "intervals that do not agree: $show"
	equal "levels" "$(netprof show --json restless | jq -c \
		'[.levels[] | select(.slowdown)]')" "[]"
}

test_a_traced_run_says_whether_its_calls_and_its_traffic_agree() {
	setup
	make_blocks stencil
	counted_as steady 1e-4 66
	counted_as odd 1e-4 90
	contains "steady" "$(netprof show steady | tr -s ' \n' ' ')" \
		"repeated intervals agree, by its MPI calls; by its traffic slowdowns differ by 0.4 %"
	contains "odd" "$(netprof show odd | tr -s ' \n' ' ')" \
		"its traffic and its MPI calls do not say the same; by its MPI calls slowdowns differ by 16.4 %"
	equal "odd's levels" "$(netprof show --json odd | jq -c \
		'[.levels[] | select(.slowdown)]')" "[]"
}

test_output_begins_with_the_verdict() {
	setup
	equal lammps "$(netprof show lammps | head -n 1)" \
		"lammps uses the network heavily, in phases (busy 60 % of the time)."
	contains hpcc "$(netprof show hpcc)" \
		'^Not measured under synthetic load yet\. To measure: sbatch'
	contains serial "$(netprof show serial)" 'one node of the'
}

test_a_trace_shows_how_much_latency_an_application_tolerates() {
	local fft
	setup
	fft=$S/store/users/$MY_UID/fft/9.0.trace
	run netprof predict --model=tolerance fft halo
	equal "without trace" "$ERR" \
		'netprof: fft: no trace; to record one: srun --netprofile=fft --netprofile-trace PROGRAM'
	a_trace "$fft"
	run netprof predict --model=tolerance fft halo
	contains "without network" "$ERR" '^netprof: fft: no LogGPS parameters of'
	a_network
	golden show-traced.txt netprof show fft
	golden predict-tolerance.txt netprof predict --model=tolerance fft halo
	golden predict-felt.txt netprof predict --model=tolerance-felt fft halo
	golden matrix-tolerance.txt netprof matrix --model=tolerance fft halo
	run netprof predict --model=replay fft halo
	contains "a model of earlier releases" "$ERR" \
		'model "replay" was retired, expected one of zero, average,'
	equal "JSON" "$(netprof show --json fft |
		jq -c '[.latency_tolerance[] | .longer, .added_sec]')" \
		"$(netprof show -P fft | tail -n 1 |
			sed -E 's/(\|[^|]*){4}$//; s/.*\|/[/; s/:/,/g; s/$/]/' | jq -c .)"
	equal "none" "$(netprof show --json halo | jq -c .latency_tolerance)" null
	truncate -s 20M "$fft/run-1.txt"
	contains "a large one" "$(netprof show fft)" '^Tolerance  not known; .* 20 MB'
	rm "$fft/run-1.txt"
	contains "half of one" "$(netprof show fft)" '^Tolerance  not known; '
}

test_a_curve_in_the_store_is_enough_without_the_package() {
	local fft
	setup
	fft=$S/store/users/$MY_UID/fft/9.0
	a_trace "$fft.trace"
	a_network
	echo "LibexecDir=$S" >"$S/conf"
	export NETPROF_CONF=$S/conf
	netprof predict --model=tolerance fft halo >"$S/asked"
	netprof tolerance fft >"$S/page" 2>&1
	[ -e "$fft.curve" ] || fail "tolerance leaves no curve"
	rm "$S/bin/netprof-analysis"
	netprof predict --model=tolerance fft halo | cmp - "$S/asked" ||
		fail "the curve of the store says something else"
	rm "$fft.curve"
	run netprof predict --model=tolerance fft halo
	contains "without both" "$ERR" 'reading traces needs the package netprof-analysis'
	run 1 netprof tolerance fft
	equal "what is said then" "$ERR" "netprof: tolerance is a command of \
another package: install the package netprof-analysis"
}

test_models_of_traces_are_compared_if_there_are_traces() {
	setup
	a_trace "$S/traces/melt"
	cd "$ROOT/doc/validation/pairs" || fail "no pairs"
	golden accuracy-traces.txt netprof accuracy --traces="$S/traces" \
		--latency=30us --per-byte=400ns --only=melt \
		--model=tolerance,tolerance-felt,average main.json
	run netprof accuracy --traces="$S/traces" --only=melt \
		--model=tolerance main.json
	contains "without network" "$OUT" 'no prediction: melt: no LogGPS parameters'
	run netprof accuracy "$ROOT/t/data/pairs.json"
	! grep -q tolerance "$S/out" || fail "$(grep tolerance "$S/out")"
}

test_completely_measured_pairs_are_compared_without_an_allocation() {
	setup_measured
	make_validation "$S/list"
	run 0 netprof validate "$S/list"
	contains "what was measured" "$OUT" '^Measured   3 pairs of 2 programs on leaf'
	contains "repeats" "$OUT" '^Repeats    two runs of a pair differ by 16\.7 percentage points'
	contains "controls" "$OUT" '^Rejected   halo with halo: \+20\.0 %'
	contains "a pair whose runs differ" "$(tr -s ' \n' ' ' <<<"$OUT")" \
		' Unsteady fft with fft: two runs differ by 30 percentage points; --repeats=3 runs'
	contains "the score" "$(tr -s ' \n' ' ' <<<"$OUT")" \
		' Error [0-9.]+ percentage points .*; the best constant \(\+55\.0 %\)'
	contains "the worst pairs" "$OUT" '^(fft|halo) +(fft|halo) +\+55 %'
	equal "a slowdown in the file" \
		"$(jq -c '[.program_beside_program[1][] | .mean?]' "$S/list.pairs.json")" \
		'[0.55,null]'
	run netprof accuracy "$S/list.pairs.json"
	contains "the file for accuracy" "$OUT" '^One co-runner: 3 cases'
	run netprof validate --plot="$S/x.svg" "$S/list"
	grep -q 'Measured slowdown' "$S/x.svg" || fail "no picture: $ERR"
	jq 'del(.runs[] | select(.kind == "apart" and .victim == "fft" and
			.corunner == "halo"))' "$S/list.pairs.json" >"$S/fewer"
	run netprof validate --output="$S/fewer" "$S/list"
	contains "a control that is missing" "$(tr -s ' \n' ' ' <<<"$OUT")" \
		' this is subtracted; 1 pair has none'
	jq 'del(.fabric.apart_nodes, (.runs[] | select(.kind == "apart")))' \
		"$S/list.pairs.json" >"$S/one-leaf"
	SLURM_JOB_ID=7 run 1 netprof validate --output="$S/one-leaf" "$S/list"
	contains "controls are measured in a later allocation" "$ERR" 'SLURM_JOB_NODELIST is not set'
	run netprof validate --repeats=3 "$S/list"
	contains "more runs" "$ERR" 'salloc -N8 --exclusive netprof validate FILE'
	jq '.runs |= map(., (select(.kind == "leaf" and .repeat == 1) |
			.repeat = range(2; 20)), (select(.kind == "alone" and
			.repeat == 3) | .repeat = range(4; 40)))' \
		"$S/list.pairs.json" >"$S/many"
	run netprof validate --repeats=20 --output="$S/many" "$S/list"
	contains "no more runs are possible" "$OUT" \
		'^Unsteady   fft with fft: two runs differ by 30 percentage points$'
	sed -i 's/^run halo/run halo -x/' "$S/list"
	run netprof validate "$S/list"
	contains "another command" "$ERR" 'other programs or commands: use --fresh to start over'
	sed -i 's/^run halo -x/run halo/' "$S/list"
	jq '(.programs[].name, .runs[].victim, .runs[].corunner? |
			select(. == "fft")) = "lammps"' \
		"$S/list.pairs.json" >"$S/other"
	mv "$S/other" "$S/list.pairs.json"
	run netprof validate "$S/list"
	contains "other programs with the same setup" "$ERR" \
		'other programs or commands: use --fresh to start over'
}

test_results_keep_the_input_of_the_models_without_a_calibration() {
	local input='[.levels, .level_beside_level, .coupling, .probes,
		.program_beside_level, .level_beside_program]'
	setup_measured
	make_validation "$S/list"
	netprof validate "$S/list" >/dev/null
	jq "$input" "$S/list.pairs.json" >"$S/before"
	equal "levels" "$(jq '.[0] | length > 1' "$S/before")" true
	rm -r "$S/store/fabric"
	run netprof validate "$S/list"
	contains "what is missing" "$ERR" 'calibration'
	contains "measured" "$OUT" '^Measured   3 pairs of 2 programs'
	jq "$input" "$S/list.pairs.json" | diff "$S/before" - >&2 ||
		fail "the file has another input"
}

# hello has a profile but was not measured under load: as a victim it has no prediction.
test_predictions_are_compared_with_the_best_constant_of_the_same_pairs() {
	setup_measured
	make_validation "$S/list"
	sed -i 's/halo/hello/g' "$S/list" "$S/list.pairs.json"
	jq '(.runs[] | select(.victim == "hello" and .corunner == "fft" and
			.kind == "leaf").sec) = 30.5' "$S/list.pairs.json" >"$S/other"
	mv "$S/other" "$S/list.pairs.json"
	run netprof validate "$S/list"
	contains "the score" "$(tr -s ' \n' ' ' <<<"$OUT")" \
		' over 2 pairs; the best constant \(\+60\.0 %\) has 5\.0 '
	contains "the others" "$OUT" '^Unknown    1 pair cannot be predicted; .* hello fft'
	equal "validate --json" "$(netprof validate --json "$S/list" | jq -c \
		'[.unpredicted, (.score | .pairs, .best_constant,
			.constant_error_points | . * 100 | round / 100)]')" \
		"[1,2,0.6,5]"
}

test_pairs_measured_by_validate_are_shown_beside_the_predictions() {
	local before row
	setup_measured
	before=$(netprof predict --json fft halo | jq -c '.predictions[0].slowdown')
	make_validation "$S/list"
	netprof validate "$S/list" >/dev/null
	run netprof predict fft halo
	contains "a pair" "$OUT" '^Measured by netprof validate: \+55 % \(2 runs, on 2 nodes, co-runner on 2, '
	contains "the prediction" "$OUT" '^fft is slowed .* by halo: '
	run netprof predict fft halo lammps
	equal "several co-runners, and a pair that was not measured" \
		"$(grep -c 'Measured' "$S/out")" 1
	equal "predict --json" "$(netprof predict --json fft halo |
		jq -c '.predictions[0] | [.measured | .slowdown, .runs, .control,
			.victim_nodes], .slowdown')" "[0.55,2,0,2]"$'\n'"$before"
	equal "on the same nodes" "$(netprof predict --json --scope=node fft halo |
		jq -c '.predictions[0].measured')" null
	run netprof predict halo halo
	contains "a rejected pair" "$OUT" 'and rejected: the control'
	run netprof matrix fft halo lammps
	row=$(sed -n '/^Measured by netprof validate:/,$p' "$S/out" | grep '^halo')
	equal "a row of the second table" "$(xargs <<<"$row")" "halo +55 % - -"
	equal "matrix --csv" "$(netprof matrix --csv fft halo |
		grep '^fft,halo' | cut -d, -f9)" 0.55
	run netprof predict fft lammps
	equal "not measured" "$(grep -c Measured "$S/out" || true)" 0
}

test_a_page_claims_nothing_that_was_not_measured() {
	local file
	setup
	for file in "$S/store/users/$MY_UID"/lammps/*.json; do
		jq -c 'if .probe then .probe.elapsed_sec = 0 |
			.probe.rss_bytes_max = 0 else . end |
			del(.leaves[]?.windows)' "$file" >"$S/run"
		mv "$S/run" "$file"
	done
	run netprof show lammps
	contains "the cost of probes" "$OUT" 'their own cost was not measured'
	contains "steadily or in phases" "$(tr -s ' \n' ' ' <<<"$OUT")" \
		'there are too few probes to say whether steadily or in phases'
}

test_predictions_from_shorter_runs_can_be_compared() {
	local out
	setup_measured
	make_blocks stencil
	jq -n '{programs: ["fft", "stencil"], program_beside_program: [[null, 0.2],
		[0.1, null]]}' >"$S/pairs.json"
	out=$(INTERVALS="1 2" "$ROOT/t/shorter" "$S/store" "$S/pairs.json")
	equal "columns" "$(head -n 1 <<<"$out" | xargs)" \
		"intervals seconds pairs error width within doubtful"
	equal "intervals" "$(awk 'NR > 1 { print $1 }' <<<"$out" | xargs)" "1 2"
	contains "the pair of a program without intervals" "$out" '^2 +[0-9]+ +1 +[0-9.]+ '
}

test_unknown_application_fails_with_the_nearest_names() {
	setup
	run 1 netprof show lamps
	equal "output" "$OUT" ""
	equal "error" "$ERR" "netprof: no profile of \"lamps\", neither $ME's own nor a published one; did you mean lammps?"
	refused 1 'did you mean cp2k\?$' netprof runs cpk2
	run netprof show FFT
	contains "in other case" "$ERR" 'did you mean fft\?$'
	run netprof forget lamps
	contains "of one's own" "$ERR" 'did you mean lammps\?$'
	run netprof unpublish cp2
	contains "of the published to remove" "$ERR" 'did you mean cp2k\?$'
	run netprof publish lamps
	contains "to publish" "$ERR" 'did you mean lammps\?$'
	run netprof tolerance lamps
	contains "of those with traces" "$ERR" 'did you mean lammps\?$'
	run netprof help shwo
	contains "of a topic" "$ERR" 'did you mean show\?$'
	run netprof show zzzzzz
	equal "nothing like it" "$ERR" "netprof: no profile of \"zzzzzz\", neither $ME's own nor a published one"
	touch "$S/store/users/$MY_UID/netprof.log"
	run netprof show zzzzzz
	equal "steps were not measured" "$ERR" "netprof: no profile of \"zzzzzz\", neither $ME's own nor a published one; why steps were not measured: $S/store/users/$MY_UID/netprof.log"
	rm -r "$S"/store/users/"$MY_UID"/*/ "$S/store/published"
	run netprof list
	contains "a list of none" "$ERR" "no profiles yet: .*; why steps were not measured: $S/store/users/$MY_UID/netprof.log\$"
	: >"$S/store/published"
	run netprof list
	equal "profiles that cannot be read: status and lines" "$RC $(wc -l <<<"$ERR")" "1 1"
	contains "profiles that cannot be read" "$ERR" "$S/store/published: expected a directory"
	rm "$S/store/published"
	rm -r "$S/store/users"
	run netprof show lammps
	contains "empty store" "$ERR" 'there are no profiles yet: sbatch --netprofile=NAME'
}

test_wrong_usage_is_reported_with_status_two() {
	local row
	setup
	while read -r row; do
		# shellcheck disable=SC2086
		refused 2 '^netprof: .*' netprof $row
		contains "error of netprof $row" "$ERR" '^usage: netprof '
	done <<-END
		frobnicate
		show
		show lammps hpcc
		show --colour lammps
		show --all lammps
		show --user
		show --user=$ME --published lammps
		show --json --parsable lammps
		show --json --noheader lammps
		list --sort=app --json
		matrix --csv --json
		list lammps
		list --all --published
		list --names --all
		list --names --json
		list --as=x
		runs
		publish
		publish --json lammps
		publish /lammps
		predict
		predict fft
		predict --csv fft halo
		predict a b c d e f g h i j k l m n o p q r
		matrix --parsable
		simulate
		simulate --swf=a --sacct=b
		simulate --swf=a --leaves=1x1 --topology=b
		simulate --swf=a --seeds=2
		simulate --swf=a --half-life=3600
		simulate --swf=a --rules=b --mix=fft:1
		trace --goal --json x
		trace --collective=allreduce=ring x
		loggps --show --blocks=3
		loggps --json --dry-run
		accuracy --seed=18446744073709551616 x
		topology --latencies=a --times=9
		topology --lldp=a --repeats=9
		simulate --swf=a now
		plot
		plot fft halo
		plot -o
		plot --parsable fft
		plot --json -o x.svg fft
		show -o x.svg fft
		matrix --scope
		show --scope=leaf fft
		status lammps
		status --csv
		explain
		explain lammps
		explain 0
		explain 12 13
		explain 12_
		explain 12_x
		explain 4294967295
		explain --all 12
		check now
		check --all
		check --versions --all
		release everything
		release --all
		help nosuch
		help show list
		version x
		compare
		compare --all fft
		compare a b c d e f g h i j k l m n o p q
		report
		report fft
		report --json -o page.html
		report --since=1d -o page.html
		blame --since=1d --accounting=a
		explain --since=1d --accounting=a 7
		report --blame --since=1d --accounting=a -o page.html
		report --blame --topology=x -o page.html
		metrics now
		metrics -o
		metrics --json
		tolerance
		tolerance --latency=-3us x
		tolerance -G 1e9s x
		tolerance --place=7 x
		tolerance --wire=1ms x
		tolerance --switch=1ms x
		tolerance --ranks-per-node=2 x
		tolerance --topology=torus:4 --latency=1us x
		tolerance --critical --plot=x.svg x
		tolerance --noise=1ms:1us --plot=x.svg x
		tolerance --noise=1ms:1us --parsable x
		sharing --summary --plot=x.svg x
		sharing --summary --json x
		tolerance --plot=x.svg --json x
		sharing --plot=x.svg --parsable x
		replay --plot=x.svg --json x
		simulate --swf=a --plot=x.svg --json
		tolerance --threshold=3,1 x
		tolerance --user=$ME x
		accuracy --traces
		accuracy --latency=3us x
		accuracy --traces=d --model=victim x
		accuracy --traces=d --predictions=p x
		plot --ascii --json fft
		plot --ascii -o x.svg fft
		blame --metrics --json
		blame --metrics --parsable
		calibrate --app=fft --output=x -- sbatch job.sh
		calibrate --app=fft --levels=default -- sbatch job.sh
		calibrate --app=fft --seconds=3 -- sbatch job.sh
		accuracy --latency=3us --per-byte=1ns x
	END
	run netprof shwo lammps
	contains "a slip of the fingers" "$ERR" 'did you mean show\?'
	run netprof help predct
	contains "in help" "$ERR" 'did you mean predict\?'
	run netprof show --pubished lammps
	contains "in an option" "$ERR" 'no such option: --pubished; did you mean --published\?'
	while IFS=: read -r words error; do
		# shellcheck disable=SC2086 # several words
		refused 2 "^netprof:$error\$" netprof $words
	done <<-'END'
		runs -json lammps: no such option: -j in -json; did you mean --json\?
		runs lammps -Pj: no such option: -j in -Pj
		runs -P -j lammps: no such option: -j
		runs lammps -é: no such option: -é
		runs --json=yes lammps: --json takes no argument
		runs lammps --user: --user needs an argument
		plot lammps -o: -o needs an argument
		forget -yes lammps: no such option: -e in -yes; did you mean --yes\?
	END
	run "$(dirname "$NETPROF")/netprof-impactb" -json
	equal "an unknown letter of a probe" "$RC $ERR" \
		'2 netprof-impactb: "-j": unknown option, or it takes no value; see "netprof-impactb --help"'
	run netprof show
	contains "what there is" "$ERR" 'needs an application; there are .*lammps'
	run netprof show LAMMPS
	contains "capitals" "$ERR" 'did you mean lammps\?'
	run 2 netprof
	contains "netprof alone" "$OUT" '^  show  '
}

# COMMAND/--OPTION= of every option with a value that the completion offers.
offered() {
	# shellcheck disable=SC2016
	bash --norc -c '. "$1"
		offer() { COMP_WORDS=(netprof "$@") COMP_CWORD=2; _netprof; }
		offer help ""
		for command in "${COMPREPLY[@]}"; do
			offer "$command" --
			for option in "${COMPREPLY[@]}"; do
				[ "$option" = "${option%=}" ] || echo "$command/$option"
			done
		done' - "$ROOT/etc/netprof-completion.bash"
}

# A name of a file, directory, user or field that does not exist is no wrong usage.
ANY_NAME="--accounting= --cluster= --events= --fabric= --fit= --format= --ibnetdiscover= --latencies= \
--liballprof= --lldp= --pairs= --predictions= --rail= --rules= --sacct= --save= --shares= --simulate= \
--slurm= --sort= --swf= --traces= --user="

# Every option of every command that does not accept any name has a row.
test_a_bad_value_of_an_option_is_wrong_usage() {
	local row option given word words
	setup
	printf 'tasks 2\n0: send 1\n1: recv 0\n' >"$S/two.workload"
	while read -r row; do
		read -ra words <<<"$row"
		run netprof "${words[@]}"
		option=
		for word in "${words[@]}"; do
			case $word in
			--fabric=*) ;;
			--*=*) option=${option:-$word} ;;
			esac
		done
		equal "netprof $row" "$RC $OUT" "2 "
		# One error, which names the option or its value.
		[[ ${ERR%%$'\n'*} = "netprof: "*@("${option%%=*}"|"${option#*=}")* &&
			$ERR = *$'\n'"usage: netprof "* && $ERR != *$'\n'"netprof: "* ]] ||
			fail "netprof $row: '$ERR'"
		given+=" ${words[0]}/${option%%=*}="
	done <<-END
		predict --scope=rack fft halo
		predict --model=oracle fft halo
		matrix --scope=rack
		matrix --model=oracle
		matrix --plot=x.gif
		plot --only=all fft
		plot --output=x.gif fft
		publish --as=a/b lammps
		accuracy --model=oracle x
		accuracy --without=, x
		accuracy --only=, x
		accuracy --latency=3 x
		accuracy --per-byte=3 x
		accuracy --up-to=much x
		accuracy --seed=x x
		simulate --plot=x.gif --swf=a
		simulate --last=yesterday
		simulate --leaves=4by4 --swf=a
		simulate --cpus-per-node=0 --swf=a
		simulate --mix=fft --swf=a
		simulate --policy=sometimes --swf=a
		simulate --set=MaxJoy=3 --swf=a
		simulate --seeds=0 --swf=a
		simulate --order=size --swf=a
		simulate --queue-depth=0 --swf=a
		simulate --bf-interval=30s --swf=a
		simulate --bf-window=0 --swf=a
		simulate --bf-resolution=0 --swf=a
		simulate --bf-max-job-test=0 --swf=a
		simulate --half-life=7d --swf=a
		simulate --completing=1m --swf=a
		report --scope=rack -o page.html
		report --model=oracle -o page.html
		report -o page.html --explain=x
		report -o page.html --blame --since=never
		report -o page.html --blame --since=93d
		report --metrics-url=mon:9090 -o page.html --explain=7
		calibrate --levels=c99
		calibrate --choose=1
		calibrate --seconds=0
		calibrate --repeats=0
		calibrate --probe-seconds=0
		calibrate --scope=uplink
		calibrate --app=a/b -- sbatch job.sh
		loggps --blocks=0
		loggps --max-bytes=1
		loggps --max-trip=5
		validate --repeats=0 x
		validate --plot=x.gif x
		validate --model=oracle x
		status --plot=x.gif
		explain --plot=x.gif 7
		explain --since=never 7
		explain --metrics-url=mon:9090 7
		blame --since=never
		blame --since=93d
		scale --plot=x.gif x
		scale --bandwidth=0 x
		scale --latency=5 x
		scale --variant=new x
		scale --at=0 x
		scale --speed=0 x
		scale --speed=0x10 x
		qn --plot=x.gif x
		qn --method=guess x
		qn --memory=some x
		qn --percentile=100 x
		qn --percentile=0x10 x
		qn --customers=some $S/data/web.json
		trace --goal --collective=allreduce=some x
		check --fabric=x --seconds=0
		check --fabric=x --seconds=30x
		topology --times=0
		topology --repeats=0
		topology --write=xml
		sharing --plot=x.gif x
		sharing --model=oracle x
		sharing --set=joy=1 x
		sharing --set=bs=0x1 x
		sharing --set=, x
		replay --plot=x.gif x
		replay --model=oracle x
		replay --set=joy=1 x
		replay --bandwidth=0 x
		replay --latency=5 x
		replay --eager=some x
		replay --nodes=0 x
		replay --cores=0 x
		replay --map=0,x $S/two.workload
		replay --seed=0 x
		tolerance --plot=x.gif x
		tolerance --latency=3 x
		tolerance --overhead=3 x
		tolerance --overhead-per-byte=3 x
		tolerance --per-byte=3 x
		tolerance --rendezvous=some x
		tolerance --gap=3 x
		tolerance --noise=0s:1ms x
		tolerance --noise=1ms:20 x
		tolerance --noise=1ns:10h x
		tolerance --noise= x
		tolerance --topology= x
		tolerance --topology=ring:4 x
		tolerance --topology=fat-tree:3 x
		tolerance --wire=3 x
		tolerance --switch=3 x
		tolerance --ranks-per-node=0 x
		tolerance --place=0 x
		tolerance --threshold=0 x
		tolerance --threshold=0x3 x
		tolerance --sweep=gap x
		tolerance --up-to=3 x
		tolerance --up-to=0s x
		tolerance --collective=allreduce=some x
	END
	# Any name is allowed for others, but it has at least one character.
	for word in $(offered); do
		case " ${ANY_NAME/--user=/} " in
		*" ${word#*/} "*)
			run netprof "${word%%/*}" "${word#*/}"
			equal "netprof $word" "$RC $OUT" "2 "
			contains "netprof $word" "$ERR" "^netprof: ${word#*/}"
			;;
		esac
	done
	# These name files here, and something else in other commands.
	given+=" simulate/--topology= explain/--topology= blame/--topology= report/--topology="
	given+=" loggps/--output= validate/--output= calibrate/--output= metrics/--output="
	given+=" report/--output= blame/--output="
	for word in $(offered); do
		case " $ANY_NAME $given " in
		*" ${word#*/} "* | *" $word "*) ;;
		*) fail "no bad value of netprof $word is tried" ;;
		esac
	done
}

# Who can write the file sees it, in one line; others see nothing of it.
test_an_error_in_netprof_conf_does_not_disable_list() {
	setup
	printf '%s\n' 'Peroid=7s' "Store=$S/store" >"$S/conf"
	unset NETPROF_STORE
	export NETPROF_CONF=$S/conf
	run 0 netprof list
	contains "the list" "$OUT" '^lammps '
	equal "lines for the administrator" "$(wc -l <"$S/err")" 1
	contains "where" "$ERR" "$S/conf:1: Peroid=7s: no such key.*did you mean Period"
	run 0 netprof report -o "$S/page.html"
	equal "lines of a report" "$(grep -c 'no such key' "$S/err")" 1
	run netprof release --dry-run
	contains "release goes on" "$ERR" 'netprof-release does not exist: install the plugins'
	[ "$MY_UID" = 0 ] || return 0
	chmod 644 "$S/conf"
	run 0 setpriv --reuid=65534 --clear-groups env XDG_CACHE_HOME="$S/none" \
		"$S/bin/netprof" list
	equal "what a user sees" "$ERR" ""
	run 1 netprof calibrate
}

test_an_error_about_the_store_names_the_setting_that_selected_it() {
	setup
	refused 1 'not a profile store.*NETPROF_STORE in the env' env NETPROF_STORE=/etc netprof list
	echo "Store=$S/nowhere" >"$S/conf"
	run env -u NETPROF_STORE NETPROF_CONF="$S/conf" netprof show lammps
	contains "the setting" "$ERR" "No such file.*Store= in $S/conf.*--make-store"
	[ "$MY_UID" = 0 ] || return 0
	chmod 700 "$S/store"
	run setpriv --reuid=65534 --clear-groups "$S/bin/netprof" show lammps
	contains "one that may not be read" "$ERR" 'Permission denied.*administrator'
}

test_failures_are_one_line_with_status_one() {
	setup
	refused 1 'profile store /nonexistent: No such file' \
		env NETPROF_STORE=/nonexistent netprof list
	refused 1 'NETPROF_STORE=here: expected an absolute' \
		env NETPROF_STORE=here netprof list
	refused 1 'Not a directory' env NETPROF_STORE=/dev/null netprof list
	refused 1 'NETPROF_CONF=/nonexistent' env NETPROF_CONF=/nonexistent netprof list
	refused 1 'no such user' netprof show --user=nobody-of-that-name lammps
	refused 1 'application name "../lammps": expected' netprof show ../lammps
	refused 1 "$ME has no profile of \"nosuch\"" netprof publish nosuch
	refused 1 'standard output: No space left' sh -c 'netprof list >/dev/full'
	refused 1 'no calibration of cluster xpc in .*: salloc .* netprof calibrate$' \
		netprof predict elsewhere fft
	refused 1 'no calibration of cluster xpc' netprof matrix elsewhere
	refused 1 'cp2k: its slowdown under load levels was not measured; .*sbatch --netprofile=cp2k --netprofile-calibrate job.sh' \
		netprof predict cp2k fft
	refused 1 'spmv: no comparable run on cluster hpc \(excluded: 7 on another fabric\)' \
		netprof predict fft spmv
	refused 1 'no profile of "fftt".*did you mean fft' netprof predict halo fftt
	refused 1 'no profile of "fftt"' netprof matrix halo fftt
	refused 1 'cp2k: its slowdown under load levels was not measured' netprof predict --model=queue cp2k fft
	refused 1 'standard output: No space left' sh -c 'netprof help >/dev/full'
	refused 1 'no profile of "fftt".*did you mean fft' netprof plot fftt
	refused 1 'cannot write /nonexistent/x.svg: No such file' \
		netprof plot fft -o /nonexistent/x.svg
	refused 1 'serial: no latencies; to measure them: sbatch --netprofile=serial job.sh' \
		netprof plot serial
	refused 1 'NPmpi: not measured under synthetic load; to measure it: sbatch --netprofile=NPmpi --netprofile-calibrate job.sh' \
		netprof plot --only=curve NPmpi
	refused 1 'nosuch: no such file' netprof tolerance nosuch
	refused 1 '/dev/null:1: the file ends, expected "num_ranks"' \
		netprof tolerance /dev/null
	printf '\357\273\277num_ranks 1\nrank 0 {}\n' >"$S/bom.goal"
	refused 1 'bom.goal:1: begins with a byte-order mark \(UTF-8\)' \
		netprof tolerance "$S/bom.goal"
	refused 1 'bom.goal:1: begins with a byte-order mark' netprof sharing "$S/bom.goal"
	refused 1 '/dev/fd/[0-9]+:1: begins with a byte-order mark' \
		bash -c 'netprof tolerance <(cat "$1")' - "$S/bom.goal"
	refused 1 '/dev/fd/[0-9]+:1: expected an execution graph .*, got a program' \
		bash -c 'netprof tolerance <(cat "$1")' - "$S/bin/netprof"
	mkfifo "$S/fifo"
	refused 1 'fifo: a FIFO without a writer' \
		timeout 60 netprof tolerance "$S/fifo"
	refused 1 'fifo: a FIFO without a writer' \
		timeout 60 netprof replay "$S/fifo"
	refused 1 'fifo: a FIFO, not a regular file' \
		timeout 60 netprof scale "$S/fifo"
	refused 1 'fifo: a FIFO, not a regular file' \
		env NETPROF_CONF="$S/fifo" netprof list
	printf '# one\nnosuch fft 3\n' >"$S/predictions"
	refused 1 'predictions:2: "nosuch": expected a program of .*/real-switch.json' \
		netprof accuracy --predictions="$S/predictions" "$ROOT/t/data/real-switch.json"
	refused 1 'netprof:1: expected an execution graph .*, got a program or library' \
		netprof tolerance "$S/bin/netprof"
	refused 1 'netprof:1: expected text, got a program or library' \
		netprof sharing "$S/bin/netprof"
	refused 1 'netprof:1: expected the trace of .*, got a program or library' \
		netprof trace "$S/bin/netprof"
	refused 1 'nonblocking.goal:1: expected a report of mpiP, got an execution graph' \
		netprof scale "$ROOT/t/data/loggps/nonblocking.goal"
	refused 1 'nonblocking.goal:1: expected JSON, got an execution graph' \
		netprof accuracy "$ROOT/t/data/loggps/nonblocking.goal"
	refused 1 'README:1: expected JSON, got "[^"]*"' netprof qn "$ROOT/t/data/README"
	refused 1 'README:1: expected JSON, got "[^"]*"' netprof accuracy \
		"$ROOT/t/data/README"
	refused 1 'nonblocking.goal: --collective has no effect, because GOAL' \
		tolerance --collective=allreduce=ring nonblocking.goal
	refused 1 "$S: a directory, not a regular file" netprof accuracy "$S"
	# Streams and tags of a generator for NCCL are accepted; parts of ns are not.
	printf 'num_ranks 2\nrank 0 {\n%s\n}\nrank 1 {\n%s\n%s\n}\n' \
		'send 8b to 1 tag 1002003004005 cpu 300' \
		'recv 8b from 0 tag 1002003004005 cpu 3' 'calc 7.5 cpu 300' \
		>"$S/nccl.goal"
	printf 'num_ranks 1\nrank 0 {\n\0\n}\n' >"$S/nul.goal"
	refused 1 'nul.goal:3: rank 0: byte 0x00, expected an operation' \
		netprof tolerance "$S/nul.goal"
	# The error is the only line, also where the input gives reason to warn.
	printf 'SwitchName=s%s Nodes=n[0-1]\n' 0 1 >"$S/twice.conf"
	refused 1 'nul.goal:3: rank 0: byte 0x00, expected an operation' \
		netprof tolerance --topology="$S/twice.conf" "$S/nul.goal"
	printf 'num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 4b from 0 }\n' \
		>"$S/short.goal"
	refused 1 '2 ranks, 1 on a node, are more than the 1 node of torus:1$' \
		netprof tolerance --topology=torus:1 "$S/short.goal"
	refused 1 'nosuch: no such file' netprof tolerance "$S/short.goal" nosuch
	# Six ranks, each of which receives before it sends.
	{
		echo num_ranks 6
		for r in 0 1 2 3 4 5; do
			printf 'rank %d {\na: recv 8b from %d\nb: send 8b to %d\nb requires a\n}\n' \
				$r $(((r + 5) % 6)) $(((r + 1) % 6))
		done
	} >"$S/ring.goal"
	refused 1 'deadlock: 12 operations wait for each other, each for the next: .*/ring.goal:[0-9]+: .*; and 8 more$' \
		netprof tolerance "$S/ring.goal"
	printf 'tasks 2\n0: recv 1\n1: recv 0\n0: send 1\n1: send 0\n' >"$S/stuck.workload"
	refused 1 'stuck.workload: model [a-z-]+: deadlock after 0 s: task 0 waits to receive from task 1' \
		netprof replay "$S/stuck.workload"
	refused 1 'bom.goal:1: begins with a byte-order mark' \
		tolerance --noise="$S/bom.goal" recdoub16.goal
	refused 1 'real-switch.json:1: expected lines of words, got JSON' \
		tolerance --noise="$ROOT/t/data/real-switch.json" recdoub16.goal
	refused 1 'nccl.goal:7: rank 1: "7.5", expected a time in whole ns' \
		netprof tolerance "$S/nccl.goal"
	sed -i s/7.5/7/ "$S/nccl.goal"
	netprof tolerance --serial "$S/nccl.goal" >"$S/out" ||
		fail "NCCL's streams and tags are refused"
	jq -c '.program_beside_level[0][0] = -1' "$ROOT/t/data/real-switch.json" \
		>"$S/minus1.json"
	refused 1 'program_beside_level\[0\]\[0\]: got -1, expected more than -1,' \
		netprof accuracy "$S/minus1.json"
	jq -c '.probes.idle.mean_sec = 0' "$ROOT/t/data/real-switch.json" \
		>"$S/zeroidle.json"
	refused 1 'probes.idle.mean_sec: expected more than 0, not 0' \
		netprof accuracy "$S/zeroidle.json"
	refused 1 '16 ranks, 1 on a node, are more than the 9 nodes of torus:3x3' \
		tolerance --topology=torus:3x3 recdoub16.goal
	printf 'n0 n1 1e-6\nn1 n2 2e-6\nn0 n2 2e-6\n' >"$S/latencies"
	echo 'SwitchName=s0 Nodes=n[0-2]' >"$S/topology.conf"
	refused 1 'topology.conf: no leaf switch: expected what scontrol show topology prints' \
		netprof topology --latencies="$S/latencies" --slurm="$S/topology.conf"
	printf 'SwitchName=s%s Level=0 Nodes=n%s\n' 0 '[0-' 1 2 >"$S/cut"
	refused 1 'cut: leaf switch s0: "n\[0-": expected a list of nodes' \
		netprof topology --latencies="$S/latencies" --slurm="$S/cut"
	refused 1 "$ROOT/t: no trace" netprof tolerance "$ROOT/t"
	refused 1 'SLURM_JOB_NODELIST is not set' env SLURM_JOB_ID=7 netprof calibrate
	refused 1 'SLURM_JOB_ID=7x: expected a number' env SLURM_JOB_ID=7x \
		SLURM_JOB_NODELIST=n0 SLURM_JOB_NUM_NODES=1 netprof calibrate
	refused 1 'SLURM_JOB_NUM_NODES=0: expected a number' env SLURM_JOB_ID=7 \
		SLURM_JOB_NODELIST=n0 SLURM_JOB_NUM_NODES=0 netprof calibrate
	refused 1 'not inside an allocation; run: .*netprof loggps' netprof loggps
	refused 1 'one node: expected two' env SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n0 \
		SLURM_JOB_NUM_NODES=1 netprof loggps
	refused 1 'no LogGPS parameters of cluster xpc in .*; salloc .*loggps' \
		netprof loggps --show --cluster=xpc
	refused 1 'SLURM_JOB_NUM_NODES is not set' env SLURM_JOB_ID=7 \
		SLURM_JOB_NODELIST=n0 netprof calibrate
	# The line about the network precedes results only.
	a_network
	run tolerance paper_example.goal
	contains "the network of a result" "$RC $ERR" \
		'^0 netprof: using the network parameters measured on cluster hpc on [^ ]*$'
	refused 1 'nosuch: no such file' netprof tolerance nosuch
	refused 1 'nul.goal:3: rank 0: byte 0x00' netprof tolerance "$S/nul.goal"
	refused 1 'README:1: expected JSON' netprof accuracy --traces="$S" "$ROOT/t/data/README"
}

# An error in MPI; LogGOPSim takes the size of the send, and says nothing.
test_a_receive_that_is_smaller_than_its_message_is_warned_of() {
	local warning size
	setup
	for size in 4 8 9; do
		printf 'num_ranks 2\nrank 0 {\n%s\n%s\n}\nrank 1 {\n%s\n%s\n}\n' \
			'send 8b to 1 tag 5' 'send 8b to 1 tag 6' \
			'recv 8b from 0 tag 6' "recv ${size}b from 0 tag 5" \
			>"$S/$size.goal"
	done
	run netprof tolerance -P -L 1us -G 1ns "$S/8.goal"
	equal "of the same size" "$RC $ERR" "0 "
	warning=$(sed "s/8.goal/4.goal/" "$S/out")
	run netprof tolerance -P -L 1us -G 1ns "$S/4.goal"
	equal "the size of the message counts" "$RC $OUT" "0 $warning"
	warning="^netprof: warning: .*/4.goal:8: rank 1, receive of 4 bytes from \
0 with tag 5 is smaller than its message, whose size counts \(1 such receive\)$"
	contains "a smaller one" "$ERR" "$warning"
	run netprof replay "$S/4.goal"
	equal "replay" "$RC $(wc -l <"$S/err")" "0 1"
	contains "replay" "$ERR" "$warning"
	run netprof tolerance -P -L 1us -G 1ns "$S/9.goal"
	equal "a larger one" "$RC $ERR" "0 "
}

test_a_trace_is_summarised() {
	setup
	mkdir "$S/traces"
	printf '%s\n' MPI_Init:-:1:2:1000.0 MPI_Barrier:1001:55,0,2:1002 \
		MPI_Bcast:1003:9:12:13,1,1:0:66,0,1:1004 MPI_Put:1005:2:3:1006 \
		MPI_Finalize:1010:- >"$S/traces/rank.0"
	printf '%s\n' MPI_Init:-:1:2:1000.0 MPI_Barrier:1001:55,1,2:1002 \
		MPI_Finalize:1010:- >"$S/traces/rank.1"
	run netprof trace "$S/traces"
	equal "exit status" "$RC $ERR" "0 "
	contains "collectives of some ranks" "$OUT" \
		'^Collectives +barrier 1, bcast 0.5 per rank$'
	contains "unsupported calls" "$OUT" '^Unsupported +1 call, whose messages'
}

test_colours_only_on_a_terminal() {
	setup
	on_terminal() { # ENVIRONMENT...
		env "$@" script -qec 'netprof show lammps' /dev/null </dev/null
	}
	contains "terminal" "$(on_terminal TERM=xterm)" $'\033\\['
	[[ $(on_terminal TERM=xterm NO_COLOR=1) != *$'\033'* ]] || fail NO_COLOR
	[[ $(on_terminal TERM=dumb) != *$'\033'* ]] || fail "a dumb terminal"
	[[ $(netprof show lammps) != *$'\033'* ]] || fail "a pipe"
}

simulated() { # ARGS...
	(cd "$ROOT/t/data/queue" && netprof simulate --leaves=4x4 "$@")
}

test_a_queue_is_replayed() {
	setup
	golden simulate.txt simulated --swf=small.swf --pairs=pairs \
		--mix=fft:30,halo:40,unknown:30 --policy=off,prefer,enforce
	gzip -c "$ROOT/t/data/queue/small.swf" >"$S/small.gz"
	golden simulate.parsable simulated --swf="$S/small.gz" --pairs=pairs -P \
		--mix=fft:30,halo:40,unknown:30 --set=MaxDefer=10m \
		--policy=off,enforce:MaxSlowdown=60%,enforce
	golden simulate-nothing.txt simulated --swf=small.swf --pairs=pairs \
		--mix=halo:50,unknown:50 --set=MaxSlowdown=30 --seeds=2
	netprof simulate --leaves=4x4 --plot="$S/simulate.svg" \
		--swf="$ROOT/t/data/queue/small.swf" --mix=fft:1,halo:1 \
		--pairs="$ROOT/t/data/queue/pairs"
	is_picture "$S/simulate.svg" 'Node-hours saved' enforce
	policies() { # POLICIES [OPTION...]
		simulated --swf=small.swf --pairs=pairs --mix=fft:30,halo:40,unknown:30 \
			--seeds=1 --policy="$1" "${@:2}"
	}
	equal "groups under a single policy" "$(policies off --json | jq -c .groups)" "[]"
	equal "groups, in any order of the policies" \
		"$(policies off,enforce,advise --json | jq -c .groups)" \
		"$(policies off,advise,enforce --json | jq -c .groups)"
	equal "groups of the first of several seeds" "$(simulated --swf=small.swf --pairs=pairs \
		--mix=fft:30,halo:40,unknown:30 --seeds=3 --policy=off,enforce --json | jq -c .groups)" \
		"$(policies off,enforce --json | jq -c .groups)"
	contains "only the first policy acts" "$(policies enforce,off)" \
		'^Only the first policy, enforce, changes jobs'
	equal "policies with the same first 64 characters" "$(policies \
		off,enforce:MaxSlowdown=10%:PlacementInterval=30s:UnknownAs=fft:MaxDefer=1h,enforce:MaxSlowdown=10%:PlacementInterval=30s:UnknownAs=fft:MaxDefer=2h \
		-P --noheader --format=Policy | sort -u | wc -l)" 3
}

test_a_simulation_knows_pairs_with_the_longest_names() {
	local name
	setup
	name=$(printf 'n%.0s' {1..64})
	sed "s/fft/$name/g" "$ROOT/t/data/queue/pairs" >"$S/pairs"
	equal "what is printed, but for the name" \
		"$(simulated --swf=small.swf --pairs="$S/pairs" -P \
			--mix="$name:30,halo:70" | sed "s/$name/fft/g")" \
		"$(simulated --swf=small.swf --pairs=pairs -P --mix=fft:30,halo:70)"
}

# Of two runs of fft under a load, one takes nine times as long as the other.
test_a_simulation_without_effect_says_that_predictions_are_uncertain() {
	local f part=0.2
	setup
	while IFS= read -r f; do
		jq -c ".end = .start + $part * (.end - .start)" "$f" >"$S/run"
		cp "$S/run" "$f"
		[ $part = 0.2 ] && part=1.8 || part=0.2
	done < <(grep -l '"name":"c' "$S/store/users/$MY_UID/fft"/*)
	run 0 netprof simulate --leaves=1x16 --swf="$ROOT/t/data/queue/small.swf" \
		--mix=fft:50,unknown:50 --seeds=1 --json
	equal "pairs" "$(jq .uncertain_predictions <<<"$OUT")" 1
	contains "the verdict" "$(jq -r .verdict <<<"$OUT")" \
		'changed nothing: .* 1 pair of applications has only an uncertain prediction'
}

# A queue that takes far longer to simulate than a test may.
endless_queue() {
	awk 'BEGIN { srand(7); for (i = 1; i <= 20000; i++) {
		t += int(600 * rand()); n = 1 + int(24 * rand()); sec = 20 + int(4000 * rand())
		print i, t, -1, sec, n, -1, -1, n, 2 * sec, -1, 1, i % 7, 1, i % 5, 1, -1, -1, -1
	} }'
}

# The first policy, and a part of the second in which jobs have ended.
knows_both_policies() {
	[ "$(grep -sc "^enforce|" "$S/events")" -ge 200 ]
}

test_an_interrupted_simulation_prints_what_it_knows() {
	local pid
	setup
	endless_queue >"$S/endless.swf"
	netprof simulate --swf="$S/endless.swf" --leaves=16x9 --mix=fft:30,halo:40,unknown:30 \
		--pairs="$ROOT/t/data/queue/pairs" --policy=off,enforce --seeds=9 \
		--events="$S/events" >"$S/out" 2>"$S/err" &
	pid=$!
	wait_for knows_both_policies
	kill -INT "$pid"
	wait "$pid" || fail "exit status $?: $(cat "$S/err")"
	contains "it says so" "$(cat "$S/out")" '^Stopped after [0-9.]+ %: the results are of the jobs that had ended'
	contains "of both policies" "$(cat "$S/out")" '^Node-hours used +[1-9][0-9]* h +[1-9][0-9]* h$'
	contains "the cost of the first" "$(cat "$S/out")" '^Node-hours lost +[1-9]'
	equal "no error" "$(cat "$S/err")" ""
}

# sacct as a site has it: it must be asked for all users, and no steps.
test_the_last_days_of_the_accounting_are_replayed() {
	setup
	cat >"$S/bin/sacct" <<-END
		#!/bin/sh
		echo "\$* \$SLURM_TIME_FORMAT" >'$S/asked'
		for a; do
			case \$a in
			--delimiter=*) d=\${a#*=} ;;
			esac
		done
		exec sed "s/|/\$d/g" '$ROOT/t/data/queue/small.sacct'
	END
	chmod 755 "$S/bin/sacct"
	run 0 netprof simulate --last=30d --leaves=4x4 --cpus-per-node=4 --policy=off --json
	contains "what was asked" "$(cat "$S/asked")" '^--local -a -X -P -S now-30days --delimiter=.* -o JobID,.* %s$'
	equal "as from a file" "$(jq -c '.policies' "$S/out")" \
		"$(cd "$ROOT/t/data/queue" && netprof simulate --sacct=small.sacct --leaves=4x4 \
			--cpus-per-node=4 --policy=off --json 2>/dev/null | jq -c '.policies')"
	printf '#!/bin/sh\necho "sacct: error: no database" >&2\nexit 1\n' >"$S/bin/sacct"
	run 1 netprof simulate --last=12h --leaves=4x4
	contains "without accounting" "$(tail -n 1 <<<"$ERR")" 'sacct failed and printed no jobs'
	printf '#!/bin/sh\nfor a; do case $a in --delimiter=*) d=${a#*=} ;; esac; done\n%s\nexit 1\n' \
		'printf "JobID${d}Submit${d}ElapsedRaw${d}NNodes\n1${d}100${d}60${d}1\n"' >"$S/bin/sacct"
	run 1 netprof simulate --last=12h --leaves=4x4
	equal "a sacct that fails later" "$ERR" \
		"netprof: sacct failed before it had printed all jobs; run it by hand to see why"
}

# File servers are on the same switches; a switch that was found has the name of another
# one of Slurm's; one is called like the switch above.
test_topology_is_compared_for_the_nodes_that_slurm_has() {
	setup
	printf '%s\n' 'Switch 36 "S-0" # "a"' '[1] "H-1"[1](1) # "n0 mlx5_0"' \
		'[2] "H-2"[1](1) # "mds1 mlx5_0"' 'Switch 36 "S-1" # "b"' \
		'[1] "H-3"[1](1) # "n1 mlx5_0"' '[2] "H-4"[1](1) # "n2 mlx5_0"' \
		'Switch 36 "S-2" # "top"' '[1] "H-5"[1](1) # "n3 mlx5_0"' \
		'[2] "H-6"[1](1) # "mds2 mlx5_0"' >"$S/fabric"
	printf '%s\n' '#!/bin/sh' 'echo "n[0-1]"' 'echo n2,n3' >"$S/bin/sinfo"
	printf '%s\n' '#!/bin/sh' 'echo "SwitchName=a Level=0 Nodes=n[1-2]"' \
		'echo "SwitchName=x Level=0 Nodes=n0"' 'echo "SwitchName=y Level=0 Nodes=n3"' \
		>"$S/bin/scontrol"
	chmod 755 "$S/bin/sinfo" "$S/bin/scontrol"
	run netprof topology --ibnetdiscover="$S/fabric"
	equal "hosts" "$RC $(tail -n 2 <<<"$OUT")" "0 2 hosts excluded, because Slurm does not \
have them: mds1 and others
Slurm's topology agrees."
	sed -i 's/=y Level=0 Nodes=n3/=y Level=0 Nodes=n[3-5]/' "$S/bin/scontrol"
	run netprof topology --ibnetdiscover="$S/fabric"
	contains "nodes that are down" "$OUT" "^2 nodes of Slurm's topology not found: n4 and others"
	run netprof topology --ibnetdiscover="$S/fabric" --write=conf
	contains "nodes that are down, in a file" "$OUT" "^# 2 nodes of Slurm's topology not found: n4 and others"
	sed -i '/=y/d; s/=x Level=0 Nodes=n0/=y Level=0 Nodes=n3/' "$S/bin/scontrol"
	run netprof topology --ibnetdiscover="$S/fabric" --write=conf
	equal "names that Slurm has for others" "$OUT" "SwitchName=a-2 Nodes=n0
SwitchName=a Nodes=n[1-2]
SwitchName=y Nodes=n3
SwitchName=top Switches=a-2,a,y"
	printf '#!/bin/sh\nexit 1\n' >"$S/bin/scontrol"
	run netprof topology --ibnetdiscover="$S/fabric" --write=yaml
	equal "a leaf called top" "$(tail -n 2 <<<"$OUT" | xargs)" \
		"- switch: top-2 children: a,b,top"
	run netprof topology --ibnetdiscover="$S/fabric"
	equal "scontrol fails" "$RC $ERR" "1 netprof: scontrol failed, so there is no topology \
of Slurm to compare with"
	printf '%s\n' '#!/bin/sh' '[ "$2" = topology ]' >"$S/bin/scontrol"
	run netprof topology --ibnetdiscover="$S/fabric"
	contains "slurmctld does not answer" "$ERR" '^netprof: scontrol failed, so'
	printf '#!/bin/sh\n' >"$S/bin/scontrol"
	run netprof topology --ibnetdiscover="$S/fabric"
	contains "no topology" "$OUT" '^Slurm has no topology;'
	printf '#!/bin/sh\nexit 1\n' >"$S/bin/sinfo"
	run netprof topology --ibnetdiscover="$S/fabric"
	contains "sinfo fails" "$OUT" '^6 nodes on 3 leaf switches'
	printf '%s\n' '#!/bin/sh' 'echo "n0 n["' >"$S/bin/sinfo"
	run netprof topology --ibnetdiscover="$S/fabric"
	contains "half an answer" "$OUT" '^6 nodes on 3 leaf switches'
	printf '%s\n' '#!/bin/sh' 'echo "c[0-3]"' >"$S/bin/sinfo"
	run netprof topology --ibnetdiscover="$S/fabric"
	contains "other names" "$OUT" '^6 nodes on 3 leaf switches'
}

test_measured_places_are_compared_with_the_topology_of_the_partition() {
	local i
	setup
	{
		printf '%s\n' '#!/bin/sh'
		for i in 0 1 2 3; do
			echo "echo 'np1 hello $i 4 n$i - - - -'"
		done
		printf "echo 'np1 pair %s'\n" '0 1 1e-5' '2 3 1e-5' '0 2 3e-5' '0 3 3e-5' \
			'1 2 3e-5' '1 3 3e-5'
		printf "echo 'np1 bye %s'\n" 0 1 2 3
	} >"$S/bin/srun"
	printf '%s\n' '#!/bin/sh' 'case "$*" in' '*"show partition racks") echo "PartitionName=racks Topology=t" ;;' \
		'*"show topology t") printf "SwitchName=r%s Level=0 Nodes=n[%s]\n" 0 0-1 1 2-3 ;;' \
		'*"show topology") echo "SwitchName=s Level=0 Nodes=n[0-3]" ;;' esac >"$S/bin/scontrol"
	chmod 755 "$S/bin/srun" "$S/bin/scontrol"
	for i in racks main; do
		run env SLURM_JOB_ID=1 SLURM_JOB_NODELIST='n[0-3]' SLURM_JOB_NUM_NODES=4 \
			SLURM_JOB_PARTITION=$i netprof topology --repeats=1
		case $i in
		racks) equal "its own" "$RC $(tail -n 1 <<<"$OUT")" "0 Slurm's topology agrees." ;;
		main) contains "the cluster's" "$RC $OUT" '^n2 is on s in Slurm' ;;
		esac
	done
}

# --rules may name every profile of the store.
test_a_log_of_sacct_is_replayed_with_the_store() {
	setup
	run 0 simulated --sacct=small.sacct --rules=rules --cpus-per-node=4 \
		--events="$S/events"
	contains "a bad line" "$ERR" 'small.sacct:12: job "108" submitted at'
	grep -q 'Excluded, larger than the cluster: 1 job' "$S/out" ||
		fail "$(cat "$S/out")"
	grep -q 'calibration of 2024' "$S/out" || fail "$(cat "$S/out")"
	equal "starts" "$(grep -c '^enforce|' "$S/events")" 7
}

# The third job fits below the second group of leaf switches; without groups it
# would also get the two nodes that the first job left on leaf0.
test_a_replay_chooses_nodes_below_the_lowest_switch() {
	local cluster i
	setup
	for i in 1 2 3; do
		echo "$i $i -1 1000 $((2 * i)) -1 -1 $((2 * i)) 2000 -1 1 1 1 1 1 -1 -1 -1"
	done >"$S/three.swf"
	cat >"$S/topology.conf" <<-END
		SwitchName=a Switches=s[0-1]
		SwitchName=b Switches=s[2-3] LinkSpeed=10
		SwitchName=top Switches=a,b
	END
	echo "- topology: tree" >"$S/topology.yaml"
	for i in 0 1 2 3; do
		echo "SwitchName=s$i Nodes=n[$((4 * i))-$((4 * i + 3))]" >>"$S/topology.conf"
		printf -- '- switch: s%d\n  nodes: n[%d-%d]\n' $i $((4 * i)) $((4 * i + 3)) >>"$S/topology.yaml"
	done
	printf -- '- switch: a\n  children: s[0-1]\n- switch: b\n  children: s[2-3]\n- topology: other\n  flat: true\n' \
		>>"$S/topology.yaml"
	cat >"$S/flow.yaml" <<-'END'
		{"topologies": [{"topology": "t", "tree": {"switches": [
		{"switch": "s0", "nodes": "n[0-1], n[2-3]"}, {"nodes": "n[4-7]", "switch": "s1"},
		{"switch": "s2", "nodes": "n[8-11]"}, {"switch": "s3", "nodes": "n[12-15]"},
		{"switch": "a", "children": "s[0-1]"}, {"switch": "b", "children": "s2,s3"}]}}]}
	END
	cat >"$S/sorted.yaml" <<-'END'
		- topology: t # nodes: n[0-15]
		  tree:
		    switches:
		    - nodes: n[0,1],
		        n[2-3]
		      switch: s0
		    - {nodes: 'n4,n[5-7]', switch: s1}
		    - nodes: n[8-9],n[10-11]
		      switch: s2
		    - nodes: n[12-15]
		      switch: s3
		    - children: s[0-1]
		      switch: a
		    - children: s2, s3
		      switch: b
	END
	printf 'SwitchName=s%d Level=0 LinkSpeed=1 Nodes=%s\n' 0 'n[0-1], n[2-3]' 1 'n[4-7]' \
		2 'n[8-11]' 3 'n[12-15]' >"$S/printed.conf"
	printf 'SwitchName=%s Level=1 LinkSpeed=1 Nodes=%s Switches=%s\n' a 'n[0-7]' 's[0-1]' \
		b 'n[8-15]' 's[2-3]' >>"$S/printed.conf"
	for cluster in --leaves=2x2x4 --topology="$S/"{topology.conf,printed.conf,topology.yaml,flow.yaml,sorted.yaml}; do
		run 0 netprof simulate --swf="$S/three.swf" "$cluster" --policy=off \
			--pairs="$ROOT/t/data/queue/pairs" --events="$S/events"
		equal "nodes of the jobs, $cluster" "$(cut -d'|' -f9 "$S/events" | tail -n +2 | tr '\n' ' ')" \
			"0,1 4,5,6,7 8,9,10,11,12,13 "
		contains "the switches in the text" "$(cat "$S/out")" 'on 4 leaf switches below [23] others'
	done
	printf 'BlockName=b%d BlockIndex=%d Nodes=%s BlockSize=4\n' 0 0 'n[0-1], n[2-3]' 1 1 'n[4-7]' >"$S/blocks.conf"
	echo 'AggregatedBlock=b[0-1] BlockIndex=2 Nodes=n[0-7] BlockSize=8' >>"$S/blocks.conf"
	run netprof simulate --swf="$S/three.swf" --topology="$S/blocks.conf" --policy=off \
		--pairs="$ROOT/t/data/queue/pairs"
	contains "blocks" "$(tr -s ' \n' ' ' <"$S/out")" '8 nodes with 1 processor each, on 2 leaf switches'
	run netprof simulate --swf="$S/three.swf" --leaves=4x4 --policy=off \
		--pairs="$ROOT/t/data/queue/pairs" --events="$S/events"
	equal "nodes without groups" "$(cut -d'|' -f9 "$S/events" | tail -n 1)" "2,3,8,9,10,11"
	contains "one policy" "$(cat "$S/out")" '^Only one policy was simulated'
}

# Four jobs on one processor each of the same node, at the same time.
test_jobs_that_share_a_node_use_it_once() {
	setup
	awk 'BEGIN { for (i = 1; i <= 4; i++)
		print i, 0, -1, 1000, 1, -1, -1, 1, 2000, -1, 1, 1, 1, 1, 1, -1, -1, -1 }' >"$S/shared.swf"
	run 0 netprof simulate --swf="$S/shared.swf" --leaves=1x1 --cpus-per-node=4 --policy=off \
		--pairs="$ROOT/t/data/queue/pairs" --json
	equal "utilisation and node-seconds" \
		"$(jq -c '.policies[0] | [.utilisation > 0.9, .utilisation <= 1, .used_node_sec]' <<<"$OUT")" \
		'[true,true,1000]'
}

test_a_wait_that_only_the_policy_causes_is_in_seconds() {
	setup
	printf '%s\n' "JobID|JobName|Submit|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|State" \
		"1|fft|1000|100|600|4|16|COMPLETED" "2|fft|1000|100|600|4|16|COMPLETED" >"$S/two"
	run netprof simulate --sacct="$S/two" --leaves=1x16 --cpus-per-node=4 \
		--pairs="$ROOT/t/data/queue/pairs" --policy=off,enforce
	contains "in the first sentence" "$(tr '\n' ' ' <"$S/out")" \
		'and lengthened the mean wait from 0 to 50 s;'
	run netprof simulate --sacct="$S/two" --leaves=1x16 --cpus-per-node=4 \
		--pairs="$ROOT/t/data/queue/pairs" --policy=off,enforce --json
	equal "not as a share" "$(jq -c '.policies[1].against_first |
		[.wait_change_share.value, .wait_change_sec]' "$S/out")" "[null,50]"
}

# b's only job was submitted after two of a's that wait. A period has 300 s.
test_a_replay_with_fair_share_prefers_users_who_used_less() {
	local order
	setup
	for i in 1 2 3 4; do
		echo "$i $i -1 1000 4 -1 -1 4 1000 -1 1 $((1 + i / 4)) 1 1 1 -1 -1 -1"
	done >"$S/four.swf"
	starts() {
		netprof simulate --swf="$S/four.swf" --leaves=1x4 --policy=off --events="$S/events" \
			--pairs="$ROOT/t/data/queue/pairs" "$@" >/dev/null
		tail -n +2 "$S/events" | cut -d'|' -f2 | xargs
	}
	equal "by submission" "$(starts --order=submit)" "1 2 3 4"
	equal "by fair share" "$(starts --order=fairshare)" "1 4 2 3"
	equal "usage that is forgotten at once" "$(starts --order=fairshare --half-life=1)" "1 2 3 4"
}

# a1 and a2 are in account A, b is in B. SHARES of A and B; the order of the starts.
starts_with_shares() { # SHARES SHARES
	printf '%s\n' 'Account|User|RawShares|NormShares' 'root|||' ' root|root|1|' \
		" A||$1|" '  A|a1|1|' '  A|a2|1|' " B||$2|" '  B|b|1|' >"$S/sshare"
	run 0 netprof simulate --sacct="$S/six" --leaves=1x4 --policy=off --order=fairshare \
		--shares="$S/sshare" --events="$S/events" --pairs="$ROOT/t/data/queue/pairs"
	tail -n +2 "$S/events" | cut -d'|' -f2 | xargs
}

test_a_replay_with_fair_share_knows_the_shares_of_accounts_and_users() {
	local n=0 who
	setup
	echo 'JobID|User|Account|Submit|ElapsedRaw|TimelimitRaw|NNodes|State' >"$S/six"
	for who in 'a1|A' 'a1|A' 'a1|A' 'a2|A' 'b|B' 'b|B'; do
		echo "$((++n))|$who|2026-01-01T00:00:00|1000|20|4|COMPLETED"
	done >>"$S/six"
	equal "A has three quarters" "$(starts_with_shares 3 1)" "1 5 4 2 3 6"
	equal "A has half" "$(starts_with_shares 1 1)" "1 5 6 4 2 3"
	sed -i '2s/a1|A/c|C/' "$S/six"
	equal "a user who is not in the tree" "$(starts_with_shares 3 1)" "1 2 5 4 3 6"
	echo 'Account|User|RawShares' >"$S/sshare"
	run 1 netprof simulate --sacct="$S/six" --leaves=1x4 --order=fairshare \
		--shares="$S/sshare"
	contains "no accounts" "$(cat "$S/err")" "$S/sshare: no account"
	printf '%s\n' 'Account|User|RawShares' 'root||' ' A||many' >"$S/sshare"
	run netprof simulate --sacct="$S/six" --leaves=1x4 --order=fairshare \
		--shares="$S/sshare"
	contains "damaged shares" "$(cat "$S/err")" "$S/sshare:3: .*: expected an account"
	run 2 netprof simulate --sacct="$S/six" --leaves=1x4 --shares="$S/sshare"
}

test_bad_input_of_a_replay_is_reported() {
	setup
	printf '# a comment\nfft user=a\nhalo host=b\n' >"$S/rules"
	refused 1 'rules:3: "host": expected user=, account=' simulated \
		--swf=small.swf --pairs=pairs --rules="$S/rules"
	printf '<html>404</html>\n' >"$S/html"
	refused 1 'html:1: expected lines of words, got XML or HTML' simulated \
		--swf=small.swf --pairs=pairs --rules="$S/html"
	refused 1 '/nowhere: No such file' simulated --swf=/nowhere
	mkfifo "$S/fifo"
	refused 1 'fifo: a FIFO without a writer' simulated --swf="$S/fifo"
	refused 1 'zero:1: a NUL character, expected text' simulated --swf=/dev/zero
	refused 1 "$S: a directory, not a regular file" simulated --sacct="$S"
	refused 1 'state.json:1: expected the columns of sacct .*, got JSON' simulated \
		--sacct="$S/store/placement/state.json"
	refused 1 'pairs:1: "fft fft 56": expected' simulated --swf=pairs
	printf 'SwitchName=s0 Nodes=n[0-15]\0,x\n' >"$S/nul.conf"
	run 0 netprof simulate --swf="$ROOT/t/data/queue/small.swf" \
		--pairs="$ROOT/t/data/queue/pairs" --topology="$S/nul.conf"
	contains "a line with a NUL" "$ERR" 'nul.conf:1: a NUL character: like Slurm, this skips'
	misuse() { # PATTERN OPTION
		run 2 simulated --swf=small.swf --pairs=pairs "$2"
		contains "$2" "$(head -n 1 "$S/err")" "$1"
	}
	misuse '"fft": expected a name and a weight' --mix=fft
	misuse '"halo:0x1": expected a name and a weight' --mix=fft:1,halo:0x1
	misuse 'mix: expected names and weights' --mix=
	misuse '"sometimes": expected off, advise, prefer or enforce' --policy=off,sometimes
	misuse 'has no such key' --policy=off,enforce:MaxJoy=3
	misuse 'policy: expected off, advise, prefer or enforce' --policy=,
	misuse 'has no such key' --set=MaxJoy=3
	misuse 'MaxDefer=soon: expected a time' --set=MaxDefer=soon
	misuse 'set=Store=/x: has no effect here' --set=Store=/x
	misuse 'set=Placement=off: has no effect here' --policy=off,enforce:Placement=off
	misuse 'last=yesterday: expected a time such as 30d' --last=yesterday
	misuse 'leaves=4by4: expected leaves and nodes' --leaves=4by4
	misuse 'leaves=\+4x4: expected leaves and nodes' --leaves=+4x4
	misuse 'leaves=4x4x: expected leaves and nodes' --leaves=4x4x
	misuse 'leaves=0x4: expected leaves and nodes' --leaves=0x4
	printf 'fft user=a user=b\n' >"$S/rules"
	refused 1 'rules:1: "user=" is given twice' simulated --swf=small.swf \
		--pairs=pairs --rules="$S/rules"
	printf ' 1 one 5\n 2 two 5\n' >"$S/bad.swf"
	refused 1 'bad.swf:1: field 2: "one", expected a number of at least -1 and at most 1099511627776; no job' \
		simulated --swf="$S/bad.swf"
	printf 'ftt user=*\n' >"$S/rules"
	refused 1 'rules: no profile of "ftt"' simulated --swf=small.swf --rules="$S/rules"
	refused 1 '^netprof: --mix: no profile of "ftt"' simulated --swf=small.swf --mix=ftt:1
	shares() { # PATTERN TEXT
		printf "$2" >"$S/shares"
		refused 1 "$1" simulated --swf=small.swf --pairs=pairs --order=fairshare \
			--shares="$S/shares"
	}
	shares 'shares:1: no column RawShares' 'Account|User\nroot|\n'
	shares 'shares:1: column User given twice' 'Account|User|RawShares|User\nroot||1|\n'
	shares 'shares:2: "root\|\|many": expected an account' 'Account|User|RawShares\r\nroot||many\r\n'
	printf 'SwitchName=s0 Nodes=n[0-3]\nSwitchName=a Switches=b\nSwitchName=b Switches=a,s0\n' \
		>"$S/topology.conf"
	refused 1 'topology.conf:2: switch a is above itself, or above more than 16 levels of switches$' netprof simulate \
		--swf="$ROOT/t/data/queue/small.swf" --topology="$S/topology.conf"
	topology() { # PATTERN SUFFIX TEXT
		printf -- "$3" >"$S/topology.$2"
		refused 1 "$1" netprof simulate --swf="$ROOT/t/data/queue/small.swf" \
			--topology="$S/topology.$2"
	}
	local s0='SwitchName=s0 Nodes=n[0-3]\n'
	topology 'conf:2: Node: unknown key, expected Nodes' conf "${s0}SwitchName=s1 Node=n[4-7]\n"
	topology 'conf:1: n\[4-7\]: expected Key=Value' conf 'SwitchName=s0 Nodes=n[0-3], n[4-7]\n'
	topology 'conf:2: s0 is defined twice' conf "$s0$s0"
	topology 'conf:2: s\[-2-1\]: expected a list such as n\[0-3\],n7$' conf \
		"${s0}SwitchName=top Switches=s[-2-1]\n"
	topology 'conf:2: top names s1, which no line defines' conf "${s0}SwitchName=top Switches=s[0-1]\n"
	topology 'conf:1: expected a topology.conf of Slurm, got JSON' conf '{"a": 1}\n'
	topology 'yaml:3: s0: unknown key "node", expected nodes or children' yaml '# x\n\n- switch: s0\n  node: n0\n'
	topology 'yaml:1: s0: not a list such as n\[0-3\],n7, or too long: ""' yaml '- switch: s0\n  nodes:\n  - n0\n'
	topology 'yaml:3: top names s1, which no line defines' yaml '- switch: s0\n  nodes: n0\n- switch: top\n  children: s[0-1]\n'
	topology 'yaml:1: s0: expected nodes or children, and only one' yaml \
		'- switch: s0\n  nodes: n0\n  nodes: n[0-3]\n'
	topology 'yaml:3: s1: expected nodes or children, and only one' yaml \
		'- switch: s0\n  nodes: n0\n- {switch: s1, nodes: n1, children: s0}\n'
	topology 'conf:2: expected a topology.conf of Slurm, got YAML' conf '# one\n---\n- topology: a\n'
	topology 'no leaf switch with nodes' yaml 'leaves: 4\n'
	topology 'yaml:3: expected a switch or block with these nodes or children: "n1"' yaml \
		'- switch: s0\n  nodes: n0\n- swich: s1\n  nodes: n1\n'
	topology 'yaml:3: s0 is defined twice' yaml '- switch: s0\n  nodes: n0\n- switch: s0\n  nodes: n1\n'
	topology 'yaml:8: s1 belongs to a second topology: expected the switches of one' yaml \
		"$(printf -- '- topology: %s\n  tree:\n    switches:\n    - {switch: s%s, nodes: n%s}\n' a 0 0 b 1 1)"
	topology 'conf:1: Node: unexpected key, expected BlockName and Nodes' conf 'BlockName=b0 Node=n[0-3]\n'
	topology 'conf:1: n4: expected Key=Value' conf 'BlockName=b0 Nodes=n[0-3], n4\n'
	topology 'conf:2: BlockSizes: unexpected key' conf 'BlockSizes=1,2\nBlockName=b0 Nodes=n0 BlockSizes=1\n'
	topology 'conf:2: b0 is defined twice' conf 'BlockName=b0 Nodes=n0\nBlockName=b0 Nodes=n1\n'
	twice() { # LINE SUFFIX TEXT: nodes on two leaf switches are a warning
		printf -- "$3" >"$S/topology.$2"
		run 0 netprof simulate --swf="$ROOT/t/data/queue/small.swf" \
			--topology="$S/topology.$2"
		equal "the line about it" "$ERR" "netprof: $S/topology.$2: $1"
	}
	twice 'node n3 is on leaf switches s0 and s1: the first is used' conf \
		'SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[3-7]\nSwitchName=s2 Nodes=n[8-15],n9\n'
	twice 'node n2 is on leaf switches s0 and s1: the first is used (1 more like it)' yaml \
		'- switch: s0\n  nodes: n[0-3]\n- switch: s1\n  nodes: n[2-15]\n'
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
