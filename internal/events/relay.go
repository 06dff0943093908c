package events

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	heartbeatEvery = 5 * time.Second
	silence        = 3 * heartbeatEvery // we receive our own heartbeats too: without any message for that long we are not connected
	connectAgain   = 250 * time.Millisecond
	maxWaiting     = 16 // batches while Redis is slow; older ones are lost
)

// relay carries batches from this process to the others and from them, over a channel of Redis pub/sub. Redis may be slow
// or away: only the relay's two goroutines wait for it. Events that Redis does not take are lost, and the others notice by the numbers.
type relay struct {
	redis   redis.UniversalClient
	channel string
	process string
	deliver func(batch)
	log     *slog.Logger

	waiting chan batch         // those to be sent; closed by close
	cancel  context.CancelFunc // stops at once
	running sync.WaitGroup

	receiving, sending health
}

// startRelay starts a relay that runs until close. deliver is called by one goroutine at a time.
func startRelay(client redis.UniversalClient, channel, process string, deliver func(batch), log *slog.Logger) *relay {
	r := &relay{
		redis: client, channel: channel, process: process, deliver: deliver, log: log, waiting: make(chan batch, maxWaiting),
		receiving: health{what: "receive events of other processes"}, sending: health{what: "send events to other processes"},
	}
	r.receiving.failing.Store(true) // until the subscription stands
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.running.Go(func() { r.sendAll(ctx) })
	r.running.Go(func() { r.listen(ctx) })
	return r
}

// close sends the waiting batches while ctx lasts, and ends the goroutines. Nothing may be sent after it.
func (r *relay) close(ctx context.Context) {
	close(r.waiting)
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	r.running.Wait()
}

func (r *relay) failing() bool { return r.receiving.failing.Load() || r.sending.failing.Load() }

// send queues a batch for the other processes. If too many wait the oldest is lost: by the later ones the others notice that. One
// goroutine at a time calls it.
func (r *relay) send(b batch) {
	for {
		select {
		case r.waiting <- b:
			return
		default:
		}
		select {
		case <-r.waiting:
		default:
		}
	}
}

// sendAll sends batches, and heartbeats while there are none, until close. When it ends, listen ends too.
func (r *relay) sendAll(ctx context.Context) {
	defer r.cancel()
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	b := batch{Process: r.process, First: 1, Next: 1}
	for more := true; more; {
		r.publish(ctx, b)
		position := b.Next
		select {
		case b, more = <-r.waiting:
		case <-ticker.C:
			b = batch{Process: r.process, First: position, Next: position}
		}
	}
}

func (r *relay) publish(ctx context.Context, b batch) {
	text, err := json.Marshal(b)
	if err == nil {
		err = r.redis.Publish(ctx, r.channel, text).Err()
	}
	r.sending.note(r.log, err)
}

// listen receives batches of other processes until ctx ends, over a new connection whenever one breaks.
func (r *relay) listen(ctx context.Context) {
	for {
		err := r.receiveAll(ctx)
		if ctx.Err() != nil {
			return
		}
		r.receiving.note(r.log, err)
		select {
		case <-time.After(connectAgain):
		case <-ctx.Done():
			return
		}
	}
}

// receiveAll receives batches of other processes until its connection breaks, or is silent.
func (r *relay) receiveAll(ctx context.Context) error {
	subscription := r.redis.Subscribe(ctx)
	defer subscription.Close()
	defer context.AfterFunc(ctx, func() { _ = subscription.Close() })() // ends the read below
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

// health logs when something starts to fail, and when it works.
type health struct {
	what    string
	failing atomic.Bool
}

func (h *health) note(log *slog.Logger, err error) {
	was := h.failing.Swap(err != nil)
	if err != nil && !was {
		log.Warn("cannot "+h.what, "error", err)
	}
	if err == nil && was {
		log.Info("can " + h.what)
	}
}
