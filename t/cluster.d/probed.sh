#!/usr/bin/env bash
# probed.sh N [FILE]: a program that ends once the probe of its node has sent about N
# messages of 1 KiB, or no more for four seconds, as when its peer has ended; once FILE
# exists; or after a minute. Steps that are to be measured run it, because no length in
# seconds suffices on every machine.
set -eu

# Without a process for each nap: nothing is ever written there.
exec {never}<> <(:)
nap() { read -rt "$1" -u "$never" || :; } # SECONDS

get_sent() { read -r sent </sys/class/net/eth0/statistics/tx_bytes; }

get_sent
begin=$sent still=0
for ((i = 0; i < 600 && sent < begin + $1 * 1200 && still < 40; i++)); do
	[ ! -e "${2-/nonexistent}" ] || break
	before=$sent
	nap 0.1
	get_sent
	still=$((sent > begin + 1200 && sent == before ? still + 1 : 0))
done
nap 0.5 # for the peer to have as many
