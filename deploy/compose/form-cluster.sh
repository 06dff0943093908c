#!/bin/sh
# Makes a cluster of nodes HOST:PORT, the first half masters, and waits until it works. It does so once: nodes remember
# each other.
set -eu

ask() { redis-cli -h "${1%:*}" -p "${1#*:}" cluster info; }

if ask "$1" | grep -q '^cluster_slots_assigned:0'; then
	redis-cli --cluster create "$@" --cluster-replicas 1 --cluster-yes
fi
for node; do
	until ask "$node" | grep -q '^cluster_state:ok'; do sleep 0.1; done
done
