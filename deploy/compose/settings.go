// Package compose has files for docker-compose: Redis under Sentinel, a Redis Cluster, and PostgreSQL by Citus. Tests
// start servers with the same settings, so the deployed settings are tested.
package compose

import _ "embed"

// The settings that redis-server reads: of every server; of a node of a cluster, in addition; of a Sentinel.
var (
	//go:embed redis.conf
	Redis string
	//go:embed cluster.conf
	Cluster string
	//go:embed sentinel.conf
	Sentinel string
)

// Citus is the settings of a PostgreSQL server that is a node of Citus.
//
//go:embed citus.conf
var Citus string

// FirstMaster is the address of the first master, as it is in Sentinel's settings.
const FirstMaster = "10.213.0.11 6379"
