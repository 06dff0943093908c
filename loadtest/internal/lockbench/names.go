package lockbench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/servers"
)

const (
	// namesClients is how many clients want each of the names.
	namesClients = 3
	// namesConnections is what the goroutines of a client share.
	namesConnections = 32
	// settled is how long what is short-lived may take to go.
	settled   = 2 * time.Second
	lookEvery = 20 * time.Millisecond
)

// manyNames lets several clients contend for 1,000 locks at once, and measures what that takes and what it leaves
// behind.
func manyNames(_ context.Context, b *bench) (contenders []experiment.Contender, err error) {
	options, err := servers.RedisOptions(b.RedisURL)
	if err != nil {
		return nil, err
	}
	for _, k := range entries(b.URLs, mutexName, fairName, kinds.RWMutex) {
		contenders = append(contenders, experiment.Contender{Name: k.title(), Ours: k.Ours, Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			probe := redis.NewClient(options)
			defer probe.Close()
			return b.names(ctx, k, probe)
		}})
	}
	return contenders, nil
}

// names measures one round.
func (b *bench) names(ctx context.Context, k entry, probe *redis.Client) (experiment.Sample, error) {
	before, err := footprintOf(ctx, probe)
	if err != nil {
		return nil, err
	}
	f, err := openFleet(ctx, k, b.URLs, namesClients, namesClients*namesConnections)
	if err != nil {
		return nil, err
	}
	var groups [][]kinds.Lock
	names := b.fresh("names")
	for name := range b.Scale.Names {
		groups = append(groups, f.locks(fmt.Sprint(names, "-", name), namesClients))
	}
	most := 0
	var watch errgroup.Group
	watching, stop := context.WithCancel(ctx)
	watch.Go(func() (err error) {
		most, err = mostSubscribers(watching, probe)
		return err
	})
	t := f.drive(ctx, load{Times: b.Scale.NameVisits}, groups...)
	stop()
	figures := t.figures()
	if err := errors.Join(watch.Wait(), t.err, f.Close()); err != nil {
		return figures, err
	}
	left, err := before.left(ctx, probe)
	if err != nil {
		return figures, err
	}
	figures[Subscribers] = float64(most - before.subscribers)
	figures[LeftGoroutines] = float64(left.goroutines)
	figures[LeftChannels] = float64(left.channels)
	figures[LeftKeys] = float64(len(left.keys))
	figures[LeftBehind] = float64(left.all())
	return figures, nil
}

// mostSubscribers counts the subscription connections until ctx ends, and returns the most that there were at once.
func mostSubscribers(ctx context.Context, probe *redis.Client) (most int, err error) {
	for {
		now, err := countSubscribers(context.WithoutCancel(ctx), probe)
		if err != nil {
			return 0, err
		}
		most = max(most, now)
		if pause(ctx, lookEvery) != nil {
			return most, nil
		}
	}
}

func countSubscribers(ctx context.Context, probe *redis.Client) (int, error) {
	list, err := probe.Do(ctx, "CLIENT", "LIST", "TYPE", "pubsub").Text()
	if err != nil {
		return 0, fmt.Errorf("list subscribers: %w", err)
	}
	return strings.Count(list, "id="), nil
}

// footprint is what there is at a moment.
type footprint struct {
	goroutines, channels, subscribers int
	keys                              map[string]bool // but for the clocks, which stay
}

func footprintOf(ctx context.Context, probe *redis.Client) (f footprint, err error) {
	// The probe's own goroutines, if it has any, must be there before and after.
	if f.subscribers, err = countSubscribers(ctx, probe); err != nil {
		return f, err
	}
	channels, err := probe.PubSubChannels(ctx, "lk:*").Result()
	if err != nil {
		return f, fmt.Errorf("list channels: %w", err)
	}
	f.channels, f.keys = len(channels), map[string]bool{}
	keys := probe.Scan(ctx, 0, "lk:*", 1000).Iterator()
	for keys.Next(ctx) {
		f.keys[keys.Val()] = true
	}
	if err := keys.Err(); err != nil {
		return f, fmt.Errorf("list keys: %w", err)
	}
	maps.DeleteFunc(f.keys, func(key string, _ bool) bool { return strings.HasSuffix(key, "}:clock") })
	f.goroutines = runtime.NumGoroutine()
	return f, nil
}

func (f footprint) all() int { return f.goroutines + f.channels + len(f.keys) }

// left is what has come since, and does not go soon.
func (f footprint) left(ctx context.Context, probe *redis.Client) (footprint, error) {
	for deadline := time.Now().Add(settled); ; {
		now, err := footprintOf(ctx, probe)
		if err != nil {
			return now, err
		}
		now.goroutines = max(now.goroutines-f.goroutines, 0)
		now.channels = max(now.channels-f.channels, 0)
		maps.DeleteFunc(now.keys, func(key string, _ bool) bool { return f.keys[key] })
		if now.all() == 0 || time.Now().After(deadline) {
			return now, nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return now, err
		}
	}
}
