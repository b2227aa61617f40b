# The output of --json of every command matches doc/json-schema/.  Needs no
# cluster; also runs alone:
#
#	[BUILD=build] bash t/integration/cli_json.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/cli.lib"
BESIDE=60
LIMIT_SEC=120

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
# other keyword.  Prints each violation on one line.
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
	local data=$ROOT/t/data app
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
	run netprof list --sort=Ownr
	equal "exit status of no such field" "$RC" 2
	contains "a field that does not exist" "$ERR" 'did you mean Owner'
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
	equal "show --json" "$(netprof show --json halo | jq -r '.hurts[]? |
		select(.app == "fft") | "\(.slowdown) \(.low) \(.high)"')" \
		"$point $low $high"
	text=$(awk -v p="$point" -v l="$low" -v h="$high" 'BEGIN {
		printf "fft .* with halo: %+.0f %% \\(90 %% interval %+.0f %% to %+.0f %%",
			100 * p, 100 * l, 100 * h }')
	contains "predict" "$(netprof predict fft halo)" "${text//+/\\+}"
}

test_output_of_every_command_matches_its_schema() {
	local words n=0 bad
	setup_measured
	make_blocks stencil
	a_trace "$S/store/users/$MY_UID/halo/9.0.trace"
	a_network
	make_validation "$S/list"
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

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0" "$LIMIT_SEC"
