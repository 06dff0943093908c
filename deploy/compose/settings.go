// Package compose has files for docker-compose: Redis under Sentinel, a Redis Cluster, and PostgreSQL by Citus. The settings of their servers are
// also those that tests start servers with, so what is deployed is what is tested.
package compose

import _ "embed"

// What redis-server reads: every server; a node of a cluster, beside that; a Sentinel.
var (
	//go:embed redis.conf
	Redis string
	//go:embed cluster.conf
	Cluster string
	//go:embed sentinel.conf
	Sentinel string
)

// Citus is what a PostgreSQL server reads that is a node of Citus.
//
//go:embed citus.conf
var Citus string

// FirstMaster is the address, as Sentinel's settings have it, of the server that is the master at first.
const FirstMaster = "10.213.0.11 6379"
