# netprof reads Slurm's own files as Slurm does: slurmctld prints its switches and
# the cluster's name, srun its plugins.
# shellcheck shell=bash
PARALLEL=25
LIMIT_SEC=600 # each case starts a slurmctld

O=$(rundir)/oracle # visible on all hosts of the cluster
B=$(readlink -f "$BUILD")

netprof() { "$B/netprof" "$@"; }

# The directory that each case gets a copy of.
set_up() {
	CASES=() N_CASES=0
	rm -rf "$O" "$O".*
	mkdir -p "$O"/{state,inc,stack.d,bin,store}
	printf '#!/bin/sh\nexit 1\n' >"$O/bin/scontrol"
	chmod 755 "$O/bin/scontrol"
	cat >"$O/rest.conf" <<-END
		SlurmctldHost=ctl
		SlurmctldPort=17817
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=/run/munge/munge.socket.2
		StateSaveLocation=$O/state
		SlurmctldPidFile=$O/pid
		ProctrackType=proctrack/linuxproc
		TopologyPlugin=topology/tree
		PluginDir=$(rundir)/build:$(plugin_dir)
		NodeName=n[0-7] NodeAddr=127.0.0.1 CPUs=1
		PartitionName=p Nodes=ALL Default=YES
	END
	goal >"$O/star.goal"
	{ echo ClusterName=oracle; cat "$O/rest.conf"; } >"$O/slurm.conf"
	echo 'SwitchName=s0 Nodes=n[0-7]' >"$O/topology.conf"
}

# FUNCTION ARGS...: in a directory and with a port of its own, three at the same time.
in_copy() {
	local from=$O

	[ ${#CASES[@]} -lt 3 ] || { wait "${CASES[0]}"; CASES=("${CASES[@]:1}"); }
	N_CASES=$((N_CASES + 1))
	(
		O=$from.$N_CASES
		cp -r "$from" "$O"
		sed -i "s|$from\\b|$O|g; s/^SlurmctldPort=.*/SlurmctldPort=$((17817 + N_CASES))/" \
			"$O"/*.conf
		"$@"
		rm -r "$O"
	) &
	CASES+=($!)
}

# What all cases since the last time have said: "29 taken".
cases_said() { # NUMBER WORD
	local pid

	for pid in "${CASES[@]}"; do
		wait "$pid"
	done
	CASES=()
	equal "cases" "$(cat "$O"/said.* | sort | uniq -c | xargs)" "$*"
	rm "$O"/said.*
}

says() { # WORD: this case, to the directory that it is a copy of
	echo "$1" >"${O%.*}/said.${O##*.}"
}

plugin_dir() {
	local f
	for f in "${SLURM_PREFIX:-/usr}"/lib*{,/*}/slurm*/topology_tree.so; do
		[ ! -e "$f" ] || { dirname "$f"; return; }
	done
	fail "no plugins of Slurm under ${SLURM_PREFIX:-/usr}/lib*"
}

# Rank 0 exchanges a message with each other rank in turn.
goal() {
	local k
	echo num_ranks 8
	echo "rank 0 {"
	for k in 1 2 3 4 5 6 7; do
		echo "s$k: send ${k}b to $k tag 1"
		echo "r$k: recv ${k}b from $k tag 2"
		echo "r$k requires s$k"
		[ "$k" = 1 ] || echo "s$k requires r$((k - 1))"
	done
	echo "}"
	for k in 1 2 3 4 5 6 7; do
		printf 'rank %d {\nr: recv %db from 0 tag 1\ns: send %db to 0 tag 2\ns requires r\n}\n' "$k" "$k" "$k"
	done
}

# Run slurmctld with these files until it has read them; its output is in O/log.
slurmctld_reads() {
	rm -rf "$O/log" "$O"/state/*
	# shellcheck disable=SC2016
	inside --user root -- bash -c 'export SLURM_CONF=$1/slurm.conf
		slurmctld -D -c -vvv >"$1/log" 2>&1 &
		for _ in $(seq 1200); do
			grep -qE "switches_dist|fatal:|retrying" "$1/log" && break
			kill -0 $! 2>/dev/null || break
			sleep 0.05
		done
		kill -9 $!
		wait $!' - "$O" 2>/dev/null || :
}

# The topology.conf that corresponds to the switches of slurmctld.
switches() {
	sed -nE 's/.*Switch level:0 name:(.*) nodes:(.*) switches:.*/SwitchName="\1" Nodes="\2"/p
		s/.*Switch level:[0-9]+ name:(.*) nodes:.* switches:(.*)/SwitchName="\1" Switches="\2"/p' "$O/log" |
		sed 's/ Nodes="(null)"//; s/ Nodes=""//; s/#/\\#/g'
}

hops() { # FILE: what netprof makes of it, without its name
	netprof tolerance -P --topology="$1" "$O/star.goal" 2>"$O/err" |
		grep '|base|' || :
	sed "/the first is used/d; /: a NUL character: like Slurm/d; /before Slurm 23.11/d; s|$1|FILE|g" "$O/err"
}

# TEXT with the escapes of printf
topology() { # NAME TEXT
	printf "$2" >"$O/topology.conf"
	slurmctld_reads
	switches >"$O/running.conf"
	if [ -s "$O/running.conf" ]; then
		equal "$1" "$(hops "$O/topology.conf")" "$(hops "$O/running.conf")"
		hops "$O/running.conf" | grep -E '\|base\||but no switch of' >/dev/null || # not -q: SIGPIPE
			fail "$1: $(hops "$O/running.conf")"
		says taken
		return
	fi
	grep -qE 'fatal:|retrying' "$O/log" || fail "$1: $(tail -n 3 "$O/log")"
	! netprof tolerance -P --topology="$O/topology.conf" "$O/star.goal" \
		>"$O/out" 2>"$O/err" || fail "$1: taken, refused by slurmctld: $(
		grep -E 'rror|fatal' "$O/log")"
	equal "lines about $1" "$(grep -c "^netprof: $O/" "$O/err") $(wc -l <"$O/err")" "1 1"
	says refused
}

# What Slurm takes since 23.11, and netprof in every release, with a warning.
topology_since_23_11() { # NAME TEXT
	printf "$2" >"$O/topology.conf"
	slurmctld_reads
	switches >"$O/theirs.conf"
	hops "$O/topology.conf" >"$O/hops"
	grep -q '|base|' "$O/hops" || fail "$1: $(cat "$O/hops")"
	equal "warnings of $1" "$(grep -c ': slurmctld rejects it before Slurm 23.11$' "$O/err")" 1
	if [ -s "$O/theirs.conf" ]; then
		equal "$1" "$(cat "$O/hops")" "$(hops "$O/theirs.conf")"
	else
		grep -q 'fatal:' "$O/log" || fail "$1: $(tail -n 3 "$O/log")"
	fi
	says later
}

# What Slurm refuses, and netprof takes with a warning, as its meaning is clear.
topology_of_netprof() { # NAME TEXT
	printf "$2" >"$O/topology.conf"
	slurmctld_reads
	grep -q 'fatal:' "$O/log" || fail "$1: $(tail -n 3 "$O/log")"
	hops "$O/topology.conf" >"$O/hops"
	grep -q '|base|' "$O/hops" || fail "$1: $(cat "$O/hops")"
	equal "warnings of $1" "$(grep -c ': slurmctld rejects it$' "$O/err")" 1
	says warned
}

trees_by_their_paths() {
	topology "$@"
	equal "its lines" "$(grep -c 'n[0-9] and n[0-9]$' "$O/err") $(wc -l <"$O/err")" "1 1"
}

test_topology_conf_is_what_slurmctld_takes_it_for() {
	local two='SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n'
	local top='SwitchName=top Switches=s[0-1]\n'
	set_up
	echo 'SwitchName=s1 Nodes=n[4-7]' >"$O/inc/s1.conf"
	echo "Include $O/inc/s1.conf" >"$O/inc/next.conf"
	in_copy topology "a plain file" "$two$top"
	in_copy topology "leaves of two sizes" "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-7]\n$top"
	in_copy topology "blanks" "SwitchName = s0 Nodes = n[0-3]\nSwitchName=s1 Nodes= n[4-7]\n  $top"
	in_copy topology "quotes" "SwitchName=s0 Nodes=\"n[0-1], n[2-3]\"\nSwitchName=s1 Nodes=\"n[4-7]\"\nSwitchName=top Switches=\"s0, s1\"\n"
	in_copy topology "continued lines" 'SwitchName=s0 \\\n  Nodes=n0,n1,\\\nn2,n3\nSwitchName=s1 Nodes=n[4-7]\nSwitchName=top \\\n Switches=s[0-1]\n'
	in_copy topology "lines as DOS ends them" "SwitchName=s0 Nodes=n[0-3]\r\nSwitchName=s1 \\\\\r\n Nodes=\"n[4-7]\"\r\nSwitchName=top Switches=s[0-1]\r\n"
	in_copy topology "comments" "# x\nSwitchName=s0 Nodes=n[0-3] # y\nSwitchName=s1 Nodes=n[4-7]#z\n$top"
	in_copy topology "a comment that is escaped" "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s\\\\#1 Nodes=n[4-7]\nSwitchName=top Switches=s0,s\\\\#1\n"
	in_copy topology "an included file" "SwitchName=s0 Nodes=n[0-3]\ninclude inc/s1.conf\n$top"
	in_copy topology "one by its path" "SwitchName=s0 Nodes=n[0-3]\nInclude $O/inc/s1.conf\n$top"
	in_copy topology "the later of two values" "SwitchName=s0 Nodes=n7 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "other letters" "switchname=s0 NODES=n[0-3] linkspeed=3\nSWITCHNAME=s1 nodes=n[4-7]\n$top"
	in_copy topology "an operator" "SwitchName=s0 Nodes+=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "two separate trees" "$two"
	in_copy trees_by_their_paths "one of two trees by its path" "SwitchName=s0 Nodes=n[0-3]\nInclude $O/inc/s1.conf\n"
	in_copy topology "a node on two leaves" "SwitchName=s0 Nodes=n[0-4]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a node twice on one" "SwitchName=s0 Nodes=n[0-3],n3\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "leaves below two" "$two${top}SwitchName=other Switches=s[0-1]\n"
	in_copy topology "nodes to come" "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7],cloud[1-200]\n$top"
	in_copy topology "names with dots" "SwitchName=rack0.ib Nodes=n[0-3]\nSwitchName=rack1.ib Nodes=n[4-7]\nSwitchName=switch.2.1 Switches=rack0.ib,rack1.ib\n"
	in_copy topology "three levels" "SwitchName=t Switches=top,s2\nSwitchName=s2 Nodes=n[6-7]\nSwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-5]\n$top"
	in_copy topology "comments that are continued" 'SwitchName=s0 Nodes=n[0-3] # x \\\nSwitchName=s1 Nodes=n[4-7]\n# y \\\n'"$top"
	in_copy topology "a last line that is continued" "$two"'SwitchName=top Switches=s[0-1] \\'
	in_copy topology "a comment behind an include" "SwitchName=s0 Nodes=n[0-3]\nInclude inc/s1.conf # x\n$top"
	in_copy topology "an included directory" "$two${top}Include inc\n"
	in_copy topology "empty names in lists" "SwitchName=s0 Nodes=,n[0-1],,n[2-3],\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "form feeds" "SwitchName=s0\fNodes=n[0-3]\nSwitchName=s1\vNodes=n[4-7]\n$top"
	in_copy topology "a speed with its unit" "SwitchName=s0 Nodes=n[0-3] LinkSpeed=10K\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "blanks in brackets" "SwitchName=s0 Nodes=\"n[0-1, 2-3]\"\nSwitchName=s1 Nodes=\"n[ 4-7]\"\n${top}"
	in_copy topology "blanks in brackets of switches" "${two}SwitchName=top Switches=\"s[0-\t1]\"\n"
	in_copy topology "open ranges" "SwitchName=s0 Nodes=n[0-,1-3]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a NUL in a list" "SwitchName=s0 Nodes=n[0-3]\0,n7\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a NUL behind a backslash" "SwitchName=s0 \\\\\0\n Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a line that begins with a NUL" "$two\0SwitchName=s0 Nodes=n7\n$top"
	in_copy topology "an included device" "$two${top}Include /dev/null\n"
	in_copy topology "an empty name" "SwitchName=\"\" Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n"
	in_copy topology "no speed" "SwitchName=s0 Nodes=n[0-3] LinkSpeed=\"\"\nSwitchName=s1 Nodes=n[4-7] LinkSpeed=K\n$top"
	in_copy topology "a hexadecimal speed" "SwitchName=s0 Nodes=n[0-3] LinkSpeed=0x10\nSwitchName=s1 Nodes=n[4-7] LinkSpeed=+5\n$top"
	in_copy topology "names of switches in other letters" "SwitchName=S0 Nodes=n[0-3]\nSwitchName=s0 Nodes=n[4-7]\nSwitchName=top Switches=s0,S0\n"
	in_copy topology "a child twice" "${two}SwitchName=top Switches=s0,s1,s0\n"
	in_copy topology "a name like a list" "SwitchName=s[0-1] Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n"
	in_copy topology "zeros and widths" "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7],m[01-10,12]-ib[0-1]\n$top"
	in_copy topology "a key across lines" 'Switch\\\nName=s0 No\\\ndes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n'"$top"
	in_copy topology "a backslash before blanks" "SwitchName=s0 \\\\ \t\n Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a backslash within a name" "SwitchName=s\\\\0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a tab before a key" "\tSwitchName=s0\tNodes=n[0-3]\t\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "includes in an include" "SwitchName=s0 Nodes=n[0-3]\nInclude inc/next.conf\n$top"
	cases_said 47 taken

	in_copy topology_since_23_11 "words behind brackets" "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7],m[0-3]-ib\n$top"
	in_copy topology_since_23_11 "switches with words behind brackets" "SwitchName=s0.ib Nodes=n[0-3]\nSwitchName=s1.ib Nodes=n[4-7]\nSwitchName=top Switches=s[0-1].ib\n"
	cases_said 2 later

	in_copy topology_of_netprof "a switch without children" "$two${top}SwitchName=s9 LinkSpeed=5\n"
	cases_said 1 warned

	in_copy topology "a key that is misspelt" "SwitchName=s0 Node=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a switch that no line has" "${two}SwitchName=top Switches=s[0-2]\n"
	in_copy topology "nodes and switches" "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7] Switches=s0\n"
	in_copy topology "a switch twice" "$two$two"
	in_copy topology "a circle" "${two}SwitchName=a Switches=b\nSwitchName=b Switches=a\n"
	in_copy topology "a switch below itself" "${two}SwitchName=a Switches=a,s[0-1]\n"
	in_copy topology "a key before the name" "Nodes=n[0-3] SwitchName=s0\n"
	in_copy topology "a list with blanks" "SwitchName=s0 Nodes=n[0-3], n[4-7]\n"
	in_copy topology "quotes without an end" "SwitchName=s0 Nodes=\"n[0-3], n[4-7]\n"
	in_copy topology "a byte-order mark" "\357\273\277$two$top"
	in_copy topology "an include that is set in" "SwitchName=s0 Nodes=n[0-3]\n include inc/s1.conf\n$top"
	in_copy topology "an included file that is missing" "$two${top}Include missing.conf\n"
	in_copy topology "no nodes" "SwitchName=a Switches=a\n"
	in_copy topology "a speed that is no number" "SwitchName=s0 Nodes=n[0-3] LinkSpeed=fast\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a speed below 0" "SwitchName=s0 Nodes=n[0-3] LinkSpeed=-1\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "single quotes" "SwitchName=s0 Nodes='n[0-3]'\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a key behind a quote" "SwitchName=s0 Nodes=\"n[0-3]\"LinkSpeed=1\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "an include in quotes" "Include \"inc/s1.conf\"\n$two$top"
	in_copy topology "a pattern of includes" "Include inc/*.conf\nSwitchName=s0 Nodes=n[0-3]\n$top"
	in_copy topology "a key without a value" "SwitchName=s0 Nodes=n[0-3] Switches=\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a blank behind a number" "SwitchName=s0 Nodes=\"n[0-1 ,2-3]\"\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a range below 0" "SwitchName=s0 Nodes=n[0--3]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a blank of another alphabet" "SwitchName=s0\302\240Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a speed in millions" "SwitchName=s0 Nodes=n[0-3] LinkSpeed=10M\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a speed that is too high" "SwitchName=s0 Nodes=n[0-3] LinkSpeed=4194304K\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "brackets in brackets" "SwitchName=s0 Nodes=n[[0-3]]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a range backwards" "SwitchName=s0 Nodes=n[3-0]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "a range that is too long" "SwitchName=s0 Nodes=n[0-3],m[0-99999]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "empty brackets" "SwitchName=s0 Nodes=n[]\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "two switches on a line" "SwitchName=s0 Nodes=n[0-3] SwitchName=s1 Nodes=n[4-7]\n"
	in_copy topology "a child in other letters" "${two}SwitchName=top Switches=S0,s1\n"
	in_copy topology "an apostrophe" "SwitchName=s0 Nodes='n[0-1], n[2-3]'\nSwitchName=s1 Nodes=n[4-7]\n$top"
	in_copy topology "an include behind a switch" "SwitchName=s0 Nodes=n[0-3] Include inc/s1.conf\n$top"
	in_copy topology "UTF-16 without a mark" "S\0w\0i\0t\0c\0h\0N\0a\0m\0e\0=\0s\0\n\0"
	in_copy topology "a key that a NUL cuts" "SwitchName=s0 Nodes=n[0-3] Link\0Speed=1\nSwitchName=s1 Nodes=n[4-7]\n$top"
	cases_said 35 refused
}

cluster_name() { # NAME TEXT
	local running
	{ printf "$2"; cat "$O/rest.conf"; } >"$O/slurm.conf"
	slurmctld_reads
	running=$(sed -n 's/.* started on cluster \([^ (]*\).*/\1/p' "$O/log") # 26.05: NAME(ID)
	[ -n "$running" ] || running="none: $(grep -m 1 'rror' "$O/log")"
	equal "$1" "$({ PATH=$O/bin:$PATH SLURM_CONF=$O/slurm.conf \
		NETPROF_STORE=$O/store netprof check -P || :; } |
		sed -n 's/.*no calibration of cluster \([^ |]*\).*/\1/p')" "$running"
	says agreed
}

test_slurm_conf_is_what_slurmctld_takes_it_for() {
	set_up
	echo ClusterName=included >"$O/inc/name.conf"
	: >"$O/oracle.conf"
	in_copy cluster_name "a plain file" 'ClusterName=oracle\n'
	in_copy cluster_name "blanks" 'ClusterName = oracle # ours\n'
	in_copy cluster_name "quotes" 'ClusterName="oracle"\n'
	in_copy cluster_name "a continued line" 'ClusterName=ora\\\ncle\n'
	in_copy cluster_name "a line as DOS ends it" 'ClusterName=oracle\r\n'
	in_copy cluster_name "an included file" 'include inc/name.conf\n'
	in_copy cluster_name "a file by the cluster's name" 'ClusterName=oracle\nInclude %%c.conf\n'
	in_copy cluster_name "the later of two values" 'ClusterName=oracle\nClusterName=other\n'
	in_copy cluster_name "a NUL behind the name" 'ClusterName=oracle\0x\n'
	in_copy cluster_name "capitals" 'ClusterName=Oracle-HPC\n'
	in_copy cluster_name "a file by a name in capitals" 'ClusterName=ORACLE\nInclude %%c.conf\n'
	cases_said 11 agreed
}

refused_conf() { # NAME TEXT: slurmctld does not start, and check names the line
	{ printf "$2"; cat "$O/rest.conf"; } >"$O/slurm.conf"
	slurmctld_reads
	grep -q 'fatal:' "$O/log" || fail "$1: $(tail -n 3 "$O/log")"
	PATH=$O/bin:$PATH SLURM_CONF=$O/slurm.conf NETPROF_STORE=$O/store \
		netprof check -P >"$O/out" 2>&1 || :
	grep -q "^warning|slurm.conf|$O/slurm.conf:1: " "$O/out" || fail "$1: $(cat "$O/out")"
	says refused
}

test_a_slurm_conf_that_slurmctld_refuses_is_named() {
	set_up
	in_copy refused_conf "two keys on a line" 'ClusterName=oracle MaxJobCount=5\n'
	in_copy refused_conf "a list with blanks" 'ClusterName=oracle, other\n'
	in_copy refused_conf "a word" 'ClusterName=oracle other\n'
	in_copy refused_conf "a key without a value" 'ClusterName=\n'
	cases_said 4 refused
}

plugstack() { # NAME TEXT
	local loads=no
	printf "$2" >"$O/plugstack.conf"
	# Not grep -q, with which a srun that is still writing would get SIGPIPE and fail.
	! inside --user root -- env SLURM_CONF="$O/slurm.conf" srun --help 2>"$O/log" |
		grep -- --netprofile >/dev/null || loads=yes
	PATH=$O/bin:$PATH SLURM_CONF=$O/slurm.conf netprof check -P >"$O/out" 2>&1 || :
	equal "$1" "$(grep -qE '\|plugstack.conf\|.*(loads |is loaded by|is required)' "$O/out" && echo yes || echo no)" "$loads"
	says "$loads"
}

test_plugstack_conf_is_what_srun_takes_it_for() {
	set_up
	# Both srun, on a host of the cluster, and check see this directory.
	mkdir "$O.plugin"
	cp "$B/spank_netprof.so" "$O.plugin"
	echo 'optional spank_netprof.so' | tee "$O/stack.d/a.conf" >"$O/inc/a.conf"
	echo 'include a.conf' >"$O/inc/b.conf"
	in_copy plugstack "a plain file" '# x\n\noptional spank_netprof.so Period=1s # y\n'
	in_copy plugstack "the plugin's path" "required $O.plugin/spank_netprof.so\n"
	in_copy plugstack "a pattern relative to it" 'include stack.d/*.conf\n'
	in_copy plugstack "a pattern by its path" "include $O/stack.d/*\n"
	in_copy plugstack "an include in an include" 'include inc/b.conf\n'
	in_copy plugstack "twice" 'include stack.d/*.conf\ninclude inc/b.conf\n'
	in_copy plugstack "a byte-order mark before a comment" '\357\273\277# x\noptional spank_netprof.so\n'
	in_copy plugstack "a NUL in a comment" '# x\0y\noptional spank_netprof.so\n'
	in_copy plugstack "a NUL behind the plugin" 'optional spank_netprof.so\0x\n'
	in_copy plugstack "a comment that is too long" '#%4094soptional spank_netprof.so\n'
	in_copy plugstack "a directory that a pattern fits" 'include stack.*\noptional spank_netprof.so\n'
	in_copy plugstack "an included device" 'include /dev/null\noptional spank_netprof.so\n'
	cases_said 12 yes
	in_copy plugstack "a comment" '#optional spank_netprof.so\n'
	in_copy plugstack "other letters" 'Optional spank_netprof.so\n'
	in_copy plugstack "a pattern that nothing fits" 'include none/*.conf\n'
	in_copy plugstack "a line as DOS ends it" 'optional spank_netprof.so\r\n'
	in_copy plugstack "a byte-order mark" '\357\273\277optional spank_netprof.so\n'
	in_copy plugstack "a continued line" 'optional \\\nspank_netprof.so\n'
	in_copy plugstack "a path that does not exist" "optional $O/spank_netprof.so\n"
	in_copy plugstack "a directory in PluginDir" 'optional none/spank_netprof.so\n'
	in_copy plugstack "an include as DOS ends it" 'include stack.d/*.conf\r\n'
	in_copy plugstack "a NUL before the plugin" '\0optional spank_netprof.so\n'
	cases_said 10 no
}
