# Does a sensitivity curve from intervals inside one run equal that of whole runs?
# Each program of accuracy.sh runs once for about two minutes with
# --netprofile-calibrate, and for eight seconds or more under each level and alone;
# the slowdowns of both are compared, also for a program with two phases. About 50
# minutes.
#
# ONERUN_PAIRS=yes: also measure the levels under each other and every program beside
# every other on the same day, for predictions from both; 35 minutes more.
# ONERUN_WITH=FILE: include the pairs of another run of that day, its many.json.
# shellcheck shell=bash

# Repeat the same work 15 times. crack and solid change as they grow and break, so
# these start again each time.
onerun_inputs() {
	# Whole runs long enough to be like a long run: the first step of
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

# melt with a larger neighbour cutoff every other time, which sends more: LOOPS of so
# many steps of each.
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

# A program with two phases, each longer than the intervals; whole runs are shorter,
# with the same proportion.
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
		"phases: " + (.[1].intervals.text // "no intervals"),
		(("c3", "c7") as $l | at($l) | "phases, \($l): whole runs " +
		 "\(.[0].slowdown | pct), one run \(.[1].slowdown | pct) " +
		 "[\(.[1].low | pct), \(.[1].high | pct)]")'
}

onerun_program() { # NAME STEPS of water
	WATER_STEPS=$2 program "$1"
}

onerun_once() { # NAME [OPTION]
	in_allocation "cd ~/$1.two && srun -Q -N4 -n4 -w '$A_NODES' --overlap \
		--mpi=pmix --netprofile=$1.one --netprofile-calibrate ${2-} \
		$(onerun_program "$1" 3000) >/dev/null 2>&1"
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

# Results of whole runs, evaluated as in accuracy.sh, with their levels' rounds; the
# levels and pairs are from doc/validation/pairs/main.json, or of this day.
onerun_many() { # SHOW
	pairs_file | jq --slurpfile doc "$ROOT/doc/validation/pairs/main.json" \
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

# The same with curves and impacts of one run each; stdin: the output of "show" for each.
onerun_one() { # MANY
	jq -s --slurpfile many "$1" '
		def stat($x; $n; $sd): if $x == null then null else
			{n: $n, mean: $x} + (if $sd then {sd: $sd} else {} end) end;
		# A 95 % interval is about five standard errors wide.
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

# Lines "program level earlier whole one low high pressure pressure-one", in
# percent: slowdowns of whole runs of another day, if the work was the same, and
# of this one, and of one run with its 95 % interval.
onerun_lines() { # MANY ONE SHOW
	jq -rs --slurpfile doc "$ROOT/doc/validation/pairs/main.json" '
		.[0] as $m | .[1] as $o | .[2:] as $show |
		def pct: if . == null then "-" else . * 1000 | round / 10 end;
		$m.programs | to_entries[] as {key: $a, value: $name} |
		$m.levels | to_entries[] as {key: $i, value: $level} |
		($show | map(select(.app == $name + ".one"))[0].levels // [] |
			map(select(.name == $level))[0] // {}) as $s |
		($doc[0].alone_sec[$a].mean / $m.alone_sec[$a].mean) as $work |
		[$name, $level, (if $work > 0.8 and $work < 1.25 then
			$doc[0].program_beside_level[$a][$i].mean
			else null end | pct),
		 ($m.program_beside_level[$a][$i].mean | pct),
		 ($s.slowdown | pct), ($s.low | pct), ($s.high | pct),
		 ($m.level_beside_program[$i][$a].mean | pct),
		 ($o.level_beside_program[$i][$a].mean | pct)] | @tsv' "$@"
}

# Means with the levels under each other and the pairs of another run of this day, for
# programs whose work was the same.
onerun_join() { # OTHER
	jq --slurpfile other "$1" '
		def mean($o): if . == null or $o == null then . else
			{n: (.n + $o.n), mean: ((.mean + $o.mean) / 2),
			 sd: ([.sd, $o.sd, (.mean - $o.mean | fabs) / (2 | sqrt)] |
				map(. // 0) | max)} end;
		def means($o): [., $o] | transpose | map(. as [$x, $y] | $x | mean($y));
		$other[0] as $o | . as $m |
		.level_beside_level = [range(.levels | length) as $i |
			.level_beside_level[$i] | means($o.level_beside_level[$i])] |
		.program_beside_program = [range(.programs | length) as $a |
			($m.alone_sec[$a].mean / $o.alone_sec[$a].mean) as $work |
			.program_beside_program[$a] |
			if $work > 0.8 and $work < 1.25 then
				means($o.program_beside_program[$a]) else . end]'
}

# Differences between both, and how often the 90 % interval of one run, about 0.78
# times that of 95 %, contains the result of whole runs; and differences between whole
# runs of two days.
onerun_table() { # of onerun_lines, on stdin
	awk -F'\t' '
		function abs(x) { return x < 0 ? -x : x }
		function log1p(x) { return log(1 + x / 100) }
		function holds(x) {
			return abs(log1p(x) - log1p($5)) <= \
				0.39 * (log1p($7) - log1p($6))
		}
		function row() {
			printf "%-10s %-5s %8s %8s %8s %18s %10s %8s\n", $1, $2,
				$3, $4, $5, $6, $8, $9
		}
		function say(k, what) {
			if (n[k])
				printf "%s: n %d, mean difference %.1f points " \
					"(one run: %+.1f), intervals hold %.0f %%\n",
					what, n[k], sum[k] / n[k], bias[k] / n[k],
					100 * hold[k] / n[k]
		}
		BEGIN {
			$0 = "program\tlevel\tearlier\truns\tone run\t95 %"
			$8 = "pressure"; $9 = "one run"
			row()
		}
		{
			low = $6
			for (k = 3; $5 != "-" && k <= 4; k++)
				if ($k != "-") {
					n[k]++
					sum[k] += abs($k - $5)
					bias[k] += $5 - $k
					hold[k] += holds($k)
				}
			if ($3 != "-" && $4 != "-") {
				days += abs($3 - $4)
				n_days++
			}
			if ($8 != "-" && $9 != "-") {
				press += abs($8 - $9)
				n_press++
			}
			$6 = "[" low ", " $7 "]"
			row()
		}
		END {
			say(4, "curves")
			say(3, "earlier whole runs")
			if (n_days)
				printf "whole runs of two days: n %d, mean " \
					"difference %.1f points\n", n_days,
					days / n_days
			if (n_press)
				printf "impacts: n %d, mean difference " \
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
		jq -rs 'last | .app + ": " + (.intervals // {} |
			"\(.loaded) intervals, \(.sec) s, at most \(.lost_sec) s longer: \(.text)")' \
			"$dir/show"
	done
	onerun_pairs
	onerun_many "$dir/show" >"$dir/many.json"
	onerun_one "$dir/many.json" <"$dir/show" >"$dir/one.json"
	onerun_lines "$dir/many.json" "$dir/one.json" "$dir/show" \
		>"$dir/onerun.tsv"
	onerun_table <"$dir/onerun.tsv"
	for a in many one; do
		if [ -n "${ONERUN_WITH-}" ]; then
			onerun_join "$ONERUN_WITH"
		else
			cat
		fi <"$dir/$a.json" | pairs_text \
			>"$BUILD/accuracy-pairs-onerun-$a.json"
		"$BUILD/netprof" accuracy --model=cross,victim,mutual,ensemble \
			"$BUILD/accuracy-pairs-onerun-$a.json"
	done
	onerun_phases
	cp "$dir/many.json" "$dir/show" "$dir/onerun.tsv" "$BUILD/"
	cluster down
	rm -rf "$dir"
}
