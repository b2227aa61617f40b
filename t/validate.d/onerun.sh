# Is a curve from blocks inside one run that of whole runs?  Each program of
# accuracy.sh runs once for about two minutes with --netprofile-calibrate, and
# for eight seconds or more beside each level and alone; the slowdowns of both,
# beside each other; and so of a program with two phases.  Some 50 minutes.
#
# ONERUN_PAIRS=yes: the levels beside each other and every program beside every
# other on the same day, too, for predictions from both; 35 minutes more.
# shellcheck shell=bash

# The same work again and again: 15 times as long.  The crack grows and the solid
# breaks, and then they are others: these begin anew.
onerun_inputs() {
	# Whole runs that are mostly what a long run is: the first step of
	# silicon takes as long as five others, water a second to start.
	silicon silicon 16
	lammps_input melt.two melt/in.melt 2100
	lammps_input couette.two flow/in.flow.couette 87000
	lammps_again crack.two crack/in.crack 1300 15
	lammps_again solid.two peri/in.peri.pmb 100 15
	silicon silicon.two 75
	waveguide waveguide.two 2400
	water water.two
	cavity cavity.two 1800
}

lammps_again() { # NAME INPUT STEPS TIMES
	lammps_input "$1" "$2" "$3"
	inside -- bash -c "cd ~/$1 && mv in once && { echo variable again loop $4
		echo label again; cat once; echo clear; echo next again
		echo jump SELF again; } >in"
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
	silicon silicon.half 8
	waveguide waveguide.half 80
	water water.half
	cavity cavity.half 60
}

onerun_program() { # NAME STEPS of water
	WATER_STEPS=$2 program "$1"
}

onerun_once() { # NAME [OPTION]
	in_allocation "cd ~/$1.two && srun -Q -N4 -n4 -w '$A_NODES' --overlap \
		--mpi=pmix --netprofile=$1.one --netprofile-calibrate ${2-} \
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
				$(onerun_program "$a" $((WATER_STEPS / 2))) >/dev/null 2>&1"
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
	measure_levels
	for a in $PROGRAMS $ASIDE; do
		for b in $PROGRAMS $ASIDE; do
			measure_pair "$a" "$b"
		done
	done
	sleep 3
}

# What whole runs said, as accuracy.sh counts it, and their levels' rounds; and
# the levels and the pairs of doc/accuracy-pairs.json, or of this day.
onerun_many() { # SHOW
	pairs_file | jq --slurpfile doc "$ROOT/doc/accuracy-pairs.json" \
		--slurpfile show "$1" '
		def slowed($app; $level): $show | map(select(.app == $app))[0].levels
			// [] | map(select(.name == $level))[0].level_slowdown;
		. as $new | $doc[0] | .programs as $p |
		.name = "onerun-many-" + ($new.name | .[-10:]) | del(.probes) |
		.alone_sec = $new.alone_sec |
		if $new.program_beside_program | flatten | any then
			.program_beside_program = $new.program_beside_program |
			.level_beside_level = $new.level_beside_level
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
		. as $show | $many[0] | .name |= sub("many"; "one") |
		.programs as $p | .levels as $l |
		.program_beside_level = ($p | map(. as $a | $l | map(. as $i |
			$show | at($a; $i) | stat(.slowdown; .compared;
				((.high // 0) - (.low // 0)) / 4.9 *
				(.compared // 0 | sqrt))))) |
		.level_beside_program = ($l | map(. as $i | $p | map(. as $a |
			$show | at($a; $i) | stat(.level_slowdown; 1; null))))'
}

# Lines "program level earlier whole less-start one low high pressure pressure-one",
# in percent: slowdowns of whole runs of another day and of this one, of the
# latter less their start and end, and of one run with its 95 % interval.  What
# starts for a fifth of its time is doing something else there.
onerun_lines() { # MANY ONE SHOW STARTS
	jq -rs --slurpfile doc "$ROOT/doc/accuracy-pairs.json" \
		--slurpfile start "$4" '
		.[0] as $m | .[1] as $o | .[2:] as $show |
		def pct: if . == null then "-" else . * 1000 | round / 10 end;
		$m.programs | to_entries[] as {key: $a, value: $name} |
		$m.levels | to_entries[] as {key: $i, value: $level} |
		($show | map(select(.app == $name + ".one"))[0].levels // [] |
			map(select(.name == $level))[0] // {}) as $s |
		$m.program_beside_level[$a][$i].mean as $whole |
		(1 - $start[0][$name] / $m.alone_sec[$a].mean) as $rest |
		[$name, $level, ($doc[0].program_beside_level[$a][$i].mean | pct),
		 ($whole | pct),
		 (if $whole == null or $rest < 0.8 then null else
			$whole / $rest end | pct),
		 ($s.slowdown | pct), ($s.low | pct), ($s.high | pct),
		 ($m.level_beside_program[$i][$a].mean | pct),
		 ($o.level_beside_program[$i][$a].mean | pct)] | @tsv' "${@:1:3}"
}

# Pairs, and of whole runs curves, less what of the victim's runs is start and
# end, where that is less than a fifth.
onerun_less() { # STARTS true|false: has curves of whole runs
	jq --slurpfile start "$1" --argjson whole "$2" '
		. as $m | .name += "-less-start" |
		reduce range(.programs | length) as $a (.;
			(1 - $start[0][$m.programs[$a]] / $m.alone_sec[$a].mean |
			 if . < 0.8 then 1 else . end) as $rest |
			def less: map(if . == null then . else .mean /= $rest |
				if .sd then .sd /= $rest else . end end);
			.program_beside_program[$a] |= less |
			if $whole then .program_beside_level[$a] |= less
			else . end)'
}

# How both differ, and how often the 90 % interval of one run, some 0.78 of that
# of 95 %, holds what whole runs said; and how whole runs of two days differ.
onerun_table() { # of onerun_lines, on stdin
	awk -F'\t' '
		function abs(x) { return x < 0 ? -x : x }
		function log1p(x) { return log(1 + x / 100) }
		function holds(x) {
			return abs(log1p(x) - log1p($6)) <= \
				0.39 * (log1p($8) - log1p($7))
		}
		function row() {
			printf "%-10s %-5s %8s %8s %10s %8s %18s %10s %8s\n", $1, $2,
				$3, $4, $5, $6, $7, $9, $10
		}
		function tell(k, what) {
			if (n[k])
				printf "%s: n %d, mean difference %.1f points " \
					"(one run: %+.1f), intervals hold %.0f %%\n",
					what, n[k], sum[k] / n[k], bias[k] / n[k],
					100 * hold[k] / n[k]
		}
		BEGIN {
			$0 = "program\tlevel\tearlier\truns\tless start\tone run\t95 %"
			$9 = "pressure"; $10 = "one run"
			row()
		}
		{
			low = $7
			for (k = 3; $6 != "-" && k <= 5; k++)
				if ($k != "-") {
					n[k]++
					sum[k] += abs($k - $6)
					bias[k] += $6 - $k
					hold[k] += holds($k)
				}
			if ($3 != "-" && $4 != "-") {
				days += abs($3 - $4)
				n_days++
			}
			if ($9 != "-" && $10 != "-") {
				press += abs($9 - $10)
				n_press++
			}
			$7 = "[" low ", " $8 "]"
			row()
		}
		END {
			tell(4, "curves")
			tell(5, "less start")
			tell(3, "earlier whole runs")
			if (n_days)
				printf "whole runs of two days: n %d, mean " \
					"difference %.1f points\n", n_days,
					days / n_days
			if (n_press)
				printf "pressures: n %d, mean difference " \
					"%.1f points\n", n_press, press / n_press
		}'
}

validate_onerun() {
	local a dir WATER_STEPS=400

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
	onerun_lines "$dir/many.json" "$dir/one.json" "$dir/show" \
		"$dir/starts.json" >"$dir/onerun.tsv"
	onerun_table <"$dir/onerun.tsv"
	onerun_less "$dir/starts.json" true <"$dir/many.json" >"$dir/many-less.json"
	onerun_less "$dir/starts.json" false <"$dir/one.json" >"$dir/one-less.json"
	for a in many one many-less one-less; do
		pairs_text <"$dir/$a.json" >"$BUILD/accuracy-pairs-onerun-$a.json"
		"$BUILD/netprof" accuracy --model=cross,victim,mutual,ensemble \
			"$BUILD/accuracy-pairs-onerun-$a.json"
	done
	onerun_phases
	cp "$dir/starts.json" "$dir/show" "$dir/onerun.tsv" "$BUILD/"
	cluster down
	rm -rf "$dir"
}
