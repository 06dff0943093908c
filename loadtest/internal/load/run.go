package load

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inventory/loadtest/internal/history"
)

// Load is what is sent in an open loop, and when.
type Load struct {
	Start      time.Time           // the zero of At; may lie ahead
	At         []time.Duration     // when each request is due, in order; see Times
	Operations []history.Operation // that many; those of one id are retries. Run records their attempts
}

// Reply is what became of a request. Its times are since the start of the load.
type Reply struct {
	Sent    time.Duration // 0: it was not
	Over    time.Duration // when the answer was there, or the request was given up
	Outcome Outcome
	Queued  bool // no connection was free when its time came
}

// Result is what became of a load.
type Result struct {
	Load
	Replies []Reply
	Elapsed time.Duration // to the last answer
	silence error         // of the first request that got no answer
}

// run is a load under way.
type run struct {
	Load
	services *Services
	next     atomic.Int64 // the next request
	replies  []Reply      // each is written by the goroutine that took the request

	mu      sync.Mutex
	silence error
}

// Run sends a load and waits until every request is over. When ctx ends nothing more is sent, and what is under way is
// waited for, no longer than Config.Patience.
func (s *Services) Run(ctx context.Context, l Load) *Result {
	r := &run{Load: l, services: s, replies: make([]Reply, len(l.At))}
	var all sync.WaitGroup
	for connection := range s.Connections {
		all.Go(func() { r.serve(ctx, connection%len(s.URLs)) })
	}
	all.Wait()
	return &Result{Load: l, Replies: r.replies, Elapsed: r.since(), silence: r.silence}
}

func (r *run) since() time.Duration { return time.Since(r.Start) }

// serve takes one request after the other, waits for its time, and sends it to a process.
func (r *run) serve(ctx context.Context, process int) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for ctx.Err() == nil {
		i := int(r.next.Add(1)) - 1
		if i >= len(r.At) {
			return
		}
		queued := r.since() > r.At[i]
		if !r.wait(ctx, alarm, r.At[i]) {
			return
		}
		r.replies[i] = r.send(process, i)
		r.replies[i].Queued = queued
	}
}

// wait waits until a request is due. It reports false if ctx ends before.
func (r *run) wait(ctx context.Context, alarm *time.Timer, at time.Duration) bool {
	ahead := at - r.since()
	if ahead <= 0 {
		return true
	}
	alarm.Reset(ahead)
	select {
	case <-alarm.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// send sends a request whose time has come.
func (r *run) send(process, i int) Reply {
	now := r.since()
	if now-r.At[i] > r.services.MaxLag {
		return Reply{Over: now, Outcome: Dropped}
	}
	o := &r.Operations[i]
	a, err := r.services.Try(process, NewRequest(o), true)
	o.Attempts = append(o.Attempts, a)
	if err != nil {
		r.mu.Lock()
		r.silence = cmp.Or(r.silence, err)
		r.mu.Unlock()
	}
	return replyOf(*o, r.Start)
}

// replyOf is what became of an operation that was tried.
func replyOf(o history.Operation, start time.Time) Reply {
	first, last := o.Attempts[0], o.Attempts[len(o.Attempts)-1]
	reply := Reply{Sent: max(first.Sent.Sub(start), 1), Over: last.Ended.Sub(start), Outcome: OutcomeOf(last)}
	if last.NotSent {
		reply.Sent = 0
	}
	return reply
}

// Closed is what became of operations in a closed loop, where each is due when it is sent first.
func Closed(start time.Time, operations []history.Operation) *Result {
	r := &Result{Load: Load{Start: start, At: make([]time.Duration, len(operations)), Operations: operations}, Replies: make([]Reply, len(operations))}
	for i, o := range operations {
		if len(o.Attempts) > 0 {
			r.At[i], r.Replies[i] = o.Attempts[0].Sent.Sub(start), replyOf(o, start)
			r.Elapsed = max(r.Elapsed, r.Replies[i].Over)
		}
	}
	return r
}

// together is the result of all parts of a run, whose times are those since the beginning of each.
func together(parts []*Result) *Result {
	if len(parts) == 1 {
		return parts[0]
	}
	all := &Result{}
	for _, p := range parts {
		all.At, all.Operations = append(all.At, p.At...), append(all.Operations, p.Operations...)
		all.Replies, all.silence = append(all.Replies, p.Replies...), cmp.Or(all.silence, p.silence)
	}
	return all
}

// Codes are those of the problems by which requests were refused or failed otherwise.
func (r *Result) Codes() map[string]int64 {
	codes := map[string]int64{}
	for i, reply := range r.Replies {
		if reply.Outcome == Refused || reply.Outcome == Failed {
			last := r.Operations[i].Attempts[len(r.Operations[i].Attempts)-1].Answer
			codes[last.Code]++
		}
	}
	delete(codes, "")
	return codes
}

// FirstError is that of the first request that came to one of some outcomes; nil: none did.
func (r *Result) FirstError(of ...Outcome) error {
	for i, reply := range r.Replies {
		if !slices.Contains(of, reply.Outcome) {
			continue
		}
		last := r.Operations[i].Attempts[len(r.Operations[i].Attempts)-1]
		if last.Answer.Status == 0 {
			return r.silence
		}
		return problem(last.Answer)
	}
	return nil
}
