# Flagged steps whose tasks run in containers. The cluster is the suite's own, because
# its tests count the records of an application and fill the user's home directory.
# shellcheck source=t/integration/flagged.lib
. "$ROOT/t/integration/flagged.lib"
SUITE_CLUSTER=(--leaves 1 --nodes-per-leaf 2 --netprof "$BUILD")
PARALLEL=45

HOME_DIR=$(rundir)/home/alice
BOX="unshare -cm --keep-caps ./enter"

# Without the library of the tests' cluster, which containers do not have.
alice() {
	inside --plain -- bash -c "cd; $1"
}

# A root directory in the user's home that has the system's files, but not netprof.
# "$BOX PROGRAM" runs a program there in namespaces of the user's own, as Apptainer
# and enroot do; BIND has more directories, each at its own path.
make_box() {
	# shellcheck disable=SC2016
	script enter 'for d in usr etc tmp dev proc; do
			mount --rbind "/$d" "root/$d"; done' \
		'for d in ${BIND//,/ }; do
			mkdir -p "root$d"; mount --rbind "$d" "root$d"; done' \
		'exec chroot root "$@"'
	alice 'chmod 755 enter; mkdir -p root/{usr,etc,tmp,dev,proc,sys}
		for d in bin lib lib64 sbin; do ln -sfn "usr/$d" "root/$d"; done'
	alice "$BOX true" 2>/dev/null || skip "no namespaces of a user's own"
}

# What a program prints on both streams, which it does not if a loader complains. It runs
# until the file .over exists in its root directory.
make_program() {
	# shellcheck disable=SC2016
	script talk 'echo "task $SLURM_PROCID"; ls /; sh -c "ls /nowhere"' \
		'env | grep LD_PRELOAD' 'until [ -e /.over ]; do sleep 0.1; done' \
		'echo over >&2'
	alice 'chmod 755 talk'
}

# OUTPUT OPTIONS COMMAND: run it on two nodes, each task with files of its own.
run_into() {
	alice "rm -f $1.*; BIND=$HOME_DIR srun -N2 -n2 -w 'n[0-1]' -o $1.%t.out \
		-e $1.%t.err $2 $3" || fail "$2: exit code $?"
}

both_probes_run() {
	[ "$(inside --user root --on n0 -- pgrep -cx netprof-impactb)" = 2 ]
}

# NAME COMMAND: it prints the same, flagged or not, and is measured
prints_the_same() {
	local f pids=()
	alice 'rm -f root/.over'
	run_into plain '' "$2" &
	pids+=($!)
	run_into flagged "--netprofile=$1" "$2" &
	pids+=($!)
	run_into traced "--netprofile=$1-traced --netprofile-trace" "$2" &
	pids+=($!)
	wait_for both_probes_run # else all messages may be those of the first
	# shellcheck disable=SC2086 # a command
	inside --on n0 -- $PROBED 60 # of both, which share nodes
	alice 'touch root/.over'
	for f in "${pids[@]}"; do
		wait "$f"
	done
	for f in "$HOME_DIR"/plain.*; do
		grep -q . "$f" || fail "$f is empty"
		cmp "$f" "${f/plain/flagged}" || fail "$(diff "$f" "${f/plain/flagged}")"
		cmp "$f" "${f/plain/traced}" || fail "$(diff "$f" "${f/plain/traced}")"
	done
	grep -q '^task 1$' "$HOME_DIR/plain.1.out" || fail "it does not run"
	[ ! -e "$HOME_DIR/root/home" ] || fail "it does not run in the container"
	for f in "$1" "$1-traced"; do
		expect "$f" "$OTHER_NOTES"' length == 1 and (.[0] | .state == "complete" and
			.exit_code == 0 and .leaves[0].latency.n > 5 and
			other_notes == [])'
	done
}

test_a_program_in_a_root_of_its_own_prints_the_same_and_is_measured() {
	make_box
	make_program
	prints_the_same box "$BOX $HOME_DIR/talk"
}

test_so_does_one_that_a_script_starts_in_a_container() {
	make_box
	make_program
	prints_the_same script "bash -c '$BOX $HOME_DIR/talk; true'"
}

# As in $BOX, whose directories are made before by make_box.
test_a_program_in_bubblewrap_prints_the_same_and_is_measured() {
	command -v bwrap >/dev/null || skip "no bwrap: etc/packages install validate"
	make_box
	make_program
	script wrap 'o=()' 'for d in usr etc tmp; do o+=(--bind "/$d" "/$d"); done' \
		"mkdir -p root$HOME_DIR" \
		"exec bwrap --bind root / \"\${o[@]}\" --dev /dev --proc /proc \
			--bind $HOME_DIR $HOME_DIR \"\$@\""
	alice 'chmod 755 wrap; srun -N2 -w "n[0-1]" ./wrap true' ||
		skip "bubblewrap does not run here"
	prints_the_same bubblewrap "bash ./wrap $HOME_DIR/talk"
}

test_a_program_in_charliecloud_prints_the_same_and_is_measured() {
	command -v ch-run >/dev/null || skip "no ch-run: etc/packages install validate"
	make_box
	make_program
	alice 'mkdir -p root/mnt/0; for f in passwd group hosts resolv.conf; do
		: >>root/etc/$f; done; srun -N2 -w "n[0-1]" \
		ch-run --bind /usr:/usr ~/root -- true' ||
		skip "Charliecloud does not run here"
	prints_the_same charliecloud "ch-run --bind /usr:/usr \
		--bind $HOME_DIR:/mnt/0 $HOME_DIR/root -- /mnt/0/talk"
}

# On the nodes: what Podman needs of cgroups, which a namespace of the network hides.
let_podman_run() {
	local n
	for n in n0 n1; do
		cluster run --user root --on $n -- sh -c 'mount --make-rshared / &&
			mount -t tmpfs none /sys/fs/cgroup' ||
			skip "Podman finds no cgroups"
	done
}

test_a_program_in_podman_prints_the_same_and_is_measured() {
	command -v podman >/dev/null || skip "no podman: etc/packages install validate"
	make_box
	make_program
	let_podman_run
	# Its storage must be the node's own: the first Podman on a node takes containers that
	# run on another one for left over, and resets them.
	# shellcheck disable=SC2016
	script on_node 'export XDG_RUNTIME_DIR=/tmp/run' 'mkdir -p $XDG_RUNTIME_DIR' \
		'exec podman --log-level=fatal --root=/tmp/storage --runroot=/tmp/run/storage \
			--storage-driver=vfs --cgroup-manager=cgroupfs "$@"'
	script pod 'exec ~/on_node run --rm --cgroups=disabled \
			--network=host --env SLURM_PROCID --volume /usr:/usr:ro \
			--volume ~/talk:/talk:ro --rootfs ~/root "$@"'
	alice 'chmod 755 on_node pod; srun -N2 -w "n[0-1]" ./pod true' >"$TMPDIR/trial" 2>&1 ||
		skip "Podman does not run here: $(tr '\n' ' ' <"$TMPDIR/trial" | tail -c 300)"
	prints_the_same podman './pod /talk'
	# Podman's daemon starts the program, where its libraries are not seen.
	expect podman '.[0] | has("mpi_version") | not'
	alice 'srun -N2 -w "n[0-1]" ./on_node system migrate' || :
	for n in n0 n1; do
		cluster run --user root --on $n -- umount /sys/fs/cgroup || :
	done
}

# A plugin of Slurm that moves the process that becomes the task into namespaces of the
# user's own with another root directory, IN_ROOT, as pyxis does with --container-image.
container_plugin() {
	cc -shared -fPIC -I"${SLURM_PREFIX:-/usr}/include" -x c -o "$(rundir)/lib/in_root.so" - <<-'END'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <sched.h>
		#include <slurm/spank.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/mount.h>
		#include <sys/prctl.h>
		#include <unistd.h>

		SPANK_PLUGIN(in_root, 1)

		static int put(const char *path, const char *text)
		{
			int fd = open(path, O_WRONLY);
			int rc = fd < 0 || write(fd, text, strlen(text)) < 0;

			close(fd);
			return rc;
		}

		int slurm_spank_task_init(spank_t sp, int ac, char **av)
		{
			static const char *const dir[] = { "usr", "etc", "tmp", "dev", "proc" };
			char root[3000], from[16], to[4000], uid[64], gid[64];

			(void)ac, (void)av;
			if (spank_getenv(sp, "IN_ROOT", root, sizeof(root)))
				return 0;
			snprintf(uid, sizeof(uid), "%u %u 1", getuid(), getuid());
			snprintf(gid, sizeof(gid), "%u %u 1", getgid(), getgid());
			/* Else the files of /proc/self belong to root. */
			if (prctl(PR_SET_DUMPABLE, 1) ||
			    unshare(CLONE_NEWUSER | CLONE_NEWNS) ||
			    put("/proc/self/setgroups", "deny") ||
			    put("/proc/self/uid_map", uid) || put("/proc/self/gid_map", gid))
				return -1;
			for (int i = 0; i < 5; i++) {
				snprintf(from, sizeof(from), "/%s", dir[i]);
				snprintf(to, sizeof(to), "%s/%s", root, dir[i]);
				if (mount(from, to, NULL, MS_BIND | MS_REC, NULL))
					return -1;
			}
			return chroot(root) || chdir("/") ? -1 : 0;
		}
	END
	echo "required $(rundir)/lib/in_root.so" \
		>"$(rundir)/etc/slurm/plugstack.conf.d/pyxis.conf"
}

test_a_program_that_a_later_plugin_puts_into_a_container_prints_the_same_and_is_measured() {
	local pid f
	trap 'rm -f "$(rundir)/etc/slurm/plugstack.conf.d/pyxis.conf"' EXIT
	make_box
	make_program
	container_plugin
	alice 'cp talk root/talk; touch root/.over'
	run_into plain '' "--export=ALL,IN_ROOT=$HOME_DIR/root /talk"
	grep -q '^task 1$' "$HOME_DIR/plain.1.out" || fail "$(cat "$HOME_DIR"/plain.*)"
	! grep -qx home "$HOME_DIR/plain.1.out" || fail "it does not run in the container"
	alice 'rm root/.over'
	run_into flagged --netprofile=plugin "--export=ALL,IN_ROOT=$HOME_DIR/root /talk" &
	pid=$!
	probed_on n0 n1
	alice 'touch root/.over'
	wait $pid
	for f in "$HOME_DIR"/plain.*; do
		cmp "$f" "${f/plain/flagged}" || fail "$(diff "$f" "${f/plain/flagged}")"
	done
	expect plugin "$OTHER_NOTES"' length == 1 and (.[0] | .state == "complete" and
		.exit_code == 0 and .leaves[0].latency.n > 5 and other_notes == [])'
	alice 'rm root/talk'
}

# As spank_netprof(8) says.
test_an_mpi_program_in_a_container_is_traced_when_it_is_given_the_library() {
	local shim
	needs_pmix
	command -v mpicc.openmpi >/dev/null || skip "no mpicc.openmpi"
	make_box
	mpicc.openmpi -o "$HOME_DIR/pingpong" "$ROOT/t/mpi/pingpong.c"
	shim=$(rundir)/build
	alice "mkdir -p traces; BIND=$HOME_DIR,$(rundir)/spool,$shim \
		srun -N2 -n2 --mpi=pmix --netprofile-trace=traces $BOX env \
		LD_PRELOAD=$shim/libnetprof-mpi.so ~/pingpong 10" >"$TMPDIR/out" 2>&1 ||
		fail "$(cat "$TMPDIR/out")"
	grep -qxE '[0-9.]+' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	[ "$(grep -c . "$TMPDIR/out")" = 1 ] || fail "$(cat "$TMPDIR/out")"
	find "$HOME_DIR/traces" -type f | grep -q . || fail "no trace"
}
