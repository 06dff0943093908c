package openloop

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Load is what is sent, and when.
type Load struct {
	Start  time.Time       // the zero of At; may lie ahead
	At     []time.Duration // when each request is due, in order; see Times
	Stream Stream          // as many requests
	// Heard is told of each request when nothing more will become of it, by several goroutines at once; nil: nobody is.
	Heard func(i int, r Reply)
}

// Reply is what became of a request. Its times are since the start of the load.
type Reply struct {
	Sent    time.Duration // 0: it was not
	Over    time.Duration // when the answer was there, or it was clear that none comes
	Outcome Outcome
	Queued  bool // no connection was free when its time came
}

// Result is what became of a load.
type Result struct {
	Start        time.Time
	At           []time.Duration
	Replies      []Reply
	Elapsed      time.Duration    // to the last answer
	Codes        map[string]int64 // of the problems by which requests were refused or failed otherwise
	FirstError   error            // of the first request that failed, was not sent for want of a connection, or is unknown
	FirstRefusal error            // of the first that was Refused
}

// run is a load under way.
type run struct {
	Load
	config  Config
	next    atomic.Int64 // the next request that nobody has taken
	replies []Reply      // each written by who has taken the request

	mu                       sync.Mutex
	codes                    map[string]int64
	firstError, firstRefusal error
}

// Run sends a load and waits until every request is over. When ctx ends nothing more is sent, and what is under way is
// waited for, no longer than Config.Patience.
func (s *Sender) Run(ctx context.Context, l Load) Result {
	r := &run{Load: l, config: s.config, replies: make([]Reply, len(l.At)), codes: map[string]int64{}}
	var all sync.WaitGroup
	for _, line := range s.lines {
		all.Go(func() { r.serve(ctx, line) })
	}
	all.Wait()
	return Result{
		Start: l.Start, At: l.At, Replies: r.replies, Elapsed: r.since(), Codes: r.codes,
		FirstError: r.firstError, FirstRefusal: r.firstRefusal,
	}
}

func (r *run) since() time.Duration { return time.Since(r.Start) }

// serve takes one request after the other, waits for its time, and sends it.
func (r *run) serve(ctx context.Context, l line) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	var buffer []byte
	for ctx.Err() == nil {
		i := int(r.next.Add(1)) - 1
		if i >= len(r.At) {
			return
		}
		queued := r.since() > r.At[i]
		if !r.wait(ctx, alarm, r.At[i]) {
			return
		}
		request := r.Stream.Request(i, buffer[:0])
		buffer = request.Body
		r.replies[i] = r.send(ctx, l, i, request)
		r.replies[i].Queued = queued
		if r.Heard != nil {
			r.Heard(i, r.replies[i])
		}
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
func (r *run) send(ctx context.Context, l line, i int, request Request) Reply {
	sent := max(r.since(), 1)
	if sent-r.At[i] > r.config.MaxLag {
		return Reply{Over: sent, Outcome: Dropped}
	}
	a, gone, err := l.ask(ctx, request, r.config.Patience)
	reply := Reply{Sent: sent, Over: r.since()}
	switch {
	case err == nil:
		var code string
		reply.Outcome, code = outcomeOf(a.status, a.body)
		switch reply.Outcome {
		case Refused:
			r.note(code, &r.firstRefusal, a.problem())
		case Failed:
			r.note(code, &r.firstError, a.problem())
		}
	case gone:
		reply.Outcome = Unknown
		r.note("", &r.firstError, err)
	default:
		reply.Sent, reply.Outcome = 0, Unreached
		r.note("", &r.firstError, err)
	}
	return reply
}

// note keeps what an outcome alone does not tell: its code, and the first error of its kind.
func (r *run) note(code string, first *error, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if code != "" {
		r.codes[code]++
	}
	if *first == nil {
		*first = err
	}
}
