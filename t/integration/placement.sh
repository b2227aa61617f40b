# Placement on a running Slurm: what users and administrators may rely on.
# shellcheck source=t/integration/placement.lib
. "$ROOT/t/integration/placement.lib"

SUITE_CLUSTER=(--leaves 4 --nodes-per-leaf 2 --netprof "$BUILD"
	--netprof-conf "$ROOT/t/integration/placement.netprof.conf"
	--slurm-conf-extra "$ROOT/t/integration/placement.slurm.conf")

# HOW PARTITION: three fft and two halo, in that way; their ids in JOBS.
five_jobs() {
	local p=$2 app hold=() block=''

	[ "$1" != "in one pass" ] || block=$(block)
	[ "$1" != "held" ] || hold=(-H)
	JOBS=()
	for app in fft halo fft halo fft; do
		JOBS+=("$(job "$app" 1.5 -p "$p" "${hold[@]}")")
	done
	[ -z "$block" ] || { slack; cancel "$block"; }
	[ -z "${hold[*]}" ] || inside scontrol release "${JOBS[@]}"
	wait_for 30 all_done "${JOBS[@]}"
	equal "of five jobs ran" "$(for j in "${JOBS[@]}"; do
		field "$j" JobState; done | grep -c COMPLETED)" 5
}

test_without_placement_such_jobs_do_meet() {
	five_jobs "in one pass" off
	[ -n "$(met 2 "${JOBS[@]}")" ] || fail "nobody met: the judge sees nothing"
}

test_jobs_submitted_together_never_share_a_leaf() {
	five_jobs together main
	never_met 2 "${JOBS[@]}"
}

test_jobs_that_start_in_one_pass_never_share_a_leaf() {
	five_jobs "in one pass" main
	never_met 2 "${JOBS[@]}"
	[ "$(jobs_that_ran | awk -v ids=" ${JOBS[*]} " 'index(ids, " " $1 " ") {
		print $3 }' | sort | uniq -d)" ] || fail "no two started at once"
}

test_jobs_that_were_held_never_share_a_leaf() {
	five_jobs held main
	never_met 2 "${JOBS[@]}"
}

# Under a job on all nodes, so that it is decided about and does not start.
pending() { # APP [OPTIONS]
	job "$1" 1 "${@:2}"
}

test_harmless_jobs_are_not_touched() {
	local j jobs=() start submit

	for j in halo halo nobody nobody; do
		jobs+=("$(job "$j" 1)")
	done
	slack
	for j in "${jobs[@]}"; do
		equal "exclusions of job $j" "$(field "$j" ExcNodeList)" "(null)"
		! confined "$j" && ! deferred "$j" || fail "job $j: $(note "$j")"
		between "job $j waited, s" $(($(when "$j" StartTime) -
			$(when "$j" SubmitTime))) 0 1
	done
}

# A job that is kept away from another: its exclusions must not only be the
# user's for the test to mean anything.
kept_apart() { # JOB USER'S-NODE
	local list

	list=" $(excluded "$1") "
	[[ $list == *" $2 "* ]] && [[ $list != " $2 " ]]
}

only_users() { # JOB NODES
	[ "$(excluded "$1")" = "$2" ]
}

test_the_users_exclusions_are_kept_when_ours_come_and_go() {
	local a b

	block >/dev/null
	a=$(pending fft)
	b=$(pending fft -x n7)
	wait_for 5 kept_apart "$b" n7
	wait_for 5 confined "$a"
	cancel "$a"
	wait_for 5 only_users "$b" n7
}

test_a_user_may_change_the_exclusions_of_a_pending_job() {
	local a b

	block >/dev/null
	a=$(pending fft)
	b=$(pending fft -x n7)
	wait_for 5 kept_apart "$b" n7
	inside scontrol update JobId="$b" ExcNodeList=n5
	kept_apart "$b" n5 || fail "at once: $(excluded "$b")"
	slack
	kept_apart "$b" n5 || fail "after a round: $(excluded "$b")"
	cancel "$a"
	wait_for 5 only_users "$b" n5
	inside scontrol update JobId="$b" ExcNodeList=
	slack
	equal "an empty list" "$(field "$b" ExcNodeList)" "(null)"
}

test_an_empty_list_takes_away_the_users_part_only() {
	local a b list

	block >/dev/null
	a=$(pending fft)
	b=$(pending fft -x n7)
	wait_for 5 kept_apart "$b" n7
	inside scontrol update JobId="$b" ExcNodeList=
	slack
	confined "$b" || fail "no longer apart: $(note "$b")"
	note "$b" | grep -qv 'user=' || fail "still the user's: $(note "$b")"
	cancel "$a"
	wait_for 5 only_users "$b" ""
}

# Four leaves are taken: who comes now has to wait.
full_of_ffts() {
	local i

	FFTS=()
	for i in 1 2 3 4; do
		FFTS+=("$(job fft 300 -p off -w "n$((2 * i - 1))")")
	done
	wait_for 5 state_is "${FFTS[3]}" RUNNING
	slack
}

own_begin() { # JOB SECOND
	[ "$(when "$1" EligibleTime)" = "$2" ] && ! deferred "$1"
}

test_the_users_begin_time_is_kept() {
	local a b begin soon

	full_of_ffts
	begin=$((EPOCHSECONDS + 3600))
	a=$(job fft 1 --begin="$(TZ=UTC date -d "@$begin" +%FT%T)")
	slack
	equal "begin time" "$(when "$a" EligibleTime)" "$begin"
	b=$(job fft 1)
	wait_for 5 deferred "$b"
	soon=$((EPOCHSECONDS + 1800))
	inside scontrol update JobId="$b" \
		StartTime="$(TZ=UTC date -d "@$soon" +%FT%T)"
	slack
	equal "begin time after an update" "$(when "$b" EligibleTime)" "$soon"
	cancel "${FFTS[@]}"
	slack
	own_begin "$a" "$begin" || fail "the first: $(when "$a" EligibleTime) $(note "$a")"
	own_begin "$b" "$soon" || fail "the second: $(when "$b" EligibleTime) $(note "$b")"
}

test_a_deferred_job_starts_as_soon_as_there_is_room() {
	local a

	full_of_ffts
	a=$(job fft 1)
	wait_for 5 deferred "$a"
	cancel "${FFTS[2]}"
	wait_for 4 state_is "$a" RUNNING
	equal "its node" "$(field "$a" NodeList | grep -cE '^n[45]$')" 1
}

test_tasks_of_an_array_get_leaves_of_their_own() {
	local a

	a=$(job fft 2 --array=1-3)
	wait_for 8 all_run "$a" 3
	wait_for 8 all_done "$a"
	never_met 2 "$a"
}

all_run() { # ARRAY N: at the same time
	[ "$(inside squeue -h -r -t R -o %i -j "$1" | wc -l)" = "$2" ]
}

# OPTIONS: left alone, for the reason in the log.
left_alone() { # REASON OPTIONS
	local a

	a=$(job fft 1 "${@:2}") || fail "${*:2}: not submitted"
	slack
	equal "exclusions with ${*:2}" "$(field "$a" ExcNodeList)" "(null)"
	said "left alone: $1" >/dev/null || fail "${*:2}: not in the log: $1"
	cancel "$a"
}

test_what_is_not_ours_to_place_is_left_alone_and_why_is_logged() {
	local a

	job fft 300 -p off >/dev/null
	inside --user root scontrol update NodeName=n[0-3] \
		AvailableFeatures=old ActiveFeatures=old >/dev/null
	inside --user root scontrol create reservation ReservationName=r \
		Nodes=n6 Users=alice StartTime=now Duration=10 >/dev/null
	left_alone "it asks for nodes by name" -w n3
	left_alone "it runs in a reservation" --reservation=r
	left_alone "it asks for partitions or features" -C "[old*1]"
	a=$(inside sbatch --parsable -o /dev/null -J fft --netprofile=fft \
		-N1 : -N1 --wrap 'sleep 1')
	slack
	equal "exclusions of a heterogeneous job" \
		"$(field "$a" ExcNodeList)" "(null)"
	said "left alone: it is part of a heterogeneous job" >/dev/null ||
		fail "a heterogeneous job: not in the log"
	inside --user root scontrol delete ReservationName=r >/dev/null
	inside --user root scontrol update NodeName=n[0-3] \
		AvailableFeatures= ActiveFeatures= >/dev/null
}
