# How accurate are the predictions for a user who does what the guide says? A
# fresh cluster, its own calibration with default options, one profiling run of
# each program, and `netprof validate`. Seven programs from Debian's packages
# were not used to choose models or levels; two that were used are added, because
# they send much. Takes about four hours.
#
#	STRANGER_TRY=yes	only run each program once alone with each input
#	STRANGER_PROGRAMS=...	a selection of the programs below
#	STRANGER_CALIBRATE=...	options of netprof calibrate; none by default
#	STRANGER_REPEATS=N	runs of each pair; 2 by default
#	STRANGER_SECONDS=N	stop then, and compare what has been measured
#	STRANGER_KEEP=DIR	keep the store and the journal of netprof validate there
#	LEAF_MBIT, NIC_MBIT	capacity of the leaf switch and of a node's link
#
# The results are build/stranger.pairs.json and build/stranger.svg.
# shellcheck shell=bash

. t/validate.d/accuracy.sh # inputs of melt, couette and silicon

# lu, qr     factorisations that send in bursts; the remaining problem shrinks
# trd        two ranks per node
# trees      a tree search whose steps change over time
# pinned     such a search that pins its ranks to a processor
# crystal    FFTs until convergence
# assembly   a distributed hash table that is filled and then reduced
# melt, couette, silicon: as in accuracy.sh
STRANGER_PROGRAMS=${STRANGER_PROGRAMS-"lu qr trd trees pinned crystal assembly
	melt silicon"}
LEAF_MBIT=${LEAF_MBIT:-120}
NIC_MBIT=${NIC_MBIT:-20}
STRANGER_REPEATS=${STRANGER_REPEATS:-2}
STRANGER_LONGER=${STRANGER_LONGER:-15}
SCALAPACK=$(echo /usr/lib/*/scalapack/openmpi-tests)
EXAML=/usr/lib/examl/bin
STRANGER_SECONDS=${STRANGER_SECONDS:-14400}

# Steps that leave out the first nodes of their job need these; see mpi.conf.
STRANGER_ENV=(SLURM_PMIX_DIRECT_CONN=true SLURM_PMIX_FENCE=mixed)

# Multiple of the short run that pairs are measured with. The first three seconds of
# silicon send twice as much as the rest, and the interpreter of crystal takes twelve:
# where that is a large part of a run, its slowdown is not that of the profile. Runs of
# four or five seconds repeat badly: one lost packet costs several percent.
stranger_times() { # NAME
	case $1 in
	silicon | crystal | trd) echo 4 ;;
	trees | pinned) echo 3 ;;
	lu | qr | assembly) echo 2 ;;
	*) echo 1 ;;
	esac
}

# NAME TIMES: creates the input of a program in alice's directory NAME.TIMES, for
# a run about TIMES times as long as the short one of some ten seconds.
stranger_input() {
	inside -- mkdir -p "$1.$2"
	"stranger_$1" "$1.$2" "$2"
}

# Repeat the same problem.
stranger_again() { # WHAT TIMES
	local i

	for ((i = 0; i < $2; i++)); do
		printf '%s ' "$1"
	done
	echo
}

# DIR FILE: write a file of alice from standard input.
stranger_file() {
	inside -- tee "$1/$2" >/dev/null
}

# ScaLAPACK's programs take their problems from a file in their directory, at
# most twenty sizes; they solve each with each size of a block.
stranger_lu() { # DIR TIMES
	stranger_file "$1" LU.dat <<-END
		'LU factorization'
		'MPI'
		'LU.out'
		6
		2
		900 900
		900 900
		$2
		$(stranger_again 64 "$2")
		1
		1
		1
		1
		1
		2
		2
		1000.0
		F
	END
}

stranger_qr() { # DIR TIMES
	stranger_file "$1" QR.dat <<-END
		'QR factorization'
		'MPI'
		'QR.out'
		6
		1
		'QR'
		2
		700 700
		600 600
		$2
		$(stranger_again 48 "$2")
		$(stranger_again 48 "$2")
		1
		2
		2
		1000.0
	END
}

stranger_trd() { # DIR TIMES
	stranger_file "$1" TRD.dat <<-END
		'reduction to tridiagonal form'
		'MPI'
		'TRD.out'
		6
		'L'
		$2
		$(stranger_again 100 "$2")
		1
		16
		1
		2
		4
		1000.0
	END
}

# DIR SEQUENCES: use this number of the package's sequences, with an arbitrary initial
# tree.
stranger_sequences() {
	# shellcheck disable=SC2016
	inside -- bash -c 'cd "$1" &&
		zcat /usr/share/doc/examl/testData/49.gz | awk -v n="$2" "
			NR == 1 { print n, \$2 }
			NR > 1 && k < n && NF > 1 { print; k++ }" >in &&
		awk "NR > 1 { print \$1 }" in | awk -v n="$2" "
			NR == 1 { t = \$1; next }
			NR == n { print \"(\" t \",\" \$1 \",\" last \");\" }
			NR < n - 1 { t = \"(\" t \",\" \$1 \")\" }
			{ last = \$1 }" >in.tree &&
		parse-examl -s in -m DNA -n in >parse.log' - "$1" "$2"
}

# DIR COMMAND: remove old results first, which ExaML does not overwrite.
stranger_go() {
	stranger_file "$1" go <<-END
		#!/bin/sh
		exec $2 -t in.tree -m GAMMA -s in.binary \
			-n "\$SLURM_JOB_ID.\$SLURM_STEP_ID"
	END
	inside -- chmod 755 "$1/go"
}

stranger_trees() { # DIR TIMES
	stranger_sequences "$1" $((6 + $2))
	stranger_go "$1" "$EXAML/examl-sse2"
}

stranger_pinned() { # DIR TIMES
	stranger_sequences "$1" $((5 + $2))
	stranger_go "$1" "env OMP_NUM_THREADS=1 OMP_PROC_BIND=true $EXAML/examl-OMP-sse2"
}

stranger_crystal() { # DIR TIMES
	stranger_file "$1" in.ctl <<-END
		(set! resolution 8)
		(set! num-bands 4)
		(set! geometry-lattice (make lattice (size 1 1 1)
			(basis1 0 1 1) (basis2 1 0 1) (basis3 1 1 0)))
		(set! geometry (list (make sphere (center 0) (radius 0.25)
			(material (make dielectric (epsilon 12))))))
		(set! k-points (interpolate $((20 * $2)) (list
			(vector3 0 0.5 0.5) (vector3 0 0.6 0.4))))
		(run)
	END
}

# Reads of an artificial genome, the same ones each time.
stranger_assembly() { # DIR TIMES
	perl -e 'srand 1; my @base = qw(A C G T); my $n = 10000 * $ARGV[0];
		my $g = join "", map { $base[rand 4] } 1 .. $n;
		for my $i (0 .. $n / 5) {
			print ">r$i\n", substr($g, rand($n - 100), 100), "\n";
		}' "$2" | stranger_file "$1" reads.fa
}

stranger_melt() { # DIR TIMES
	lammps_input "$1" melt/in.melt $((140 * $2))
}

stranger_couette() { # DIR TIMES
	lammps_input "$1" flow/in.flow.couette $((5800 * $2))
}

stranger_silicon() { # DIR TIMES
	silicon "$1" $((1 + 4 * $2))
}

stranger_command() { # NAME
	case $1 in
	melt | couette | silicon) program "$1" ;;
	lu) echo "$SCALAPACK/xdlu" ;;
	qr) echo "$SCALAPACK/xdqr" ;;
	trd) echo "$SCALAPACK/xdtrd" ;;
	trees | pinned) echo "./go" ;;
	crystal) echo "mpb-mpi in.ctl" ;;
	assembly) echo "/usr/lib/abyss/ABYSS-P -k 31 -o contigs.fa reads.fa" ;;
	esac
}

# The list for netprof validate. All commands are there twice, in directories
# with input for a short and for a longer run.
stranger_list() {
	local p home

	home=$(inside pwd)
	for p in $STRANGER_PROGRAMS; do
		echo "program $p"
		echo "nodes 4"
		[ "$p" != trd ] || echo "per-node 2"
		echo "srun --mpi=pmix"
		# Its interpreter takes the first ten seconds.
		[ "$p" != crystal ] || echo "begins 12s"
		echo "takes 15s"
		echo "run env -C $home/$p.$(stranger_times "$p") $(stranger_command "$p")"
		echo "longer env -C $home/$p.$STRANGER_LONGER $(stranger_command "$p")"
	done
}

# Print the time of a program alone, or its first lines if it fails.
stranger_look() { # NAME TIMES
	local begin=${EPOCHREALTIME/./} rc=0 n=4

	[ "$1" != trd ] || n=8
	# shellcheck disable=SC2046 # words
	INSIDE_SEC=$((90 * $2)) inside -- srun -Q -N4 -n$n --mpi=pmix \
		-D "$(inside pwd)/$1.$2" $(stranger_command "$1") \
		>"$BUILD/stranger.out" 2>&1 || rc=$?
	echo "$1, $2 times: exit code $rc after" \
		"$(((${EPOCHREALTIME/./} - begin) / 1000)) ms" \
		"$([ "$rc" = 0 ] || head -n 3 "$BUILD/stranger.out")"
	rm -f "$BUILD/stranger.out"
}

validate_stranger() {
	local p home

	cluster up --leaves 2 --nodes-per-leaf 8 --leaf-mbit "$LEAF_MBIT" \
		--nic-mbit "$NIC_MBIT" --own-cpus --netprof "$BUILD"
	for p in $STRANGER_PROGRAMS; do
		stranger_input "$p" "$(stranger_times "$p")"
		stranger_input "$p" "$STRANGER_LONGER"
	done
	if [ -n "${STRANGER_TRY-}" ]; then
		for p in $STRANGER_PROGRAMS; do
			stranger_look "$p" "$(stranger_times "$p")"
			stranger_look "$p" "$STRANGER_LONGER"
		done
		cluster down
		return
	fi
	echo "date $(date +%F), leaf $LEAF_MBIT, links $NIC_MBIT Mbit/s"
	# shellcheck disable=SC2086 # words
	INSIDE_SEC=7200 inside --user root -- salloc -Q -N16 --exclusive \
		netprof calibrate ${STRANGER_CALIBRATE-}
	stranger_list | inside -- tee strangers >/dev/null
	INSIDE_SEC=$STRANGER_SECONDS inside -- env "${STRANGER_ENV[@]}" \
		salloc -Q -N16 --exclusive netprof validate \
		--repeats="$STRANGER_REPEATS" strangers || [ $? = 124 ]
	inside -- netprof validate --repeats="$STRANGER_REPEATS" \
		--plot=strangers.svg strangers || :
	home=$(rundir)/home/alice
	cp "$home/strangers.pairs.json" "$BUILD/stranger.pairs.json"
	cp "$home/strangers.svg" "$BUILD/stranger.svg" || :
	if [ -n "${STRANGER_KEEP-}" ]; then
		mkdir -p "$STRANGER_KEEP"
		cp -a "$(rundir)/store" "$home"/strangers* "$STRANGER_KEEP"
	fi
	"$BUILD/netprof" accuracy "$BUILD/stranger.pairs.json"
	cluster down
}
