# Penalties of concurrent transfers, measured by netprof-sharing on one leaf of
# eight nodes and compared with the models: with only ports shared, and with a switch
# that carries four transfers at once. About ten minutes.
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

# NAME DIR: print the measurements and the models.
measured_schemes() {
	local models="gige,myrinet,infiniband,maxmin,conflicts,none"
	cp "$ROOT/t/data/sharing/$1.scheme" "$(rundir)/home/alice/"
	INSIDE_SEC=1800 inside srun -N8 --mpi=pmix netprof-sharing \
		--repeats=10 "$1.scheme" >"$2/$1.measured"
	cat "$2/$1.measured"
	echo "mean relative errors, $1:"
	"$BUILD/netprof" sharing --summary --model="$models" "$2/$1.measured"
	if [ "$1" = ports ]; then
		echo "the same, parameters fitted:"
		"$BUILD/netprof" sharing --summary --model="$models" --fit="$2/$1.measured"
	else
		echo "the same, the switch known:"
		"$BUILD/netprof" sharing --summary --model="$models" --set=fabric=4 "$2/$1.measured"
	fi
}
