package lockbench

import (
	"context"
	"regexp"
	"runtime"
	"strconv"
	"time"

	"inventory/loadtest/internal/kinds"
)

// spent is what the callers of a process have cost since its start.
type spent struct {
	commands    int64
	allocations uint64        // of the process
	server      time.Duration // that Redis worked; 0: not known
}

// since is what was spent after an earlier time.
func (s spent) since(earlier spent) spent {
	return spent{s.commands - earlier.commands, s.allocations - earlier.allocations, s.server - earlier.server}
}

// spent reads the costs until now. Redis does not tell processes apart: its time is not known while those of others work, too.
func (c *callers) spent(ctx context.Context) (spent, error) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s := spent{commands: c.meter.Commands.Load(), allocations: memory.Mallocs}
	if c.Others {
		return s, nil
	}
	for _, rdb := range c.servers {
		stats, err := rdb.Info(ctx, "commandstats").Result()
		if err != nil {
			return spent{}, err
		}
		s.server += worked(stats, c.meter.Names())
	}
	return s, nil
}

// worked is for how long a Redis has worked on the commands of some names, by its INFO commandstats. The time of a script has that of
// the commands which it calls.
func worked(stats string, names []string) (sum time.Duration) {
	for _, name := range names {
		line := regexp.MustCompile(`(?m)^cmdstat_` + regexp.QuoteMeta(name) + `:calls=\d+,usec=(\d+)`).FindStringSubmatch(stats)
		if line != nil {
			micros, _ := strconv.ParseInt(line[1], 10, 64) // digits
			sum += time.Duration(micros) * time.Microsecond
		}
	}
	return sum
}

// watch connects to the Redis servers that tell how long they work. One that refuses to is left out.
func (c *callers) watch(ctx context.Context) error {
	for _, url := range append([]string{c.Servers.RedisURL}, c.Servers.NodeURLs...) {
		rdb, err := kinds.OpenRedis(ctx, url, kinds.Setting{Connections: 1})
		if err != nil {
			return err
		}
		c.OnClose(rdb.Close)
		if rdb.Info(ctx, "commandstats").Err() == nil {
			c.servers = append(c.servers, rdb)
		}
	}
	return nil
}
