//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/faultproxy"
	"inventory/internal/servertest"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
)

// fault is one event of a round: something goes wrong for a while.
type fault struct {
	kind    *faultKind
	process int           // that it is about; -1: all
	at      time.Duration // since the round began
	length  time.Duration
}

// String is the fault for a time line.
func (f fault) String() string {
	if f.process < 0 {
		return f.kind.name
	}
	return fmt.Sprintf("%s (process %d)", f.kind.name, f.process)
}

// faultKind is a way to go wrong: of each process that a fault is about, or of a server.
type faultKind struct {
	name             string
	ofOne            bool // of one process, and never of all
	begin, end       func(p *process, ctx context.Context) error
	beginAll, endAll func(s *stack, ctx context.Context) error // of a server, and so of all processes; no end: it passes at once
}

// slowness is how much later a slow network delivers.
const slowness = 40 * time.Millisecond

// ofNetwork are the faults of the network between processes and a server.
func ofNetwork(server string, of func(*process) *faultproxy.Proxy) []faultKind {
	on := func(do func(*faultproxy.Proxy)) func(*process, context.Context) error {
		return func(p *process, _ context.Context) error {
			do(of(p))
			return nil
		}
	}
	slow := func(delay time.Duration) func(*faultproxy.Proxy) {
		return func(network *faultproxy.Proxy) { network.Slow(delay) }
	}
	return []faultKind{
		{name: server + " cut off", begin: on((*faultproxy.Proxy).Cut), end: on((*faultproxy.Proxy).Mend)},
		{name: server + " slow", begin: on(slow(slowness)), end: on(slow(0))},
		{name: server + " half open", begin: on((*faultproxy.Proxy).Lose), end: on((*faultproxy.Proxy).Recover)},
		{name: server + " delivering late", begin: on(func(network *faultproxy.Proxy) { network.Hold() }), end: on((*faultproxy.Proxy).Deliver)},
	}
}

// faultKinds are the ways to go wrong with a kind of Redis. Networks of ours between processes and Redis are those of one server.
func faultKinds(redis string) []faultKind {
	kinds := []faultKind{
		{name: "process killed", ofOne: true, begin: (*process).kill, end: (*process).start},
		{name: "process told to end", ofOne: true, begin: (*process).terminate, end: (*process).start},
		{name: "process stands still", ofOne: true, begin: (*process).pause, end: (*process).resume},
		{name: "Redis emptied", beginAll: (*stack).emptyRedis},
		{name: "Redis emptied while writes are late", ofOne: true, begin: (*process).lateWrites},
		{
			name:     "Redis stands still",
			beginAll: func(s *stack, ctx context.Context) error { return s.redis.fail(ctx, (*servertest.Redis).Pause) },
			endAll:   func(s *stack, _ context.Context) error { return s.redis.failed.Resume() },
		},
		{
			name:     "Redis killed",
			beginAll: func(s *stack, ctx context.Context) error { return s.redis.fail(ctx, (*servertest.Redis).Kill) },
			endAll:   func(s *stack, ctx context.Context) error { return s.redis.failed.Restart(ctx) },
		},
		{name: "PostgreSQL's sessions ended", beginAll: (*stack).endSessions},
		{name: "rows held", beginAll: (*stack).holdRows, endAll: (*stack).freeRows},
		{
			name:     "PostgreSQL killed",
			beginAll: func(s *stack, _ context.Context) error { return s.Postgres.Kill() },
			endAll:   func(s *stack, ctx context.Context) error { return s.Postgres.Restart(ctx) },
		},
	}
	kinds = append(kinds, ofNetwork("PostgreSQL", func(p *process) *faultproxy.Proxy { return p.postgres })...)
	failedOver := faultKind{name: "Redis failed over", beginAll: func(s *stack, ctx context.Context) error { return s.redis.change(ctx, s.redis.failOver) }}
	switch redis {
	case UnderSentinel:
		return append(kinds, failedOver, faultKind{
			name:     "Sentinel killed",
			beginAll: func(s *stack, _ context.Context) error { return s.redis.sentinel.Kill() },
			endAll:   func(s *stack, ctx context.Context) error { return s.redis.sentinel.Restart(ctx) },
		})
	case Cluster:
		return append(kinds, failedOver, faultKind{
			name: "slot moved", beginAll: func(s *stack, ctx context.Context) error { return s.redis.change(ctx, s.redis.moveSlot) },
		})
	}
	network := ofNetwork("Redis", func(p *process) *faultproxy.Proxy { return p.redis })
	return append(append(kinds, network...),
		faultKind{name: "process cut off from all", ofOne: true, begin: (*process).cutOff, end: (*process).reconnect},
		faultKind{name: "Redis emptied while slow", ofOne: true, begin: network[1].begin, end: (*process).staleGrants})
}

func (p *process) pause(context.Context) error  { return p.worker.Stop() }
func (p *process) resume(context.Context) error { return p.worker.Continue() }

func (p *process) cutOff(context.Context) error {
	p.postgres.Cut()
	p.redis.Cut()
	return nil
}

func (p *process) reconnect(context.Context) error {
	p.postgres.Mend()
	p.redis.Mend()
	return nil
}

// staleGrants empties Redis again and again while its answers to this process are late. So grants are on their way to the
// process while others take the same locks, and its writes may come with older tokens than theirs.
func (p *process) staleGrants(ctx context.Context) (err error) {
	for range 20 {
		err = errors.Join(err, p.stack.emptyRedis(ctx))
		load.Sleep(ctx, 50*time.Millisecond)
	}
	p.redis.Slow(0)
	return err
}

// lateWrites holds back what this process writes, empties Redis, and delivers the writes when others have had the time to take
// the same locks. So writes come with older tokens than those of others. Only the fence refuses them.
func (p *process) lateWrites(ctx context.Context) (err error) {
	for range 20 {
		p.postgres.Hold()
		load.Sleep(ctx, 20*time.Millisecond)
		err = errors.Join(err, p.stack.emptyRedis(ctx))
		load.Sleep(ctx, 60*time.Millisecond)
		p.postgres.Deliver()
		load.Sleep(ctx, 20*time.Millisecond)
	}
	return err
}

func (s *stack) emptyRedis(ctx context.Context) error { return s.redis.empty(ctx) }

func (s *stack) endSessions(ctx context.Context) error {
	return servers.Execute(ctx, s.DatabaseURL, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`)
}

// holdRows locks the row of one segment of each SKU, as a session that is stuck does. It locks them in the order of the service: otherwise they
// could wait for each other.
func (s *stack) holdRows(ctx context.Context) (err error) {
	if s.holder, err = pgx.Connect(ctx, s.DatabaseURL); err != nil {
		return err
	}
	_, err = s.holder.Exec(ctx, `BEGIN; SELECT FROM stock_segments
		WHERE (sku_id, segment) IN (SELECT DISTINCT ON (sku_id) sku_id, segment FROM stock_segments ORDER BY sku_id, random())
		ORDER BY sku_id, segment FOR UPDATE`)
	return err
}

func (s *stack) freeRows(ctx context.Context) error { return s.holder.Close(ctx) }

// chosen are the kinds of faults with these names; no names: all; None: none.
func chosen(names []string, redis string) (kinds []faultKind, err error) {
	all := faultKinds(redis)
	if len(names) == 0 {
		return all, nil
	}
	if len(names) == 1 && names[0] == None {
		return nil, nil
	}
	for _, name := range names {
		at := slices.IndexFunc(all, func(k faultKind) bool { return k.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no fault %q", name)
		}
		kinds = append(kinds, all[at])
	}
	return kinds, nil
}

// The course of a round's faults.
const (
	calmBefore = 700 * time.Millisecond // before the first fault
	leastFault = 200 * time.Millisecond
	mostFault  = 2500 * time.Millisecond
	leastCalm  = 600 * time.Millisecond // between two faults
	mostCalm   = 1500 * time.Millisecond
)

// schedule draws the faults of a round, one after the other: the effects of several at once could not be told apart.
func schedule(random *rand.Rand, kinds []faultKind, length time.Duration) (all []fault) {
	for at := calmBefore; at+leastFault < length && len(kinds) > 0; {
		f := fault{kind: &kinds[random.IntN(len(kinds))], process: random.IntN(processes), at: at, length: within(random, leastFault, mostFault)}
		if f.kind.beginAll != nil || !f.kind.ofOne && random.IntN(3) == 0 {
			f.process = -1
		}
		all = append(all, f)
		at += f.length + within(random, leastCalm, mostCalm)
	}
	return all
}

// within is a random time between two.
func within(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)))
}

// on does a step of a fault: to the processes that it is about, or to a server.
func (f fault) on(ctx context.Context, s *stack, each func(*process, context.Context) error, all func(*stack, context.Context) error) (err error) {
	if all != nil {
		return all(s, ctx)
	}
	for i, p := range s.processes {
		if each != nil && (f.process < 0 || f.process == i) {
			err = errors.Join(err, each(p, ctx))
		}
	}
	return err
}

// happen causes the faults of a round at their times. Each is ended, also when ctx ends.
func (s *stack) happen(ctx context.Context, began time.Time, faults []fault) (happened []Happened, err error) {
	always := context.WithoutCancel(ctx) // a fault may last longer than the round
	for _, f := range faults {
		if !load.Sleep(ctx, time.Until(began.Add(f.at))) {
			return happened, nil
		}
		from := time.Now()
		if err := f.on(always, s, f.kind.begin, f.kind.beginAll); err != nil {
			return happened, fmt.Errorf("%s: %w", f, err)
		}
		load.Sleep(ctx, time.Until(from.Add(f.length)))
		if err := f.on(always, s, f.kind.end, f.kind.endAll); err != nil {
			return happened, fmt.Errorf("end of: %s: %w", f, err)
		}
		happened = append(happened, Happened{Kind: f.kind.name, What: f.String(), From: from.Sub(began).Seconds(), To: time.Since(began).Seconds()})
	}
	return happened, nil
}
