# Can leaf switches be found from latencies alone? 64 nodes on 8 leaf switches, and a
# topology.conf that has two nodes on the wrong one. Some minutes.
# shellcheck shell=bash

validate_topology() {
	cluster up --leaves 8 --nodes-per-leaf 8 --netprof "$BUILD"
	date +%F
	INSIDE_SEC=900 inside -- bash -c '
		salloc -Q -N64 netprof topology --save=latencies
		scontrol show topology | sed "s/n\[0-7\]/n[0-6]/; s/n\[8-15\]/n[7-14]/
			s/n\[16-23\]/n[15-23]/" >wrong
		netprof topology --latencies=latencies --slurm=wrong' || :
	cluster down
}
