package server

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A Line is the way of one loop to one node. It uses the client's connections as long as they answer. A network may have forgotten
// all of them, and tells nobody: then each one that the client still has costs a time-out. So for a while after a command without
// an answer a Line has a connection of its own, and another one whenever that does not answer.
type Line struct {
	server *Server
	node   Node
	quit   <-chan struct{} // closed: no call is waited for any more; or nil
	own    *redis.Client   // has the one connection; nil while there is none
	far    bool            // the last one of its own took too long to make
}

// Line returns a new way to a node. It is for one goroutine.
func (s *Server) Line(to Node) *Line { return &Line{server: s, node: to} }

// Until has no call waited for any more once quit is closed.
func (l *Line) Until(quit <-chan struct{}) *Line {
	l.quit = quit
	return l
}

// Close ends the connection of its own.
func (l *Line) Close() {
	if l.own != nil {
		_ = l.own.Close()
		l.own = nil
	}
}

// RunAll runs many calls in one round trip, until an instant at the latest. Every answer has its own error. It also reports whether
// the server has answered any of them.
func (l *Line) RunAll(until time.Time, calls []scripts.Call) (answers []*redis.Cmd, answered bool) {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	s, sent := l.server, &atomic.Bool{}
	if s.Doubts() && l.node.client != nil && !l.far {
		if l.own == nil {
			l.own = l.node.connect()
		}
		own := l.own
		answers = l.bounded(ctx, until, len(calls), func(ctx context.Context) []*redis.Cmd { return s.pipeline(ctx, own, calls, sent) })
		if !slices.ContainsFunc(answers, func(answer *redis.Cmd) bool { return s.IsMoving(answer.Err()) }) {
			return answers, l.heard(answers, sent.Load())
		} // the client follows a slot that moves; to repeat a call does no harm
	}
	l.Close()
	answers = l.bounded(ctx, until, len(calls), func(ctx context.Context) []*redis.Cmd { return s.pipeline(ctx, s.Client, calls, sent) })
	return answers, l.heard(answers, sent.Load())
}

// A Trip is one round trip with a call for each piece of work.
type Trip[T any] struct {
	Work     []T
	Start    time.Time
	Answers  []*redis.Cmd // each has its own error
	Answered bool         // the server has answered any of them
}

// Trips makes calls, a batch in each round trip, which takes no longer than bound. A trip without any answer is the last: a silent node
// costs one time-out, not many.
func Trips[T any](line *Line, work []T, bound time.Duration, call func(T) scripts.Call) iter.Seq[Trip[T]] {
	return func(yield func(Trip[T]) bool) {
		for some := range slices.Chunk(work, Batch) {
			trip, calls := Trip[T]{Work: some, Start: time.Now()}, make([]scripts.Call, len(some))
			for i, piece := range some {
				calls[i] = call(piece)
			}
			trip.Answers, trip.Answered = line.RunAll(trip.Start.Add(bound), calls)
			if !yield(trip) || !trip.Answered {
				return
			}
		}
	}
}

// bounded runs calls, and leaves them behind when their time is over or quit is closed. Then Close ends those over a connection of its own.
func (l *Line) bounded(ctx context.Context, until time.Time, many int, run func(context.Context) []*redis.Cmd) []*redis.Cmd {
	answers, err := Bounded(ctx, l.server, until, l.quit, func(ctx context.Context) ([]*redis.Cmd, error) { return run(ctx), nil })
	if err != nil {
		none := &redis.Cmd{}
		none.SetErr(err)
		return slices.Repeat([]*redis.Cmd{none}, many)
	}
	return answers
}

// heard reports whether there is an answer among these. If there is none to what was sent, or no connection was free to send it, the
// next try has a new connection. If the way to that is too long, the client may have one by now.
func (l *Line) heard(answers []*redis.Cmd, sent bool) bool {
	if slices.ContainsFunc(answers, func(answer *redis.Cmd) bool { return IsAnswer(answer.Err()) }) {
		l.far = false
		return true
	}
	l.far = l.own != nil && !sent
	if (sent || l.own == nil && l.node.isExhausted()) && !isClosed(l.quit) { // then nobody has waited
		l.server.doubt()
	}
	l.Close()
	return false
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// doubt notes that a command that was sent has got no answer: its connection may be dead, and the client's others too.
func (s *Server) doubt() { s.doubted.Store(time.Now().UnixNano()) }

// Doubts reports whether the client's connections may be dead.
func (s *Server) Doubts() bool { return time.Since(time.Unix(0, s.doubted.Load())) < policy.Doubt }

// A Node is one server of several, or the only one. The zero Node is one that the client does not show.
type Node struct{ client single }

// isExhausted reports whether all connections to the node are in use.
func (n Node) isExhausted() bool {
	if n.client == nil {
		return false
	}
	pool := n.client.PoolStats()
	return pool.IdleConns == 0 && int(pool.TotalConns) >= n.client.Options().PoolSize
}

// connect returns a client that makes a connection of its own. The deadline of its commands is the only bound.
func (n Node) connect() *redis.Client {
	o := *n.client.Options()
	o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout = true, -1, -1
	o.MaxRetries, o.DialerRetries = -1, 1
	o.PoolSize, o.PipelinePoolSize, o.MinIdleConns, o.MaxActiveConns = 10, -1, 0, 0 // room for one that is still being made
	o.ClientSideCache, o.ClientSideCacheConfig = nil, nil
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(&o)
}

// A noted is the text of a script that notes when the client writes it.
type noted struct {
	text any // a string
	sent *atomic.Bool
}

// String returns the text.
func (n noted) String() string { return n.text.(string) }

// MarshalBinary is called by the client when it writes the text.
func (n noted) MarshalBinary() ([]byte, error) {
	n.sent.Store(true)
	return []byte(n.String()), nil
}
