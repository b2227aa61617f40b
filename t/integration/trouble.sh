# Placement when something fails, is restarted, or is removed.
# shellcheck source=t/integration/placement.lib
. "$ROOT/t/integration/placement.lib"
# shellcheck source=t/integration/hung.lib
. "$ROOT/t/integration/hung.lib"

SUITE_CLUSTER=(--leaves 4 --nodes-per-leaf 2 --netprof "$BUILD"
	--netprof-conf "$ROOT/t/integration/placement.netprof.conf"
	--slurm-conf-extra "$ROOT/t/integration/placement.slurm.conf")
PARALLEL=275
LIMIT_SEC=600 # after a controller was lost, each command takes seconds
PLACES=(ctl)   # where hungfs is mounted

# Pending jobs that conflict; one has exclusions of its user.
three_pending() {
	BLOCK=$(block)
	JOBS=("$(pending fft)" "$(pending fft -x n7)" "$(pending halo)")
	wait_for kept_apart "${JOBS[1]}" n7
}

# They run apart from each other, and the user's exclusions are respected.
three_as_promised() {
	kept_apart "${JOBS[1]}" n7 || fail "exclusions: $(excluded "${JOBS[1]}")"
	note "${JOBS[1]}" | grep -q 'user=n7' || fail "$(note "${JOBS[1]}")"
	wait_for all_registered
	cancel "$BLOCK"
	wait_for all_done "${JOBS[@]}"
	equal "jobs that ran" "$(for j in "${JOBS[@]}"; do
		field "$j" JobState; done | grep -c COMPLETED)" ${#JOBS[@]}
	[ "$(field "${JOBS[1]}" NodeList)" != n7 ] || fail "on the user's n7"
	never_met 2 "${JOBS[@]}"
}

# slurmctld saves jobs some seconds after they change, and loses unsaved ones on
# kill -9. Once this last job is saved, all are.
all_saved() {
	local stamp=stamp-$EPOCHREALTIME

	inside sbatch -N1 -o /dev/null --comment="$stamp" --wrap true >/dev/null
	wait_for grep -qaF "$stamp" "$(rundir)/state/job_state"
}

test_decisions_survive_a_kill_of_slurmctld() {
	three_pending
	all_saved
	cluster restart-ctl -9
	# Submitted before the first decision of the new slurmctld.
	JOBS+=("$(pending fft)")
	wait_for said 'in control'
	slack
	three_as_promised
	never_met 2 "${JOBS[@]}"
}

test_decisions_survive_a_restart_of_slurmctld() {
	three_pending
	cluster restart-ctl
	three_as_promised
}

test_a_job_submitted_right_after_a_start_is_placed() {
	local a b block

	a=$(job fft 300 -w n0)
	wait_for state_is "$a" RUNNING
	block=$(block -N7 -x n0)
	wait_for state_is "$block" RUNNING
	cluster restart-ctl
	b=$(job fft 1)
	wait_for all_registered
	cancel "$block"
	wait_for all_done "$b"
	never_met 2 "$a" "$b"
	equal "it ran" "$(field "$b" JobState)" COMPLETED
}

test_a_reconfiguration_changes_nothing() {
	three_pending
	inside --user root scontrol reconfigure
	slack
	three_as_promised
}

test_jobs_stay_apart_when_all_nodes_come_back_from_a_maintenance() {
	inside --user root scontrol update NodeName=n[0-7] State=drain Reason=m
	slack
	JOBS=("$(pending fft)" "$(pending fft)" "$(pending halo)")
	slack
	inside --user root scontrol update NodeName=n[0-7] State=resume
	wait_for all_done "${JOBS[@]}"
	never_met 2 "${JOBS[@]}"
}

lines() { # REGEXP: how many such lines since the test began
	{ said "$1" || :; } | wc -l
}

# Jobs can be submitted and run as without netprof; one line says why.
still_submits() {
	local a

	a=$(job fft 1)
	wait_for all_done "$a"
	equal "job $a" "$(field "$a" JobState)" COMPLETED
}

test_the_store_may_vanish_and_come_back() {
	mv "$STORE" "$STORE.away"
	trap 'mv "$STORE.away" "$STORE"' EXIT
	slack
	still_submits
	still_submits
	wait_for said "$STORE"
	equal "lines about it" "$(lines "$STORE")" 1
	mv "$STORE.away" "$STORE"
	trap - EXIT
	wait_for said "placement works fully again"
	three_pending
	three_as_promised
}

# Mount a file system without a server: a process that accesses it waits until
# answer_again ends it.
hang_store() {
	HANGS=$(shared)/hangs
	trap 'rm -f "$HANGS"' EXIT
	: >"$HANGS"
	inside --user root --on ctl sh -c "exec 9<>/dev/fuse && mount -i -t fuse \
		-o fd=9,rootmode=40000,user_id=0,group_id=0,allow_other none $STORE &&
		while [ -e $HANGS ]; do sleep 0.1; done; umount -l $STORE" &
	HUNG=$!
	wait_for inside --on ctl grep -q " $STORE fuse" /proc/mounts
}

answer_again() {
	rm "$HANGS"
	wait "$HUNG"
}

# The profile has been read: of two such jobs one is kept away from the other.
known() { # APP
	BLOCK=$(block)
	pending "$1" >/dev/null
	wait_for is_restricted "$(pending "$1")"
	cancel -u alice
}

ms_to_submit() { # OPTIONS of sbatch
	local begin=${EPOCHREALTIME/./}

	inside sbatch -Q -N1 -o /dev/null "$@" --wrap true || return
	echo $(((${EPOCHREALTIME/./} - begin) / 1000))
}

test_a_store_that_does_not_answer_delays_no_job() {
	local i plain flagged

	[ -e /dev/fuse ] || skip "no FUSE here"
	known fft
	hang_store
	slack
	for ((i = 1; i <= 12; i++)); do
		plain=$(ms_to_submit)
		flagged=$(ms_to_submit --netprofile=fft)
		echo "$flagged $plain"
	done >"$TMPDIR/ms"
	between "time to submit over that of a job without the option" \
		"$(ratios <"$TMPDIR/ms" | sed 's/.*median \([^ ]*\).*/\1/')" 0.2 3
	cancel -u alice
	wait_for nothing_left
	three_pending # decided with the profiles that were read before
	kill -0 "$HUNG" || fail "the store has answered"
	answer_again
	three_as_promised
	# New profiles are read again.
	give_profile "$DATA/own/fft" "$STORE/published/new" 's/"app": *"fft"/"app":"new"/'
	known new
	rm -r "$STORE/published/new"
}

waits_for_store() { # PID: a thread of it does
	on ctl "for thread in \$(cat $STATE/store.waiting 2>/dev/null); do
		[ ! -e /proc/$1/task/\$thread ] || exit 0; done; exit 1"
}

has_ended() { # PID
	on ctl "[ ! -e /proc/$1 ]"
}

# Nothing ends the thread that waits: hungfs has taken its request.
test_slurmctld_is_restarted_while_its_store_hangs() {
	local signal pid old=()

	[ -e /dev/fuse ] || skip "no FUSE here"
	known fft
	fail_at "$STORE" store
	trap restore EXIT
	is store hang
	for signal in "" -9; do
		pid=$(cat "$(rundir)/pid/ctl.daemon")
		wait_for waits_for_store "$pid"
		cluster restart-ctl $signal
		waits_for_store "$pid" || fail "the thread of $pid has not waited"
		old+=("$pid")
	done
	wait_for all_registered
	still_submits
	is store ok
	for pid in "${old[@]}"; do
		wait_for has_ended "$pid"
	done
	three_pending
	three_as_promised
}

# On another host, as sbatch reads netprof.conf itself.
pending_from_a_node() {
	inside --on n7 sbatch --parsable -N1 -o /dev/null -J fft --netprofile=fft \
		--wrap 'sleep 1'
}

two_pending_from_a_node() {
	BLOCK=$(block)
	wait_for state_is "$BLOCK" RUNNING
	JOBS=("$(pending_from_a_node)" "$(pending_from_a_node)")
}

are_apart() {
	wait_for is_restricted "${JOBS[1]}"
	cancel -u alice
	wait_for nothing_left
}

test_decisions_are_made_while_netprof_conf_hangs() {
	local dir
	dir=$(shared)/conf

	[ -e /dev/fuse ] || skip "no FUSE here"
	known fft
	mkdir -p "$dir"
	fail_at "$dir" conf
	trap 'restore; as_usual' EXIT
	configure MaxSlowdown=14%
	mv "$CONF" "$dir"
	ln -s "$dir/${CONF##*/}" "$CONF"
	slack
	is conf hang
	wait_for [ -e "$STATE/conf.waiting" ]
	two_pending_from_a_node
	are_apart
	# Without it, jobs run as if netprof were absent.
	cluster restart-ctl
	wait_for said "its file system does not answer"
	wait_for all_registered
	JOBS=("$(pending_from_a_node)")
	wait_for all_done "${JOBS[@]}"
	two_pending_from_a_node
	is conf ok
	wait_for said "in control"
	are_apart # although there were no settings when they were submitted
	known fft
}

test_placement_works_with_a_store_that_cannot_be_written() {
	chown root "$STORE/placement"
	trap 'chown slurm "$STORE/placement"' EXIT
	wait_for said "$STORE/placement"
	three_pending
	three_as_promised
	sleep 5.5 # until after the next attempt to write it
	chown slurm "$STORE/placement"
	equal "lines about it" "$(lines "$STORE/placement")" 1
}

# Hostile files that a user can put into the store, under names that are read.
hostile_store() {
	local d=$STORE/users/20002/halo p=$STORE/published/halo i

	mkdir -p "$d" "$p"
	mkfifo "$d/20240612T100000Z-x-1.0.json"
	ln -sf /etc/shadow "$d/20240612T100000Z-x-2.0.json"
	ln -sf /dev/zero "$d/20240612T100000Z-x-3.0.json"
	mkdir "$d/20240612T100000Z-x-4.0.json"
	head -c 3000000 /dev/urandom >"$d/20240612T100000Z-x-5.0.json"
	head -c 500000 /dev/zero | tr '\0' '[' >"$d/20240612T100000Z-x-6.0.json"
	truncate -s 1T "$d/20240612T100000Z-x-7.0.json"
	echo '{"schema":1,"app":"halo","start":1e999}' \
		>"$d/20240612T100000Z-x-8.0.json"
	for ((i = 0; i < 300; i++)); do
		echo "{ $i" >"$d/20240612T1$((100000 + i))Z-x-9.$i.json"
	done
	mkdir -p "$STORE/users/20002/../20002/$(printf 'x%.0s' {1..200})"
	chown -hR 20002:20002 "$STORE/users/20002"
	# In the name of another user.
	mkdir -p "$STORE/users/20003/fft"
	cp "$STORE"/published/fft/*.json "$STORE/users/20003/fft/"
	chown -R 20002 "$STORE/users/20003"
}

test_a_store_full_of_hostile_files_harms_no_job() {
	trap 'rm -rf "$STORE/users/20002" "$STORE/users/20003"' EXIT
	hostile_store
	as_bob -J halo --netprofile=halo >/dev/null
	slack
	three_pending
	three_as_promised
}

test_names_of_files_and_jobs_are_plain_text_in_the_log() {
	local name=$'x\302\2332J\342\200\256\033[31m\377' d=$STORE/users/$ALICE_UID

	# Not as bob, about whose files the limit of lines for this hour is reached.
	mkdir -p "$d/odd"
	echo rubbish >"$d/odd/$name.json"
	ln -s nowhere "$d/odd/$name-link.json"
	chown -hR "$ALICE_UID:$ALICE_UID" "$d"
	inside sbatch -Q -N1 -o /dev/null -J "${name%?}" --comment "${name%?}" \
		--netprofile=odd --wrap 'sleep 1'
	wait_for said 'odd/x[?]2J.*skipped'
	wait_for said "submission by uid $ALICE_UID of \"x[?]2J"
	rm -rf "$d/odd"
	tail -c "+$((MARK + 1))" "$LOG" | grep -a 'netprof: ' >"$TMPDIR/said"
	is_plain "$TMPDIR/said" || fail "$(cat -v "$TMPDIR/said")"
}

test_an_error_in_netprof_conf_is_reported_and_its_correction_is_used() {
	local line

	configure Placement=perhaps
	line=$(wc -l <"$CONF")
	cluster restart-ctl
	wait_for said "netprof.conf:$line:? .*perhaps"
	wait_for all_registered
	still_submits
	# One each from the old slurmctld and from the new one.
	between "lines about it" "$(lines perhaps)" 1 2
	as_usual
	wait_for said "placement works fully again"
	three_pending
	three_as_promised
}

# A cluster with a standby controller. Each RPC to the address of a dead controller, which does
# not refuse connections, takes as long as the standby waits for an answer. Commands wait
# longer, until lose_controller.
with_standby() {
	echo MessageTimeout=3 >"$TMPDIR/slurm.conf"
	own_cluster --slurm-conf-extra "$TMPDIR/slurm.conf" --standby \
		--leaves 2 --nodes-per-leaf 2 --netprof "$BUILD" \
		--netprof-conf "$ROOT/t/integration/placement.netprof.conf"
	. "$ROOT/t/integration/placement.lib"
	sed -i 's/^MessageTimeout=.*/MessageTimeout=60/' "$(rundir)/etc/slurm/slurm.conf"
	give_store
	wait_for grep -q "netprof: in control" "$LOG"
	store_is_read
}

lose_controller() {
	sed -i 's/^MessageTimeout=.*/MessageTimeout=3/' "$(rundir)/etc/slurm/slurm.conf"
	cluster kill-node ctl
}

# JOB: cancel it on the standby, which may not answer in time.
is_cancelled() {
	inside --on standby --user root scancel "$1" || :
	[[ $(field "$1" JobState) =~ ^(COMPLETING|CANCELLED)$ ]]
}

test_a_standby_acts_once_it_is_in_control_and_not_before() {
	local running a log

	with_standby
	log=$(rundir)/log/slurmctld.standby.log
	# How jobs end while no controller is active, or after the last save of the
	# state, is unspecified: so no job ends by itself here.
	running=("$(job fft 3000 -w n0)" "$(job fft 3000 -w n2)")
	wait_for state_is "${running[0]}" RUNNING
	wait_for state_is "${running[1]}" RUNNING
	slack # ignored jobs are seen once they run
	a=$(job fft 1 -x n1)
	wait_for is_held "$a"
	all_saved
	! grep -q "netprof: JobId=" "$log" || fail "it acted while it stood by"
	lose_controller
	# No job is submitted from here on.
	wait_for grep -q "netprof: in control" "$log"
	SIDE=(--on standby)
	wait_for all_registered
	wait_for is_cancelled "${running[0]}"
	# Each RPC of the decision first waits for the dead controller.
	wait_for 400 all_done "$a"
	never_met 2
	equal "it ran" "$(field "$a" JobState) $(field "$a" NodeList)" \
		"COMPLETED n0"
	kept_apart "$a" n1 || fail "exclusions: $(excluded "$a")"
}

# Slurm sends slurmdbd the record of a job at its end, including the annotation.
noted() { # JOB
	inside sacct -n -X -P -j "$1" -o State,AdminComment |
		grep -qE '^COMPLETED\|netprof\{app=fft .*\}$'
}

test_jobs_are_placed_with_accounting_and_when_it_has_stopped() {
	# On Debian unstable slurmdbd cannot read the answers of its database.
	own_cluster --leaves 2 --nodes-per-leaf 2 --accounting --netprof "$BUILD" \
		--netprof-conf "$ROOT/t/integration/placement.netprof.conf" \
		2>"$TMPDIR/up" || {
		! grep -q "mysql_query failed: 5027" "$TMPDIR/up" ||
			skip "Slurm's slurmdbd does not work with its libmariadb"
		fail "$(cat "$TMPDIR/up")"
	}
	. "$ROOT/t/integration/placement.lib"
	give_store
	store_is_read
	JOBS=("$(job fft 1)" "$(job fft 1)")
	wait_for all_done "${JOBS[@]}"
	wait_for noted "${JOBS[1]}"
	cluster kill-node dbd
	JOBS+=("$(job fft 1)" "$(job fft 1)")
	wait_for all_done "${JOBS[@]}"
	never_met 2 "${JOBS[@]}"
}

# The first two jobs have leaves, the third has none. COMMENT: text before the
# second's annotation.
are_settled() { # COMMENT
	kept_apart "${JOBS[0]}" n3 && is_held "${JOBS[2]}" &&
		inside scontrol -o show job "${JOBS[1]}" |
		grep -q "AdminComment=${1}netprof{.*ours="
}

# The held job is held for that much longer.
is_held_for() { # SECONDS
	(($(when "${JOBS[2]}" EligibleTime) > EPOCHSECONDS + $1))
}

test_release_removes_what_the_plugin_wrote() {
	local begin own from

	own_cluster --leaves 2 --nodes-per-leaf 2 --netprof "$BUILD" \
		--netprof-conf "$ROOT/t/integration/placement.netprof.conf"
	. "$ROOT/t/integration/placement.lib"
	give_store
	wait_for grep -q "netprof: in control" "$LOG"
	store_is_read
	slack
	begin=$((EPOCHSECONDS + 1800))
	BLOCK=$(inside sbatch --parsable -N4 --exclusive -o /dev/null \
		--wrap 'sleep 300')
	JOBS=("$(pending fft -x n3)" "$(pending fft)" "$(pending fft)"
		"$(pending fft --begin="$(TZ=UTC date -d "@$begin" +%FT%T)")")
	wait_for are_settled ""
	inside --user root scontrol update JobId="${JOBS[1]}" \
		AdminComment="the site's own"
	wait_for are_settled "the site's own "
	# A hold of ten intervals does not end by itself before it is released.
	echo PlacementInterval=60s >>"$CONF"
	wait_for is_held_for 300
	sed -i 's/^JobSubmitPlugins=.*//' "$(rundir)/etc/slurm/slurm.conf"
	cluster restart-ctl
	# As Slurm 25.11 does with a topology.yaml, if the program is not its own.
	echo 'int slurm_load_topo(void) { __builtin_trap(); }' | cc -shared -x c -o "$(rundir)/trap.so" -
	inside --user root env LD_PRELOAD="$(rundir)/trap.so" \
		"$(rundir)/build/netprof-release" -n >"$TMPDIR/would"
	grep -q "would restore" "$TMPDIR/would" || fail "-n says: $(cat "$TMPDIR/would")"
	cc -shared -fPIC -I"${SLURM_PREFIX:-/usr}/include" -x c -o "$(rundir)/ended.so" - <<-'END'
		#include <errno.h>
		#include <slurm/slurm_errno.h>
		int slurm_update_job(void *job)
		{
			(void)job;
			errno = ESLURM_JOB_FINISHED;
			return -1;
		}
	END
	inside --user root env LD_PRELOAD="$(rundir)/ended.so" \
		"$(rundir)/build/netprof-release" >"$TMPDIR/ended" 2>&1 ||
		fail "jobs that have ended: $(cat "$TMPDIR/ended")"
	grep -q "cannot update JobId=${JOBS[0]}:" "$TMPDIR/ended" ||
		fail "jobs that have ended: $(cat "$TMPDIR/ended")"
	from=$EPOCHSECONDS
	inside --user root "$(rundir)/build/netprof-release"
	equal "the user's exclusions" "$(excluded "${JOBS[0]}")" n3
	for own in "${JOBS[@]:1}"; do
		equal "exclusions of $own" "$(field "$own" ExcNodeList)" "(null)"
	done
	for own in "${JOBS[@]}"; do
		equal "note of $own" "$(note "$own")" ""
	done
	inside scontrol -o show job "${JOBS[1]}" |
		grep -q "AdminComment=the site's own" || fail "the site's comment"
	between "begin time" "$(when "${JOBS[2]}" EligibleTime)" "$from" "$EPOCHSECONDS"
	equal "the user's begin time" "$(when "${JOBS[3]}" EligibleTime)" "$begin"
	equal "a second time" \
		"$(inside --user root "$(rundir)/build/netprof-release")" \
		"No job contains anything that placement wrote."
}
