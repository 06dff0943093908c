package app

import (
	"context"
	"fmt"
	"strings"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// refuseCluster refuses a node of a Redis Cluster: it holds the locks of some SKUs only.
func (s redisServers) refuseCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	for _, server := range s {
		if server.address.cluster != nil {
			continue
		}
		info, err := server.client.ClusterInfo(ctx).Result()
		if err == nil && !strings.Contains(info, "cluster_size:1\r\n") { // an error: not a cluster, or unknown
			return fmt.Errorf("redis URL: %s is a node of a Redis Cluster, which keeps the locks of some SKUs alone; "+
				"name the cluster: redis+cluster://HOST:PORT,HOST:PORT", server.address)
		}
	}
	return nil
}

// warnOfPooler tells what a session lacks because a pooler may give it to others.
func (a *App) warnOfPooler(store stock.Store) {
	if pg, is := store.(*postgres.Store); is && len(pg.Dropped()) > 0 {
		a.warnings.begin("pooler_settings", "the pooler shares connections, so sessions cannot limit themselves: ALTER ROLE … "+
			strings.Join(pg.Dropped(), ", ")+", and have the pooler reconnect")
	}
}

// logFailures logs what does not work at the start. The service starts anyway: it sells without locks, and later a
// replica may be promoted, or a disk may get space again.
func (a *App) logFailures(ctx context.Context, servers redisServers) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if err := a.store.Ready(ctx); err != nil {
		a.config.Logger.Warn("the database cannot be written to; the service is not ready", "error", err)
	}
	for _, server := range servers {
		if server.address.cluster != nil {
			continue // the client finds its masters
		}
		role, err := server.client.Do(ctx, "ROLE").Slice()
		if err == nil && len(role) > 0 && role[0] == "slave" {
			a.config.Logger.Warn("a Redis server is a replica, which gives no locks unless it becomes the master",
				"redis", server.address)
		}
	}
	_ = a.service.CheckLocks() // the service logs that they fail
}
