# Upgrades of Slurm, which loads plugins that were built for another release.
# shellcheck shell=bash
# shellcheck source=t/integration/placement.lib
. "$ROOT/t/integration/placement.lib"
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
PARALLEL=65
LIMIT_SEC=600 # a rolling upgrade has many steps

# A copy of the installed files, which tests change.
TREE=$BUILD/upgrade
case $NETPROF_CLUSTER in
*-upgrade) ;;
*) # before it comes up
	mkdir -p "$TREE"
	cp --remove-destination "$BUILD"/netprof* "$BUILD"/*_netprof.so "$TREE" ;;
esac
SUITE_CLUSTER=(--leaves 2 --nodes-per-leaf 2 --netprof "$TREE"
	--netprof-conf "$ROOT/t/integration/placement.netprof.conf")

# A running file is replaced, never overwritten.
installed() {
	cp --remove-destination "$BUILD"/*_netprof.so \
		"$BUILD/netprof_placement.so" "$TREE"
}

built_for() { # FILE: as a number
	od -An -tu4 -j "$(where "$1")" -N4 "$1" | tr -d ' '
}

where() { # FILE: of its plugin_version
	local address
	address=$(nm -D "$1" | awk '$3 == "plugin_version" { print $1 }')
	readelf -SW "$1" | tr -d '[]' | awk -v at="$((16#$address))" \
		'function hex(s,  n, i) { for (i = 1; i <= length(s); i++)
			n = 16 * n + index("0123456789abcdef", substr(s, i, 1)) - 1
			return n }
		$2 == ".data" { print at - hex($4) + hex($5) }'
}

# Make the plugins look built for a newer Slurm: 1 is a micro release, 256 a release.
built_for_newer() { # BY FILE...
	local f version
	for f in "${@:2}"; do
		version=$(($(built_for "$TREE/$f") + $1))
		cp "$TREE/$f" "$TREE/$f.new"
		# shellcheck disable=SC2059
		printf "$(printf '\\x%02x' $((version & 255)) $((version >> 8 & 255)) \
			$((version >> 16)) 0)" | dd of="$TREE/$f.new" bs=1 \
			seek="$(where "$TREE/$f")" conv=notrunc status=none
		mv "$TREE/$f.new" "$TREE/$f"
		equal "version of $f" "$(built_for "$TREE/$f")" "$version"
	done
}

restarted() {
	MARK=$(wc -c <"$LOG")
	cluster restart-ctl
	wait_for inside scontrol ping
	wait_for all_registered
}

before_each() {
	[ -d "$STORE/published/fft" ] || give_store
	rm -rf "$STORE/users/$ALICE_UID"
	cancel_all
	wait_for nothing_left
	installed
	MARK=$(wc -c <"$LOG")
}

jobs_are_placed() {
	local a b
	block -N4 >/dev/null
	a=$(pending fft)
	b=$(pending fft)
	wait_for is_restricted "$a"
	wait_for is_restricted "$b"
	cancel_all
}

steps_are_measured() {
	alice "srun -Q -N2 -n2 --netprofile=$1 --mpi=none $PROBED 8"
	expect "$1" 'length == 1 and .[0].n_nodes == 2'
}

nobody_is_hurt() {
	local id
	id=$(job fft 1)
	wait_for all_done "$id"
	equal "the job" "$(field "$id" JobState)" COMPLETED
	[ -z "$(note "$id")" ] || fail "its note: $(note "$id")"
	alice "srun -Q -N2 -n2 --netprofile=up --netprofile-compress=c4 --mpi=none sleep 2" ||
		fail "a step failed"
	no_profile up
	wait_for nothing_left
	equal "nodes in trouble" "$(inside sinfo -h -R -o %n)" ""
}

off_because() { # WHY: said once
	wait_for said "placement is off"
	said "placement is off" | grep -qE "$1" || fail "log: $(said 'placement is off')"
	equal "lines in the log" "$(said "placement is off" | wc -l)" 1
}

test_another_micro_release_of_slurm_works_as_always() {
	built_for_newer 1 job_submit_netprof.so spank_netprof.so
	restarted
	jobs_are_placed
	steps_are_measured micro
}

test_in_another_release_of_slurm_nothing_is_changed() {
	built_for_newer 256 job_submit_netprof.so spank_netprof.so
	sed -i 's/^optional/required/' "$(rundir)/etc/slurm/plugstack.conf.d/netprof.conf"
	restarted
	nobody_is_hurt
	nobody_is_hurt
	sed -i 's/^required/optional/' "$(rundir)/etc/slurm/plugstack.conf.d/netprof.conf"
	off_because "built for Slurm [0-9.]+ and loaded by $(inside scontrol --version |
		cut -d' ' -f2)"
	! inside netprof check --versions >"$TMPDIR/out" || fail "no problem is found"
	grep -q 'job_submit_netprof.so: was built for' "$TMPDIR/out" &&
		grep -q 'spank_netprof.so: was built for' "$TMPDIR/out" ||
		fail "check: $(cat "$TMPDIR/out")"
}

test_slurmctld_starts_with_half_an_installation() {
	rm "$TREE/netprof_placement.so"
	restarted
	nobody_is_hurt_by_slurmctld
	off_because "netprof_placement.so: cannot open"
	head -c 100000 "$BUILD/netprof_placement.so" >"$TREE/netprof_placement.so"
	restarted
	nobody_is_hurt_by_slurmctld
	off_because "netprof_placement.so: damaged"
}

nobody_is_hurt_by_slurmctld() {
	local id
	id=$(job fft 1)
	wait_for all_done "$id"
	equal "the job" "$(field "$id" JobState)" COMPLETED
}

# The steps of doc/admin-guide.md, with netprof installed first.
test_an_upgrade_in_steps() {
	restarted
	jobs_are_placed
	# The new plugins are installed while the old Slurm runs.
	built_for_newer 256 job_submit_netprof.so spank_netprof.so
	nobody_is_hurt_by_slurmctld
	inside --user root scontrol reconfigure
	nobody_is_hurt_by_slurmctld
	# The new plugins were built for the new Slurm.
	installed
	restarted
	jobs_are_placed
	steps_are_measured steps
	inside netprof check --versions >"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
}

## Daemons and clients of two releases, by SLURM_PREFIX and SLURM_OLDER

# A step on all nodes, which leaves no room for others, continues meanwhile.
across() { # NAME CMD...
	local step

	alice "srun -Q -N4 -n4 --exclusive --netprofile=$1 --mpi=none sleep 15" &
	step=$!
	wait_for runs "$1"
	"${@:2}"
	wait "$step" || fail "the step that went on across $1 failed: $?"
	expect "$1" 'length == 1 and .[0].n_nodes == 4 and .[0].exit_code == 0 and
		all(.[0].leaves[]; .latency.n > 0)'
}

runs() { # APP
	records "$1" | jq -e '.[0].n_nodes == 4' >/dev/null
}

upgraded() { # PLACE...
	local p

	for p; do
		cluster upgrade "$p" "$SLURM_PREFIX" "$BUILD"
	done
}

# Pending jobs keep their decisions.
upgraded_with_pending_jobs() {
	local a b

	a=$(pending fft)
	b=$(pending fft)
	wait_for is_restricted "$b"
	upgraded ctl
	is_restricted "$b" || fail "the note of a pending job is gone"
	JOBS=("$a" "$b")
}

# With clients on that place: the releases of slurmdbd, slurmctld and n0 to n3 are the
# given ones, and jobs reach accounting.
works() { # NAME LOGIN RELEASE RELEASE...
	LOGIN=$2
	equal "releases, $1" "$(releases)" "${*:3}"
	jobs_are_placed
	alice "srun -Q -N4 -n4 --netprofile=$1 --mpi=none $PROBED 8"
	expect "$1" 'length == 1 and .[0].n_nodes == 4 and
		all(.[0].leaves[]; .latency.n > 0)'
	wait_for nothing_left
	wait_for accounted "$1"
	inside netprof check --versions >"$TMPDIR/out" ||
		fail "$1: $(cat "$TMPDIR/out")"
}

# The step that was just measured, by the name of its record.
accounted() { # APP
	local job
	job=$(records "$1" | jq -r '.[-1].job_id')
	[ "$(inside sacct -n -X -P -j "$job" -o State)" = COMPLETED ]
}

releases() {
	{
		sed -nE 's/.*slurmdbd version ([0-9.]+) started.*/\1/p' \
			"$(rundir)/log/slurmdbd.log" | tail -n 1
		inside scontrol show config | sed -n 's/^SLURM_VERSION *= *//p'
		inside sinfo -h -N -o '%N %v' | sort -u | cut -d' ' -f2
	} | xargs
}

release_of() { # PREFIX
	"$1/sbin/slurmd" -V | cut -d' ' -f2
}

test_a_rolling_upgrade() {
	local old new older

	[ -n "${SLURM_OLDER-}" ] && [ -n "${SLURM_PREFIX-}" ] ||
		skip "only one Slurm: no SLURM_PREFIX and SLURM_OLDER"
	old=$(release_of "$SLURM_OLDER") new=$(release_of "$SLURM_PREFIX")
	older=$ROOT/build-$(basename "$SLURM_OLDER")
	SLURM_PREFIX=$SLURM_OLDER own_cluster --leaves 2 --nodes-per-leaf 2 \
		--accounting --netprof "$older" \
		--netprof-conf "$ROOT/t/integration/placement.netprof.conf"
	. "$ROOT/t/integration/placement.lib"
	. "$ROOT/t/integration/flagged.lib"
	LOGIN=ctl
	inside() {
		timeout -k 2 $((LIMIT_SEC - 20)) "$ROOT/t/cluster" run --on "$LOGIN" "$@"
	}
	give_store
	store_is_read
	works old ctl "$old" "$old" "$old" "$old" "$old" "$old"
	# Slurm requires slurmdbd to be the newest.
	LOGIN=n0
	across accounting upgraded dbd
	works new_accounting n0 "$new" "$old" "$old" "$old" "$old" "$old"
	across controller upgraded_with_pending_jobs
	wait_for all_done "${JOBS[@]}"
	never_met 2 "${JOBS[@]}"
	works new_controller n0 "$new" "$new" "$old" "$old" "$old" "$old"
	LOGIN=n0
	across leaf upgraded n2 n3
	works new_leaf n0 "$new" "$new" "$old" "$old" "$new" "$new"
	# Clients are upgraded last: srun of 25.05 starts nothing on a slurmd of 23.11.
	across nodes upgraded n0 n1
	works new n0 "$new" "$new" "$new" "$new" "$new" "$new"
}
