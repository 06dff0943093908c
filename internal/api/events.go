package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/events"
	"inventory/internal/stock"
)

// Streams are the times of event streams. The zero value of each is its default.
type Streams struct {
	Heartbeat time.Duration // between comments, which keep a quiet connection open and show when a listener has gone
	Patience  time.Duration // with a listener that stops reading, before the connection is cut
}

const (
	heartbeat   = 15 * time.Second
	patience    = 10 * time.Second
	accessEvery = 2 * time.Second        // between two looks whether a listener is still let in: the check of a token takes 0.1 ms
	streamRest  = 50 * time.Millisecond  // between two writes: nobody can read faster
	streamRetry = "retry: 2000\n\n"      // milliseconds until a listener that was cut off connects again
	streamEnd   = 250 * time.Millisecond // time to finish a stream
	mediaStream = "text/event-stream"
)

// watchEvents streams events until the listener leaves or loses its access, or the service stops.
func (s *server) watchEvents(c echo.Context) error {
	sku, err := s.watchedSKU(c)
	if err != nil {
		return err
	}
	if c.Request().Method == http.MethodHead { // it wants the head only
		sendStreamHead(c)
		return nil
	}
	caller := callerOf(c)
	subscription, err := s.Events.Subscribe(events.Caller{ID: cmp.Or(caller.ID, addressOf(c.RealIP())), Buyer: caller.Buyer != ""}, sku)
	if err != nil {
		return err
	}
	stream := &eventStream{context: c, controller: http.NewResponseController(c.Response()), patience: cmp.Or(s.Streams.Patience, patience)}
	var ending sync.WaitGroup
	ending.Go(func() {
		<-subscription.Done()
		stream.end()
	})
	defer func() {
		subscription.Close()
		ending.Wait()
	}()
	err = stream.begin(c.Request().Header.Get("Last-Event-ID") != "")
	beat := time.NewTicker(cmp.Or(s.Streams.Heartbeat, heartbeat))
	defer beat.Stop()
	look := time.NewTicker(accessEvery)
	defer look.Stop()
	for err == nil {
		select {
		case <-c.Request().Context().Done():
			return nil
		case <-subscription.Done():
			return nil
		case <-look.C:
			if !s.stillAdmitted(c) {
				return nil
			}
		case <-beat.C:
			err = stream.write(append(stream.text[:0], ": \n\n"...))
		case <-subscription.Ready():
			err = stream.send(subscription)
		}
	}
	s.Logger.Debug("a listener was cut off", "error", err)
	return nil // the answer has started
}

// watchedSKU returns the requested SKU, "" for all.
func (s *server) watchedSKU(c echo.Context) (string, error) {
	query := c.QueryParams()
	if !query.Has("sku") {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), requestTimeout)
	defer cancel()
	sku := query.Get("sku")
	_, err := s.Service.SKU(ctx, sku)
	return sku, err
}

// eventStream is an answer without an end. The server's time limit is for answers that end; here each write has its own.
type eventStream struct {
	context    echo.Context
	controller *http.ResponseController
	text       []byte

	mu       sync.Mutex
	patience time.Duration
}

// begin sends the head, so that the listener knows that the stream is open. It informs a listener that has come back that
// events may be missing.
func (s *eventStream) begin(resumed bool) error {
	sendStreamHead(s.context)
	s.text = append(s.text, streamRetry...)
	if resumed {
		s.text = appendLost(s.text, 0)
	}
	return s.write(s.text)
}

func sendStreamHead(c echo.Context) {
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, mediaStream)
	header.Set("X-Accel-Buffering", "no") // a proxy that buffers answers would hold events back
	c.Response().WriteHeader(http.StatusOK)
}

// send sends the subscription's events, then rests.
func (s *eventStream) send(subscription *events.Subscription) error {
	s.text = s.text[:0]
	for _, d := range subscription.Take() {
		text, err := appendDelivery(s.text, d)
		if err != nil {
			return err
		}
		s.text = text
	}
	if err := s.write(s.text); err != nil {
		return err
	}
	select {
	case <-time.After(streamRest):
	case <-s.context.Request().Context().Done():
	case <-subscription.Done():
	}
	return nil
}

func (s *eventStream) write(text []byte) error {
	if err := s.limit(); err != nil {
		return err
	}
	if _, err := s.context.Response().Write(text); err != nil {
		return err
	}
	return s.controller.Flush()
}

// limit sets the deadline of the next write.
func (s *eventStream) limit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.controller.SetWriteDeadline(time.Now().Add(s.patience))
}

// end leaves time to finish the answer, and no more for a write in progress: a service that stops does not wait for a
// listener that has stopped reading.
func (s *eventStream) end() {
	s.mu.Lock()
	s.patience = min(s.patience, streamEnd)
	s.mu.Unlock()
	_ = s.limit() // fails only on a closed connection
}

// appendDelivery appends one item in the form of text/event-stream.
func appendDelivery(to []byte, d events.Delivery) ([]byte, error) {
	if d.Lost > 0 {
		return appendLost(to, d.Lost), nil
	}
	e := d.Event
	e.At, e.Age, e.WasEmpty = e.At.UTC(), stock.Age{}, false // the last two are for processes
	data, err := json.Marshal(e)
	return fmt.Appendf(to, "id: %s-%d\nevent: %s\ndata: %s\n\n", d.Process, d.Number, d.Kind, data), err
}

func appendLost(to []byte, count uint64) []byte {
	return fmt.Appendf(to, "event: lost\ndata: {\"count\":%d}\n\n", count)
}
