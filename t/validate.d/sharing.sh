# Penalties of concurrent transfers, measured by netprof-sharing on one leaf of
# eight nodes, beside the models: where only ports are shared, and where the
# switch carries four transfers at once.  Some ten minutes.
# shellcheck shell=bash

validate_sharing() {
	local out
	out=$(mktemp -d)
	echo "date $(date +%F)"
	cluster up --leaves 1 --nodes-per-leaf 8 --nonblocking-leaf --netprof "$BUILD"
	measured_schemes ports "$out"
	cluster down
	cluster up --leaves 1 --nodes-per-leaf 8 --netprof "$BUILD"
	measured_schemes switch "$out"
	cluster down
	rm -r "$out"
}

# NAME DIR: what was measured, and the models beside it.
measured_schemes() {
	local models="gige,myrinet,infiniband,maxmin,conflicts,none" fabric=()
	[ "$1" = ports ] || fabric=(--set=fabric=4)
	cp "$ROOT/t/data/sharing/$1.scheme" "$(rundir)/home/alice/"
	INSIDE_SEC=1800 inside srun -N8 --mpi=pmix netprof-sharing \
		--repeats=10 "$1.scheme" >"$2/$1.measured"
	echo "what netprof-sharing measured, $1:"
	cat "$2/$1.measured"
	for m in "" "${fabric[@]}"; do
		echo "models, dynamic, $1 $m:"
		"$BUILD/netprof" sharing $m --model="$models" "$2/$1.measured"
	done
	[ "$1" != ports ] || {
		echo "fitted:"
		"$BUILD/netprof" sharing --fit="$2/$1.measured" --model="$models" | sed '/^$/q'
	}
}
