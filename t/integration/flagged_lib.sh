# What tests of flagged steps share: the user's shell, the store, the log.

STORE=${NETPROF_CLUSTER_DIR:-/var/lib/netprof-cluster}/${NETPROF_CLUSTER:-np}/store
ALICE=$STORE/users/20001

# Run a shell command as the ordinary user, at home on the login host.
alice() {
	timeout 90 t/cluster run -- bash -c "cd && $1"
}

# NAME LINE...: a batch script in alice's home.
script() {
	local name=$1

	shift
	printf '#!/bin/sh\n' | cat - <(printf '%s\n' "$@") |
		t/cluster run -- bash -c "cat >~/$name"
}

# The records of a profile as one JSON array.
records() {
	cat "$ALICE/$1"/*.json 2>/dev/null | jq -cs .
}

# Attendants end some moments after srun: until then records say "running".
settled() {
	! pgrep -u 20001 -f netprof-attend >/dev/null
}

# APP JQ: the expression holds for the array of the profile's records.
expect() {
	wait_for 15 settled || fail "the attendant does not end"
	records "$1" | jq -e "$2" >/dev/null ||
		fail "$(records "$1" | jq -c 'map(del(.hist, .leaves[].hist,
			.leaves[].windows))' | cut -c1-1500)"
}

no_profile() {
	wait_for 15 settled || fail "the attendant does not end"
	[ ! -e "$ALICE/$1" ] || fail "there is a profile: $(records "$1")"
}

# Lines of netprof's own log that match.
logged() {
	grep -- "$1" "$ALICE/netprof.log" 2>/dev/null
}
