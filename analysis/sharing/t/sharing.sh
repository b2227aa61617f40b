# netprof sharing: transfers under models of a network.
# Needs no cluster; also runs alone: [BUILD=build] bash analysis/sharing/t/sharing.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/../../../t/integration/cli.lib"
PARALLEL=15
VIENNE=$ROOT/t/data/sharing/vienne.scheme

scheme() { # LINE...
	printf '%s\n' "$@" >"$S/a.scheme"
}

test_the_page_is_as_agreed() {
	setup
	scheme 'reference 20M took 171ms' 'latency 1ms' 'size 4M' \
		'a: n0 -> n1' 'b: n0 -> n2 at 10ms took 90ms' 'c: n3 -> n2 0' \
		'a_long_name_of_a_transfer: a_rather_long_name -> n2 64K'
	golden sharing.txt netprof sharing "$S/a.scheme"
	golden sharing-ascii.txt env LC_ALL=C netprof sharing --static \
		--model=maxmin,none "$S/a.scheme"
	scheme 'reference 20M' 'a: 0 -> 1 1'
	contains "a small time is not 0" "$(netprof sharing --model=none "$S/a.scheme")" \
		'^a +0 -> 1 +- +4.77e-08$'
}

test_lines_fit_a_terminal() {
	local models
	setup
	for models in gige gige,myrinet,infiniband,maxmin,conflicts,none; do
		netprof sharing --fit="$VIENNE" --model=$models >"$S/page"
		between "columns of $models" "$(wc -L <"$S/page")" 40 80
		! grep ' $' "$S/page" || fail "blanks at the end"
	done
}

test_json_and_parsable_say_the_same() {
	setup
	equal penalties "$(netprof sharing --json "$VIENNE" | jq -r '.schemes[] |
		.transfers[] | .models[].penalty * 1e4 | round')" \
		"$(netprof sharing -P "$VIENNE" | awk -F'|' 'NR > 1 {
			printf "%.0f\n", $10 * 1e4 }')"
	netprof sharing -P "$VIENNE" | awk -F'|' 'NF != 13 { exit 1 }'
}

test_times_follow_from_the_published_penalties() {
	setup
	equal "MK2, myrinet, ms" "$(netprof sharing --json --model=myrinet \
		"$VIENNE" | jq -c '[.schemes[1].transfers[] |
		.models.myrinet.time * 1000 | floor]')" \
		'[177,177,177,177,53,85,85,101,101,73]'
	equal "static penalties" "$(netprof sharing --json --static \
		--model=myrinet "$VIENNE" | jq -c '[.schemes[1].transfers[] |
		.models.myrinet.penalty]')" '[6,6,6,6,1.5,2.4,2.4,3,3,2]'
}

test_parameters_are_fitted_and_set() {
	setup
	scheme 'reference 1M took 1s' 'size 1M' 'scheme two' \
		'a: 0 -> 1 took 1.6s' 'b: 0 -> 2 took 1.6s' 'scheme in' \
		'a: 1 -> 0' 'b: 2 -> 0'
	run netprof sharing --json --model=gige --fit="$S/a.scheme"
	equal "beta" "$(jq -r '.fit[0].parameters.beta.value' <<<"$OUT")" 0.8
	equal "gamma_o" "$(jq -r '.fit[0].parameters.gamma_o.fitted' <<<"$OUT")" \
		false
	equal "used" "$(jq -c '[.schemes[1].transfers[].models.gige.time]' \
		<<<"$OUT")" '[1.6,1.6]'
	run netprof sharing --json --model=gige --set=beta=0.9 "$S/a.scheme"
	equal "set" "$(jq '.schemes[0].transfers[0].models.gige.time' \
		<<<"$OUT")" 1.8
	run netprof sharing --json --model=none --set=fabric=0.5 "$S/a.scheme"
	equal "a narrow switch" "$(jq '.schemes[0].transfers[0].models.none.time' \
		<<<"$OUT")" 4
	# Times of the model itself, of two senders and of three.
	scheme 'reference 20M took 1s' 'scheme two' 'a: 1 -> 2 took 1.775432182s' \
		'b: 1 -> 3 took 1.775432182s' 'scheme into' \
		'a: 1 -> 3 took 1.762352023s' 'b: 2 -> 3 took 1.762352023s'
	equal "bs, be, error" "$(netprof sharing --model=infiniband \
		--fit="$S/a.scheme" | awk '/^infiniband .*=/ { print $6, $7, $4 }')" \
		"be=0.8812 bs=0.8877 0.0"
	# What the manual says of the published times.
	equal "errors" "$(netprof sharing --model=gige,infiniband \
		--fit="$VIENNE" | awk '/%/ && NR < 4 { print $2, $4 }' |
		xargs)" "24.9 10.1 17.3 11.1"
	grep -q 'are 10.1 and 11.1 % instead of 24.9 and 17.3 %' \
		"$ROOT/doc/validation/methods.md" || fail "doc/validation/methods.md has other numbers"
}

test_a_model_that_has_no_answer_says_so() {
	local i k
	setup
	for i in {0..23}; do
		for k in {24..47}; do
			echo "t$i-$k: $i -> $k"
		done
	done >"$S/a.scheme"
	run 0 netprof sharing --model=myrinet,maxmin "$S/a.scheme"
	contains "the other model" "$OUT" '^t0-24 .* - +24.000$'
	contains "why" "$(tr -s '\n ' '  ' <"$S/out")" \
		' model myrinet: 576 communications from 24 nodes to 24 that all depend'
}

test_wrong_use_and_bad_files_are_told() {
	local row
	setup
	row() { refused "$1" "$2" netprof sharing "${@:3}"; } # STATUS PATTERN ARGS...
	row 2 'expected a file with schemes'
	row 2 'no such option' --frob "$VIENNE"
	row 2 'needs an argument' --model
	row 2 'no model "ethernet", expected gige' --model=ethernet "$VIENNE"
	row 2 'gige is given twice' --model=gige,gige "$VIENNE"
	row 2 'expected names' --model=, "$VIENNE"
	row 2 'no parameter "gamma", expected beta' --set=gamma=1 "$VIENNE"
	row 2 '--set=bs has no effect without --model=infiniband' --model=gige \
		--set=bs=2 "$VIENNE"
	row 2 'expected beta=NUMBER' --set=beta "$VIENNE"
	row 2 'beta=1x: expected a number' --set=beta=1x "$VIENNE"
	row 2 'beta is -1, expected more than 0' --set=beta=-1 "$VIENNE"
	row 2 'beta is 0, expected more than 0' --set=beta=0 "$VIENNE"
	row 2 'unexpected argument .x.' "$VIENNE" x
	row 1 '^netprof: /nonexistent: No such file' /nonexistent
	row 1 'not a regular file' /dev/zero
	row 1 'README:1: "Data": expected scheme, size' "$ROOT/t/data/README"
	scheme 'a: 0 -> 1'
	row 1 'no measured time to fit' --fit="$S/a.scheme"
}

test_a_summary_has_the_errors_alone() {
	setup
	run netprof sharing --summary --model=myrinet,maxmin "$VIENNE"
	equal "summary" "$(tr -s ' ' <"$S/out")" "Scheme n myrinet maxmin
MK1 7 3.0 % 17.2 %
MK2 10 9.7 % 19.0 %
All 17 6.9 % 18.3 %"
	scheme 'a: n0 -> n1'
	run netprof sharing --summary --model=maxmin "$S/a.scheme"
	equal "nothing measured" "$(tr -s ' ' <"$S/out" | tail -n 1)" "All 0 -"
}

test_transfers_are_drawn_over_time() {
	local i
	setup
	scheme 'reference 20M took 171ms' 'scheme two' 'a: n0 -> n1 took 300ms' \
		'b: n0 -> n2' 'scheme three' 'a: n0 -> n1' 'b: n2 -> n0'
	run netprof sharing --model=maxmin,none --plot="$S/a.svg" "$S/a.scheme"
	equal "exit status" "$RC$OUT$ERR" 0
	for i in two three 'Time (s)' 'a: n0 → n1' 'time alone' \
		'lost by sharing, maxmin' none measured 'n = 2'; do
		grep -qF -- "$i" "$S/a.svg" || fail "no '$i' in the picture"
	done
	netprof sharing --plot="$S/b.pdf" "$S/a.scheme"
	equal PDF "$(head -c 4 "$S/b.pdf")" %PDF
	for i in {1..50}; do
		echo "t$i: $i -> 0"
	done >"$S/a.scheme"
	netprof sharing --model=none --plot="$S/c.svg" "$S/a.scheme"
	grep -qF 'at most 40 transfers' "$S/c.svg" || fail "does not say what it left out"
	! grep -qF 't41: ' "$S/c.svg" || fail "more than 40 transfers"
	# Names that differ at the end, at the beginning, and in the middle.
	for i in {1..36}; do
		case $((i % 3)) in
		0) echo "a-transfer-with-a-long-name-$i: $i -> 0" ;;
		1) echo "$i-a-transfer-with-a-long-name: 1 -> 0" ;;
		2) echo "a-transfer-with-a-long-name-$i: a-node-with-a-long-name-as-well -> another-node" ;;
		esac
	done >"$S/a.scheme"
	netprof sharing --model=none --plot="$S/d.svg" "$S/a.scheme"
	grep -o '>[^<]*a-transfer[^<]*<' "$S/d.svg" >"$S/names"
	equal "names, distinct names" "$(wc -l <"$S/names") $(sort -u "$S/names" |
		wc -l)" "36 36"
	equal "distinct names in the table" "$(netprof sharing --model=none \
		"$S/a.scheme" | sed -n '/^Penalty/,/^$/p' | awk 'NR > 1 && NF { print $1 }' |
		sort -u | wc -l)" 36
	refused 2 'ends in .svg, .png or .pdf$' netprof sharing --plot=x.gif "$VIENNE"
}

test_the_measuring_program_says_what_it_needs() {
	local program=$(dirname "$NETPROF")/netprof-sharing
	setup
	row() { refused "$1" "$2" "$program" "${@:3}"; } # STATUS PATTERN ARGS...
	row 2 'expected a file with schemes'
	row 2 '"--frob": unknown option' --frob x
	row 2 '--repeats "1": expected a whole number' --repeats=1 x
	row 2 '"y": unexpected argument' x y
	row 1 '/nonexistent: No such file' /nonexistent
	run "$program" --help
	contains help "$OUT" '^usage: srun --mpi=pmix'
}

# The schemes of the manual page are schemes.
test_examples_of_the_manual_work() {
	local n
	setup
	n=$(examples netprof-scheme.5 "$S/a.scheme" netprof sharing)
	equal "examples" "$n" 2
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
