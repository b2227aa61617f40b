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
	cp -r "$ROOT"/t/data/store/fabric "$ROOT"/t/data/placement "$S/store"
	find "$S/store/users" "$S/store/placement" -name '*.json*' \
		-exec sed -i "s/\"uid\":1000,/\"uid\":$MY_UID,/" {} +
	chmod -R go+rX "$S/store"
	export NETPROF_STORE=$S/store NETPROF_CONF=/dev/null TZ=UTC \
		LC_ALL=C.UTF-8 PATH="$S/bin:$PATH" NETPROF_NOW=1718186402
	unset NO_COLOR
}

# setup, and a run of fft as job 4000, of 84 s beside jobs 3991 and 3992.
setup_measured() {
	local fft
	setup
	fft=$S/store/users/$MY_UID/fft
	jq -c '.job_id = 4000 | .start = 1718182100 | .end = 1718182184 |
		.neighbours = [{job_id: 3991, overlap_sec: 70},
			       {job_id: 3992, overlap_sec: 5} |
			       .leaf = "leaf0" | .nodes = "n4"]' \
		"$fft"/*-3001.0.json >"$fft/20240612T084820Z-hpc-4000.0.json"
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
		check --versions
		release everything
		release --all
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

test_what_placement_did_is_as_agreed() {
	setup_measured
	golden status.txt netprof status
	golden status.json netprof status --json
	golden status.parsable netprof status -P
	golden explain-confined.txt netprof explain 4010
	golden explain-deferred.txt netprof explain 4011_3
	golden explain-unknown.txt netprof explain 4013
	golden explain-advice.txt netprof explain 4015
	golden explain-running.txt netprof explain 4002
	golden explain-ended.txt netprof explain 3989_2
	golden explain-measured.txt netprof explain 4000
	golden explain-confined.json netprof explain --json 4010
	golden explain-measured.json netprof explain --json 4000
	golden explain-confined.parsable netprof explain -P 4010
	golden explain-measured.parsable netprof explain -P 4000
	equal "by its job id, too" "$(netprof explain 4012)" \
		"$(netprof explain 4011_3)"
}

test_pages_on_placement_fit_a_terminal() {
	local page
	setup_measured
	for page in status "explain 4010" "explain 4011_3" "explain 4013" \
		"explain 4001" "explain 4002" "explain 4000" "explain 3990"; do
		# shellcheck disable=SC2086
		netprof $page >"$S/page"
		between "columns of $page" "$(wc -L <"$S/page")" 20 80
		between "lines of $page" "$(wc -l <"$S/page")" 2 24
		! grep ' $' "$S/page" || fail "blanks at the end: $page"
	done
	for page in status "explain 4000" "explain 4010" "explain 4014" \
		"explain 4001" "explain 4003"; do
		# shellcheck disable=SC2086
		netprof $page -P | awk -F'|' -v cmd="$page" 'NR == 1 { n = NF }
			NF != n { print "why: " cmd ": " NF " fields, not " n; bad = 1 }
			END { exit bad || NR < 2 }'
	done
}

# 300 leaves and 200 jobs kept apart.
large_state() {
	jq -c '.leaves = [range(300) | {name: "leaf\(.)", n_nodes: 16, n_idle: 2,
		n_jobs: 3, n_known: 2, strain: (. / 1000)}] |
		.jobs += [range(200) as $i | .jobs[4] | .id = 5000 + $i]' \
		"$S/store/placement/state.json" >"$S/large"
	mv "$S/large" "$S/store/placement/state.json"
}

test_a_large_cluster_is_summarised() {
	setup
	large_state
	run netprof status
	between "lines" "$(wc -l <"$S/out")" 15 24
	contains "the most strained first" "$OUT" '^leaf299 .*\+30 %$'
	contains "other leaves" "$OUT" \
		'^29[0-9] more leaves: 4[67][0-9]* nodes, 5[0-9]* idle, strain at most \+29 % \(--all\)$'
	contains "other jobs" "$OUT" '^19[0-9] more \(--all\)$'
	run netprof status --all
	between "lines of all" "$(wc -l <"$S/out")" 500 520
	[[ $OUT != *--all* ]] || fail "all is not all"
}

test_a_decision_that_is_old_is_no_decision() {
	setup
	export NETPROF_NOW=1718186431
	contains "status" "$(netprof status)" '^Placement does not act: its last decision is 31\.0 s'
	contains "explain" "$(netprof explain 4010)" '^Placement does not act'
	equal "for programs" "$(netprof status --json | jq .stale)" true
	export NETPROF_NOW=1718186400
	echo 'PlacementInterval=1m' >"$S/conf"
	sed -i 's/"interval_sec":2/"interval_sec":60/' "$S/store/placement/state.json"
	NETPROF_NOW=1718186999
	contains "rare decisions" "$(netprof status)" '^Placement enforces'
}

test_where_placement_never_decided_it_is_said() {
	setup_measured
	rm -r "$S/store/placement"
	run netprof status
	equal "status" "$RC $OUT" "1 "
	contains "off" "$ERR" '^netprof: placement is off'
	echo Placement=enforce >"$S/conf"
	run env NETPROF_CONF="$S/conf" netprof status
	equal "status" "$RC" 1
	contains "asked for" "$ERR" 'placement has never written there; netprof check'
	run netprof explain 4010
	equal "explain" "$RC" 1
	contains "explain" "$ERR" '^netprof: job 4010 is neither in the last decision \(never taken\)'
	run netprof explain 4000
	equal "a record is enough" "$RC" 0
	contains "a record is enough" "$OUT" 'placement has not'
	contains "a record is enough" "$OUT" 'neighbours cost it is not known'
}

test_damaged_state_is_told_in_a_line() {
	setup_measured
	head -c 700 "$ROOT/t/data/placement/state.json" >"$S/store/placement/state.json"
	run netprof status
	equal "status" "$RC $OUT" "1 "
	equal "lines" "$(wc -l <"$S/err")" 1
	contains "status" "$ERR" '^netprof: state.json: '
	run netprof explain 4000
	equal "what ended is known" "$RC" 0
	contains "what is wrong" "$ERR" 'state.json'
	sed 's/"schema":1/"schema":2/' "$ROOT/t/data/placement/state.json" \
		>"$S/store/placement/state.json"
	run netprof status
	contains "a newer one" "$ERR" 'schema 2 is newer than 1'
}

test_jobs_that_are_not_found_are_told_where_was_looked() {
	setup
	run netprof explain 77
	equal "exit status" "$RC $OUT" "1 "
	equal "lines" "$(wc -l <"$S/err")" 1
	contains "error" "$ERR" "^netprof: job 77 is neither in the last decision \(2 s ago\), nor .* records of $ME; "
	run netprof explain 4011
	equal "an array" "$ERR" "netprof: job 4011 is an array; ask for one of its tasks: 4011_3"
	run netprof explain 4011_4
	equal "another task" "$RC" 1
	jq -c '.jobs[5].task = 4294967295' "$S/store/placement/state.json" >"$S/rest"
	mv "$S/rest" "$S/store/placement/state.json"
	run netprof explain 4011_4
	equal "a task that was not split off yet" "$RC $ERR" "0 "
	contains "a task that was not split off yet" "$OUT" '^Job 4012 \(halo\) is held back'
}

test_a_users_records_are_private_and_decisions_are_not() {
	[ "$MY_UID" = 0 ] || return 0 # chown
	setup_measured
	chmod 2750 "$S/store/users/0"
	run setpriv --reuid=12345 --regid=12345 --clear-groups netprof explain 4000
	equal "exit status" "$RC $ERR" "0 "
	contains "neighbours" "$OUT" '^3991 +NPmpi'
	contains "the record" "$OUT" '^Measured +not at all'
	chmod 640 "$S"/store/placement/*
	run setpriv --reuid=12345 --regid=12345 --clear-groups netprof status
	equal "where jobs are private" "$RC" 1
	contains "where jobs are private" "$ERR" 'state.json: Permission denied'
	chown 12345 "$S/store/placement/state.json"
	run netprof status
	contains "a foreign owner" "$ERR" 'owned by uid 12345.*not trusted'
}

# A Slurm that answers, with a store and programs as they should be.
slurm_here() { # VERSION-OF-SLURMCTLD JOBSUBMITPLUGINS
	local version=$((16#160508))
	mkdir -p "$S/slurm" "$S/libexec" "$S/plugins"
	printf '#!/bin/sh\necho slurm-wlm %s\n' "$1" >"$S/bin/slurmctld"
	cat >"$S/bin/scontrol" <<-END
		#!/bin/sh
		[ "\$1" != --version ] || exec echo slurm-wlm $1
		cat $S/slurm/config
	END
	cat >"$S/slurm/config" <<-END
		ClusterName             = hpc
		JobSubmitPlugins        = $2
		PluginDir               = /nonexistent:$S/plugins
		PlugStackConfig         = $S/slurm/plugstack.conf
		SLURM_CONF              = $S/slurm/slurm.conf
		SLURM_VERSION           = 22.05.8
		SlurmUser               = $ME($MY_UID)
		SlurmctldHost[0]        = $(hostname)(10.0.0.1)
	END
	echo "include $S/slurm/plugstack.d/*.conf" >"$S/slurm/plugstack.conf"
	mkdir -p "$S/slurm/plugstack.d"
	echo 'optional spank_netprof.so' >"$S/slurm/plugstack.d/netprof.conf"
	plugin spank_netprof spank $version
	plugin job_submit_netprof job_submit/netprof $version
	printf '#!/bin/sh\necho "$@"\n' >"$S/libexec/netprof-release"
	cp "$S/libexec/netprof-release" "$S/libexec/netprof-attend"
	cp "$S/libexec/netprof-release" "$S/bin/netprof-impactb"
	cp "$S/libexec/netprof-release" "$S/bin/netprof-compressionb"
	chmod 755 "$S"/bin/* "$S"/libexec/*
	chmod 3777 "$S/store/users"
	chgrp "$(id -g)" "$S/store/users"
	chmod 755 "$S/store/published" "$S/store/placement" "$S/store"
	printf '%s\n' Placement=enforce "BinDir=$S/bin" "LibexecDir=$S/libexec" \
		"Store=$S/store" >"$S/conf"
	export NETPROF_CONF=$S/conf
}

plugin() { # NAME TYPE VERSION
	printf 'const char plugin_type[] = "%s";
		const unsigned plugin_version = %s;\n' "$2" "$3" |
		cc -shared -x c -o "$S/plugins/$1.so" -
}

# finding RESULT ABOUT TEXT [REMEDY]: netprof check says so
finding() {
	run netprof check -P
	grep -E "^$1\\|$2\\|" <<<"$OUT" | grep -E -- "$3" | grep -qE -- "${4-}" ||
		fail "no $1 on $2 with '$3' and '${4-}' in: $OUT"
	equal "exit status of $1" "$RC" "$([ "$1" = problem ] && echo 1 || echo 0)"
}

test_check_finds_nothing_where_all_is_well() {
	setup
	slurm_here 22.05.8 lua,netprof
	run netprof check
	equal "exit status" "$RC" 0
	contains "all" "$OUT" '^0 problems, 0 warnings$'
	equal "no other lines" "$(grep -cv '^ok  \|^    ' "$S/out")" 1
	equal "for programs" "$(netprof check --json | jq .problem)" false
}

test_check_tells_what_stops_slurmctld() {
	setup
	slurm_here 22.05.7 netprof
	finding problem job_submit_netprof.so \
		'was built for Slurm 22.05.8, but 22.05.7 is installed: slurmctld will not start' \
		'make clean && make install, before slurmctld is restarted'
	slurm_here 22.05.8 netprof
	rm "$S/plugins/job_submit_netprof.so"
	finding problem job_submit_netprof.so 'is not in .*will not start'
	head -c 3000 "$S/plugins/spank_netprof.so" >"$S/plugins/job_submit_netprof.so"
	finding problem job_submit_netprof.so 'cannot be used: .*damaged'
}

test_check_takes_spank_plugins_of_the_same_release() {
	setup
	slurm_here 22.05.7 ''
	sed -i '/^SLURM_VERSION/d' "$S/slurm/config"
	echo "Placement=off" >>"$S/conf"
	finding ok spank_netprof.so 'was built for Slurm 22.05.8'
	finding warning job_submit_netprof.so 'slurmctld would not start'
	plugin spank_netprof spank $((16#170508))
	finding problem spank_netprof.so 'sbatch and srun will not load it'
}

test_check_says_what_to_mend() {
	setup
	slurm_here 22.05.8 lua
	finding problem slurm.conf 'JobSubmitPlugins has no netprof' \
		"add netprof to JobSubmitPlugins in $S/slurm/slurm.conf"
	slurm_here 22.05.8 netprof
	echo 'MaxSlowdown=much' >>"$S/conf"
	finding problem configuration "$S/conf:5: MaxSlowdown=much"
	slurm_here 22.05.8 netprof
	echo 'required spank_netprof.so' >"$S/slurm/plugstack.d/netprof.conf"
	finding warning plugstack.conf 'is required' 'optional'
	: >"$S/slurm/plugstack.d/netprof.conf"
	finding problem plugstack.conf 'does not load' 'include .*plugstack.conf.d'
	slurm_here 22.05.8 netprof
	chmod 00755 "$S/store/users"
	finding problem users/ 'mode 755, expected 3777' 'install -d -m 3777 -g'
	chmod 3777 "$S/store/users"
	chmod 775 "$S/store/published"
	finding problem published/ 'mode 775, expected 755' 'chmod 755'
	chmod 755 "$S/store/published"
	chmod 777 "$S/store"
	finding problem store 'others than' 'chmod go-w'
	chmod 755 "$S/store"
	rm "$S/libexec/netprof-attend"
	finding problem programs 'netprof-attend: No such file' 'make install'
	slurm_here 22.05.8 netprof
	mv "$S/store/fabric" "$S/fabric"
	finding problem calibration 'no calibration of' 'salloc .* netprof calibrate'
	mv "$S/fabric" "$S/store/fabric"
	mv "$S/store/published/cp2k" "$S/"
	finding warning profiles 'none is published' 'netprof publish'
	mv "$S/cp2k" "$S/store/published/"
	NETPROF_NOW=1718187000 finding problem placement 'last decided .* does not act'
	rm "$S/store/placement/state.json"
	finding problem placement 'never written|No such file' 'slurmctld.log'
	[ "$MY_UID" = 0 ] || return 0 # chown
	sed -i 's/^SlurmUser.*/SlurmUser = nobody(65534)/' "$S/slurm/config"
	chgrp nogroup "$S/store/users" && chmod 3777 "$S/store/users"
	finding problem placement/ 'SlurmUser cannot write' 'install -d -m 755 -o nobody'
}

test_check_reads_slurm_conf_where_slurmctld_is_silent() {
	setup
	slurm_here 22.05.8 netprof
	printf '#!/bin/sh\n[ "$1" = --version ] || exec sleep 60\n' >"$S/bin/scontrol"
	printf '%s\n' "PluginDir=$S/plugins" 'JobSubmitPlugins=netprof # ours' \
		'ClusterName=hpc' "SlurmUser=$ME" \
		"SlurmctldHost=$(hostname)" >"$S/slurm/slurm.conf"
	rm "$S/plugins/job_submit_netprof.so"
	export SLURM_CONF=$S/slurm/slurm.conf
	finding problem job_submit_netprof.so "is not in $S/plugins"
	contains "why" "$OUT" "^warning\\|Slurm\\|slurmctld does not answer scontrol; what follows is from $S/slurm/slurm.conf"
	finding problem job_submit_netprof.so "is not in $S/plugins"
}

test_versions_of_plugins_alone_are_compared() {
	setup
	slurm_here 22.05.8 netprof
	run netprof check --versions "$S"/plugins/*.so
	equal "where they fit" "$RC $OUT$ERR" "0 "
	slurm_here 22.05.9 netprof
	run netprof check --versions "$S"/plugins/*.so
	equal "where one does not" "$RC" 1
	equal "lines" "$(grep -c '^problem' "$S/out")" 1
	contains "which" "$OUT" 'job_submit_netprof.so: was built for Slurm 22.05.8'
	run netprof check --versions /dev/zero
	equal "no plugin" "$RC" 1
}

test_release_starts_its_program() {
	setup
	slurm_here 22.05.8 netprof
	equal "with its options" "$(netprof release --dry-run)" --dry-run
	rm "$S/libexec/netprof-release"
	run netprof release
	equal "exit status" "$RC" 1
	equal "error" "$ERR" "netprof: $S/libexec/netprof-release: No such file or directory"
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
	setup_measured
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
	equal commands "$(complete_words netprof s)" "show status"
	equal applications "$(complete_words netprof show l)" "lammps"
	equal both "$(complete_words netprof show cp)" "cp2k"
	equal options "$(complete_words netprof list --p)" "--parsable --published"
	equal "a co-runner" "$(complete_words netprof predict fft ha)" "halo"
	equal "a scope" "$(complete_words netprof predict --sc)" "--scope="
	equal "a job" "$(complete_words netprof explain 401)" "4010 4011_3 4015"
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
