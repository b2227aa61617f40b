# The figures of doc/validation/methods.md and doc/validation/accuracy.md are what the commands above
# them print.
# Needs no cluster; also runs alone: [BUILD=build] bash t/integration/methods.sh
# shellcheck shell=bash

if [ -z "${ROOT-}" ]; then # not from t/check
	. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
	ALONE=yes
fi
NETPROF=${NETPROF:-$ROOT/${BUILD:-build}/netprof}
PARALLEL=20

accuracy() {
	(cd "$ROOT" && LC_ALL=C "$NETPROF" accuracy "$@")
}

test_every_figure_is_printed_by_its_command() {
	local text new

	new=$(mktemp)
	for text in methods accuracy; do
		NETPROF=$NETPROF "$ROOT/t/figures" "$ROOT/doc/validation/$text.md" >"$new"
		grep -q '^    \$ netprof accuracy' "$new" || fail "$text: no command"
		diff "$ROOT/doc/validation/$text.md" "$new" | head -n 20 >"$new.diff"
		[ ! -s "$new.diff" ] || fail "$text: $(cat "$new.diff")"
	done
	rm -f "$new" "$new.diff"
}

test_figures_meet_their_goals() {
	local file=$ROOT/t/data
	mean() { # MODEL ARGS...: mean error of pairs
		local model=$1
		shift
		accuracy --parsable --model="$model" "$@" |
			awk -F'|' -v m="$model" '$2 == "pair" && $3 == m { print $5 }'
	}
	between "mixture, simulated" \
		"$(mean mixture "$file/simulated-switch.json")" 0 2.2
	between "cross, real" "$(mean cross "$file/real-switch.json")" 0 12.5
	between "cross, real without is.W" \
		"$(mean cross --without=is.W "$file/real-switch.json")" 0 7.6
}

test_json_and_parsable_agree() {
	local file=$ROOT/t/data/pairs.json json text
	json=$(accuracy --json "$file" | jq -r '.files[0].pairs.models[] |
		select(.mean_error_points != null and .model == "cross") |
		.mean_error_points * 10000 | round / 10000')
	text=$(accuracy --parsable "$file" |
		awk -F'|' '$2 == "pair" && $3 == "cross" { print $5 + 0 }')
	equal "mean error of cross" "$json" "$text"
	equal "cases" "$(accuracy --json --cases --model=cross "$file" |
		jq '[.files[0].predictions[] | select(.model == "cross")] | length')" 4
}

test_wrong_usage_and_bad_files_are_reported() {
	local row rc err
	row() { # STATUS PATTERN ARGS...
		rc=0
		err=$(accuracy "${@:3}" 2>&1 >/dev/null) || rc=$?
		equal "exit status of accuracy ${*:3}" "$rc" "$1"
		grep -qE -- "$2" <<<"$err" || fail "${*:3}: '$err', not /$2/"
	}
	row 2 'accuracy needs a file of measured pairs'
	row 2 'no such option' --frob x
	row 2 '--model needs an argument' --model
	row 2 'no model "x", expected one of zero,' --model=x x
	row 2 'expected names' --without=, x
	row 2 'seed=x: expected a whole number' --seed=x x
	row 2 'up-to=much: expected a percentage' --up-to=much x
	row 2 'no field "nosuch"' --format=nosuch "$ROOT/t/data/pairs.json"
	row 2 'no field "nosuch"' --cases --sort=nosuch "$ROOT/t/data/pairs.json"
	row 1 '^netprof: /nonexistent: No such file' /nonexistent
	row 1 'not a regular file' /dev/zero
	row 1 'README:1: expected JSON' "$ROOT/t/data/README"
	row 1 'no program "nobody"' --without=nobody "$ROOT/t/data/pairs.json"
	row 1 'no measured case' --up-to=0% "$ROOT/t/data/real-switch.json" \
		--without=is.W
	row 1 'no measured case' --without=ping,pong "$ROOT/t/data/pairs.json"
	row 1 '/nonexistent: No such file' --predictions=/nonexistent \
		"$ROOT/t/data/pairs.json"
	echo nobody pong 3 >"$TMPDIR/predictions"
	row 1 'predictions:1: "nobody": expected a program of .*/pairs.json' \
		--predictions="$TMPDIR/predictions" \
		"$ROOT/t/data/pairs.json"
}

test_every_published_set_is_read_and_described() {
	local f n=0
	for f in "$ROOT"/doc/validation/pairs/*.json; do
		accuracy --model=zero "$f" >"$TMPDIR/out" || fail "$f is refused"
		grep -q '^One co-runner: [1-9]' "$TMPDIR/out" ||
			fail "$f has no pairs"
		grep -q "\`${f##*/}\`" "$ROOT/doc/validation/pairs/README.md" ||
			fail "README.md says nothing of $f"
		n=$((n + 1))
	done
	[ "$n" -ge 15 ] || fail "only $n sets"
}

test_predictions_of_others_are_scored_next_to_the_baselines() {
	# ping with ping +12 %, with pong +25 %; pong with pong +30 %.
	printf '%s\n' '# mine' 'ping ping 10 5 11' 'ping pong 25% 20 40' \
		>"$TMPDIR/mine"
	equal "scores" "$(accuracy --parsable --predictions="$TMPDIR/mine" \
		"$ROOT/t/data/pairs.json" | cut -d'|' -f2-5,13 |
		grep '^pair|[bmz]' | xargs)" "pair|best constant|3|6| \
pair|mine|2|1|0.5 pair|zero|3|22.3333| pair|mutual|3|13.3201|0"
	# The constant for two of three pairs is another one than for all.
	equal "of the same pairs" "$(accuracy --predictions="$TMPDIR/mine" \
		"$ROOT/t/data/pairs.json" | sed -n 's/^mine .*(/(/p')" \
		"(2, constant 6.5)"
	equal "for programs" "$(accuracy --parsable --noheader \
		--format=Kind,Model,Constant --predictions="$TMPDIR/mine" \
		"$ROOT/t/data/pairs.json" | grep '^pair|[bmz]' | xargs)" \
		"pair|best constant|6 pair|mine|6.5 pair|zero|6 pair|mutual|6"
	printf '%s\n' 'ping ping 10' 'ping pong 20' 'pong pong 30' >"$TMPDIR/all"
	equal "why pairs are missing, if none is" "$(accuracy --json --predictions="$TMPDIR/all" \
		"$ROOT/t/data/pairs.json" |
		jq '.files[0].pairs.models[] | select(.model == "all").why')" null
	equal "only zero" "$(accuracy --parsable --noheader --format=Model --model=zero \
		"$ROOT/t/data/pairs.json" | sort -u | xargs)" "best constant zero"
}

[ -z "${ALONE-}" ] || run_alone "${BASH_SOURCE[0]}"
