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
