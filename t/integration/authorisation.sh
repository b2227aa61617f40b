# Authorisation to use published profile names, on a running Slurm.
# shellcheck source=t/integration/placement.lib
. "$ROOT/t/integration/placement.lib"

SUITE_CLUSTER=(--leaves 4 --nodes-per-leaf 2 --netprof "$BUILD"
	--netprof-conf "$ROOT/t/integration/placement.netprof.conf"
	--slurm-conf-extra "$ROOT/t/integration/placement.slurm.conf")
PARALLEL=115

# Run netprof with the configuration and the store of the cluster.
here() {
	NETPROF_CONF=$CONF "$BUILD/netprof" "$@"
}

# Replace the line that authorises all users for all names. All profiles are read again, so
# that those given before are known.
rules() { # LINE...
	configure Claim= "$@"
}

denied_in_status() { # WHY
	here status | tr -s ' \n' ' ' | grep -E "Denied uid $ALICE_UID[^\"]* may not use the profile name \"fft\" \([0-9]+ jobs?\): $1" >/dev/null
}

# The log has one line, and status and check say the same.
denial_is_reported() { # WHY
	wait_for said "uid $ALICE_UID may not use the profile name \"fft\""
	equal "lines in the log" "$(said "uid $ALICE_UID may not use the profile name \"fft\": $1.*its jobs of that name count as unknown" | wc -l)" 1
	wait_for denied_in_status "$1"
	here check -P >"$TMPDIR/check" || : # of other things
	grep -qE "^warning\|authorisation\|uid $ALICE_UID[^\"]* may not use the profile name \"fft\" \([0-9]+ jobs?\): $1" "$TMPDIR/check" ||
		fail "check: $(grep authorisation "$TMPDIR/check")"
}

# Alice has four one-node jobs, one on each leaf, with the name of a published
# application that loads the network. Does bob's halo, which fft would slow, start
# at once?
bob_submits() {
	full_of_ffts
	BOB=$(as_bob -J halo --netprofile=halo)
}

bob_waits_for_alice() {
	bob_submits
	slack # a hold until it is known whether he has to
	wait_for is_held "$BOB"
}

bob_does_not_wait() {
	bob_submits
	slack
	! is_held "$BOB" || fail "$1"
}

test_a_name_that_is_given_to_others_restricts_no_job() {
	local a

	rules "Claim=f*:user=$BOB_UID"
	bob_does_not_wait "bob waits for a user who may not use it"
	denial_is_reported "Claim= in netprof.conf names others"
	a=$(job fft 1)
	wait_for has_started "$a"
	equal "her own exclusions" "$(field "$a" ExcNodeList)" "(null)"
	wait_for said "ignored: this user is not authorised to use that profile name"
	denial_is_reported "Claim= in netprof.conf names others"
}

test_a_sensitive_name_clears_no_leaf_for_unauthorised_users() {
	local a bob

	rules "Claim=halo:user=$BOB_UID" Claim=fft:all
	block >/dev/null
	a=$(pending halo)
	bob=$(as_bob -J fft --netprofile=fft)
	slack
	equal "exclusions" "$(field "$a" ExcNodeList) $(field "$bob" ExcNodeList)" \
		"(null) (null)"
	cancel "$a"
	a=$(as_bob -J halo --netprofile=halo)
	wait_for is_restricted "$bob"
	wait_for is_restricted "$a"
}

test_own_runs_that_contradict_a_profile_deny_its_name() {
	give_private fft halo
	rules
	bob_does_not_wait "bob waits for what alice measured otherwise"
	denial_is_reported "own runs contradict it: mean latency 33.3 us, published 147 us"
}

test_own_runs_that_agree_with_a_profile_authorise_its_name() {
	give_private fft
	rules
	bob_waits_for_alice
	[ -z "$(said 'may not use the profile name')" ] || fail "$(said 'may not use the profile name')"
}

# Four sleeping jobs with the name of an application that loads the network.
test_an_unproven_name_restricts_no_other_user() {
	local a

	rules
	bob_does_not_wait "bob waits for what alice only says"
	a=$(pending halo)
	wait_for is_held "$a"
}

test_jobs_with_an_unproven_name_are_kept_away_from_others() {
	local b

	rules "Claim=fft:default,user=$ALICE_UID"
	full_of_ffts
	b=$(as_bob -J halo --netprofile=halo)
	wait_for is_held "$b"
}

test_a_rule_may_authorise_all_users() {
	bob_waits_for_alice
}

test_a_rule_overrides_own_runs() {
	give_private fft halo
	rules "Claim=fft:default,user=$ALICE_UID"
	bob_waits_for_alice
}

test_a_rule_authorises_members_of_a_group() {
	local a b

	rules "Claim=fft:group=alice"
	block >/dev/null
	a=$(pending fft)
	b=$(pending fft)
	wait_for is_restricted "$a"
	wait_for is_restricted "$b"
	cancel "$b"
	b=$(as_bob -J fft --netprofile=fft)
	slack
	equal "bob's exclusions" "$(field "$b" ExcNodeList)" "(null)"
	wait_for said "uid $BOB_UID may not use the profile name \"fft\""
}

# Slurm sets the account of a job that names none later; until then the job waits.
test_a_rule_authorises_jobs_of_an_account() {
	local a b

	rules "Claim=fft:account=ph*"
	full_of_ffts
	a=$(job fft 1 -A chem)
	wait_for has_started "$a"
	a=$(job fft 1)
	wait_for said "held until it is known whether this user is authorised"
	wait_for has_started "$a"
	cancel_all
	wait_for nothing_left
	block >/dev/null
	a=$(pending fft -A phys)
	b=$(pending fft -A phys)
	wait_for is_restricted "$a"
	wait_for is_restricted "$b"
}

test_a_rule_authorises_jobs_of_a_partition() {
	local a b

	rules "Claim=fft:partition=ma*"
	block >/dev/null
	job fft 300 -p prefer >/dev/null
	a=$(pending fft)
	b=$(pending fft)
	wait_for is_restricted "$a"
	wait_for is_restricted "$b"
	wait_for said "may not use the profile name \"fft\": Claim="
	equal "lines in the log" "$(said "may not use the profile name \"fft\": Claim=" | wc -l)" 1
}
