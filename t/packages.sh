# Packages are built, installed, upgraded, removed and purged; as root:
#
#	bash t/packages.sh
#
# dpkg works on the machine's own root, seen through an overlay in
# memory, so that nothing of it changes.  Tests go on where the last one ended.
# shellcheck shell=bash

# shellcheck source=t/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
DIR=$ROOT/build-packages
SNIPPET=/etc/slurm/plugstack.conf.d/netprof.conf
STORE=/var/lib/netprof
RECORD=$STORE/users/1000/fft/run.json
WANTED="/etc/slurm/netprof.conf $SNIPPET /usr/bin/netprof /usr/bin/netprof-impactb
	/usr/bin/netprof-compressionb /usr/bin/netprof-prtt /usr/bin/netprof-sharing
	/usr/libexec/netprof/netprof-attend /usr/libexec/netprof/netprof-join
	/usr/libexec/netprof/netprof-release /usr/libexec/netprof/libnetprof-delay.so
	/usr/libexec/netprof/libnetprof-mpi.so
	/usr/share/bash-completion/completions/netprof"

at() { chroot "$OVERLAY" env -u TMPDIR PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }

debs() { # REVISION
	(cd "$DIR" && ls netprof_*-"$1"_*.deb netprof-slurm-*-"$1"_*.deb |
		grep -v dbgsym | sed 's|^|/build-packages/|')
}

plugins() { # the name of their package
	(cd "$DIR" && ls netprof-slurm-*-1_*.deb | grep -v dbgsym | sed 's/_.*//')
}

installs() { # DEB...
	at dpkg -i "$@" >"$TMPDIR/dpkg" 2>&1 || fail "$(tail -n 20 "$TMPDIR/dpkg")"
}

status() { at dpkg-query -W -f='${db:Status-Status} ${Version}' "$1" 2>/dev/null || :; }

# All that was changed, and is there or gone now, but what dpkg and those that it
# calls keep for themselves.
changed() {
	(cd "${OVERLAY%/*}/upper" && find . -path ./var/lib/dpkg -prune -o \
		-path ./var/cache -prune -o -path ./var/log -prune -o -print |
		while read -r f; do
			[ -d "$f" ] && [ -d "/$f" ] || echo "$f"
		done | sort)
}

missing() { # FILE...: those that are not there
	local f
	for f in "$@"; do
		[ -e "$OVERLAY$f" ] || echo "$f"
	done
}

test_installed_files_are_those_that_are_promised() {
	changed >"$OVERLAY/tmp/before"
	# shellcheck disable=SC2046
	installs $(debs 1)
	equal "the programs" "$(status netprof)" "installed $VERSION-1"
	equal "the plugins" "$(status "$(plugins)")" "installed $VERSION-1"
	# shellcheck disable=SC2086
	equal "files that are missing" "$(missing $WANTED)" ""
	for f in spank_netprof.so job_submit_netprof.so netprof_placement.so; do
		at dpkg -S "$f" | grep -q "^$(plugins):" || fail "no $f"
	done
	equal "the program" "$(at netprof --version)" "netprof $VERSION"
	at netprof check --versions >"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	! at zgrep -l /usr/local /usr/share/man/man8/spank_netprof.8.gz \
		/usr/share/man/man1/netprof.1.gz /etc/slurm/netprof.conf ||
		fail "names places where nothing is"
}

test_the_store_has_the_modes_that_check_wants() {
	equal "the store" "$(at stat -c '%n %U %G %a' $STORE $STORE/users \
		$STORE/published $STORE/placement)" "$STORE root slurm 755
$STORE/users root slurm 3777
$STORE/published root root 755
$STORE/placement slurm slurm 755"
}

test_an_upgrade_keeps_settings_and_records() {
	at sh -c "mkdir -p ${RECORD%/*} && echo {} >$RECORD
		echo Placement=advise >>/etc/slurm/netprof.conf
		echo '# ours' >>$SNIPPET; chmod 700 $STORE/published"
	# shellcheck disable=SC2046
	installs $(debs 2)
	equal "the programs" "$(status netprof)" "installed $VERSION-2"
	equal "the plugins" "$(status "$(plugins)")" "installed $VERSION-2"
	equal "the record" "$(cat "$OVERLAY$RECORD")" "{}"
	equal "netprof.conf" "$(tail -n 1 "$OVERLAY/etc/slurm/netprof.conf")" \
		Placement=advise
	equal "the snippet" "$(tail -n 1 "$OVERLAY$SNIPPET")" "# ours"
	equal "a mode of the administrator's" "$(at stat -c %a $STORE/published)" 700
}

test_plugins_that_slurmctld_needs_are_not_removed() {
	echo 'JobSubmitPlugins = lua,netprof' >"$OVERLAY/etc/slurm/slurm.conf"
	! at dpkg -r "$(plugins)" >"$TMPDIR/out" 2>&1 || fail "removed"
	grep -q 'netprof: /etc/slurm/slurm.conf has netprof in JobSubmitPlugins' \
		"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	equal "the plugins" "$(status "$(plugins)")" "installed $VERSION-2"
	equal "the snippet" "$(missing $SNIPPET)" ""
}

test_an_upgrade_of_slurm_is_told_what_the_plugins_do_in_it() {
	mkdir "$OVERLAY/tmp/next"
	printf '#!/bin/sh\necho slurm-wlm 99.1.0\n' >"$OVERLAY/tmp/next/slurmctld"
	chmod 755 "$OVERLAY/tmp/next/slurmctld"
	at dpkg-trigger --no-await --by-package=slurm-wlm-basic-plugins "$(plugin_dir)"
	at env PATH=/tmp/next:/usr/sbin:/usr/bin:/sbin:/bin \
		dpkg --configure --pending >"$TMPDIR/out" 2>&1
	rm -r "$OVERLAY/tmp/next"
	tr -s ' \n' ' ' <"$TMPDIR/out" | grep -q \
		'job_submit_netprof.so: was built for Slurm .* 99.01.0 is installed' ||
		fail "$(cat "$TMPDIR/out")"
}

plugin_dir() { at dpkg -S job_submit_netprof.so | sed 's/.* //; s|/[^/]*$||'; }

test_plugins_of_another_release_take_their_place() {
	local old deb
	old=$(plugins)
	deb=$(debs 2 | grep "/$old")
	at sh -c "dpkg-deb -R $deb /tmp/next && cd /tmp/next/DEBIAN &&
		sed -i 's/^Package: .*/Package: netprof-slurm-99.01/' control &&
		dpkg-deb -b /tmp/next /tmp/next.deb" >/dev/null
	# As apt does.
	echo "$old deinstall" | at dpkg --set-selections
	installs /tmp/next.deb
	equal "the new" "$(status netprof-slurm-99.01)" "installed $VERSION-2"
	equal "the old" "$(status "$old" | cut -d' ' -f1)" \
		"$(status "$old" | grep -o config-files || :)"
	at dpkg --purge "$old" >/dev/null 2>&1
	equal "what is missing" "$(missing $SNIPPET "$RECORD" \
		"$(plugin_dir)/job_submit_netprof.so")" ""
	equal "the snippet" "$(tail -n 1 "$OVERLAY$SNIPPET")" "# ours"
	echo netprof-slurm-99.01 deinstall | at dpkg --set-selections
	installs "$deb"
	at dpkg --purge netprof-slurm-99.01 >/dev/null 2>&1
	equal "the old again" "$(status "$old")" "installed $VERSION-2"
	equal "and its snippet" "$(missing $SNIPPET)" ""
}

test_what_is_removed_leaves_settings_and_records() {
	rm "$OVERLAY/etc/slurm/slurm.conf"
	at dpkg -r "$(plugins)" netprof >"$TMPDIR/out" 2>&1 || fail "$(cat "$TMPDIR/out")"
	equal "programs" "$(cd "$OVERLAY" && find usr/bin usr/libexec usr/lib \
		-name '*netprof*')" ""
	equal "what is missing" "$(missing /etc/slurm/netprof.conf "$RECORD")" ""
	# Each srun would tell of a plugin that is named and not there.
	equal "what Slurm would load" "$(missing $SNIPPET)" $SNIPPET
}

test_what_is_installed_again_has_its_settings_back() {
	# shellcheck disable=SC2046
	installs $(debs 2)
	equal "the snippet" "$(tail -n 1 "$OVERLAY$SNIPPET")" "# ours"
	equal "netprof.conf" "$(tail -n 1 "$OVERLAY/etc/slurm/netprof.conf")" \
		Placement=advise
}

test_a_purge_leaves_a_store_that_other_hosts_may_have() {
	mount -t tmpfs tmpfs "$OVERLAY$STORE"
	mkdir -p "$OVERLAY${RECORD%/*}"
	echo '{}' >"$OVERLAY$RECORD"
	at dpkg --purge "$(plugins)" netprof >"$TMPDIR/out" 2>&1
	equal "the record" "$(cat "$OVERLAY$RECORD")" "{}"
	umount "$OVERLAY$STORE"
	grep -q "netprof: $STORE is on a file system of its own, and stays" \
		"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
}

test_a_purge_leaves_nothing() {
	# shellcheck disable=SC2046
	installs $(debs 2)
	equal "the record is still there" "$(missing "$RECORD")" ""
	at dpkg --purge "$(plugins)" netprof >"$TMPDIR/out" 2>&1 ||
		fail "$(cat "$TMPDIR/out")"
	changed | diff "$OVERLAY/tmp/before" - || fail "what is left, and what is gone"
}

test_packages_have_no_errors_by_lintian() {
	# Who made them is the site's to say, with DEBEMAIL.
	# shellcheck disable=SC2046
	(cd "$DIR" && lintian --allow-root --fail-on error --suppress-tags \
		bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact \
		$(debs 1 | sed 's|.*/||')) >"$TMPDIR/out" 2>&1 ||
		fail "$(cat "$TMPDIR/out")"
}

# What the tests share: packages of two revisions, and the overlay.
prepare() {
	local revision
	need_root
	rm -f "$DIR"/*.deb
	for revision in 1 2; do
		make -C "$ROOT" --no-print-directory deb REVISION=$revision \
			>"$DIR.log" 2>&1 ||
			fail "make deb: $(tail -n 20 "$DIR.log")"
	done
}

enter() {
	OVERLAY=$(mktemp -d)/root
	mount -t tmpfs tmpfs "${OVERLAY%/*}"
	mkdir "$OVERLAY" "${OVERLAY%/*}"/upper "${OVERLAY%/*}"/work
	mount -t overlay overlay -o "lowerdir=/,upperdir=${OVERLAY%/*}/upper" \
		-o "workdir=${OVERLAY%/*}/work" "$OVERLAY"
	mount -t tmpfs tmpfs "$OVERLAY/tmp"
	mount -t proc proc "$OVERLAY/proc"
	mount --bind /dev "$OVERLAY/dev"
	mkdir "$OVERLAY/build-packages"
	mount --bind "$DIR" "$OVERLAY/build-packages"
	# It would write an index of all pages, each time.
	printf '#!/bin/sh\n' >"$OVERLAY/var/lib/dpkg/info/man-db.postinst"
	# What make install or another package left here, of this view alone.
	rm -rf "${OVERLAY:?}$STORE" "$OVERLAY/etc/slurm/netprof.conf" \
		"$OVERLAY$SNIPPET"
	export OVERLAY
}

set -eu
VERSION=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	if [ "${1-}" != inside ]; then
		prepare
		exec unshare --mount --propagation private bash "$0" inside
	fi
	enter
	run_alone "$0" 900
fi
