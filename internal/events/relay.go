package events

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"
)

const (
	heartbeatEvery = 5 * time.Second
	silence        = 3 * heartbeatEvery // we receive our own heartbeats too: without any message for that long we are not connected
	firstPause     = 20 * time.Millisecond
	longestPause   = time.Second
	maxWaiting     = 64 // batches while Redis is away; older ones are lost
)

// relay carries batches from this process to the others and from them, over a channel of Redis pub/sub. Redis may be slow
// or away: only the relay's two goroutines wait for it.
type relay struct {
	redis   redis.UniversalClient
	channel string
	process string
	deliver func(batch)
	log     *slog.Logger

	waiting chan batch    // those to be sent
	stop    chan struct{} // closed: they are sent without retries
	once    sync.Once
	cancel  context.CancelFunc // stops sending at once
	running sync.WaitGroup

	receiving, sending health
}

// startRelay starts a relay that runs until close. deliver is called by one goroutine at a time.
func startRelay(client redis.UniversalClient, channel, process string, deliver func(batch), log *slog.Logger) *relay {
	r := &relay{
		redis: client, channel: channel, process: process, deliver: deliver, log: log,
		waiting: make(chan batch, maxWaiting), stop: make(chan struct{}),
		receiving: health{what: "receive events of other processes"}, sending: health{what: "send events to other processes"},
	}
	r.receiving.failing.Store(true) // until the subscription stands
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.running.Go(func() { r.sendAll(ctx) })
	r.running.Go(func() { r.listen(ctx) })
	return r
}

// close sends the waiting batches while ctx lasts, and ends the goroutines.
func (r *relay) close(ctx context.Context) {
	r.once.Do(func() { close(r.stop) })
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	r.running.Wait()
}

func (r *relay) failing() bool { return r.receiving.failing.Load() || r.sending.failing.Load() }

// send queues a batch for the other processes. One goroutine at a time calls it.
func (r *relay) send(b batch) {
	for {
		select {
		case r.waiting <- b:
			return
		default: // the oldest one makes room; the others notice by the numbers
		}
		select {
		case <-r.waiting:
		default:
		}
	}
}

// sendAll sends batches, and heartbeats while there are none, until stop; then it sends the rest. When it ends, listen
// ends too.
func (r *relay) sendAll(ctx context.Context) {
	defer r.cancel()
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	b, more := r.heartbeatAt(1), true
	for more && r.sendOne(ctx, b) {
		b, more = r.await(ticker.C, b.Next)
	}
}

// await waits for a batch, or for the next heartbeat. It reports false if there is none and the relay stops.
func (r *relay) await(beats <-chan time.Time, position uint64) (batch, bool) {
	select {
	case b := <-r.waiting:
		return b, true
	case <-beats:
		return r.heartbeatAt(position), true
	case <-r.stop:
	}
	select {
	case b := <-r.waiting: // it may have come just before
		return b, true
	default:
		return batch{}, false
	}
}

func (r *relay) heartbeatAt(position uint64) batch {
	return batch{Process: r.process, First: position, Next: position}
}

// sendOne sends a batch, and repeats until Redis has taken it. It reports false if Redis fails and the relay stops.
func (r *relay) sendOne(ctx context.Context, b batch) bool {
	text, err := b.encode()
	if err != nil {
		r.log.Error("events cannot be encoded", "error", err)
		return true // the others notice by the numbers
	}
	pause := newPause()
	for {
		err := r.publish(ctx, text)
		if ctx.Err() != nil {
			return false
		}
		if !errors.Is(err, errNoSubscription) { // that has been logged
			r.sending.note(r.log, err)
		}
		if err == nil {
			return true
		}
		select {
		case <-time.After(pause.NextBackOff()):
		case <-r.stop:
			return false
		}
	}
}

var errNoSubscription = errors.New("nobody would receive it")

// publish publishes a batch, unless Redis has just come back. Until this process has subscribed again, others probably
// have not either, and a message without subscribers is lost.
func (r *relay) publish(ctx context.Context, text []byte) error {
	if r.receiving.failing.Load() {
		return errNoSubscription
	}
	return r.redis.Publish(ctx, r.channel, text).Err()
}

// listen receives batches of other processes until ctx ends, over a new connection whenever one breaks.
func (r *relay) listen(ctx context.Context) {
	pause := newPause()
	for {
		err := r.receiveAll(ctx, pause.Reset)
		if ctx.Err() != nil {
			return
		}
		r.receiving.note(r.log, err)
		select {
		case <-time.After(pause.NextBackOff()):
		case <-ctx.Done():
			return
		}
	}
}

// receiveAll receives batches of other processes until its connection breaks.
func (r *relay) receiveAll(ctx context.Context, stands func()) error {
	subscription := r.redis.Subscribe(ctx)
	closed := make(chan struct{})
	ended := context.AfterFunc(ctx, func() { // ends the read below
		_ = subscription.Close()
		close(closed)
	})
	defer func() {
		if !ended() {
			<-closed
		}
		_ = subscription.Close()
	}()
	if err := subscription.Subscribe(ctx, r.channel); err != nil {
		return err
	}
	for {
		message, err := subscription.ReceiveTimeout(ctx, silence)
		if err != nil {
			return err
		}
		switch m := message.(type) {
		case *redis.Subscription:
			stands()
			r.receiving.note(r.log, nil)
		case *redis.Message:
			r.receive(m.Payload)
		}
	}
}

func (r *relay) receive(text string) {
	b, err := decode(text)
	switch {
	case err != nil:
		r.log.Debug("a stranger's message among the events", "error", err)
	case b.Process != r.process:
		r.deliver(b)
	}
}

func newPause() *backoff.ExponentialBackOff {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = firstPause, longestPause
	return pause
}

// health logs when something starts to fail, and when it works again.
type health struct {
	what    string
	failing atomic.Bool
	logged  bool // that it fails
}

// note notes a result. One goroutine at a time calls it.
func (h *health) note(log *slog.Logger, err error) {
	h.failing.Store(err != nil)
	switch logged := h.logged; {
	case err != nil && !logged:
		h.logged = true
		log.Warn("cannot "+h.what, "error", err)
	case err == nil && logged:
		h.logged = false
		log.Info("can again " + h.what)
	}
}
