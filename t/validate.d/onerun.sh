# Is a curve from blocks inside one run that of whole runs?  Each program of
# accuracy.sh runs once for about two minutes with --netprofile-calibrate, and
# for eight seconds beside each level and alone; the slowdowns of both, beside
# each other; and so of a program with two phases.  Some 45 minutes.
#
# ONERUN_PAIRS=yes: every program beside every other on the same day, too, for
# predictions from both; half an hour more.
# shellcheck shell=bash

# The same work again and again: 15 times as long.
onerun_inputs() {
	lammps melt.two melt/in.melt 2100
	lammps couette.two flow/in.flow.couette 87000
	lammps crack.two crack/in.crack 19500
	lammps solid.two peri/in.peri.pmb 1500
	silicon silicon.two 75
	waveguide waveguide.two 2400
	water water.two
	cavity cavity.two 1800
}

# melt that looks further for its neighbours every other time, and sends more:
# LOOPS of so many steps of each.
onerun_phases_input() { # NAME LOOPS FAR NEAR
	lammps_input "$1" melt/in.melt 0
	inside -- bash -c "cd ~/$1 && sed -i '/^run/d' in && cat >>in" <<-END
		variable n loop $2
		label again
		comm_modify cutoff 9
		run $3
		comm_modify cutoff 2.8
		run $4
		next n
		jump SELF again
	END
}

# A program with two phases, each longer than blocks are; whole runs are short
# ones of the same proportion.
onerun_phases() {
	local LEVELS="c3 c7"

	onerun_phases_input phases 1 40 140
	onerun_phases_input phases.two 6 100 350
	onerun_once phases
	measure_alone phases
	measure_curve phases
	{ inside -- netprof show --json phases
	  inside -- netprof show --json phases.one; } | jq -rs '
		def pct: if . == null then "-" else . * 1000 | round / 10 end;
		def at($l): map(.levels | map(select(.name == $l))[0] // {});
		"phases: " + (.[1].blocks.text // "no blocks"),
		(("c3", "c7") as $l | at($l) | "phases, \($l): whole runs " +
		 "\(.[0].slowdown | pct), one run \(.[1].slowdown | pct) " +
		 "[\(.[1].low | pct), \(.[1].high | pct)]")'
}

# And half of the work.
onerun_halves() {
	lammps_input melt.half melt/in.melt 70
	lammps_input couette.half flow/in.flow.couette 2900
	lammps_input crack.half crack/in.crack 650
	lammps_input solid.half peri/in.peri.pmb 50
	silicon silicon.half 1
	waveguide waveguide.half 80
	water water.half
	cavity cavity.half 60
}

onerun_program() { # NAME STEPS of water
	program "$1" | sed "s/-nsteps 200/-nsteps $2/"
}

onerun_once() { # NAME
	in_allocation "cd ~/$1.two && srun -Q -N4 -n4 -w '$A_NODES' --overlap \
		--mpi=pmix --netprofile=$1.one --netprofile-calibrate \
		$(onerun_program "$1" 3000) >/dev/null 2>&1"
}

# What of a whole run is its start and its end, which no level slows: what is left
# of two halves less the whole.  "{NAME: seconds}" of all.
onerun_starts() { # MANY
	local a i

	onerun_halves
	for a in $PROGRAMS $ASIDE; do
		for i in 1 2; do
			in_allocation "cd ~/$a.half && srun -Q -N4 -n4 \
				-w '$A_NODES' --overlap --mpi=pmix \
				--netprofile=$a.half \
				$(onerun_program "$a" 100) >/dev/null 2>&1"
		done
		jq -s --arg a "$a" --slurpfile many "$1" '$many[0] as $m |
			($m.alone_sec[$m.programs | index($a)].mean) as $all |
			map(.end - .start - .alone_sec) |
			{($a): ([2 * add / length - $all, 0] | max)}' \
			"$(rundir)/store/users/20001/$a.half"/*.json
	done | jq -s add
}

onerun_pairs() {
	local a b

	[ -n "${ONERUN_PAIRS-}" ] || return 0
	for a in $PROGRAMS $ASIDE; do
		for b in $PROGRAMS $ASIDE; do
			measure_pair "$a" "$b"
		done
	done
	sleep 3
}

# What whole runs said, as accuracy.sh counts it, and their levels' rounds; and
# the pairs: those of doc/accuracy-pairs.json, or of this day.
onerun_many() { # SHOW
	pairs_file | jq --slurpfile doc "$ROOT/doc/accuracy-pairs.json" \
		--slurpfile show "$1" '
		def slowed($app; $level): $show | map(select(.app == $app))[0].levels
			// [] | map(select(.name == $level))[0].level_slowdown;
		. as $new | $doc[0] | .programs as $p |
		.alone_sec = $new.alone_sec |
		if $new.program_beside_program | flatten | any then
			.program_beside_program = $new.program_beside_program
		else . end |
		.program_beside_level = $new.program_beside_level |
		.level_beside_program = (.levels | map(. as $i | $p | map(. as $a |
			slowed($a; $i) | if . == null then null else
				{n: 1, mean: .} end)))'
}

# The same with curves and pressures of one run each; "show" of each on stdin.
onerun_one() { # MANY
	jq -s --slurpfile many "$1" '
		def stat($x; $n; $sd): if $x == null then null else
			{n: $n, mean: $x} + (if $sd then {sd: $sd} else {} end) end;
		# An interval of 95 % is some five standard errors wide.
		def at($app; $level): (map(select(.app == $app + ".one"))[0].levels
			// [] | map(select(.name == $level))[0]) // {};
		. as $show | $many[0] |
		.programs as $p | .levels as $l |
		.program_beside_level = ($p | map(. as $a | $l | map(. as $i |
			$show | at($a; $i) | stat(.slowdown; .compared;
				((.high // 0) - (.low // 0)) / 4.9 *
				(.compared // 0 | sqrt))))) |
		.level_beside_program = ($l | map(. as $i | $p | map(. as $a |
			$show | at($a; $i) | stat(.level_slowdown; 1; null))))'
}

# How curves and pressures of both differ, and how often the 90 % interval of one
# run, some 0.78 of that of 95 %, holds what whole runs said; and how curves of
# whole runs differ that were measured on two days.  "less start": by the time
# of whole runs less their start and end.
onerun_table() { # MANY ONE SHOW STARTS
	jq -rs --slurpfile doc "$ROOT/doc/accuracy-pairs.json" \
		--slurpfile start "$4" '
		.[0] as $m | .[1] as $o | .[2:] as $show |
		def pct: if . == null then "-" else . * 1000 | round / 10 end;
		$m.programs | to_entries[] as {key: $a, value: $name} |
		$m.levels | to_entries[] as {key: $i, value: $level} |
		($show | map(select(.app == $name + ".one"))[0].levels // [] |
			map(select(.name == $level))[0] // {}) as $s |
		$m.alone_sec[$a].mean as $sec |
		[$name, $level, ($m.program_beside_level[$a][$i].mean | pct),
		 ($s.slowdown | pct), ($s.low | pct), ($s.high | pct),
		 ($m.level_beside_program[$i][$a].mean | pct),
		 ($o.level_beside_program[$i][$a].mean | pct),
		 ($doc[0].program_beside_level[$a][$i].mean | pct),
		 ($m.program_beside_level[$a][$i].mean | if . == null then . else
			. * $sec / ($sec - $start[0][$name]) end | pct)] |
		@tsv' "$1" "$2" "$3" |
	awk -F'\t' '
		function abs(x) { return x < 0 ? -x : x }
		function log1p(x) { return log(1 + x / 100) }
		function holds(whole) {
			return abs(log1p(whole) - log1p($4)) <= \
				0.39 * (log1p($6) - log1p($5))
		}
		BEGIN { printf "%-10s %-5s %8s %8s %10s %8s %18s %10s %8s\n",
			"program", "level", "earlier", "runs", "less start",
			"one run", "95 %", "pressure", "one run" }
		{ printf "%-10s %-5s %8s %8s %10s %8s %18s %10s %8s\n", $1, $2, $9,
			$3, $10, $4, "[" $5 ", " $6 "]", $7, $8 }
		$3 != "-" && $4 != "-" && $9 != "-" {
			sum += abs($3 - $4); early += abs($9 - $4)
			runs += abs($9 - $3); n++
			hold += holds($3)
			less += abs($10 - $4); bias += $4 - $10; less_hold += holds($10)
		}
		$7 != "-" && $8 != "-" { press += abs($7 - $8); k++ }
		END {
			if (n) printf "curves: n %d, mean difference %.1f points, " \
				"intervals hold %.0f %%; from earlier whole runs %.1f, " \
				"these from those %.1f\n", n, sum / n,
				100 * hold / n, early / n, runs / n
			if (n) printf "less start: mean difference %.1f points " \
				"(one run says %+.1f), intervals hold %.0f %%\n",
				less / n, bias / n, 100 * less_hold / n
			if (k) printf "pressures: n %d, mean difference %.1f points\n",
				k, press / k
		}'
}

validate_onerun() {
	local a dir

	# shellcheck source=t/validate.d/accuracy.sh
	. "$ROOT/t/validate.d/accuracy.sh"
	dir=$(mktemp -d)
	cluster up --leaves 1 --nodes-per-leaf 8 --leaf-mbit "$LEAF_MBIT" \
		--own-cpus --netprof "$BUILD"
	make_inputs
	onerun_inputs
	echo "onerun: date $(date +%F), $ALONE_RUNS runs alone, $LEVEL_RUNS beside each level, one of blocks"
	for a in $PROGRAMS $ASIDE; do
		onerun_once "$a"
		measure_alone "$a"
		measure_curve "$a"
		inside -- netprof show --json "$a" >>"$dir/show"
		inside -- netprof show --json "$a.one" >>"$dir/show"
		jq -rs 'last | .app + ": " + (.blocks // {} |
			"\(.loaded) blocks, \(.sec) s, at most \(.lost_sec) s longer: \(.text)")' \
			"$dir/show"
	done
	onerun_pairs
	onerun_many "$dir/show" >"$dir/many.json"
	onerun_one "$dir/many.json" <"$dir/show" >"$dir/one.json"
	onerun_starts "$dir/many.json" >"$dir/starts.json"
	jq -r '"start and end, s: " + (to_entries |
		map("\(.key) \(.value * 10 | round / 10)") | join(", "))' \
		"$dir/starts.json"
	onerun_table "$dir/many.json" "$dir/one.json" "$dir/show" "$dir/starts.json"
	for a in many one; do
		echo "pairs, curves of $a:"
		"$BUILD/netprof" accuracy "$dir/$a.json" |
			grep -E '^(model|zero|constant|cross|mutual|ensemble) '
	done
	onerun_phases
	cp "$dir/many.json" "$dir/one.json" "$dir/starts.json" "$dir/show" "$BUILD/"
	cluster down
	rm -rf "$dir"
}
