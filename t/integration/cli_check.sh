# netprof check and release. Needs no cluster; also runs alone:
#
#	[BUILD=build] [GOLDEN=write] bash t/integration/cli_check.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/cli.lib"
PARALLEL=45

# A Slurm that answers, with a correct store and correct programs.
slurm_here() { # VERSION-OF-SLURMCTLD JOBSUBMITPLUGINS
	local version=$((16#160508))
	mkdir -p "$S/slurm" "$S/libexec" "$S/plugins"
	printf '#!/bin/sh\necho slurm-wlm %s\n' "$1" >"$S/bin/slurmctld"
	cat >"$S/bin/scontrol" <<-END
		#!/bin/sh
		[ "\$1" != --version ] || exec echo slurm-wlm $1
		cat $S/slurm/config
	END
	cat >"$S/slurm/config" <<-END
		ClusterName             = hpc
		JobSubmitPlugins        = $2
		PluginDir               = $S/slurm:$S/plugins
		PlugStackConfig         = $S/slurm/plugstack.conf
		SLURM_CONF              = $S/slurm/slurm.conf
		SLURM_VERSION           = 22.05.8
		SlurmUser               = $ME($MY_UID)
		SlurmctldHost[0]        = $(hostname)(10.0.0.1)
	END
	echo "include $S/slurm/plugstack.d/*.conf" >"$S/slurm/plugstack.conf"
	mkdir -p "$S/slurm/plugstack.d"
	echo 'optional spank_netprof.so' >"$S/slurm/plugstack.d/netprof.conf"
	plugin spank_netprof spank $version
	plugin job_submit_netprof job_submit/netprof $version
	: >"$S/plugins/netprof_placement.so"
	printf '#!/bin/sh\necho "$@"\n' >"$S/libexec/netprof-release"
	cp "$S/libexec/netprof-release" "$S/libexec/netprof-collector"
	cp "$S/libexec/netprof-release" "$S/libexec/netprof-agent"
	cp "$S/libexec/netprof-release" "$S/libexec/netprof-mpi"
	cp "$S/libexec/netprof-release" "$S/libexec/netprof-saver"
	cp "$S/libexec/netprof-release" "$S/bin/netprof-impactb"
	cp "$S/libexec/netprof-release" "$S/bin/netprof-compressionb"
	chmod 755 "$S"/bin/* "$S"/libexec/*
	chmod 3777 "$S/store/users"
	chgrp "$(id -g)" "$S/store/users"
	chmod 755 "$S/store/published" "$S/store/placement" "$S/store"
	printf '%s\n' Placement=enforce "BinDir=$S/bin" "LibexecDir=$S/libexec" \
		"Store=$S/store" >"$S/conf"
	export NETPROF_CONF=$S/conf
}

plugin() { # NAME TYPE VERSION
	printf 'const char plugin_type[] = "%s";
		const unsigned plugin_version = %s;\n' "$2" "$3" |
		cc -shared -x c -o "$S/plugins/$1.so" -
}

# finding RESULT ABOUT TEXT [REMEDY]: netprof check has this finding
finding() {
	run netprof check -P
	grep -E "^$1\\|$2\\|" <<<"$OUT" | grep -E -- "$3" | grep -qE -- "${4-}" ||
		fail "no $1 on $2 with '$3' and '${4-}' in: $OUT"
	equal "exit status of $1" "$RC" "$([ "$1" = problem ] && echo 1 || echo 0)"
}

test_check_finds_nothing_in_a_correct_installation() {
	setup
	slurm_here 22.05.8 lua,netprof
	jq -c 'del(.claims)' "$S/store/placement/state.json" >"$S/state"
	cp "$S/state" "$S/store/placement/state.json"
	run 0 netprof check
	contains "all" "$OUT" '^0 problems, 0 warnings$'
	equal "no other lines" "$(grep -cv '^ok  \|^    ' "$S/out")" 1
	finding ok store ', on a disk of this host: the other hosts have to mount it'
	equal "for programs" "$(netprof check --json | jq .problem)" false
	finding ok calibration 'predicted from the others: mean error [0-9.]+ percentage points'
}

# FILE: a calibration whose levels slow each other by chance.
make_contradictory() {
	jq -c '.level_beside_level = [range(8) as $i | [range(8) as $j |
		($i * 8 + $j + 1) * 0.6180339887 | . - floor]]' "$1" >"$S/f"
	cp "$S/f" "$1"
}

test_check_doubts_a_calibration_that_contradicts_itself() {
	setup
	slurm_here 22.05.8 lua,netprof
	local f
	for f in "$S"/store/fabric/hpc/*.json; do
		make_contradictory "$f"
	done
	finding warning calibration 'predictions here cannot be trusted' \
		'netprof calibrate'
}

test_check_names_users_who_are_denied_a_name() {
	setup
	slurm_here 22.05.8 netprof
	finding warning authorisation '\|uid 1007 may not use the profile name "fft" \(4 jobs\): own runs contradict it' \
		'Claim=fft:default,user=1007 in netprof.conf'
	finding warning authorisation '\|uid 1008 may not use the profile name "NPmpi" \(1 job\): Claim= .*names others' \
		'Claim=NPmpi:user=1008 in netprof.conf'
}

test_check_reports_what_keeps_slurmctld_from_placing() {
	setup
	slurm_here 22.05.9 netprof
	finding ok job_submit_netprof.so \
		'was built for Slurm 22.05.8: works in slurmctld 22.05.9'
	slurm_here 23.02.1 netprof
	finding problem job_submit_netprof.so \
		'was built for Slurm 22.05.8, but 23.02.1 is installed: slurmctld starts with it, and placement is off' \
		'make clean && make install, then restart slurmctld'
	slurm_here 22.05.8 netprof
	rm "$S/plugins/netprof_placement.so"
	finding problem job_submit_netprof.so \
		'netprof_placement.so: No such file or directory: slurmctld starts without it, and placement is off'
	rm "$S/plugins/job_submit_netprof.so"
	finding problem job_submit_netprof.so 'is not in .*will not start'
	head -c 3000 "$S/plugins/spank_netprof.so" >"$S/plugins/job_submit_netprof.so"
	finding problem job_submit_netprof.so 'cannot be used: .*damaged'
}

test_check_reports_what_keeps_steps_from_being_measured() {
	setup
	slurm_here 22.05.7 ''
	sed -i '/^SLURM_VERSION/d' "$S/slurm/config"
	echo "Placement=off" >>"$S/conf"
	finding ok spank_netprof.so 'was built for Slurm 22.05.8'
	plugin spank_netprof spank $((16#170508))
	finding problem spank_netprof.so \
		'sbatch, srun and slurmstepd load it, and nothing is measured'
}

test_check_says_what_to_repair() {
	setup
	slurm_here 22.05.8 lua
	finding problem slurm.conf 'JobSubmitPlugins has no netprof' \
		"add netprof to JobSubmitPlugins in $S/slurm/slurm.conf"
	slurm_here 22.05.8 netprof
	echo 'MaxSlowdown=much' >>"$S/conf"
	finding problem configuration "$S/conf:5: MaxSlowdown=much" \
		'until then nothing is measured, and slurmctld keeps'
	run netprof list
	contains "a setting of steps" "$ERR" \
		'MaxSlowdown=much.*; until this is corrected no job is measured$'
	sed -i '$s/.*/TrustedUsers=nosuchuser/' "$S/conf"
	finding problem configuration "$S/conf:5: TrustedUsers=nosuchuser" \
		'until then slurmctld keeps'
	run netprof list
	contains "a setting that steps do not read" "$ERR" \
		'TrustedUsers=nosuchuser: unknown user [^;]*$'
	echo 'Rail=ib0 NIC=mlx5_0:1 Nodes=n0' >"$S/rails"
	sed -i "\$s,.*,Rails=$S/rails," "$S/conf"
	finding problem rails "$S/rails:1: missing key: Leaf"
	echo 'Rail=ib0 NIC=mlx5_0:1 Leaf=s0 Nodes=n0' >"$S/rails"
	finding ok rails "$S/rails: 1 rail"
	echo '# to be written' >"$S/rails"
	finding warning rails "$S/rails: 0 rails"
	sed -i '$s/.*/Claim=fft:usr=alice/' "$S/conf"
	finding problem configuration \
		"$S/conf:5: Claim=fft:usr=alice: \"usr=alice\": expected all, .*user=USER"
	sed -i '$s/.*/Claim=fft:group=no-such-group/' "$S/conf"
	finding problem configuration \
		"$S/conf:5: Claim=fft:group=no-such-group: .* expected a gid or the name of a group"
	sed -i '$s/.*/MaxSlowdown=much/' "$S/conf"
	slurm_here 22.05.8 netprof
	echo 'required spank_netprof.so' >"$S/slurm/plugstack.d/netprof.conf"
	finding warning plugstack.conf 'is required' 'optional'
	: >"$S/slurm/plugstack.d/netprof.conf"
	finding problem plugstack.conf 'does not load' 'include .*plugstack.conf.d'
	slurm_here 22.05.8 netprof
	chmod 00755 "$S/store/users"
	finding problem users/ 'mode 755, expected 3777' 'install -d -m 3777 -g'
	chmod 3777 "$S/store/users"
	chmod 775 "$S/store/published"
	finding problem published/ 'mode 775, expected 755' 'chmod 755'
	chmod 755 "$S/store/published"
	chmod 777 "$S/store"
	finding problem store 'users other than' 'chmod go-w'
	chmod 750 "$S/store"
	finding warning store 'mode 750: users outside its group cannot use it' 'chmod o.x'
	chmod 755 "$S/store"
	rm "$S/libexec/netprof-collector"
	finding problem programs 'netprof-collector: No such file' 'make install'
	slurm_here 22.05.8 netprof
	mv "$S/store/fabric" "$S/fabric"
	finding problem calibration 'no calibration of' 'salloc .* netprof calibrate'
	mv "$S/fabric" "$S/store/fabric"
	mv "$S/store/published/cp2k" "$S/"
	finding warning profiles 'none are published' 'netprof publish'
	mv "$S/cp2k" "$S/store/published/"
	NETPROF_NOW=1718187000 finding problem placement 'the last decision was .* does not act'
	rm "$S/store/placement/state.json"
	finding problem placement 'never written|No such file' 'slurmctld.log'
	[ "$MY_UID" = 0 ] || return 0 # chown
	sed -i 's/^SlurmUser.*/SlurmUser = nobody(65534)/' "$S/slurm/config"
	chgrp nogroup "$S/store/users" && chmod 3777 "$S/store/users"
	finding problem placement/ 'SlurmUser cannot write' 'install -d -m 755 -o nobody'
	chmod 00755 "$S/store/users"
	finding problem users/ 'mode 755' "install -d -m 3777 -g $(id -g nobody) "
}

# DATE RAIL: the calibration of the test data, as if measured on that rail.
calibrated_on() {
	sed "1s/{/{\"rail\": \"$2\", /" "$S/fabric.json" >"$S/store/fabric/hpc/$1.json"
}

test_check_warns_of_rails_that_differ_and_have_one_calibration() {
	local text='the rails of the nodes differ'
	setup
	slurm_here 22.05.8 netprof
	mv "$S"/store/fabric/hpc/*.json "$S/fabric.json"
	calibrated_on 20240523T100000Z ib
	echo "Rails=$S/rails" >>"$S/conf"
	printf 'Rail=%s NIC=%s Leaf=%s Nodes=n[0-3]\n' ib mlx5_0:1 s0 lan eth9 s1 >"$S/rails"
	finding warning calibration \
		"$text: ib .mlx5_0:1.*, lan .eth9.*; no calibration of lan: .* with that of ib" \
		'netprof calibrate --rail=lan'
	calibrated_on 20240522T100000Z lan
	finding ok calibration "$text, and each has its own: ib .*, lan"
	finding ok calibration 'each load level of rail ib predicted from the others'
	finding ok calibration 'each load level of rail lan predicted from the others'
	make_contradictory "$S/store/fabric/hpc/20240522T100000Z.json"
	finding warning calibration 'of rail lan .*predictions here cannot be trusted' \
		'netprof calibrate --rail=lan'
	printf 'Rail=%s NIC=%s Leaf=%s Nodes=n[0-3]\n' ib mlx5_0:1 s0 lan mlx5_1:1 s1 \
		>"$S/rails"
	run netprof check -P
	! grep -q "$text" <<<"$OUT" || fail "$OUT"
	sed -i s/mlx5_1/mlx4_0/ "$S/rails"
	finding ok calibration "$text, and each has its own: ib .*, lan .mlx4_0:1"
}

test_check_reports_directories_of_users_made_by_others() {
	local users
	[ "$MY_UID" = 0 ] || return 0 # chown
	setup
	slurm_here 22.05.8 netprof
	users=$S/store/users
	mkdir "$users"/{20001,20002,20003} "$users/xyz" "$users/30001"
	chown 23456 "$users"/{20001,20002,xyz}
	chown 20003 "$users/20003"
	finding problem users/ "23456 owns 2 directories of other users, such as $users/2000[12]:" \
		"find $users -mindepth 1 -maxdepth 1 -uid 23456 ! -name 23456 -exec rm -r"
	contains "root's own" "$OUT" \
		"^problem\\|users/\\|root owns 1 directory of other users, such as $users/30001"
	bash -c "$(sed -n '/uid 23456/s/.*|//p' <<<"$OUT" | sed 's/;.*//')"
	equal "what is left" "$(cd "$users" && echo *)" "0 20003 30001"
	run netprof check --make-users 20001 20003 30001
	equal "what was made" "$RC $OUT" "0 directories of users: 1 made, 2 existed, 0 failed"
	equal "whose they are" "$(stat -c '%u %a' "$users"/{20001,30001})" \
		"$(printf '%s 2750\n' 20001 30001)"
	run 0 netprof check
	mkdir "$users"/{30002,30003}
	finding problem users/ "root owns 2 directories of other users"
	bash -c "$(sed -n '/^problem|users/s/.*|//p' <<<"$OUT")"
	run 0 netprof check
	rmdir "$users"/{30002,30003}
	chmod 700 "$users/20003"
	finding warning users/ "slurmctld cannot read 1 directory because of the mode, such as $users/20003" \
		'netprof check --make-users'
	rmdir "$users/20001"
	mkdir "$users/20001" && chown 23456 "$users/20001"
	run netprof check --make-users 20001 20003
	equal "one that is taken" "$RC $OUT" "1 directories of users: 0 made, 1 existed, 1 failed"
	contains "which" "$ERR" "$users/20001: belongs to another user"
	equal "and not touched" "$(stat -c %u "$users/20001")" 23456
}

test_directories_of_users_are_made_by_root_only() {
	[ "$MY_UID" = 0 ] || return 0
	setup
	slurm_here 22.05.8 netprof
	refused 1 'only root can' setpriv --reuid=23456 --regid=23456 --clear-groups \
		netprof check --make-users 23456
	run netprof check --make-users no-such-user
	equal "of nobody" "$RC $ERR" "1 netprof: no-such-user: no such user"
	run 2 netprof check --make-users --json
	run 0 netprof check --make-users # for all users that the system lists
	contains "of all" "$OUT" '^directories of users: [0-9]+ made, [0-9]+ existed, 0 failed$'
}

test_a_new_store_passes_check() {
	[ "$MY_UID" = 0 ] || return 0
	setup
	slurm_here 22.05.8 netprof
	sed -i 's/^SlurmUser.*/SlurmUser = nobody(65534)/' "$S/slurm/config"
	sed -i "s|^Store=.*|Store=$S/new|" "$S/conf"
	unset NETPROF_STORE
	refused 1 'only root can' setpriv --reuid=23456 --regid=23456 --clear-groups \
		netprof check --make-store
	run netprof check --make-store
	equal "what is made" "$RC $OUT" "0 made $S/new
made $S/new/users
made $S/new/published
made $S/new/placement"
	equal "owners and modes" "$(stat -c '%U %g %a' "$S/new"/{,users,published,placement})" \
		"root 65534 755
root 65534 3777
root 0 755
nobody 65534 755"
	run netprof check -P
	equal "what check says of it" "$(awk -F'|' '$2 == "store" || $2 ~ "/$" {
		print $1, $2 }' "$S/out" | xargs)" \
		"ok store ok users/ ok published/ ok placement/"
	rmdir "$S/new/users"
	chmod 700 "$S/new/published"
	run netprof check --make-store
	equal "only what is missing" "$RC $OUT $(stat -c %a "$S/new/published")" \
		"0 made $S/new/users 700"
	run 2 netprof check --make-store now
	chmod 777 "$S/new"
	refused 1 "mode 777; it must belong to root and nobody else" netprof check --make-store
	sed -i "s|^Store=.*|Store=$S/no/where|" "$S/conf"
	run netprof check --make-store
	equal "where nothing is" "$RC $ERR" \
		"1 netprof: cannot create $S/no/where: No such file or directory"
}

test_check_reports_more_users_than_it_reads() {
	[ "$MY_UID" = 0 ] || return 0
	setup
	slurm_here 22.05.8 netprof
	# The maximum of hard links per inode is lower than their number.
	(cd "$S/store/users" && touch 200000 300000 400000 &&
		chown 23456 [234]00000 && perl -e 'for my $k (2e5, 3e5, 4e5) {
			link $k, $k + $_ or die for 1..22000 }')
	finding problem users/ "more than 65536 entries: slurmctld ignores" \
		'listed below'
	contains "whose" "$OUT" '\|23456 owns [0-9]+ director.* of other users'
}

# Each host on which slurmctld may run needs the placement plugin.
test_check_knows_the_controllers() {
	local here lines
	setup
	slurm_here 22.05.8 netprof
	here=$(hostname)
	rm "$S/plugins/job_submit_netprof.so"
	sed -i '/^SlurmctldHost/d' "$S/slurm/config"
	printf '%s\n' 'SlurmctldHost[0]        = ctl(10.0.0.1)' \
		"SlurmctldHost[1]        = $here.site(10.0.0.2)" >>"$S/slurm/config"
	finding problem job_submit_netprof.so 'slurmctld will not start'
	sed -i "s/= $here.site/= x$here/" "$S/slurm/config"
	finding ok job_submit_netprof.so "is not on this host; slurmctld runs on ctl,x$here"
	printf '#!/bin/sh\n[ "$1" != --version ] || exec echo slurm-wlm 22.05.8\nexit 1\n' \
		>"$S/bin/scontrol"
	export SLURM_CONF=$S/slurm/slurm.conf
	for lines in "SlurmctldHost=ctl\nSlurmctldHost=$here(10.0.0.2)" \
		"ControlMachine=$here" "ControlMachine=ctl\nBackupController=$here"; do
		printf "PluginDir=%s\nSlurmUser=%s\nJobSubmitPlugins=netprof\n$lines\n" \
			"$S/plugins" "$ME" >"$SLURM_CONF"
		finding problem job_submit_netprof.so 'slurmctld will not start'
	done
}

test_check_reports_what_is_wrong_with_plugindir() {
	setup
	slurm_here 22.05.8 netprof
	printf '#!/bin/sh\n[ "$1" != --version ] || exec echo slurm-wlm 22.05.8\nexit 1\n' \
		>"$S/bin/scontrol"
	export SLURM_CONF=$S/slurm/slurm.conf
	dirs() { # PLUGINDIR
		printf '%s\n' "PluginDir=$1" "SlurmUser=$ME" JobSubmitPlugins=netprof \
			>"$SLURM_CONF"
	}
	dirs "$S/plugins:$S/none:$S/slurm"
	finding problem slurm.conf \
		"PluginDir names \"$S/none\": No such file or directory: Slurm does not start on this host" \
		'create the directory, or remove it from PluginDir'
	equal "their number" "$(grep -c PluginDir <<<"$OUT")" 1
	contains "the plugin of another directory" "$OUT" '^ok\|job_submit_netprof.so'
	dirs "$S/none"
	finding problem slurm.conf "PluginDir names \"$S/none\": No such file"
	contains "the plugin" "$OUT" "^problem\|spank_netprof.so\|is not in $S/none\|"
	dirs "$SLURM_CONF:$S/plugins"
	finding problem slurm.conf "PluginDir names \"$SLURM_CONF\": Not a directory"
	dirs "$S/slurm:$S/bin"
	finding problem spank_netprof.so "is not in $S/slurm:$S/bin"
	finding problem job_submit_netprof.so "is not in $S/slurm:$S/bin, .*will not start"
	dirs "$S/slurm::$S/plugins:"
	run netprof check -P
	! grep PluginDir <<<"$OUT" || fail "empty names are taken for directories"
	printf '%s\n' "SlurmUser=$ME" JobSubmitPlugins=lua >"$SLURM_CONF"
	run netprof check -P
	! grep PluginDir <<<"$OUT" || fail "slurm.conf does not name the default"
}

test_check_reads_slurm_conf_if_slurmctld_does_not_answer() {
	setup
	slurm_here 22.05.8 netprof
	printf '#!/bin/sh\n[ "$1" = --version ] || exec sleep 60\n' >"$S/bin/scontrol"
	printf '%s\n' "PluginDir=$S/plugins" 'JobSubmitPlugins=netprof # ours' \
		'ClusterName=hpc' "SlurmUser=$ME" \
		"SlurmctldHost=$(hostname)" >"$S/slurm/slurm.conf"
	rm "$S/plugins/job_submit_netprof.so"
	export SLURM_CONF=$S/slurm/slurm.conf
	finding problem job_submit_netprof.so "is not in $S/plugins"
	contains "why" "$OUT" "^warning\\|Slurm\\|slurmctld does not answer scontrol; what follows is from $S/slurm/slurm.conf"
	finding problem job_submit_netprof.so "is not in $S/plugins"
}

# Without an answer from slurmctld; appended settings take precedence.
conf_says() { # NAME LINES...
	printf '%s\n' "PluginDir=$S/plugins" "SlurmUser=$ME" "${@:2}" \
		>"$S/slurm/slurm.conf"
	run netprof check -P
	grep -q '^ok|slurm.conf|JobSubmitPlugins=.*netprof' <<<"$OUT" ||
		fail "$1: no netprof in: $OUT"
	grep -q '^ok|plugstack.conf|loads' <<<"$OUT" ||
		fail "$1: not loaded in: $OUT"
}

test_check_reads_slurm_conf_as_slurm_does() {
	setup
	slurm_here 22.05.8 netprof
	printf '#!/bin/sh\n[ "$1" != --version ] || exec echo slurm-wlm 22.05.8\nexit 1\n' \
		>"$S/bin/scontrol"
	export SLURM_CONF=$S/slurm/slurm.conf
	echo JobSubmitPlugins=netprof >"$S/slurm/hpc.conf"
	conf_says "a plain file" JobSubmitPlugins=netprof
	conf_says "several keys on a line" "ClusterName=hpc JobSubmitPlugins=netprof"
	conf_says "blanks" "JobSubmitPlugins = netprof # ours"
	conf_says "quotes" 'JobSubmitPlugins="netprof"' \
		"PlugStackConfig=\"$S/slurm/plugstack.conf\""
	conf_says "a continued line" 'JobSubmitPlugins=lua,\' netprof
	conf_says "the end of a line as DOS has it" $'JobSubmitPlugins=netprof\r'
	conf_says "a file that is included" "include hpc.conf"
	conf_says "a file by the cluster's name" ClusterName=HPC "Include %c.conf"
	conf_says "the later of two values" JobSubmitPlugins=lua \
		JobSubmitPlugins=lua,netprof
	printf '%s\n' JobSubmitPlugins=netprof JobSubmitPlugins=lua \
		>"$S/slurm/slurm.conf"
	finding problem slurm.conf 'JobSubmitPlugins has no netprof'
	printf '\357\273\277JobSubmitPlugins=netprof\n' >"$S/slurm/slurm.conf"
	run netprof check -P
	contains "a byte-order mark" "$OUT" \
		"^warning\|Slurm\|.*slurm.conf cannot be read: $S/slurm/slurm.conf:1: begins with a byte-order mark"
	printf 'JobSubmitPlugins=netprof\0x\nPluginDir=%s\nSlurmUser=%s\n' \
		"$S/plugins" "$ME" >"$S/slurm/slurm.conf"
	run netprof check -P
	contains "what precedes a NUL" "$OUT" '^ok\|slurm.conf\|JobSubmitPlugins=netprof\|'
	contains "a NUL" "$OUT" "^warning\|slurm.conf\|$S/slurm/slurm.conf:1: a NUL character: .*\|correct the line"
	printf 'PluginDir=%s\nSlurmUser=%s\nInclude hpc.conf' "$S/plugins" "$ME" \
		>"$S/slurm/slurm.conf"
	run netprof check -P
	contains "an Include without a line end" "$OUT" '^ok\|slurm.conf\|JobSubmitPlugins=netprof\|'
	contains "its line" "$OUT" "^warning\|slurm.conf\|$S/slurm/slurm.conf:3: Include: no blank .*\|correct the line"
	printf '%s\n' "SlurmUser=$ME" 'JobSubmitPlugins=lua, netprof' >"$S/slurm/slurm.conf"
	run netprof check -P
	contains "a list with blanks" "$OUT" \
		"^warning\|slurm.conf\|$S/slurm/slurm.conf:2: netprof: expected Key=Value, and quotes"
	printf '%s\n' "SlurmUser=$ME" 'JobSubmitPlugins="lua, netprof"' >"$S/slurm/slurm.conf"
	finding problem slurm.conf 'JobSubmitPlugins="lua, netprof" has a blank: .*will not start' \
		'remove the blank'
	printf '%s\n' 'NodeName=n0 CPUs=4' "ClusterName=hpc JobSubmitPlugins=netprof" >"$S/slurm/slurm.conf"
	run netprof check -P
	contains "two keys on a line" "$OUT" \
		"^warning\|slurm.conf\|$S/slurm/slurm.conf:2: JobSubmitPlugins: expected one Key=Value in a line"
	conf_says "keys of a node on a line" JobSubmitPlugins=netprof "NodeName=n0 CPUs=4" \
		"PartitionName=p Nodes=ALL"
	! grep -q '^warning|slurm.conf' <<<"$OUT" || fail "a warning: $OUT"
	cd "$S/slurm"
	export SLURM_CONF=slurm.conf
	conf_says "a path without a directory" JobSubmitPlugins=netprof
}

test_check_reads_plugstack_conf_as_slurm_does() {
	setup
	slurm_here 22.05.8 netprof
	local stack=$S/slurm/plugstack.conf
	printf '# all\ninclude plugstack.d/*.conf\n' >"$stack"
	finding ok plugstack.conf 'loads spank_netprof.so'
	echo "optional $S/plugins/spank_netprof.so Period=1s" >>"$stack"
	finding warning plugstack.conf \
		"is loaded by $S/slurm/plugstack.d/netprof.conf:1 and again by $stack:3" \
		'remove one of the two lines'
	echo "optional spank_netprof.so Period=1s  ProbePairs=4 # Period=0x1" >"$stack"
	finding ok plugstack.conf 'loads spank_netprof.so'
	printf '\noptional spank_netprof.so ProbePairs=4 Period=0x1 Nodes\n' >"$stack"
	finding problem plugstack.conf "$stack:2: Period=0x1: expected a time" 'nothing is measured'
	[[ $OUT != *'loads spank_netprof.so'* ]] || fail "it is loaded with wrong arguments: $OUT"
	echo "optional spank_netprof.so Peroid=1s" >"$stack"
	finding problem plugstack.conf "$stack:1: Peroid=1s: no such key.*did you mean Period"
	printf 'optional /x/spank_pyxis.so\ninclude plugstack.d/*.conf\n' >"$stack"
	finding warning plugstack.conf \
		"$stack:1 loads spank_pyxis.so before spank_netprof.so" \
		"move the line .*$S/slurm/plugstack.d/netprof.conf:1.* before it"
	printf 'include plugstack.d/*.conf\nrequired spank_pyxis.so\n' >"$stack"
	finding ok plugstack.conf 'loads spank_netprof.so'
	echo 'optional other.so' >"$stack"
	finding problem plugstack.conf "$stack does not load" \
		"echo 'include .*/plugstack.conf.d/\*.conf' >>$stack"
	rm "$stack"
	finding problem plugstack.conf \
		"$stack: No such file or directory: there is no --netprofile" \
		"echo 'include .*/plugstack.conf.d/\*.conf' >>$stack"
	printf '\357\273\277optional spank_netprof.so\n' >"$stack"
	finding problem plugstack.conf "$stack:1: begins with a byte-order mark"
	printf 'optional spank_netprof.so\r\n' >"$stack"
	finding problem plugstack.conf 'does not load .* ends with a carriage return'
	printf 'include plugstack.d/*.conf\r\n' >"$stack"
	finding problem plugstack.conf 'does not load .* ends with a carriage return'
	echo 'optional /nonexistent/spank_netprof.so' >"$stack"
	finding problem plugstack.conf "$stack names /nonexistent/spank_netprof.so, which does not exist" \
		'without a directory'
	echo "optional $S/plugins/spank_netprof.so" >>"$stack"
	finding ok plugstack.conf 'loads spank_netprof.so'
	echo 'SlurmctldParameters = enable_configless' >>"$S/slurm/config"
	echo 'include plugstack.d/*.conf' >"$stack"
	finding warning plugstack.conf \
		'nodes that get it from slurmctld .* do not get what it includes as plugstack.d/\*.conf' \
		"into $stack itself"
	echo 'optional other.so' >"$stack"
	finding problem plugstack.conf "$stack does not load" \
		"echo 'optional spank_netprof.so' >>$stack"
	rm "$stack"
	sed -i 's/^SlurmctldHost.*/SlurmctldHost[0] = ctl(10.0.0.1)/' "$S/slurm/config"
	finding ok plugstack.conf 'is not on this host, which gets it from slurmctld on ctl'
	echo 'include plugstack.d/*.conf' >"$stack"
	sed -i 's/= enable_configless/= idle_on_node_suspend,Enable_Configless/' "$S/slurm/config"
	finding warning plugstack.conf 'nodes that get it from slurmctld'
	echo 'optional spank_netprof.so' >"$stack"
	finding ok plugstack.conf 'loads spank_netprof.so'
	echo 'optional spank_netprof.so' >"$S/slurm/netprof.plug"
	echo 'include netprof.plug' >"$stack"
	finding warning plugstack.conf 'what it includes as netprof.plug'
	sed -i 's/^SLURM_VERSION.*/SLURM_VERSION = 24.05.1/' "$S/slurm/config"
	finding ok plugstack.conf 'loads spank_netprof.so'
}

test_versions_of_plugins_alone_are_compared() {
	setup
	slurm_here 22.05.8 netprof
	run netprof check --versions "$S"/plugins/[js]*.so
	equal "where they fit" "$RC $OUT$ERR" "0 "
	plugin job_submit_netprof job_submit/netprof $((16#180508))
	run 1 netprof check --versions "$S"/plugins/[js]*.so
	equal "lines" "$(grep -c '^problem' "$S/out")" 1
	contains "which" "$OUT" 'job_submit_netprof.so: was built for Slurm 24.05.8'
	run 1 netprof check --versions
	contains "in sbatch" "$OUT" 'spank_netprof.so: was built for Slurm 22.05.8: works in sbatch'
	run 1 netprof check --versions /dev/zero
}

# The steps' output and the calibration are given.
test_what_the_steps_of_check_fabric_print_is_in_the_file() {
	setup
	mkdir "$S/fake"
	printf '%s\n' '#!/bin/sh' 'case "$*" in *netprof-impactb*) ;; *) exit 0 ;; esac' \
		'[ "$NETPROF_TRANSPORT" != ucx ] || { echo no device >&2; exit 3; }' \
		'printf "%s\n" "np1 cost 0 0.010000 1.000000 40 9000000" "np1 bye 0"' >"$S/fake/srun"
	printf '%s\n' '#!/bin/sh' 'for a; do case $a in --output=*)' \
		"cp $S/data/store/fabric/hpc/*.json \"\${a#*=}\" ;; esac; done" >"$S/fake/netprof"
	printf '%s\n' '#!/bin/sh' 'echo "slurm 22.05.8 by carol, /home/carol/x, carols, dave"' \
		>"$S/fake/sinfo"
	chmod 755 "$S"/fake/*
	! PATH=$S/fake:$PATH USER=dave SUDO_USER=carol SLURM_JOB_ID=1 SLURM_JOB_NODELIST='n[0-1]' SLURM_JOB_NUM_NODES=2 \
		"$S/bin/netprof" check --fabric="$S/fabric" --seconds=1 >"$S/out" 2>"$S/err" ||
		fail "parts that fail do not show in the exit code"
	sed -n '/^== idle lat/,/^== which/p; /^== load levels, each/,/^--/p' "$S/fabric" |
		sed 's/after .*/after N s/; s/^[0-9]* pairs/N pairs/; s/error .*/error N/' >"$S/parts"
	cat >"$S/expected" <<-'END'
		== idle latencies and the cost of probes
		np1 cost 0 0.010000 1.000000 40 9000000
		np1 bye 0
		-- exit 0, after N s

		== the same over UCX
		exit 3: no device
		-- exit 3, after N s

		== which nodes share a leaf switch
		== load levels, each predicted from the others
		N pairs of load levels: mean error N
		-- exit 0, after N s
	END
	diff "$S/expected" "$S/parts" || fail "$(cat "$S/fabric")"
	equal "names of users" "$(grep '^slurm' "$S/fabric")" \
		"slurm 22.05.8 by USER, /home/USER/x, carols, USER"
}

test_release_starts_its_program() {
	setup
	slurm_here 22.05.8 netprof
	equal "with its options" "$(netprof release --dry-run)" --dry-run
	rm "$S/libexec/netprof-release"
	run 1 netprof release
	equal "error" "$ERR" "netprof: $S/libexec/netprof-release does not exist: install the plugins for this release of Slurm, or correct LibexecDir in netprof.conf"
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
