# The output of --json of every command matches doc/json-schema/.  Needs no
# cluster; also runs alone:
#
#	[BUILD=build] bash t/integration/cli_json.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/cli.lib"
PARALLEL=80
LIMIT_SEC=600 # some tests run many commands, or a browser

# A schema with its references replaced by their targets.
# shellcheck disable=SC2016
WHOLE='
def whole:
	if type == "object" and has("$ref") then
		(.["$ref"] / "#/$defs/") as [$file, $name] |
		((if $file == "" then $schema else $common end)[0]["$defs"][$name] //
			error("\($file) does not define \($name)")) + del(.["$ref"]) | whole
	elif type == "object" then map_values(whole)
	elif type == "array" then map(whole)
	else . end;
'

# Validates with the keywords of JSON Schema that these schemas use, and reports any
# other keyword. Prints each violation on one line.
# shellcheck disable=SC2016
FITS=$WHOLE'
def kind: if type == "number" and . == floor then "integer" else type end;
def is($t): kind as $k | $k == $t or ($t == "number" and $k == "integer");
def fits($s; $at): . as $v |
	(($s | keys_unsorted) - ["$schema", "$id", "title", "description", "type",
		"const", "enum", "properties", "required", "items",
		"additionalProperties", "$defs"] | .[] | "\($at): schema has \(.)"),
	(if $s.type and ([$s.type] | flatten | any(. as $t | $v | is($t)) | not)
	 then "\($at): \($v | kind), expected \($s.type)" else empty end),
	(if ($s | has("const")) and $s.const != $v
	 then "\($at): \($v), expected \($s.const)" else empty end),
	(if $s.enum and ($s.enum | index([$v]) | not)
	 then "\($at): \($v), expected one of \($s.enum)" else empty end),
	(if type == "object" then
		($s.required // [] | .[] | select(. as $k | $v | has($k) | not) |
			"\($at): \(.) is missing"),
		(to_entries[] | . as $e |
			if $s.properties | has($e.key)? // false
			then $e.value | fits($s.properties[$e.key]; "\($at).\($e.key)")
			elif ($s.additionalProperties | type) == "object"
			then $e.value | fits($s.additionalProperties; "\($at).\($e.key)")
			else "\($at).\($e.key) is not in the schema" end)
	 elif type == "array" and ($s | has("items")) then
		.[] | fits($s.items; "\($at)[]")
	 else empty end);
fits($schema[0] | whole; $schema[0].title)'

# Prints the members that a schema does not describe.
# shellcheck disable=SC2016
SILENT=$WHOLE'
def silent($at):
	(.properties // {} | to_entries[] | "\($at).\(.key)" as $member | .value |
		if (.description // "") == "" then $member else empty end,
		silent($member)),
	(.items, .additionalProperties | objects | silent("\($at)[]"));
$schema[0] | whole | silent("")'

with_schema() { # SCHEMA FILTER [FILE]
	jq -r --slurpfile schema "$1" \
		--slurpfile common "$ROOT/doc/json-schema/common.json" "$2" "${@:3}"
}

fits() { # COMMAND <JSON
	with_schema "$ROOT/doc/json-schema/$1.json" "$FITS" | sort -u
}

# Output of all commands that tests can run without a cluster.
pages() {
	local data=$S/data app
	for app in $(netprof list -P | tail -n +2 | cut -d'|' -f1 | sort -u); do
		echo "show $app"
		echo "runs $app"
		echo "compare $app"
	done
	cat <<-END
		list
		list --all
		list --published
		show --published cp2k
		predict fft halo
		predict fft cp2k lammps
		predict spmv qmc
		predict --scope=uplink fft NPmpi
		matrix
		matrix fft halo cp2k
		plot fft
		plot --only=latency lammps
		compare fft:4000 fft:3001 halo
		accuracy $data/pairs.json
		accuracy --cases --model=cross $data/pairs.json
		accuracy $data/simulated-switch.json
		status
		status --all
		explain 4000
		explain 4001
		explain 4002
		explain 4010
		explain 4011_3
		explain 4013
		explain 3989_2
		explain 3001
		explain --accounting=$data/history/accounting.txt --topology=$data/history/topology.txt --metrics-url=none 125
		explain --accounting=$data/history/accounting.txt 139
		blame --accounting=$data/history/accounting.txt --topology=$data/history/topology.txt
		blame --accounting=$S/accounting --topology=$S/topology
		check
		qn $data/web.json
		qn --customers=0-1 $data/web.json
		qn $data/two-classes.json
		qn --method=linearizer $data/web.json
		scale --at=64 $data/mpip/solver.2.mpiP $data/mpip/solver.4.mpiP $data/mpip/solver.8.mpiP
		scale $data/mpip/melt.mpiP
		tolerance --critical $data/loggps/nonblocking.goal
		tolerance --topology=dragonfly:3x3x2 --place=20 $data/loggps/recdoub16.goal
		tolerance --rendezvous=4K $data/loggps/rendezvous.goal
		sharing $data/sharing/vienne.scheme
		sharing --static $data/sharing/vienne.scheme
		sharing --fit=$data/sharing/measured-ports.scheme $data/sharing/ports.scheme
		replay $data/sharing/ring.workload $data/sharing/fan.workload
		replay --model=none,maxmin $data/sharing/ring.workload
		trace $S/store/users/$MY_UID/halo/9.0.trace
		predict --model=tolerance halo fft
		tolerance $S/store/users/$MY_UID/halo/9.0.trace
		loggps --show --cluster=hpc
		loggps --show --cluster=flat
		validate $S/list
		simulate --swf=$data/queue/small.swf --leaves=4x4 --pairs=$data/queue/pairs --mix=fft:30,halo:40,unknown:30 --seeds=2
	END
}

test_rows_are_selected_and_sorted_as_in_sacct() {
	setup
	equal "fields" "$(netprof list --format=app,Owner --noheader \
		--published | normalise | xargs)" "cp2k|published idle|published"
	equal "their order" "$(netprof list --format=Owner,App --published |
		head -n 1)" "Owner|App"
	equal "the worst pair first" "$(netprof matrix --csv --sort=-Slowdown \
		--format=Victim,CoRunner,Slowdown -n fft halo lammps | head -n 1)" \
		"$(netprof matrix --csv fft halo lammps | tail -n +2 |
			sort -t, -k4gr | head -n 1 | cut -d, -f1,2,4)"
	refused 2 'did you mean Owner' netprof list --sort=Ownr
	refused 2 'no field "nosuch"' netprof check --format=nosuch
}

# Text, JSON and --parsable agree about the same pair, and so do all
# commands that show it.
test_a_pair_has_the_same_prediction_everywhere() {
	local predict point low high text
	setup
	predict=$(netprof predict --json fft halo)
	read -r point low high < <(jq -r '.predictions[0] |
		"\(.slowdown) \(.low) \(.high)"' <<<"$predict")
	equal "predict --parsable" "$(netprof predict --noheader \
		--format=Slowdown,Low,High fft halo | head -n 1)" "$point|$low|$high"
	equal "matrix --csv" "$(netprof matrix --noheader \
		--format=Slowdown,Low,High,CoRunner fft halo | grep ,halo |
		head -n 1)" "$point,$low,$high,halo"
	equal "show --json" "$(netprof show --json halo | jq -r '.slows[]? |
		select(.app == "fft") | "\(.slowdown) \(.low) \(.high)"')" \
		"$point $low $high"
	text=$(awk -v p="$point" -v l="$low" -v h="$high" 'BEGIN {
		printf "fft .* by halo: %+.0f %% \\(90 %% interval %+.0f %% to %+.0f %%",
			100 * p, 100 * l, 100 * h }')
	contains "predict" "$(netprof predict fft halo)" "${text//+/\\+}"
}

# field COMMAND... NAME: a field of --parsable, one row a line.
field() {
	netprof "${@:1:$#-1}" -P | awk -F'|' -v name="${*: -1}" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ print at ? $at : "no field " name }'
}

# near TEXT SECONDS: is a time in text, such as "94.4 µs", that number?
near() {
	awk -v text="$1" -v sec="$2" 'BEGIN {
		split(text, t, " ")
		unit["ns"] = 1e-9; unit["µs"] = unit["us"] = 1e-6; unit["ms"] = 1e-3; unit["s"] = 1
		v = t[1] * unit[t[2]]
		exit !(v > 0.994 * sec && v < 1.006 * sec) }' || fail "text has $1, JSON $2"
}

test_a_run_has_the_same_figures_in_every_output() {
	local n=0 run json p50 p99 probes use row
	setup
	equal "the use of each profile, list and show" "$(netprof list --json |
		jq -r '.profiles[] | select(.published | not) | "\(.app) \(.use)"')" \
		"$(for app in $(field list App | head -n 12); do
			netprof show --json "$app" | jq -r '"\(.app) \(.verdict.use)"'
		done)"
	for app in fft lammps halo; do
		json=$(netprof runs --json "$app")
		equal "runs of $app, list" "$(netprof list --json | jq --arg app "$app" \
			'.profiles[] | select(.app == $app) | .runs')" "$(jq '.runs | length' <<<"$json")"
		equal "runs of $app, --parsable" "$(field runs "$app" RunSec | xargs)" \
			"$(jq -r '[.runs[].run_sec | tostring] | join(" ")' <<<"$json")"
		netprof runs "$app" | tail -n +2 >"$S/text"
		while IFS='|' read -r run probes p50 p99 use; do
			row=$(grep "^$run " "$S/text")
			contains "probes of run $run" "$row" " $probes "
			contains "use of run $run" "$row" " $use\$"
			[ "$probes" = 0 ] && continue
			near "$(awk '{ print $7, $8 }' <<<"$row")" "$p50"
			near "$(awk '{ print $9, $10 }' <<<"$row")" "$p99"
			n=$((n + 1))
		done < <(jq -r '.runs[] | "\(.run)|\(.latency.n)|\(.latency.p50_sec)|\(.latency.p99_sec)|\(.use)"' <<<"$json")
	done
	[ "$n" -ge 20 ] || fail "only $n runs with probes"
	json=$(netprof compare --json fft halo | jq '.compared[0]')
	equal "compare and show" "$(jq -r '"\(.use) \(.delayed_share) \(.estimated_utilisation)"' <<<"$json")" \
		"$(netprof show --json fft | jq -r '.verdict |
			"\(.use) \(.delayed_share) \(.estimated_utilisation)"')"
	equal "compare, --parsable" "$(field compare fft halo DelayedShare | head -n 1) $(field compare fft halo \
		EstimatedUtilisation | head -n 1)" "$(jq -r '"\(.delayed_share) \(.estimated_utilisation)"' <<<"$json")"
	equal "compare, text" "$(netprof compare fft halo | awk '
		/^Delayed probes/ { share = $3 } /^Est. utilisation/ { print share, $3 }')" \
		"$(jq -r '"\(100 * .delayed_share | round) \(100 * .estimated_utilisation | round / 100)"' <<<"$json")"
}

test_a_leaf_switch_has_the_same_figures_in_every_output() {
	local json
	setup
	json=$(netprof status --json --all)
	equal "the stored state" "$(jq -c '[.leaves[] | [.name, .unavailable, .worst_slowdown]] | sort' <<<"$json")" \
		"$(jq -c '[.leaves[] | [.name, .n_away, .strain]] | sort' "$ROOT/t/data/placement/state.json")"
	equal "--parsable" "$(paste -d' ' <(field status --all Name) <(field status --all Unavailable) \
		<(field status --all WorstSlowdown) | grep '^leaf' | sort)" \
		"$(jq -r '.leaves[] | "\(.name) \(.unavailable) \(.worst_slowdown)"' <<<"$json" | sort)"
	equal "metrics" "$(netprof metrics | sed -n 's/^netprof_leaf_worst_slowdown_ratio{leaf="\(.*\)"} /\1 /p' | sort)" \
		"$(jq -r '.leaves[] | "\(.name) \(.worst_slowdown)"' <<<"$json" | sort)"
	equal "text" "$(netprof status --all | awk '/^leaf/ && $NF == "%" { print $1, $(NF - 1) + 0 }' | sort)" \
		"$(jq -r '.leaves[] | select(.known > 0) | "\(.name) \(100 * .worst_slowdown | round)"' <<<"$json" | sort)"
	equal "a job of explain and of status" "$(netprof explain --json 4010 |
		jq -c '[.action, .applied, .held_sec, .causes]')" \
		"$(jq -c '.apart[] | select(.job == "4010") | [.action, .applied, .held_sec, .causes]' <<<"$json")"
	equal "explain, --parsable" "$(field explain 4010 Slowdown | xargs)" \
		"$(netprof explain --json 4010 | jq -r '[.causes[].slowdown | tostring] | join(" ")')"
	equal "explain, text" "$(netprof explain 4010 | awk '/^leaf/ { print $1, $(NF - 1) + 0 }' | sort)" \
		"$(netprof explain --json 4010 | jq -r '.causes[] | "\(.leaf) \(100 * .slowdown | round)"' | sort)"
}

blame_costs() {
	netprof blame --accounting="$S/accounting" --topology="$S/topology" "$@"
}

simulate_queue() {
	netprof simulate --swf="$ROOT/t/data/queue/small.swf" --leaves=4x4 \
		--pairs="$ROOT/t/data/queue/pairs" --mix=fft:30,halo:40,unknown:30 --seeds=1 "$@"
}

score_model() {
	netprof accuracy --model=mutual "$@" "$ROOT/t/data/pairs.json"
}

# rounded FORMAT: the numbers on standard input, one a line, printed by FORMAT.
rounded() {
	xargs printf "$1\n" | xargs
}

test_lost_node_hours_are_the_same_in_every_output() {
	local json text
	setup
	costly
	json=$(blame_costs --json)
	text=$(blame_costs)
	equal "text, a pair" "$(awk '/^alice/ { print $4, $5, $7 }' <<<"$text")" \
		"$(jq '.pairs[0].node_hours | .mean, .low, .high' <<<"$json" | rounded %.1f)"
	equal "text, a leaf switch" "$(awk '/^leaf0/ { print $2, $3, $5 }' <<<"$text")" \
		"$(jq '.leaves[0].node_hours | .mean, .low, .high' <<<"$json" | rounded %.1f)"
	equal "text, a node" "$(awk '/^n6/ { print $3, $7, $9, $11 }' <<<"$text")" \
		"$(jq '.nodes[0] | .node_hours.mean, (.slower | .mean, .low, .high | 100 * .)' <<<"$json" |
			rounded %.1f)"
	equal "--parsable" "$(blame_costs -P --noheader --format=NodeHours,Low,High | tr '|' ' ')" \
		"$(jq -r '.pairs[0].node_hours | "\(.mean) \(.low) \(.high)"' <<<"$json")"
	equal "metrics" "$(blame_costs --metrics |
		sed -n 's/^netprof_blame_\(leaf_node_hours\|node_node_hours\|node_slower_ratio\){.*} //p' |
		rounded %.6g)" "$(jq '.leaves[0].node_hours.mean, (.nodes[0] | .node_hours.mean, .slower.mean)' \
			<<<"$json" | rounded %.6g)"
}

test_a_simulation_has_the_same_figures_in_every_output() {
	local json
	setup
	json=$(simulate_queue --json | jq '.policies[0]')
	equal "text" "$(simulate_queue | awk '/^Bounded slowdown/ { print $4 }
		/^(Node-hours (used|lost)|Jobs slowed)/ { print $3 }' | xargs)" \
		"$(jq '.bounded_slowdown' <<<"$json" | rounded %.2f) $(jq \
			'.used_node_sec / 3600, .lost_node_sec / 3600, .jobs_slowed' <<<"$json" | rounded %.0f)"
	equal "--parsable" "$(simulate_queue -P --noheader \
		--format=BoundedSlowdown,UsedNodeSec,LostNodeSec,JobsSlowed | head -n 1 | tr '|' ' ')" \
		"$(jq -r '"\(.bounded_slowdown) \(.used_node_sec) \(.lost_node_sec) \(.jobs_slowed)"' <<<"$json")"
}

test_errors_of_a_model_are_the_same_in_every_output() {
	local json
	setup
	json=$(score_model --json | jq '.files[0].pairs.models[] | select(.model == "mutual")')
	equal "text" "$(score_model | awk '$1 == "mutual" { print $2, $3, $4, $5 + 0; exit }')" \
		"$(jq '.mean_error_points, .median_error_points, .max_error_points, .bias_points' <<<"$json" |
			rounded %.1f)"
	equal "--parsable" "$(score_model -P --noheader --format=Model,Mean,Median,Max,Bias |
		grep -m1 '^mutual' | tr '|' ' ')" "$(jq -r '"mutual \(.mean_error_points) \(
			.median_error_points) \(.max_error_points) \(.bias_points)"' <<<"$json")"
}

test_a_report_has_the_figures_of_list_show_and_matrix() {
	setup
	netprof report -o "$S/page.html"
	equal "slowdowns" "$(sed -n '/id="matrix"/,/<\/table>/p' "$S/page.html" |
		grep -o 'data-v="[^"]*"' | cut -d'"' -f2 | grep . | sort)" \
		"$(netprof matrix --json | jq -r '.pairs[].slowdown | select(. != null)' | sort)"
	equal "delayed probes" "$(sed -n 's/.*href="#a[0-9]*">\(fft\|halo\|lammps\)<.*data-v="[0-9]*">[0-9]*<.td><td data-v="\([^"]*\)".*/\1 \2/p' "$S/page.html")" \
		"$(for app in fft halo lammps; do
			netprof show --json "$app" | jq -r '"\(.app) \(.verdict.delayed_share)"'
		done)"
}

# The names within backquotes, one a line.
quoted() {
	sed 's/^[^`]*//; s/`\([^`]*\)`[^`]*/\1\n/g' <<<"$1" | sed '/^$/d'
}

# Each name in the table of quantities is printed by some command.
test_every_name_in_the_table_of_quantities_is_used() {
	local text json fields metric name n=0
	setup
	jq -r '.. | objects | .properties? // empty | keys[]' "$ROOT"/doc/json-schema/*.json >"$S/members"
	costly
	{
		for name in "list" "show fft" "runs fft" "predict fft halo" "compare fft" "status" \
			"explain 4010" "qn $S/data/web.json" \
			"sharing $S/data/sharing/vienne.scheme"; do
			# shellcheck disable=SC2086
			netprof $name -P | sed -n 1p # not head: SIGPIPE
		done
		blame_costs -P | sed -n 1p
		simulate_queue -P | sed -n 1p
		score_model -P | sed -n 1p
	} | tr '|' '\n' >"$S/fields"
	{ netprof metrics; blame_costs --metrics; } >"$S/metrics"
	cat "$ROOT"/t/data/golden/*.txt >"$S/texts"
	while IFS='|' read -r _ _ text json fields metric _; do
		for name in $(quoted "$json"); do
			grep -qx "$name" "$S/members" || fail "no JSON has $name"
			n=$((n + 1))
		done
		for name in $(quoted "$fields"); do
			grep -qx "$name" "$S/fields" || fail "no --parsable has $name"
		done
		for name in $(quoted "$metric"); do
			grep -q "^# TYPE $name " "$S/metrics" || fail "there is no metric $name"
		done
		while read -r name; do
			grep -qF "$name" "$S/texts" || fail "no text has $name"
		done < <(quoted "$text")
	done < <(sed -n '/^| quantity/,/^$/p' "$ROOT/doc/quantities.md" | tail -n +3)
	[ "$n" -ge 20 ] || fail "only $n members"
}

test_output_of_every_command_matches_its_schema() {
	local words n=0 bad
	setup_measured
	make_blocks stencil
	a_trace "$S/store/users/$MY_UID/halo/9.0.trace"
	a_network
	make_validation "$S/list"
	costly
	jq '.cluster = "flat" | .fit.S = 4096 | .fit.S_above = 8192 |
		.fit.step = .fit.L' "$S"/store/fabric/hpc/*.loggps \
		>"$S/store/fabric/flat/20240524T100000Z.loggps"
	pages >"$S/pages"
	while read -ra words; do
		# check fails if the machine has a problem
		netprof "${words[0]}" --json "${words[@]:1}" >"$S/json" 2>"$S/err" ||
			[ "${words[0]}" = check ] || fail "${words[*]}: $(cat "$S/err")"
		bad=$(fits "${words[0]}" <"$S/json")
		equal "what does not fit of ${words[*]}" "$bad" ""
		n=$((n + 1))
	done <"$S/pages"
	[ "$n" -ge 75 ] || fail "only $n pages"
}

# The fields of each row, and whose records they come from, are in one table of
# the command.
test_rows_have_all_fields_of_their_header() {
	local words n=0
	setup_measured
	a_trace "$S/store/users/$MY_UID/halo/9.0.trace"
	a_network
	pages | grep -vE '^(matrix|plot|loggps|check|validate|blame)' >"$S/pages"
	while read -ra words; do
		netprof "${words[0]}" -P "${words[@]:1}" >"$S/rows" 2>"$S/err" ||
			fail "${words[*]}: $(cat "$S/err")"
		awk -F'|' 'NR == 1 { n = NF } NF != n || n < 4 {
			print "why: " NF " fields, not " n ": " $0; bad = 1
		} END { exit bad || NR < 2 }' "$S/rows" || fail "${words[*]}"
		n=$((n + 1))
	done <"$S/pages"
	[ "$n" -ge 60 ] || fail "only $n pages"
}

test_violations_of_a_schema_are_reported() {
	local filter wanted
	setup
	netprof list --json >"$S/list"
	while IFS=';' read -r filter wanted; do
		equal "$filter" "$(jq "$filter" "$S/list" | fits list |
			sed 's/^[^.:]*: the profiles there are//')" "$wanted"
	done <<-'END'
		.;
		.schema = 1;.schema: 1, expected 2
		.more = 1;.more is not in the schema
		del(.profiles[0].uid);.profiles[]: uid is missing
		.profiles[2].app = 7;.profiles[].app: integer, expected string
		.profiles = {};.profiles: object, expected array
	END
}

test_every_member_is_described() {
	local schema=$ROOT/doc/json-schema/list.json file name
	for file in "$ROOT"/doc/json-schema/*.json; do
		name=$(basename "$file" .json)
		equal "$name" "$(with_schema "$file" "$SILENT" -n)" ""
	done
	equal "two that are not" "$(with_schema <(jq '
		del(.properties.profiles.items.properties.uid.description) |
		.properties.profiles.description = ""' "$schema") "$SILENT" -n)" \
		".profiles
.profiles[].uid"
}

# Each command with --json has one schema, and names it in its output.
test_every_command_with_json_has_a_schema() {
	local cmd text
	setup
	for cmd in $(netprof help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		text=$(netprof help "$cmd")
		[[ $text != *--json* ]] || echo "$cmd"
	done | sort >"$S/commands"
	equal "schemas" "$(cd "$ROOT/doc/json-schema" && ls | sed 's/.json$//' |
		grep -v '^common$' | sort | xargs)" "$(xargs <"$S/commands")"
	while read -r cmd; do
		equal "$cmd" "$(with_schema "$ROOT/doc/json-schema/$cmd.json" "$WHOLE
			\$schema[0] | whole.properties | [.schema.const, .command.const] |
			tojson" -n)" "[2,\"$cmd\"]"
	done <"$S/commands"
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
