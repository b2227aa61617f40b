# Packages are built, installed, upgraded, removed and purged; as root:
#
#	bash t/packages.sh
#
# dpkg and rpm work on the machine's own root through an overlay in memory, so
# that the machine is not changed. Each test continues where the last one ended.
# shellcheck shell=bash

# shellcheck source=t/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
DIR=$ROOT/build-packages
SNIPPET=/etc/slurm/plugstack.conf.d/netprof.conf
STORE=/var/lib/netprof
RECORD=$STORE/users/1000/fft/run.json
WANTED="/etc/slurm/netprof.conf $SNIPPET /usr/bin/netprof /usr/bin/netprof-impactb
	/usr/bin/netprof-compressionb /usr/bin/netprof-prtt /usr/bin/netprof-sharing
	/usr/libexec/netprof/netprof-collector /usr/libexec/netprof/netprof-agent
	/usr/libexec/netprof/netprof-mpi /usr/libexec/netprof/netprof-saver
	/usr/libexec/netprof/netprof-release /usr/libexec/netprof/netprof-analysis
	/usr/libexec/netprof/libnetprof-delay.so
	/usr/libexec/netprof/libnetprof-mpi.so
	/usr/share/bash-completion/completions/netprof"

at() { chroot "$OVERLAY" env -u TMPDIR PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }

debs() { # REVISION
	(cd "$DIR" && ls netprof{,-analysis}_*-"$1"_*.deb netprof-slurm-*-"$1"_*.deb |
		grep -v dbgsym | sed 's|^|/build-packages/|')
}

plugins() { # the name of their package
	(cd "$DIR" && ls netprof-slurm-*-1_*.deb | grep -v dbgsym | sed 's/_.*//')
}

installs() { # DEB...
	at dpkg -i "$@" >"$TMPDIR/dpkg" 2>&1 || fail "$(tail -n 20 "$TMPDIR/dpkg")"
}

status() { at dpkg-query -W -f='${db:Status-Status} ${Version}' "$1" 2>/dev/null || :; }

# Files that were added, changed or removed, without the databases of dpkg and the
# programs that it calls.
changed() {
	(cd "${OVERLAY%/*}/upper" && find . -path ./var/lib/dpkg -prune -o \
		-path ./var/cache -prune -o -path ./var/log -prune -o -print |
		while read -r f; do
			[ -d "$f" ] && [ -d "/$f" ] || echo "$f"
		done | sort)
}

missing() { # FILE...: those that do not exist
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
	equal "the analysis" "$(status netprof-analysis)" "installed $VERSION-1"
	# shellcheck disable=SC2086
	equal "files that are missing" "$(missing $WANTED)" ""
	for f in spank_netprof.so job_submit_netprof.so netprof_placement.so; do
		at dpkg -S "$f" | grep -q "^$(plugins):" || fail "no $f"
	done
	equal "the program" "$(at netprof --version)" "netprof $VERSION"
	at netprof help replay | grep -q "^usage: netprof replay" ||
		fail "netprof replay is not there"
	at netprof check --versions >"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	! at zgrep -l /usr/local /usr/share/man/man8/spank_netprof.8.gz \
		/usr/share/man/man1/netprof.1.gz /etc/slurm/netprof.conf ||
		fail "names places where nothing is"
}

test_without_the_analysis_one_line_says_what_to_install() {
	at dpkg -r netprof-analysis >/dev/null
	! at netprof replay >"$TMPDIR/out" 2>&1 || fail "it runs"
	equal "what it says" "$(cat "$TMPDIR/out")" "netprof: replay is a command of \
another package: install the package netprof-analysis"
	at netprof list >/dev/null || fail "netprof list fails"
	equal "what is left of it" "$(cd "$OVERLAY" && find usr/bin usr/libexec \
		-name 'libnetprof-*' -o -name 'netprof-prtt')" ""
	installs "$(debs 1 | grep analysis)"
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
	at dpkg -r "$(plugins)" netprof-analysis netprof >"$TMPDIR/out" 2>&1 || fail "$(cat "$TMPDIR/out")"
	equal "programs" "$(cd "$OVERLAY" && find usr/bin usr/libexec usr/lib \
		-name '*netprof*')" ""
	equal "what is missing" "$(missing /etc/slurm/netprof.conf "$RECORD")" ""
	# Each srun would report a plugin that is named and missing.
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
	at dpkg --purge "$(plugins)" netprof-analysis netprof >"$TMPDIR/out" 2>&1
	equal "the record" "$(cat "$OVERLAY$RECORD")" "{}"
	umount "$OVERLAY$STORE"
	grep -q "netprof: $STORE is on a file system of its own, and is kept" \
		"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
}

test_a_purge_leaves_nothing() {
	# shellcheck disable=SC2046
	installs $(debs 2)
	equal "the record is still there" "$(missing "$RECORD")" ""
	at dpkg --purge "$(plugins)" netprof-analysis netprof >"$TMPDIR/out" 2>&1 ||
		fail "$(cat "$TMPDIR/out")"
	changed | diff "$OVERLAY/tmp/before" - || fail "what is left, and what is gone"
}

rpms() { # REVISION
	(cd "$DIR" && ls ./*/netprof*-"$1".*.rpm | grep -v debug |
		sed 's|^\.|/build-packages|')
}

# Names of files. Pages may be compressed, and Debian has its own place for licences.
names() { grep -v '/share/doc/\|/share/lintian\|/\.build-id' | sed 's/\.gz$//' | sort; }

test_rpms_have_what_the_debs_have() {
	local part
	for part in netprof_ netprof-analysis netprof-slurm; do
		at dpkg-deb -c "$(debs 1 | grep "/$part")" |
			awk '$1 ~ /^-/ { print substr($6, 2) }' | names >"$TMPDIR/deb"
		at rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' \
			"$(rpms 1 | grep "/${part%_}-[0-9]")" |
			awk '$1 ~ /^-/ { print $2 }' | names >"$TMPDIR/rpm"
		diff "$TMPDIR/deb" "$TMPDIR/rpm" || fail "$part: the lists differ"
		[ -s "$TMPDIR/rpm" ] || fail "$part: no files"
	done
}

# The RPM database does not have Debian's libraries and Slurm.
rpm_at() {
	at rpm --dbpath /tmp/rpmdb --nodeps --force-debian "$@" >"$TMPDIR/out" 2>&1
}

rpm_versions() {
	at rpm --dbpath /tmp/rpmdb -qa \
		--qf '%{NAME} %{VERSION}-%{RELEASE}\n' | sort | xargs
}

test_plugins_of_rpms_name_the_release_of_slurm() {
	local rpm
	rpm=$(rpms 1 | grep /netprof-slurm-)
	equal "its name" "$(at rpm -qp --qf '%{NAME}' "$rpm")" "$(plugins)"
	at rpm -qp --requires "$rpm" >"$TMPDIR/out"
	equal "what it needs of these" \
		"$(grep -E '^(netprof|slurm) ' "$TMPDIR/out" | sort | xargs)" \
		"netprof = $VERSION-1 slurm >= $(plugins | sed 's/.*-//')"
	! grep libslurm "$TMPDIR/out" || fail "an upgrade of Slurm removes them"
}

test_rpms_are_installed_upgraded_and_removed() {
	local name
	name=$(plugins)
	# shellcheck disable=SC2046
	rpm_at -i $(rpms 1) || fail "$(cat "$TMPDIR/out")"
	equal "what is there" "$(rpm_versions)" \
		"netprof $VERSION-1 netprof-analysis $VERSION-1 $name $VERSION-1"
	# shellcheck disable=SC2086
	equal "files that are missing" "$(missing $WANTED)" ""
	equal "users/" "$(at stat -c '%U %G %a' $STORE/users)" "root slurm 3777"
	at netprof check --versions >"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	at sh -c "mkdir -p ${RECORD%/*} && echo {} >$RECORD
		echo Placement=advise >>/etc/slurm/netprof.conf"
	# shellcheck disable=SC2046
	rpm_at -U $(rpms 2) || fail "$(cat "$TMPDIR/out")"
	equal "what is there" "$(rpm_versions)" \
		"netprof $VERSION-2 netprof-analysis $VERSION-2 $name $VERSION-2"
	equal "netprof.conf" "$(tail -n 1 "$OVERLAY/etc/slurm/netprof.conf")" \
		Placement=advise
	equal "the record" "$(cat "$OVERLAY$RECORD")" "{}"
	equal "the snippet" "$(missing $SNIPPET)" ""
	echo 'JobSubmitPlugins=netprof' >"$OVERLAY/etc/slurm/slurm.conf"
	! rpm_at -e "$name" || fail "removed while slurmctld needs it"
	grep -q 'has netprof in JobSubmitPlugins' "$TMPDIR/out" ||
		fail "$(cat "$TMPDIR/out")"
	rm "$OVERLAY/etc/slurm/slurm.conf"
	rpm_at -e "$name" netprof-analysis netprof || fail "$(cat "$TMPDIR/out")"
	equal "what is left" "$(rpm_versions)" ""
	equal "programs" "$(cd "$OVERLAY" && find usr/bin usr/libexec usr/lib \
		-name '*netprof*')" ""
	equal "what is missing" "$(missing "$RECORD" \
		/etc/slurm/netprof.conf.rpmsave)" ""
	equal "what Slurm would load" "$(missing $SNIPPET)" $SNIPPET
}

test_rpms_have_no_errors_by_rpmlint() {
	command -v rpmlint >/dev/null || skip "no rpmlint"
	# The site states the packager and signs the packages, and no licence is
	# stated. rpmlint takes the section of netprof.conf.5 to be "conf".
	# netprof-agent is static if musl is installed.
	# shellcheck disable=SC2046
	at rpmlint $(rpms 1) >"$TMPDIR/out" 2>&1 || :
	grep -q ' packages and .* checked; ' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	grep ' E: ' "$TMPDIR/out" | grep -vE ' E: (invalid-license|no-signature|'\
'no-packager-tag|no-group-tag|no-changelogname-tag|'\
'statically-linked-binary .*/netprof-agent$|'\
'bad-manual-page-folder .*/netprof\.conf\.5 )' >"$TMPDIR/errors" || :
	[ ! -s "$TMPDIR/errors" ] || fail "$(cat "$TMPDIR/errors")"
}

test_packages_have_no_errors_by_lintian() {
	# The site states the maintainer, with DEBEMAIL.
	# shellcheck disable=SC2046
	(cd "$DIR" && lintian --allow-root --fail-on error --suppress-tags \
		bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact \
		$(debs 1 | sed 's|.*/||')) >"$TMPDIR/out" 2>&1 ||
		fail "$(cat "$TMPDIR/out")"
}

# Packages of two revisions, and the overlay.
prepare() {
	local revision kind
	need_root
	mkdir -p "$DIR"
	rm -f "$DIR"/*.deb "$DIR"/*/*.rpm
	for revision in 1 2; do
		for kind in deb rpm; do
			make -C "$ROOT" --no-print-directory $kind \
				REVISION=$revision >"$DIR/log" 2>&1 ||
				fail "make $kind: $(tail -n 20 "$DIR/log")"
		done
	done
}

enter() { # DIRECTORY
	OVERLAY=$1/root
	mount -t tmpfs tmpfs "${OVERLAY%/*}"
	mkdir "$OVERLAY" "${OVERLAY%/*}"/upper "${OVERLAY%/*}"/work
	mount -t overlay overlay -o "lowerdir=/,upperdir=${OVERLAY%/*}/upper" \
		-o "workdir=${OVERLAY%/*}/work" "$OVERLAY"
	mount -t tmpfs tmpfs "$OVERLAY/tmp"
	mount -t proc proc "$OVERLAY/proc"
	mount --bind /dev "$OVERLAY/dev"
	mkdir "$OVERLAY/build-packages"
	mount --bind "$DIR" "$OVERLAY/build-packages"
	# man-db would rebuild its index of all pages each time.
	printf '#!/bin/sh\n' >"$OVERLAY/var/lib/dpkg/info/man-db.postinst"
	# Remove, in the overlay only, what make install or another package left.
	rm -rf "${OVERLAY:?}$STORE" "$OVERLAY/etc/slurm/netprof.conf" \
		"$OVERLAY$SNIPPET"
	export OVERLAY
}

set -eu
VERSION=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	if [ "${1-}" != inside ]; then
		prepare
		AROUND=$(mktemp -d)
		trap 'rmdir "$AROUND"' EXIT
		unshare --mount --propagation private bash "$0" inside "$AROUND"
		exit
	fi
	LIMIT_SEC=900
	enter "$2"
	run_alone "$0"
fi
