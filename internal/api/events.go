package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/events"
	"inventory/internal/stock"
)

const (
	heartbeat   = 15 * time.Second      // between comments, which keep a quiet connection open
	patience    = 2 * time.Second       // with a listener that stops reading, before it is cut off; a service that stops waits for it too
	accessEvery = 2 * time.Second       // between two looks whether a listener is still let in: the check of a token takes 0.1 ms
	streamRest  = 50 * time.Millisecond // between two writes: nobody can read faster
	streamRetry = "retry: 2000\n\n"     // milliseconds until a listener that was cut off connects again
	mediaStream = "text/event-stream"
)

// watchEvents streams events until the listener leaves or loses its access, or the service stops.
func (s *server) watchEvents(c echo.Context) error {
	if err := refuseForeign(c.Request()); err != nil {
		return err
	}
	sku, err := s.watchedSKU(c)
	if err != nil {
		return err
	}
	if c.Request().Method == http.MethodHead { // it wants the head only
		sendStreamHead(c)
		return nil
	}
	caller := callerOf(c)
	subscription, err := s.Events.Subscribe(events.Caller{ID: cmp.Or(caller.ID, addressOf(c.Request())), Buyer: caller.Buyer != ""}, sku)
	if err != nil {
		return err
	}
	defer subscription.Close()
	stream := &eventStream{context: c, controller: http.NewResponseController(c.Response())}
	defer stream.limit() // the end of the answer is a write too
	err = stream.begin(c.Request().Header.Get("Last-Event-ID") != "")
	beat := time.NewTicker(cmp.Or(s.Heartbeat, heartbeat))
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
	s.limit()
	_, err := s.context.Response().Write(text)
	if err == nil {
		err = s.controller.Flush()
	}
	_ = s.controller.SetWriteDeadline(time.Time{}) // over HTTP/2 it ends a quiet stream, too
	return err
}

// limit sets the deadline of the next write.
func (s *eventStream) limit() {
	_ = s.controller.SetWriteDeadline(time.Now().Add(patience)) // fails only on a closed connection
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
