# The pages, guides, sample configuration and completion match the command netprof.
# Needs no cluster; also runs alone:
#
#	[BUILD=build] bash t/integration/cli_doc.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/cli.lib"
PARALLEL=30

test_help_describes_every_command() {
	local cmd page
	setup
	for cmd in $(netprof help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		run 0 netprof help "$cmd"
		contains "help $cmd" "$OUT" "^usage: netprof $cmd"
		equal "lines of help $cmd that are wider than 80 columns" "$(awk 'length > 80' "$S/out")" ""
		case $cmd in help | version) ;; *)
			contains "help $cmd" "$OUT" '^Examples:$'
			contains "examples of $cmd" "$OUT" "^  .*netprof $cmd"
			grep -qs '^\.SH EXAMPLES' \
				"$ROOT"/{doc,analysis/*/doc}/"netprof-$cmd.1" ||
				fail "netprof-$cmd(1) has no example" ;;
		esac
		run 0 netprof "$cmd" --help
		case $cmd in help | version) page=netprof ;; *) page=netprof-$cmd ;; esac
		grep -qs "netprof\\(\\\\-\\| \\)$cmd" \
			"$ROOT"/{doc,analysis/*/doc}/"$page.1" ||
			fail "$page(1) lacks $cmd"
		grep -q "netprof\\(\\\\-\\| \\)$cmd" "$ROOT/doc/netprof.1" ||
			fail "netprof(1) lacks $cmd"
		grep -qw "$cmd" "$ROOT/etc/netprof-completion.bash" ||
			fail "completion lacks $cmd"
	done
	contains version "$(netprof --version)" '^netprof [0-9]+\.[0-9]+'
}

test_examples_of_the_manual_work() {
	local page
	setup_examples
	for page in "$ROOT"/{doc,analysis/*/doc}/netprof*.1; do
		sed -n '/^\.SH EXAMPLES/,/^\.SH/p' "$page" |
			sed -n '/^\.EX/,/^\.EE/{/^\.EX/d;p}' |
			sed 's/^\.EE$/---/; s/\\-/-/g; s/\\(aq/'\''/g; s/\\&//g; s/\\e/\\/g'
	done >"$S/examples"
	examples_work 16 "$S/examples"
}

test_commands_work_in_the_sandbox() {
	local cmd n=0
	while read -r cmd; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		BUILD=${BUILD:-build} "$ROOT/t/sandbox" $cmd >"$TMPDIR/out" 2>&1 ||
			fail "$cmd: $(tail -n 2 "$TMPDIR/out")"
	done < <(sed -n 's/^  \(netprof .*\)/\1/p' "$ROOT/t/sandbox" |
		sed 's/; /\n/g')
	[ "$n" -ge 9 ] || fail "only $n commands found"
}

test_links_between_documents_lead_somewhere() {
	local file link n=0
	while IFS=: read -r file link; do
		n=$((n + 1))
		[ -e "$ROOT/$link" ] || [ -e "$ROOT/${file%/*}/$link" ] ||
			fail "$file: no $link"
	done < <(cd "$ROOT" && grep -oE '\]\([^):#]+|`[a-z/.]*[a-zA-Z-]+\.(md|tsv)`|\bdoc/[a-z/-]+\.(md|tsv)\b' \
		README.md *.md doc/*.md doc/*/*.md doc/*.[1-9] \
		analysis/*/doc/*.[1-9] | sed 's/:](/:/; s/`//g')
	[ "$n" -ge 50 ] || fail "only $n links found"
}

# Examples in a guide are indented by four blanks, in a list by seven.
test_examples_of_the_guides_work() {
	setup_examples
	guide() { # FILE BLANKS AT-LEAST
		sed -n "s/^ \\{$2\\}//p; t; /^\$/p; s/^ *[^ ].*/---/p" "$ROOT/$1" \
			>"$S/examples"
		examples_work "$3" "$S/examples"
	}
	guide README.md 4 2
	guide doc/user-guide.md 4 6
	guide doc/admin-guide.md 7 3
}

# The sources can print the lines of output that the guide quotes; "…" stands for the
# parts that vary.
test_lines_that_the_guide_explains_are_in_the_sources() {
	local line n=0
	(cd "$ROOT" && perl -0777 -ne 's/"\s*\n\s*"//g;
		while (/"((?:[^"\\\n]|\\.)*)"/g) { my $l = $1;
			$l =~ s/\\n//g; $l =~ s/\\(["\\])/$1/g; $l =~ s/%%/\x00/g;
			$l =~ s/%[-+ 0-9.*]*(?:hh|h|ll|l|z|j)?[a-zA-Z]/…/g;
			$l =~ s/\x00/%/g; print "$l\n" }' \
		cli/*.c spank/*.c jobsubmit/*.c profiler/*/*.c predictor/*/*.c analysis/*/*.c) \
		>"$TMPDIR/strings"
	while IFS= read -r line; do
		n=$((n + 1))
		grep -qF -- "$line" "$TMPDIR/strings" ||
			fail "no source says: $line"
	done < <(sed -n '/^## Troubleshooting/,/^## When/s/^| `\([^`]*\)`.*/\1/p' \
		"$ROOT/doc/operations.md")
	[ "$n" -ge 30 ] || fail "only $n lines found"
}

test_manual_pages_are_clean() {
	local page warnings
	for page in "$ROOT"/doc/*.[1-8] "$ROOT"/analysis/*/doc/*.[1-8]; do
		warnings=$(MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" \
			2>&1 >/dev/null)
		equal "warnings of ${page##*/}" "$warnings" ""
	done
}

test_documented_keys_are_the_keys() {
	local key
	setup
	for key in $(sed -nE 's/^#([A-Za-z]+)=.*/\1/p' "$ROOT/etc/netprof.conf"); do
		grep -q "^\.BI $key= \|^\.BR $key= \|^\.B $key=" \
			"$ROOT/doc/netprof.conf.5" || fail "netprof.conf(5) lacks $key"
	done
	# The sample has the defaults: with all lines enabled there is no error.
	sed -E 's/^#([A-Za-z]+=)/\1/' "$ROOT/etc/netprof.conf" >"$S/conf"
	between "keys" "$(grep -cE '^[A-Za-z]+=' "$S/conf")" 38 38
	run env NETPROF_CONF="$S/conf" netprof list
	equal "the sample with all keys" "$ERR" ""
	run env NETPROF_CONF="$ROOT/etc/netprof.conf" netprof list
	equal "the sample as it is" "$ERR" ""
}

test_flags_of_predictions_are_in_the_manual() {
	local flag flags
	flags=$(sed -nE 's/^\t\t\{ NP_PRED_[A-Z_]+, "([a-z-]+)" \},$/\1/p' "$ROOT/cli/cli_predict.c")
	between "flags" "$(wc -w <<<"$flags")" 16 16
	for flag in $flags; do
		grep -qxF ".B ${flag//-/\\-}" "$ROOT/doc/netprof-accuracy.1" ||
			fail "netprof-accuracy(1) lacks $flag"
	done
}

test_completion_completes() {
	local got cmd
	setup
	complete_words() { # WORDS...: what the last one can become
		bash --norc -c '. "$1"; shift
			COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _netprof
			printf "%s\n" "${COMPREPLY[@]}"' - \
			"$ROOT/etc/netprof-completion.bash" "$@" | sort | xargs
	}
	equal commands "$(complete_words netprof s)" "scale sharing show simulate status"
	equal applications "$(complete_words netprof show l)" "lammps"
	equal both "$(complete_words netprof show cp)" "cp2k"
	equal options "$(complete_words netprof list --p)" "--parsable --published"
	equal "a co-runner" "$(complete_words netprof predict fft ha)" "halo"
	equal "a scope" "$(complete_words netprof predict --sc)" "--scope="
	equal "values" "$(complete_words netprof predict --scope = l)" "leaf"
	contains "models" " $(complete_words netprof predict --model = m) " \
		'(^| )mutual '
	equal "runs" "$(complete_words netprof forget fft 3001)" "3001.0"
	equal "users" "$(complete_words netprof show --user = roo)" "root"
	equal "a job" "$(complete_words netprof explain 401)" "4010 4011_3 4015"
	equal "of a matrix" "$(complete_words netprof matrix --c)" "--csv"
	cd "$S"
	touch main.json
	for cmd in accuracy qn scale validate sharing tolerance trace; do
		equal "a file for $cmd" "$(complete_words netprof "$cmd" mai)" "main.json"
	done
	equal "an application for trace" "$(complete_words netprof trace lam)" "lammps"
	equal "a log" "$(complete_words netprof simulate --swf = mai)" "main.json"
	got=$(complete_words netprof help "")
	contains help "$got" 'publish.*runs.*show'
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
