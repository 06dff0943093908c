//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"inventory/internal/servertest"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
)

// fault is something that goes wrong for a while.
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

// faultKind is a way to go wrong. begin and end get the processes that it is about.
type faultKind struct {
	name       string
	ofOne      bool // of one process, and never of all
	ofAll      bool // of a server, and so of all processes
	begin, end func(ctx context.Context, s *stack, about []*process) error
}

func nothing(context.Context, *stack, []*process) error { return nil }

// each does something for each process.
func each(do func(ctx context.Context, p *process) error) func(context.Context, *stack, []*process) error {
	return func(ctx context.Context, _ *stack, about []*process) (err error) {
		for _, p := range about {
			err = errors.Join(err, do(ctx, p))
		}
		return err
	}
}

// ofWire are the faults of a network, by the wire of a process.
func ofWire(server string, of func(*process) *wire) []faultKind {
	on := func(do func(ctx context.Context, w *wire) error) func(context.Context, *stack, []*process) error {
		return each(func(ctx context.Context, p *process) error { return do(ctx, of(p)) })
	}
	heal := on(func(ctx context.Context, w *wire) error { return w.heal(ctx) })
	toxic := func(kind, attributes string) func(context.Context, *stack, []*process) error {
		return on(func(_ context.Context, w *wire) error { return w.poison(kind, attributes) })
	}
	return []faultKind{
		{
			name:  server + " cut off",
			begin: on(func(_ context.Context, w *wire) error { w.toxic.Stop(); return nil }),
			end:   on(func(_ context.Context, w *wire) error { return w.toxic.Start() }),
		},
		{name: server + " slow", begin: toxic("latency", `{"latency":40,"jitter":30}`), end: heal},
		{name: server + " half open", begin: toxic("timeout", `{"timeout":0}`), end: heal},
		{
			name:  server + " delivering late",
			begin: on(func(_ context.Context, w *wire) error { w.late.Darken(); return nil }),
			end:   on(func(_ context.Context, w *wire) error { w.late.Lighten(); return nil }),
		},
	}
}

// faultKinds are the ways to go wrong with any kind of Redis.
func faultKinds() []faultKind {
	kinds := []faultKind{
		{
			name: "process killed", ofOne: true,
			begin: each(func(_ context.Context, p *process) error { return p.kill() }),
			end:   each(func(ctx context.Context, p *process) error { return p.start(ctx) }),
		},
		{
			name: "process told to end", ofOne: true,
			begin: each(func(_ context.Context, p *process) error { return p.end() }),
			end:   each(func(ctx context.Context, p *process) error { return p.start(ctx) }),
		},
		{
			name: "process stands still", ofOne: true,
			begin: each(func(_ context.Context, p *process) error { return p.worker.Stop() }),
			end:   each(func(_ context.Context, p *process) error { return p.worker.Continue() }),
		},
		{name: "Redis emptied", ofAll: true, begin: emptyRedis, end: nothing},
		{name: "Redis emptied while writes are late", ofOne: true, begin: lateWrites, end: nothing},
		{
			name: "Redis stands still", ofAll: true,
			begin: func(ctx context.Context, s *stack, _ []*process) error {
				return s.redis.fail(ctx, (*servertest.Redis).Pause)
			},
			end: func(_ context.Context, s *stack, _ []*process) error { return s.redis.failed.Resume() },
		},
		{
			name: "Redis killed", ofAll: true,
			begin: func(ctx context.Context, s *stack, _ []*process) error {
				return s.redis.fail(ctx, (*servertest.Redis).Kill)
			},
			end: func(ctx context.Context, s *stack, _ []*process) error { return s.redis.failed.Restart(ctx) },
		},
		{name: "PostgreSQL's sessions ended", ofAll: true, begin: endSessions, end: nothing},
		{
			name: "PostgreSQL killed", ofAll: true,
			begin: func(_ context.Context, s *stack, _ []*process) error { return s.postgres.Kill() },
			end:   func(ctx context.Context, s *stack, _ []*process) error { return s.postgres.Restart(ctx) },
		},
	}
	return append(kinds, ofWire("PostgreSQL", func(p *process) *wire { return p.postgres })...)
}

// ofRedisWire are the faults that need a network of ours between processes and Redis.
func ofRedisWire() []faultKind {
	kinds := append(ofWire("Redis", func(p *process) *wire { return p.redis }), faultKind{
		name: "process cut off from all", ofOne: true,
		begin: each(func(_ context.Context, p *process) error { p.postgres.toxic.Stop(); p.redis.toxic.Stop(); return nil }),
		end: each(func(_ context.Context, p *process) error {
			return errors.Join(p.postgres.toxic.Start(), p.redis.toxic.Start())
		}),
	})
	return append(kinds, staleGrants(kinds))
}

// staleGrants empties Redis again and again while its answers to one process are late. So grants are on their way to that
// process whose locks others take at once, and its writes may come with older tokens than theirs.
func staleGrants(kinds []faultKind) faultKind {
	slow := kinds[slices.IndexFunc(kinds, func(k faultKind) bool { return k.name == "Redis slow" })]
	return faultKind{
		name: "Redis emptied while slow", ofOne: true,
		begin: slow.begin,
		end: func(ctx context.Context, s *stack, about []*process) (err error) {
			for range 20 {
				err = errors.Join(err, emptyRedis(ctx, s, about))
				load.Sleep(ctx, 50*time.Millisecond)
			}
			return errors.Join(err, slow.end(ctx, s, about))
		},
	}
}

// lateWrites holds back what one process writes, empties Redis, and delivers the writes when others had the time to take the
// same locks. So writes come with older tokens than those that others wrote under meanwhile. Only the fence keeps them out.
func lateWrites(ctx context.Context, s *stack, about []*process) (err error) {
	for range 20 {
		about[0].postgres.late.Darken()
		load.Sleep(ctx, 20*time.Millisecond)
		err = errors.Join(err, emptyRedis(ctx, s, about))
		load.Sleep(ctx, 60*time.Millisecond)
		about[0].postgres.late.Lighten()
		load.Sleep(ctx, 20*time.Millisecond)
	}
	return err
}

// chosen are the kinds of faults with these names, or all that there are with a kind of Redis.
func chosen(names []string, redis string) (kinds []faultKind, err error) {
	all := append(faultKinds(), ofRedis(redis)...)
	if len(names) == 0 {
		return all, nil
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

func emptyRedis(ctx context.Context, s *stack, _ []*process) error { return s.redis.empty(ctx) }

func endSessions(ctx context.Context, s *stack, _ []*process) error {
	return servers.Execute(ctx, s.database, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`)
}

// The course of a round's faults.
const (
	calmBefore = 700 * time.Millisecond // before the first fault
	leastFault = 200 * time.Millisecond
	mostFault  = 2500 * time.Millisecond
	leastCalm  = 600 * time.Millisecond // between two faults
	mostCalm   = 1500 * time.Millisecond
)

// schedule draws the faults of a round, one after the other: what several at once did, nobody could tell apart.
func schedule(random *rand.Rand, kinds []faultKind, length time.Duration) (all []fault) {
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(random.Int64N(int64(most-least)))
	}
	for at := calmBefore; at+leastFault < length; {
		f := fault{kind: &kinds[random.IntN(len(kinds))], process: random.IntN(processes), at: at, length: between(leastFault, mostFault)}
		if f.kind.ofAll || !f.kind.ofOne && random.IntN(3) == 0 {
			f.process = -1
		}
		all = append(all, f)
		at += f.length + between(leastCalm, mostCalm)
	}
	return all
}

// about are the processes that a fault is about.
func (f fault) about(s *stack) []*process {
	if f.process < 0 {
		return s.processes[:]
	}
	return s.processes[f.process : f.process+1]
}

// happen plays the faults of a round at their times. Each is ended, also when ctx ends.
func (s *stack) happen(ctx context.Context, began time.Time, faults []fault, told func(f fault, from, to time.Time)) error {
	for _, f := range faults {
		if !load.Sleep(ctx, time.Until(began.Add(f.at))) {
			return nil
		}
		from := time.Now()
		if err := f.kind.begin(context.WithoutCancel(ctx), s, f.about(s)); err != nil { // also if the round is over meanwhile
			return fmt.Errorf("%s: %w", f, err)
		}
		load.Sleep(ctx, time.Until(from.Add(f.length)))
		if err := f.kind.end(context.WithoutCancel(ctx), s, f.about(s)); err != nil {
			return fmt.Errorf("end of: %s: %w", f, err)
		}
		told(f, from, time.Now())
	}
	return nil
}
