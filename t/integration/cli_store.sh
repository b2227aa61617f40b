# Which records netprof reads, and from which users. Needs no cluster; also runs alone:
#
#	[BUILD=build] [GOLDEN=write] bash t/integration/cli_store.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/cli.lib"
PARALLEL=55

test_runs_are_removed_after_confirmation() {
	local fft
	setup
	fft=$S/store/users/$MY_UID/fft
	refused 1 'Remove 1 of your 18 runs of fft for good\?.*--yes' netprof forget fft 3001
	equal "runs that are left" "$(ls "$fft" | wc -l)" 18
	run netprof forget --yes fft 3001 3001.0
	equal "what it says of a run named twice" "$OUT$ERR" "removed 1 run of fft"
	equal "that run" "$(find "$fft" -name "*-3001.0.json")" ""
	run netprof forget --yes fft 9999
	contains "no such run" "$ERR" 'no run "9999" of fft'
	mkdir "$fft/1.0.trace"
	touch "$fft/1.0.trace/rank.0"
	run netprof forget --yes fft
	[ ! -e "$fft" ] || fail "something is left of it"
	run 0 netprof unpublish --yes cp2k
	equal "published" "$(netprof list --published --names | xargs)" idle
	run 1 netprof unpublish --yes cp2k
}

test_only_yes_on_a_terminal_removes_runs() {
	local fft reply left
	setup
	fft=$S/store/users/$MY_UID/fft
	while read -r reply left; do
		echo "$reply" | script -qec 'netprof forget fft 3001' /dev/null >"$S/out" || true
		contains "the question before \"$reply\"" "$(cat "$S/out")" \
			'Remove 1 of your 18 runs of fft for good\? \[y/N\]'
		equal "runs that are left after \"$reply\"" "$(ls "$fft" | wc -l)" "$left"
	done <<-END
	n 18
	yesterday 18
	Y 17
	END
}

test_configuration_names_the_store() {
	setup
	unset NETPROF_STORE
	echo "Store=$S/store # the fixtures" >"$S/conf"
	run 0 env NETPROF_CONF="$S/conf" netprof show lammps
	contains "page" "$OUT" '^lammps uses the network heavily'
}

# A calibration of cluster hpc in which levels send more than all programs.
calibrate_fast() {
	jq '.date += 777600 | .victim_nodes = "n[0-3]" |
		.level_alone_round_sec = [range(8) | {n: 3, mean: 1e-4, sd: 1e-6}]' \
		"$S"/store/fabric/hpc/*.json >"$S/fast.json"
	mv "$S/fast.json" "$S/store/fabric/hpc/20240601T100000Z.json"
}

# The output with an empty cache.
list_is_true() { # WHAT
	equal "$1" "$(netprof list -P)" \
		"$(XDG_CACHE_HOME=/dev/null netprof list -P)"
}

# What is a few seconds old is kept, and a change in place is what nothing
# shows, so it says what was kept.
test_the_cache_of_list_is_never_stale() {
	local dir one kept
	setup
	dir=$S/store/users/$MY_UID one=$(echo "$dir"/NPmpi/*.json)
	sleep 3.2
	list_is_true "at first"
	kept=$(netprof list -P)
	cp "$one" "$S/one"
	jq -c '.leaves = []' "$S/one" >"$one"
	equal "what was kept" "$(netprof list -P)" "$kept"
	cp "$S/bin/netprof" "$S/bin/other"
	[ "$("$S/bin/other" list -P)" != "$kept" ] ||
		fail "another program keeps to it"
	cat "$S/one" >"$one"
	list_is_true "this program again"
	calibrate_fast
	list_is_true "with another calibration"
	[ "$(netprof list -P)" != "$kept" ] || fail "the former calibration"
	rm "$S/store/fabric/hpc/20240601T100000Z.json"
	for f in "$S"/cache/netprof/list-*; do
		printf damaged | dd of="$f" bs=1 seek=500 conv=notrunc status=none
	done
	list_is_true "with a damaged file"
	sed 's/"exit_code":0/"exit_code":1/' "$dir"/hpcc/*-1501.0.json \
		>"$dir/hpcc/20240614T100000Z-hpc-1502.0.json"
	list_is_true "with a new run"
	rm "$dir"/lammps/*-12?0.0.json
	list_is_true "without a run"
	rm -r "$dir/idle"
	list_is_true "with another reference"
	rm -r "$S"/store/published/idle "$dir/hello"
	list_is_true "without any"
	chmod -R u-w "$S/store"
	list_is_true "in a store that is only read"
	chmod -R u+w "$S/store"
	[ "$(netprof list -P)" != "$kept" ] || fail "nothing changed"
}

page_is_true() { # WHAT
	for format in --json --parsable; do
		equal "$1" "$(netprof show fft $format)" \
			"$(XDG_CACHE_HOME=/dev/null netprof show fft $format)"
	done
}

test_the_cache_of_show_is_never_stale() {
	local dir fabric one kept
	setup
	dir=$S/store/users/$MY_UID fabric=$S/store/fabric/hpc
	sleep 3.2
	page_is_true "at first"
	kept=$(netprof show fft)
	one=$(echo "$dir"/halo/*-3100.0.json)
	for f in "$dir"/halo/*.json; do
		jq -c '.exit_code = 1' "$f" >"$S/one"
		cp "$f" "$S/${f##*/}"
		cat "$S/one" >"$f"
	done
	equal "what was kept" "$(netprof show fft)" "$kept"
	[ "$(XDG_CACHE_HOME=/dev/null netprof show fft)" != "$kept" ] ||
		fail "halo is no tie of fft"
	mv "$dir/halo/${one##*/}" "$dir/halo/20240101T000000Z-hpc-3100.0.json"
	page_is_true "when halo changed"
	[ "$(netprof show fft)" != "$kept" ] || fail "halo is there as before"
	rm "$dir"/halo/2024010*
	cp "$S"/2024*.json "$dir/halo"
	equal "halo as it was" "$(netprof show fft)" "$kept"
	sleep 3.2
	page_is_true "with all kept again"
	page_is_true "and the second time"
	jq '.coupling.leaf.mean = 0.4' "$fabric"/*.json \
		>"$fabric/20240601T100000Z.json"
	page_is_true "with another calibration"
	[ "$(netprof show fft)" != "$kept" ] || fail "the former calibration"
	rm "$fabric/20240601T100000Z.json"
	equal "with the former one" "$(netprof show fft)" "$kept"
	rm -r "$dir/halo"
	page_is_true "without halo"
	for f in "$S"/cache/netprof/{show,ties}-*; do
		printf damaged | dd of="$f" bs=1 seek=500 conv=notrunc status=none
	done
	page_is_true "with a damaged file"
}

test_unusable_files_are_named_and_the_rest_is_used() {
	local dir
	setup
	dir=$S/store/users/$MY_UID/lammps
	echo '{"schema":1' >"$dir/damaged.json"
	sed 's/"schema":1/"schema":2/' "$dir"/*-1200.0.json >"$dir/newer.json"
	ln -s "$dir"/*-1200.0.json "$dir/link.json"
	mkfifo "$dir/fifo.json"
	run 0 netprof show lammps
	equal "lines" "$(wc -l <"$S/err")" 4
	for f in damaged newer link fifo; do
		contains "$f" "$ERR" "$dir/$f.json: skipped: "
	done
	contains "page" "$OUT" '^lammps uses the network heavily'
	contains "page" "$OUT" '4 unreadable|unreadable$'
}

test_a_profile_without_usable_runs_is_replaced_by_the_published_one() {
	setup
	mkdir "$S/store/users/$MY_UID/cp2k"
	echo rubbish >"$S/store/users/$MY_UID/cp2k/x.json"
	run 0 netprof show cp2k
	contains "page" "$OUT" ', published$'
	contains "its reason" "$ERR" 'cp2k/x.json: skipped'
	rm -r "$S/store/published"
	run 1 netprof show cp2k
	contains "error" "$ERR" 'no usable run of "cp2k"'
}

test_more_runs_than_are_read_are_reported_and_not_unreadable() {
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

test_without_a_calibration_the_message_says_who_makes_one() {
	setup
	rm -r "$S/store/fabric"
	for cmd in "predict fft halo" matrix; do
		# shellcheck disable=SC2086
		refused 1 '^netprof: no calibration of .*netprof calibrate$' netprof $cmd
	done
	run netprof show fft
	equal "exit status of show" "$RC $ERR" "0 "
	contains "show" "$OUT" '^Slowed by +not known: this fabric is not calibrated'
	contains "the curve is there" "$OUT" '^95 % interval from'
}

test_no_effect_is_reported_for_a_sharing_coefficient_of_zero() {
	local cal
	setup
	cal=$S/store/fabric/flat/20240523T100000Z.json
	contains "predict" "$(netprof predict spmv qmc)" \
		'^Sharing this leaf switch makes no difference here'
	equal "predict, for programs" "$(netprof predict -P spmv qmc |
		awk -F'|' 'NR > 1 && $13 == "yes" && $4 < 0.02' | wc -l)" 2
	contains "show" "$(netprof show spmv)" '^No effect +Sharing this leaf'
	equal "show, for programs" "$(netprof show --json spmv |
		jq .sharing_coefficient.no_effect)" true
	contains "matrix" "$(netprof matrix spmv qmc)" '^Sharing this leaf'
	[[ $(netprof predict --scope=node spmv qmc) != *"no difference"* ]] ||
		fail "on the same nodes"
	[[ $(netprof predict fft halo) != *"no difference"* ]] ||
		fail "on the leaf that blocks"
	# Perhaps nothing, perhaps a lot: not shown to be nothing.
	sed -i 's/"mean": 0.008, "sd": 0.02/"mean": 0.08, "sd": 0.2/' "$cal"
	[[ $(netprof predict spmv qmc) != *"no difference"* ]] ||
		fail "a sharing coefficient that is not known well"
	[[ $(netprof show spmv) != *"no difference"* ]] ||
		fail "a sharing coefficient that is not known well"
}

test_unusable_calibrations_are_replaced_by_older_ones() {
	local dir
	setup
	dir=$S/store/fabric/flat
	echo '{"format":' >"$dir/20250101T000000Z.json"
	run 0 netprof predict spmv qmc
	contains "page" "$OUT" '1 newer calibration cannot be used:'
	rm "$dir"/2024*
	refused 1 'no calibration can be used: .*20250101T000000Z.json' netprof predict spmv qmc
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
	contains "curves of the leaf" "$(netprof show fft)" '^Slow(s|ed by) '
}

test_unusable_runs_do_not_enter_a_curve() {
	local curve one
	setup
	curve() { netprof predict --json fft halo |
		jq '.applications[0].runs_under_levels'; }
	equal "all" "$(curve)" 16
	one=$(grep -l '"name":"c7"' "$S/store/users/$MY_UID"/fft/* | head -n 1)
	sed -i 's/"exit_code":0/"exit_code":1/' "$one"
	equal "without the one that failed" "$(curve)" 15
	contains "it is said" "$(netprof predict fft halo)" '^Excluded +fft: 1 failed'
	contains "on the page, too" "$(netprof show fft)" '^Excluded +1 failed'
	equal "and of the run" "$(netprof runs -P fft | cut -d'|' -f21 |
		grep -c failed)" 1
	equal "both say the same of the level" \
		"$(netprof show --json fft | jq -c '.levels[7].runs')" 1
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
	contains "without" "$OUT" '^hpcc: network use not known yet'
	contains "without" "$OUT" '--netprofile=idle sleep 30'
	equal "doubt" "$(netprof show --json hpcc | jq -r .verdict.doubt)" baseline
}

test_delays_that_the_traffic_cannot_cause_give_no_verdict() {
	local reason="51 % of its probes were delayed, but its traffic can delay 16 % at most: \
each measured node sent and received 90 MB/s"
	setup
	calibrate_fast
	contains "reason" "$(netprof show lammps | xargs)" "lammps: network use not known yet: $reason"
	contains "command" "$(netprof show lammps | xargs)" \
		'load on other nodes: sbatch --netprofile=lammps --netprofile-calibrate job.sh'
	equal "verdict" "$(netprof show --json lammps | jq -c '.verdict | [.use, .doubt,
		(.traffic_share * 100 | round)]')" '["unknown","traffic",16]'
	contains "list" "$(netprof list)" '^lammps .* unknown'
	netprof report -o "$S/page.html" lammps >/dev/null
	contains "page" "$(cat "$S/page.html")" "$reason"
}

test_runs_with_neighbours_are_used_only_alone_and_marked() {
	setup
	find "$S/store/users/$MY_UID/lammps" -name '*.json' ! -name '*-1400.0.json' \
		-delete
	run netprof show lammps
	contains "page" "$OUT" 'Other jobs shared a leaf switch with every run'
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
	run 1 netprof show lammps
	run netprof show --user=12345 lammps
	contains "of the user" "$OUT" ', of 12345$'
	contains "in the list" "$(netprof list --all)" '^lammps +12345 '
	run netprof publish 12345/lammps --as=lammps-melt
	equal "published" "$OUT" "published 10 runs of lammps (12345) as lammps-melt"
	chmod 750 "$S/store/users/12345"
	run setpriv --reuid=23456 --regid=23456 --clear-groups \
		netprof show lammps-melt
	contains "by another user" "$OUT" '^lammps-melt uses the network heavily'
	refused 1 'users/12345: Permission denied' setpriv --reuid=23456 --regid=23456 --clear-groups \
		netprof show --user=12345 lammps
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
	refused 1 'published/lammps: Permission denied' \
		setpriv --reuid=12345 --regid=12345 --clear-groups \
		netprof publish lammps
	# Files that another user put there are ignored.
	cp -r "$S/store/users/12345/lammps" "$S/store/published/forged"
	chown -R 12345 "$S/store/published/forged"
	refused 1 'owned by uid 12345.*not trusted' netprof show --published forged
}

# A published record contains nothing about other jobs.
test_published_records_contain_nothing_about_other_users() {
	local all
	setup_measured
	netprof publish fft >/dev/null
	all=$(cat "$S"/store/published/fft/*.json)
	equal "what is known of these" \
		"$(jq -c '.neighbours[] | del(.overlap_sec)' <<<"$all" | sort -u)" \
		'{"job_id":0,"leaf":"","nodes":""}'
	equal "runs with neighbours" \
		"$(jq -s 'map(select(.neighbours[].overlap_sec > 0)) | length' \
			<<<"$all")" 1
	equal "nodes" "$(jq -r '.. | .nodes? | strings' <<<"$all" | sort -u)" ""
	equal "hosts, notes" "$(jq -c '[.host, .notes[]] | select(. != [null])' \
		<<<"$all")" ""
	equal "whose" "$(jq .uid <<<"$all" | sort -u)" "$MY_UID"
	if grep -E '"job_id":399[12]' <<<"$all"; then fail "it is visible"; fi
	# Predictions are the same.
	equal "use" "$(netprof runs -P --published fft | cut -d'|' -f1,21)" \
		"$(netprof runs -P fft | cut -d'|' -f1,21)"
}

test_publishing_again_adds() {
	setup
	netprof publish hpcc >/dev/null
	netprof publish hpcc >/dev/null
	equal "runs" "$(netprof runs -P --published hpcc | tail -n +2 | wc -l)" 2
	netprof publish NPmpi --as=hpcc >/dev/null
	equal "runs" "$(netprof runs -P --published hpcc | tail -n +2 | wc -l)" 3
}

test_hostile_records_do_not_reach_the_terminal() {
	setup
	find "$S/store/users/$MY_UID/serial" -name '*.json' -exec sed -i \
		's/only one node of the step is on this leaf switch/\\u001b[2J\\u009bpwned/' {} +
	run 0 netprof show serial
	contains "page" "$OUT" 'pwned'
	[[ $OUT != *$'\033'* && $OUT != *$'\302\233'* ]] || fail "escape sequence"
}

# Names of files and directories, and all texts of a record, contain U+009B, U+202E,
# U+2028, an escape sequence and invalid UTF-8.
test_hostile_names_do_not_reach_the_terminal() {
	local name=$'x\302\2332J\342\200\256\342\200\250\033[31m\377' d cmd
	setup
	d=$S/store/users/$MY_UID
	find "$d/fft" "$S/store/placement" -name '*.json*' -exec sed -i -E '
		s/"(leaf[0-9]|fft|lammps|ctl0)"/"\1\\u009b2J\\u202e\xc2\x9b"/g
		s/"app":"fft[^"]*"/"app":"fft"/' {} +
	for where in "$d/lammps" "$S/store/published/cp2k" \
		"$S"/store/fabric/* "$d/$name"; do
		mkdir -p "$where/$name-dir.json"
		echo '{"schema":1,"app":"'"$name"'"}' >"$where/$name.json"
		ln -s "$name" "$where/$name-link.json"
	done
	while read -ra cmd; do
		run netprof "${cmd[@]}"
		is_plain "$S/out" "$S/err" || fail "netprof ${cmd[*]}"
		case " ${cmd[*]} " in
		*" --json "*) [ -s "$S/out" ] && jq -e . <"$S/out" >/dev/null || fail "${cmd[*]}" ;;
		esac
	done <<-EOF
		list
		list --all --json
		show lammps
		show lammps --json
		show lammps --parsable
		show --published cp2k
		show fft
		show fft --json
		runs lammps
		runs fft --json
		predict lammps fft
		predict lammps fft --json
		matrix
		matrix --json
		publish lammps
		status
		status --json
		explain 4711
		explain 3001 --json
		check
		check --json
		accuracy
		show $name
		$name
		--store=$S/$name list
	EOF
	run 0 netprof show lammps
	contains "its reason" "$ERR" 'x[?]2J[?]+\[31m[?]\.json: skipped: '
	run netprof show "$name"
	contains "what was typed" "$ERR" '"x[?]2J[?]+\[31m[?]"'
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
