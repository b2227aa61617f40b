# The command netprof on a store of fixtures.  Needs no cluster; also runs alone:
#
#	[BUILD=build] [GOLDEN=write] bash t/integration/cli.sh
# shellcheck shell=bash

if [ -z "${ROOT-}" ]; then # not from t/check
	. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
	ALONE=yes
fi
NETPROF=${NETPROF:-$ROOT/${BUILD:-build}/netprof}
ME=$(id -un)
MY_UID=$(id -u)
LIMIT_SEC=60

# A store with the fixtures as one's own, and a clean environment.  In /tmp,
# and with a copy of the program, so that other users get there.
setup() {
	S=$(mktemp -d /tmp/netprof-cli.XXXXXX)
	trap 'rm -rf "$S"' EXIT
	chmod 755 "$S"
	install -D -m755 "$NETPROF" "$S/bin/netprof"
	mkdir -p "$S/store/users/$MY_UID" "$S/store/published"
	cp -r "$ROOT"/t/data/store/own/. "$S/store/users/$MY_UID"
	cp -r "$ROOT"/t/data/store/published/. "$S/store/published"
	cp -r "$ROOT"/t/data/store/fabric "$S/store"
	find "$S/store/users" -name '*.json' \
		-exec sed -i "s/\"uid\":1000,/\"uid\":$MY_UID,/" {} +
	chmod -R go+rX "$S/store"
	export NETPROF_STORE=$S/store NETPROF_CONF=/dev/null TZ=UTC \
		LC_ALL=C.UTF-8 PATH="$S/bin:$PATH"
	unset NO_COLOR
}

# run CMD...: its exit status in RC, its output in OUT and ERR
run() {
	RC=0
	"$@" >"$S/out" 2>"$S/err" </dev/null || RC=$?
	OUT=$(cat "$S/out")
	ERR=$(cat "$S/err")
}

# The same whoever runs the tests.
normalise() {
	sed -E "s|$S/store|/var/lib/netprof|
		s/, of $ME\$/, of alice/
		s/^(.{20}) $(printf %-10s "$ME") /\1 alice      /
		s/\($ME\) as /(alice) as /
		s/\|$ME\|/|alice|/
		s/\"user\": \"$ME\"/\"user\": \"alice\"/
		s/\"uid\": $MY_UID,?\$/\"uid\": 1000,/"
}

# golden NAME CMD...
golden() {
	local file="$ROOT/t/data/golden/$1"
	shift
	run "$@"
	equal "exit status of $*" "$RC" 0
	equal "standard error of $*" "$ERR" ""
	normalise <"$S/out" >"$S/normal"
	[ "${GOLDEN-}" != write ] || cp "$S/normal" "$file"
	diff -u "$file" "$S/normal" || fail "$* differs from $file"
}

contains() { # WHAT TEXT PATTERN
	grep -qE -- "$3" <<<"$2" || fail "$1: '$2', expected /$3/"
}

test_pages_are_as_agreed() {
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

test_programs_get_the_same_as_people() {
	setup
	golden show-lammps.json netprof show --json lammps
	golden show-lammps.parsable netprof show --parsable lammps
	golden list.json netprof list --json
	golden list.parsable netprof list -P
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
			.latency.n // 0, .verdict.delayed_share,
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

test_a_page_begins_with_the_verdict() {
	setup
	equal lammps "$(netprof show lammps | head -n 1)" \
		"lammps uses the network heavily, in phases (busy 60 % of the time)."
	contains hpcc "$(netprof show hpcc)" \
		'^--netprofile-compress=c4 job.sh measures that'
	contains serial "$(netprof show serial)" 'one node of the'
}

test_unknown_application_fails_with_the_nearest_names() {
	setup
	run netprof show lamps
	equal "exit status" "$RC" 1
	equal "output" "$OUT" ""
	equal "error" "$ERR" "netprof: no profile of \"lamps\", neither of $ME nor published; did you mean lammps?"
	run netprof runs cpk2
	equal "exit status" "$RC" 1
	contains "of the published" "$ERR" 'did you mean cp2k\?$'
	run netprof show zzzzzz
	equal "nothing like it" "$ERR" "netprof: no profile of \"zzzzzz\", neither of $ME nor published"
	rm -r "$S/store/users" "$S/store/published"
	run netprof show lammps
	contains "empty store" "$ERR" 'there is none at all yet: sbatch --netprofile=NAME'
}

test_wrong_use_is_told_with_status_two() {
	local row
	setup
	while read -r row; do
		# shellcheck disable=SC2086
		run netprof $row
		equal "exit status of netprof $row" "$RC" 2
		equal "output of netprof $row" "$OUT" ""
		contains "error of netprof $row" "$ERR" '^netprof: .*'
		contains "error of netprof $row" "$ERR" '^usage: netprof '
	done <<-END

		frobnicate
		show
		show lammps hpcc
		show --colour lammps
		show --all lammps
		show --user
		show --user=$ME --published lammps
		list lammps
		list --all --published
		list --as=x
		runs
		publish
		publish --json lammps
		publish /lammps
		predict
		predict fft
		predict --scope=rack fft halo
		predict --model=oracle fft halo
		predict --csv fft halo
		predict a b c d e f g h i j k l m n o p q r
		matrix --parsable
		matrix --scope
		show --scope=leaf fft
		help nosuch
		help show list
		version x
	END
	run netprof shwo lammps
	contains "a slip of the fingers" "$ERR" 'did you mean show\?'
}

test_failures_are_one_line_with_status_one() {
	setup
	row() { # PATTERN CMD...
		local pattern=$1
		shift
		run "$@"
		equal "exit status of $*" "$RC" 1
		equal "lines of $*" "$(wc -l <"$S/err")" 1
		contains "$*" "$ERR" "$pattern"
	}
	row 'profile store /nonexistent: No such file' \
		env NETPROF_STORE=/nonexistent netprof list
	row 'NETPROF_STORE=here: expected an absolute' \
		env NETPROF_STORE=here netprof list
	row 'Not a directory' env NETPROF_STORE=/dev/null netprof list
	row 'NETPROF_CONF=/nonexistent' env NETPROF_CONF=/nonexistent netprof list
	echo 'Period=7' >"$S/conf"
	row "$S/conf:1: Period=7: expected a time" \
		env NETPROF_CONF="$S/conf" netprof list
	row 'no such user' netprof show --user=nobody-of-that-name lammps
	row 'application name "../lammps": expected' netprof show ../lammps
	row 'no profile of nosuch' netprof publish nosuch
	row 'application name "a/b"' netprof publish lammps --as=a/b
	row 'standard output: No space left' sh -c 'netprof list >/dev/full'
	row 'no calibration of cluster xpc in .*: salloc .* netprof calibrate$' \
		netprof predict elsewhere fft
	row 'no calibration of cluster xpc' netprof matrix elsewhere
	row 'cp2k: no slowdown beside any level; .*sbatch --netprofile=cp2k --netprofile-calibrate job.sh' \
		netprof predict cp2k fft
	row 'spmv: no run can be compared on cluster hpc: 7 on another fabric' \
		netprof predict fft spmv
	row 'no profile of "fftt".*did you mean fft' netprof predict halo fftt
	row 'no profile of "fftt"' netprof matrix halo fftt
	row 'cp2k: no slowdown' netprof predict --model=queue cp2k fft
	row 'standard output: No space left' sh -c 'netprof help >/dev/full'
}

test_configuration_names_the_store() {
	setup
	unset NETPROF_STORE
	echo "Store=$S/store # the fixtures" >"$S/conf"
	run env NETPROF_CONF="$S/conf" netprof show lammps
	equal "exit status" "$RC" 0
	contains "page" "$OUT" '^lammps uses the network heavily'
}

test_unusable_files_are_named_and_the_rest_is_used() {
	local dir
	setup
	dir=$S/store/users/$MY_UID/lammps
	echo '{"schema":1' >"$dir/damaged.json"
	sed 's/"schema":1/"schema":2/' "$dir"/*-1200.0.json >"$dir/newer.json"
	ln -s "$dir"/*-1200.0.json "$dir/link.json"
	mkfifo "$dir/fifo.json"
	run netprof show lammps
	equal "exit status" "$RC" 0
	equal "lines" "$(wc -l <"$S/err")" 4
	for f in damaged newer link fifo; do
		contains "$f" "$ERR" "$dir/$f.json: skipped: "
	done
	contains "page" "$OUT" '^lammps uses the network heavily'
	contains "page" "$OUT" '4 unreadable|unreadable$'
}

test_a_profile_without_usable_runs_gives_way_to_the_published() {
	setup
	mkdir "$S/store/users/$MY_UID/cp2k"
	echo rubbish >"$S/store/users/$MY_UID/cp2k/x.json"
	run netprof show cp2k
	equal "exit status" "$RC" 0
	contains "page" "$OUT" ', published$'
	contains "its reason" "$ERR" 'cp2k/x.json: skipped'
	rm -r "$S/store/published"
	run netprof show cp2k
	equal "exit status" "$RC" 1
	contains "error" "$ERR" 'no run of "cp2k" can be used'
}

test_more_runs_than_are_read_is_said_and_nothing_is_unreadable() {
	local dir i
	setup
	dir=$S/store/users/$MY_UID/postprocess
	for i in $(seq 1000); do
		ln "$dir"/*-1700.0.json "$dir/20240101T000000Z-hpc-$i.0.json"
	done
	run netprof show postprocess
	contains "error" "$ERR" 'postprocess: 1 older run is not read'
	contains "page" "$OUT" '^Runs +1000 of 1000 used'
	[[ $OUT != *unreadable* ]] || fail "unreadable: $OUT"
}

test_without_a_calibration_it_is_said_who_makes_one() {
	setup
	rm -r "$S/store/fabric"
	for cmd in "predict fft halo" matrix; do
		# shellcheck disable=SC2086
		run netprof $cmd
		equal "exit status of $cmd" "$RC" 1
		contains "$cmd" "$ERR" '^netprof: no calibration of .*netprof calibrate$'
	done
	run netprof show fft
	equal "exit status of show" "$RC $ERR" "0 "
	contains "show" "$OUT" '^Hurt by +not known, as this fabric is not calibrated'
	contains "the curve is there" "$OUT" '^95 % interval from'
}

test_no_effect_is_said_where_the_coupling_says_so() {
	local cal
	setup
	cal=$S/store/fabric/flat/20240523T100000Z.json
	contains "predict" "$(netprof predict spmv qmc)" \
		'^Sharing this leaf makes no difference here'
	equal "predict, for programs" "$(netprof predict -P spmv qmc |
		awk -F'|' 'NR > 1 && $13 == "yes" && $4 < 0.02' | wc -l)" 2
	contains "show" "$(netprof show spmv)" '^No effect +Sharing this leaf'
	equal "show, for programs" "$(netprof show --json spmv |
		jq .coupling.no_effect)" true
	contains "matrix" "$(netprof matrix spmv qmc)" '^Sharing this leaf'
	[[ $(netprof predict --scope=node spmv qmc) != *"no difference"* ]] ||
		fail "on the same nodes"
	[[ $(netprof predict fft halo) != *"no difference"* ]] ||
		fail "on the leaf that blocks"
	# Perhaps nothing, perhaps a lot: not shown to be nothing.
	sed -i 's/"mean": 0.008, "sd": 0.02/"mean": 0.08, "sd": 0.2/' "$cal"
	[[ $(netprof predict spmv qmc) != *"no difference"* ]] ||
		fail "a coupling that is not known well"
	[[ $(netprof show spmv) != *"no difference"* ]] ||
		fail "a coupling that is not known well"
}

test_calibrations_that_cannot_be_used_give_way_to_older_ones() {
	local dir
	setup
	dir=$S/store/fabric/flat
	echo '{"format":' >"$dir/20250101T000000Z.json"
	run netprof predict spmv qmc
	equal "exit status" "$RC" 0
	contains "page" "$OUT" '1 newer cannot be used:$'
	rm "$dir"/2024*
	run netprof predict spmv qmc
	equal "exit status" "$RC" 1
	contains "error" "$ERR" 'no calibration can be used: .*20250101T000000Z.json'
	[ "$MY_UID" = 0 ] || return 0
	chown 12345 "$S/store/fabric/hpc"
	run netprof predict fft halo
	contains "a foreign owner" "$ERR" 'fabric/hpc: owned by uid 12345.*not trusted'
}

test_curves_of_another_scope_have_their_calibration() {
	local dir
	setup
	dir=$S/store/fabric/hpc
	sed 's/"scope": "node"/"scope": "leaf"/; s/"leaf": {"n": 12[^}]*}, //' \
		"$dir/20240523T100000Z.json" >"$dir/20240601T100000Z.json"
	contains "leaf was calibrated, the curves are of nodes" \
		"$(netprof predict fft halo)" '^Fabric .*on the same nodes$'
	find "$S/store/users/$MY_UID/fft" -name '*.json' -exec \
		sed -i 's/"scope":"node"/"scope":"leaf"/' {} +
	contains "curves of the leaf" "$(netprof predict fft halo)" \
		'with the level at another scope'
	contains "curves of the leaf" "$(netprof show fft)" '^Hurts? '
}

test_unusable_runs_do_not_enter_a_curve() {
	local curve one
	setup
	curve() { netprof predict --json fft halo |
		jq '.applications[0].runs_beside_levels'; }
	equal "all" "$(curve)" 16
	one=$(grep -l '"name":"c7"' "$S/store/users/$MY_UID"/fft/* | head -n 1)
	sed -i 's/"exit_code":0/"exit_code":1/' "$one"
	equal "without the one that failed" "$(curve)" 15
	contains "it is told" "$(netprof predict fft halo)" '^Left out +fft: 1 failed'
}

test_own_comes_before_published() {
	setup
	cp -r "$S/store/published/cp2k" "$S/store/users/$MY_UID/"
	sed -i "s/\"uid\":1000,/\"uid\":$MY_UID,/" "$S/store/users/$MY_UID"/cp2k/*
	contains "own" "$(netprof show cp2k)" ", of $ME\$"
	contains "published" "$(netprof show --published cp2k)" ', published$'
}

test_published_idle_is_used_where_there_is_no_own() {
	local own published
	setup
	own=$(netprof show --json hpcc | jq .idle.first)
	rm -r "$S/store/users/$MY_UID/idle"
	published=$(netprof show --json hpcc | jq .idle.first)
	[ "$own" != "$published" ] || fail "the same reference: $own"
	equal "against" "$(netprof show --json hpcc | jq -r .verdict.against)" idle
	rm -r "$S/store/published/idle"
	run netprof show hpcc
	contains "without" "$OUT" '^hpcc seems to use the network'
	contains "without" "$OUT" '--netprofile=idle sleep 30 makes one'
}

test_runs_beside_other_jobs_are_used_only_alone_and_marked() {
	setup
	find "$S/store/users/$MY_UID/lammps" -name '*.json' ! -name '*-1400.0.json' \
		-delete
	run netprof show lammps
	contains "page" "$OUT" 'All runs shared a leaf with other jobs'
	contains "page" "$OUT" '1 of 1 used'
}

test_administrator_reads_and_publishes_for_others() {
	[ "$MY_UID" = 0 ] || return 0 # chown
	setup
	mv "$S/store/users/0/lammps" "$S/lammps"
	mkdir "$S/store/users/12345"
	mv "$S/lammps" "$S/store/users/12345/"
	sed -i 's/"uid":0,/"uid":12345,/' "$S"/store/users/12345/lammps/*
	chown -R 12345 "$S/store/users/12345"
	run netprof show lammps
	equal "not root's own" "$RC" 1
	run netprof show --user=12345 lammps
	contains "of the user" "$OUT" ', of 12345$'
	contains "in the list" "$(netprof list --all)" '^lammps +12345 '
	run netprof publish 12345/lammps --as=lammps-melt
	equal "published" "$OUT" "published 10 runs of lammps (12345) as lammps-melt"
	chmod 750 "$S/store/users/12345"
	run setpriv --reuid=23456 --regid=23456 --clear-groups \
		netprof show lammps-melt
	contains "by another user" "$OUT" '^lammps-melt uses the network heavily'
	run setpriv --reuid=23456 --regid=23456 --clear-groups \
		netprof show --user=12345 lammps
	equal "private stays private" "$RC" 1
	contains "private stays private" "$ERR" 'users/12345: Permission denied'
	run setpriv --reuid=23456 --regid=23456 --clear-groups netprof list --all
	equal "a list of what one may read" "$RC $ERR" "0 "
	contains "a list of what one may read" "$OUT" '^lammps-melt +published'
	[[ $OUT != *12345* ]] || fail "private profiles in the list: $OUT"
}

test_only_administrators_publish() {
	[ "$MY_UID" = 0 ] || return 0
	setup
	mkdir "$S/store/users/12345"
	mv "$S/store/users/0/lammps" "$S/store/users/12345/"
	sed -i 's/"uid":0,/"uid":12345,/' "$S"/store/users/12345/lammps/*
	chown -R 12345 "$S/store/users/12345"
	run setpriv --reuid=12345 --regid=12345 --clear-groups \
		netprof publish lammps
	equal "exit status" "$RC" 1
	contains "error" "$ERR" 'published/lammps: Permission denied'
	# What somebody else put there speaks for nobody.
	cp -r "$S/store/users/12345/lammps" "$S/store/published/forged"
	chown -R 12345 "$S/store/published/forged"
	run netprof show --published forged
	equal "forged" "$RC" 1
	contains "forged" "$ERR" 'owned by uid 12345.*not trusted'
}

test_publishing_again_adds() {
	setup
	netprof publish hpcc >/dev/null
	netprof publish hpcc >/dev/null
	equal "runs" "$(netprof runs -P --published hpcc | tail -n +2 | wc -l)" 2
	netprof publish NPmpi --as=hpcc >/dev/null
	equal "runs" "$(netprof runs -P --published hpcc | tail -n +2 | wc -l)" 3
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

test_hostile_records_do_not_reach_the_terminal() {
	setup
	find "$S/store/users/$MY_UID/serial" -name '*.json' -exec sed -i \
		's/one node of the step on this leaf/\\u001b[2J\\u009bpwned/' {} +
	run netprof show serial
	equal "exit status" "$RC" 0
	contains "page" "$OUT" 'pwned'
	[[ $OUT != *$'\033'* && $OUT != *$'\302\233'* ]] || fail "escape sequence"
}

test_help_tells_about_every_command() {
	local cmd
	setup
	for cmd in $(netprof help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		run netprof help "$cmd"
		equal "exit status of help $cmd" "$RC" 0
		contains "help $cmd" "$OUT" "^usage: netprof $cmd"
		run netprof "$cmd" --help
		equal "exit status of $cmd --help" "$RC" 0
		grep -q "^\.B netprof $cmd\|^\.BR netprof\\\\ $cmd\|netprof $cmd" \
			"$ROOT/doc/netprof.1" || fail "netprof(1) lacks $cmd"
		grep -qw "$cmd" "$ROOT/etc/netprof-completion.bash" ||
			fail "completion lacks $cmd"
	done
	contains version "$(netprof --version)" '^netprof [0-9]+\.[0-9]+'
}

# Commands in .EX blocks begin with "$ "; what follows is their output, or its
# beginning where it ends in "...".
test_examples_of_the_manual_work() {
	local n=0 line cmd='' wanted='' got
	setup
	check_example() {
		[ -n "$cmd" ] || return 0
		n=$((n + 1))
		got=$(bash -c "$cmd" 2>&1 | normalise) ||
			fail "example '$cmd' fails: $got"
		[ -z "$wanted" ] || case $wanted in
		*$'\n'...) [[ $got == "${wanted%$'\n'...}"* ]] ||
			fail "example '$cmd' prints '$got', not '$wanted'" ;;
		*) equal "example '$cmd'" "$got" "$wanted" ;;
		esac
		cmd='' wanted=''
	}
	while IFS= read -r line; do
		case $line in
		.EE) check_example ;;
		'$ '*) check_example; cmd=${line#'$ '} ;;
		*) [ -z "$cmd" ] || wanted+=${wanted:+$'\n'}$line ;;
		esac
	done < <(sed -n '/^\.SH EXAMPLES/,/^\.SH/p' "$ROOT/doc/netprof.1" |
		sed -n '/^\.EX/,/^\.EE/{/^\.EX/d;p}' |
		sed 's/\\-/-/g; s/\\(aq/'\''/g; s/\\&//g; s/\\e/\\/g')
	check_example
	[ "$n" -ge 9 ] || fail "only $n examples found"
}

test_manual_pages_are_clean() {
	local page warnings
	for page in "$ROOT"/doc/*.[1-8]; do
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
	# The sample holds the defaults: with all of it in force, nothing is wrong.
	sed -E 's/^#([A-Za-z]+=)/\1/' "$ROOT/etc/netprof.conf" >"$S/conf"
	between "keys" "$(grep -cE '^[A-Za-z]+=' "$S/conf")" 20 20
	run env NETPROF_CONF="$S/conf" netprof list
	equal "the sample with all keys" "$ERR" ""
	run env NETPROF_CONF="$ROOT/etc/netprof.conf" netprof list
	equal "the sample as it is" "$ERR" ""
}

test_completion_completes() {
	local got
	setup
	complete_words() { # WORDS...: what the last one can become
		bash --norc -c '. "$1"; shift
			COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _netprof
			printf "%s\n" "${COMPREPLY[@]}"' - \
			"$ROOT/etc/netprof-completion.bash" "$@" | sort | xargs
	}
	equal commands "$(complete_words netprof s)" "show"
	equal applications "$(complete_words netprof show l)" "lammps"
	equal both "$(complete_words netprof show cp)" "cp2k"
	equal options "$(complete_words netprof list --p)" "--parsable --published"
	equal "a co-runner" "$(complete_words netprof predict fft ha)" "halo"
	equal "a scope" "$(complete_words netprof predict --sc)" "--scope="
	equal "of a matrix" "$(complete_words netprof matrix --c)" "--csv"
	got=$(complete_words netprof help "")
	contains help "$got" 'publish.*runs.*show'
}

[ -z "${ALONE-}" ] || {
	TMP=$(mktemp -d)
	trap 'rm -rf "$TMP"' EXIT
	NETPROF_CLUSTER=none
	for t in $(grep -oE '^test_[a-z0-9_]+' "${BASH_SOURCE[0]}"); do
		run_test "${BASH_SOURCE[0]}" "$t" "$LIMIT_SEC"
	done
	echo "$PASSED passed, $FAILED failed"
	[ "$FAILED" = 0 ]
}
