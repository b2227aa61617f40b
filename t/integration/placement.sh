# Placement on a running Slurm: the promises to users and administrators.
# shellcheck source=t/integration/placement.lib
. "$ROOT/t/integration/placement.lib"

SUITE_CLUSTER=(--leaves 4 --nodes-per-leaf 2 --netprof "$BUILD"
	--netprof-conf "$ROOT/t/integration/placement.netprof.conf"
	--slurm-conf-extra "$ROOT/t/integration/placement.slurm.conf")
PARALLEL=180

# HOW PARTITION [SECONDS]: submit three fft and two halo jobs in that way; JOBS has their ids.
five_jobs() {
	local p=$2 app hold=() block=''

	[ "$1" != "in one pass" ] || block=$(block)
	[ "$1" != "held" ] || hold=(-H)
	JOBS=()
	for app in fft halo fft halo fft; do
		JOBS+=("$(job "$app" "${3-1.5}" -p "$p" "${hold[@]}")")
	done
	[ -z "$block" ] || { slack; cancel "$block"; }
	[ -z "${hold[*]}" ] || inside scontrol release "${JOBS[@]}"
	wait_for all_done "${JOBS[@]}"
	equal "of five jobs ran" "$(for j in "${JOBS[@]}"; do
		field "$j" JobState; done | grep -c COMPLETED)" 5
}

# On a busy machine one may have ended when the next one starts, unless it takes longer.
test_without_placement_such_jobs_do_meet() {
	local sec
	for sec in 1.5 4 8 16; do
		five_jobs "in one pass" off $sec
		[ -z "$(met 2 "${JOBS[@]}")" ] || return 0
	done
	fail "nobody met: the judge sees nothing"
}

test_jobs_submitted_together_never_share_a_leaf() {
	five_jobs together main
	never_met 2 "${JOBS[@]}"
}

# On a busy machine the nodes may become free one after the other.
test_jobs_that_start_in_one_pass_never_share_a_leaf() {
	local _
	for _ in 1 2 3 4 5; do
		five_jobs "in one pass" main
		never_met 2 "${JOBS[@]}"
		[ -z "$(jobs_that_ran | awk -v ids=" ${JOBS[*]} " 'index(ids, " " $1 " ") {
			print $3 }' | sort | uniq -d)" ] || return 0
	done
	fail "no two started at once"
}

test_jobs_that_were_held_never_share_a_leaf() {
	five_jobs held main
	never_met 2 "${JOBS[@]}"
}

waited() { # JOB; s
	echo $(($(when "$1" StartTime) - $(when "$1" SubmitTime)))
}

test_harmless_jobs_are_not_touched() {
	local j jobs=() control

	for j in halo halo nobody nobody; do
		prompt_job "$j" 1
		jobs+=("$ID")
	done
	control=$(control)
	slack
	for j in "${jobs[@]}"; do
		equal "exclusions of job $j" "$(field "$j" ExcNodeList)" "(null)"
		! is_restricted "$j" && ! is_held "$j" || fail "job $j: $(note "$j")"
	done
	start_no_later "$control" "${jobs[@]}"
}

only_users() { # JOB NODES
	[ "$(excluded "$1")" = "$2" ]
}

test_the_users_exclusions_are_kept_when_those_of_placement_change() {
	local a b

	block >/dev/null
	a=$(pending fft)
	b=$(pending fft -x n7)
	wait_for kept_apart "$b" n7
	wait_for is_restricted "$a"
	cancel "$a"
	wait_for only_users "$b" n7
}

test_a_user_may_change_the_exclusions_of_a_pending_job() {
	local a b

	block >/dev/null
	a=$(pending fft)
	b=$(pending fft -x n7)
	wait_for kept_apart "$b" n7
	inside scontrol update JobId="$b" ExcNodeList=n5
	kept_apart "$b" n5 || fail "at once: $(excluded "$b")"
	slack
	kept_apart "$b" n5 || fail "after a round: $(excluded "$b")"
	cancel "$a"
	wait_for only_users "$b" n5
	inside scontrol update JobId="$b" ExcNodeList=
	slack
	equal "an empty list" "$(field "$b" ExcNodeList)" "(null)"
}

test_an_empty_list_removes_only_the_users_part() {
	local a b list

	block >/dev/null
	a=$(pending fft)
	b=$(pending fft -x n7)
	wait_for kept_apart "$b" n7
	inside scontrol update JobId="$b" ExcNodeList=
	slack
	is_restricted "$b" || fail "no longer apart: $(note "$b")"
	note "$b" | grep -qv 'user=' || fail "still the user's: $(note "$b")"
	cancel "$a"
	wait_for only_users "$b" ""
}

own_begin() { # JOB SECOND
	[ "$(when "$1" EligibleTime)" = "$2" ] && ! is_held "$1"
}

test_the_users_begin_time_is_kept() {
	local a b begin soon

	full_of_ffts
	begin=$((EPOCHSECONDS + 3600))
	a=$(job fft 1 --begin="$(TZ=UTC date -d "@$begin" +%FT%T)")
	slack
	equal "begin time" "$(when "$a" EligibleTime)" "$begin"
	b=$(job fft 1)
	wait_for is_held "$b"
	soon=$((EPOCHSECONDS + 1800))
	inside scontrol update JobId="$b" \
		StartTime="$(TZ=UTC date -d "@$soon" +%FT%T)"
	slack
	equal "begin time after an update" "$(when "$b" EligibleTime)" "$soon"
	cancel "${FFTS[@]}"
	wait_for own_begin "$a" "$begin"
	wait_for own_begin "$b" "$soon"
}

# About as soon as a job that Slurm itself starts then. Up to three times, as other programs
# delay decisions, too.
test_a_held_job_starts_as_soon_as_there_is_room() {
	local _ late

	for _ in 1 2 3; do
		start_when_there_is_room
		[ "$late" -gt 3 ] || return 0
		cancel_all
		wait_for nothing_left
	done
	fail "$late s after the control"
}

start_when_there_is_room() {
	local a control

	full_of_ffts
	a=$(job fft 1)
	wait_for is_held "$a"
	control=$(control -d "afterany:${FFTS[2]}")
	cancel "${FFTS[2]}"
	wait_for has_started "$a"
	wait_for has_started "$control"
	late=$(($(when "$a" StartTime) - $(when "$control" StartTime)))
	equal "its node" "$(field "$a" NodeList | grep -cE '^n[45]$')" 1
}

test_tasks_of_an_array_get_leaves_of_their_own() {
	local a

	a=$(job fft 300 --array=1-3)
	wait_for all_run "$a" 3
	never_met 2 "$a"
}

test_a_change_to_one_task_is_not_a_change_to_all() {
	local a

	block >/dev/null
	a=$(pending fft --array=1-2 -x n7)
	wait_for kept_apart "${a}_1" n7
	wait_for kept_apart "${a}_2" n7
	inside scontrol update JobId="${a}_1" ExcNodeList=n5
	slack
	note "${a}_1" | grep -q 'user=n5 ' || fail "first: $(note "${a}_1")"
	note "${a}_2" | grep -q 'user=n7 ' || fail "second: $(note "${a}_2")"
}

test_a_requeued_job_is_placed_anew() {
	local a b

	a=$(job fft 300 --requeue) # long enough to be running when it is requeued
	b=$(job fft 1.5)
	wait_for state_is "$a" RUNNING
	inside --user root scontrol requeue "$a"
	b+=" $(job fft 1.5) $(job halo 1.5)"
	# shellcheck disable=SC2086 # several
	wait_for all_done $b
	# shellcheck disable=SC2086
	never_met 2 $b "$a"
}

all_run() { # ARRAY N: at the same time
	[ "$(inside squeue -h -r -t R -o %i -j "$1" | wc -l)" = "$2" ]
}

# OPTIONS: the job is ignored, for the reason in the log.
is_ignored_with() { # REASON OPTIONS
	local a

	a=$(job fft 1 "${@:2}") || fail "${*:2}: not submitted"
	slack
	equal "exclusions with ${*:2}" "$(field "$a" ExcNodeList)" "(null)"
	wait_for said "ignored: $1"
	cancel "$a"
}

test_jobs_that_cannot_be_placed_are_ignored_and_the_log_says_why() {
	local a

	job fft 300 -p off >/dev/null
	inside --user root scontrol update NodeName=n[0-3] \
		AvailableFeatures=old ActiveFeatures=old >/dev/null
	inside --user root scontrol create reservation ReservationName=r \
		Nodes=n6 Users=alice StartTime=now Duration=10 >/dev/null
	is_ignored_with "it asks for nodes by name" -w n3
	is_ignored_with "it runs in a reservation" --reservation=r
	is_ignored_with "it has a deadline" --deadline=now+2days
	is_ignored_with "placement does not know which nodes match its" -C "[old*1]"
	a=$(inside sbatch --parsable -o /dev/null -J fft --netprofile=fft \
		-N1 : -N1 --wrap 'sleep 1')
	slack
	equal "exclusions of a heterogeneous job" \
		"$(field "$a" ExcNodeList)" "(null)"
	wait_for said "ignored: it is a component of a heterogeneous job"
	inside --user root scontrol delete ReservationName=r >/dev/null
	inside --user root scontrol update NodeName=n[0-3] \
		AvailableFeatures= ActiveFeatures= >/dev/null
}

# Slurm refuses it if it is held. Not a step, whose line in the user's log would make the
# user's directory in the store.
test_a_job_that_must_start_at_once_is_not_held() {
	full_of_ffts
	inside salloc -Q -N1 -J fft --netprofile=fft --immediate true ||
		fail "it did not start"
}

# With an fft on the second and the third leaf, OPTIONS: the job starts nevertheless.
starts_with() { # OPTIONS
	local a

	a=$(job fft 1 "$@") || fail "$*: not submitted"
	wait_for all_done "$a"
	equal "$*" "$(field "$a" JobState)" COMPLETED
	STARTED+=("$a")
}

test_no_option_of_a_job_makes_it_impossible_to_start() {
	local a STARTED=()

	configure MaxDefer=1h
	job fft 300 -p off -w n3 >/dev/null
	job fft 300 -p off -w n5 >/dev/null
	wait_for status_says ' 2 running'
	slack
	starts_with -N2 --switches=1
	starts_with -N2 --switches=1@10:00
	starts_with -N4 --switches=2
	starts_with -N2 --network=sn_all
	starts_with -N2 -n8 --threads-per-core=1
	starts_with -N2 -n8 --hint=nomultithread
	never_met 2 "${STARTED[@]}"
	# These are left alone: on the first and the last leaf there are no four in a row.
	starts_with -N4 --contiguous
	a=$(inside sbatch --parsable -o /dev/null -J fft --netprofile=fft -N4 : -N4 \
		--netprofile=fft --wrap 'sleep 1')
	wait_for all_done "$a"
	equal "a heterogeneous job" "$(field "$a" JobState | head -n 1)" COMPLETED
}

# PARTITION [OPTIONS]: submit an fft that stays pending there, its id in PENDING, and
# print what the log says about it without the parts that vary. Submits another one if
# the log only says that a decision was being made.
saying() {
	local text

	while :; do
		MARK=$(wc -c <"$LOG")
		PENDING=$(job fft 1 -p "$1" "${@:2}")
		slack
		text=$(said "\(fft\): ")
		[[ $text == *"decision that is being made"* ]] || break
		forget "$PENDING"
	done
	sed -E <<<"$text" "s/^\[[^]]*\] //; s/JobId=$PENDING/JobId=A/
		s/held, for now for [0-9]+ s/held/; s/; held for .*//
		s/advice, not applied: //"
}

# Slurm sets the eligible time once it has considered the job.
eligible() { # JOB
	[ -n "$(when "$1" EligibleTime)" ]
}

# WHAT OPTIONS: the log says the same for both partitions, of which only one acts.
same_advice() {
	local advice

	saying advise "${@:2}" >"$TMPDIR/advice"
	advice=$PENDING
	equal "$1: exclusions" "$(field "$advice" ExcNodeList)" "(null)"
	! is_held "$advice" || fail "$1: held back"
	wait_for eligible "$advice"
	[ "$(when "$advice" EligibleTime)" -le "$(date +%s)" ] ||
		fail "$1: may not begin now"
	said "advice, not applied" >/dev/null || fail "$1: not called advice"
	forget "$advice"
	saying main "${@:2}" >"$TMPDIR/act"
	is_restricted "$PENDING" || is_held "$PENDING" || fail "$1: enforce is idle"
	forget "$PENDING"
	grep -q '^netprof: JobId=A' "$TMPDIR/act" || fail "$1: not logged"
	# Once written to, the tasks of an array are separate jobs with lines of their own.
	head -n "$(wc -l <"$TMPDIR/advice")" "$TMPDIR/act" |
		cmp "$TMPDIR/advice" - ||
		fail "$1: $(diff "$TMPDIR/advice" "$TMPDIR/act")"
}

# A block on these nodes has started, and decisions know it: those that are compared depend on
# which nodes are free.
blocked() { # OPTIONS of sbatch
	wait_for state_is "$(block "$@")" RUNNING
	slack
}

test_advise_logs_what_enforce_would_do_and_changes_nothing() {
	full_of_ffts
	blocked -N4 -w n0,n2,n4,n6
	same_advice "nowhere to go"
	cancel "${FFTS[2]}"
	blocked -N1 -w n5
	same_advice "one leaf is open"
	cancel "${FFTS[0]}" "${FFTS[1]}" "${FFTS[3]}"
	blocked -N3 -w n1,n3,n7
	same_advice "an array" --array=1-2
}

test_prefer_keeps_apart_while_room_is_free_and_never_delays() {
	local i jobs=()

	slack # it knows that the nodes are free
	for i in 1 2 3 4; do
		jobs+=("$(job fft 300 -p prefer)")
	done
	start_no_later "$(control -p prefer)" "${jobs[@]}"
	never_met 2 "${jobs[@]}"
	i=$(job fft 1 -p prefer)
	start_no_later "$(control -p prefer)" "$i"
}

# Up to three times, as above.
test_a_job_is_held_for_maxdefer_and_then_runs_anywhere() {
	local _ a control

	configure MaxDefer=3s
	for _ in 1 2 3; do
		full_of_ffts
		a=$(job fft 1)
		control=$(control --begin=now+3)
		wait_for has_started "$a"
		wait_for has_started "$control"
		! (waits_as_long) >/dev/null || break
		cancel_all
		wait_for nothing_left
	done
	waits_as_long
	wait_for said "held, for now for 3 s"
}

waits_as_long() {
	between "seconds it waited" "$(waited "$a")" 3 $(($(waited "$control") + 3))
}

# No job shares a leaf with the first of these, because all of them are fft.
test_the_application_is_what_the_job_or_a_rule_says() {
	local ids=() j

	configure 'JobNameApp=turbulence*:fft' 'CommentApp=*spectral*:fft'
	block >/dev/null
	ids+=("$(job fft 1 -J a)")
	ids+=("$(inside env NETPROF_APP=fft sbatch --parsable -N1 \
		-o /dev/null -J b --wrap 'sleep 1')")
	ids+=("$(inside sbatch --parsable -N1 -o /dev/null -J turbulence-7 \
		--wrap 'sleep 1')")
	ids+=("$(inside sbatch --parsable -N1 -o /dev/null -J d \
		--comment='a spectral one' --wrap 'sleep 1')")
	slack
	for j in "${ids[@]}"; do
		excluded "$j"
	done >"$TMPDIR/lists"
	equal "different lists of six nodes" \
		"$(awk 'NF == 6' "$TMPDIR/lists" | sort -u | wc -l)" 4
}

test_an_unknown_application_is_not_restricted_and_restricts_no_job() {
	local a b

	full_of_ffts
	a=$(job nobody 300)
	b=$(inside sbatch --parsable -N1 -o /dev/null --wrap 'sleep 300')
	start_no_later "$(control)" "$a" "$b"
	equal "exclusions" "$(field "$a" ExcNodeList) $(field "$b" ExcNodeList)" \
		"(null) (null)"
	cancel "${FFTS[@]}"
	wait_for all_done "${FFTS[@]}"
	slack
	prompt_job fft 1
	start_no_later "$(control)" "$ID"
	equal "exclusions then" "$(field "$ID" ExcNodeList)" "(null)"
}

test_a_users_own_profile_restricts_only_that_users_jobs() {
	local a b bob

	give_private loud
	block >/dev/null
	a=$(pending loud)
	b=$(pending loud)
	wait_for is_restricted "$a"
	wait_for is_restricted "$b"
	bob=$(as_bob -J halo --netprofile=halo)
	slack
	equal "bob's exclusions" "$(field "$bob" ExcNodeList)" "(null)"
	bob=$(as_bob -J loud --netprofile=loud)
	slack
	equal "bob's, of that name" "$(field "$bob" ExcNodeList)" "(null)"
}

test_profiles_of_trusted_users_restrict_all_users() {
	local a bob

	give_private loud
	configure "TrustedUsers=$ALICE_UID"
	block >/dev/null
	a=$(pending loud)
	bob=$(as_bob -J halo --netprofile=halo)
	wait_for is_restricted "$a"
	wait_for is_restricted "$bob"
}
