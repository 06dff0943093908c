#!/bin/sh
# Makes a cluster of a coordinator and workers, HOST each, that have the extension already. A second run does no harm.
set -eu
coordinator=$1
shift
statement="SELECT citus_set_coordinator_host('$coordinator', 5432)"
for worker; do
    statement="$statement; SELECT citus_add_node('$worker', 5432)"
done
exec psql -h "$coordinator" -v ON_ERROR_STOP=1 -c "$statement"
