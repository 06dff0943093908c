package api

import (
	"context"
	"errors"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
	"inventory/internal/turns"
)

// Large bodies are read one at a time, in a tenth of the time at most. That is still many more in a second than the
// service can place.
const (
	readingWaits    = 1024 // at most, each with its body
	readingPatience = 4 * time.Second
	readingRate     = 4 << 20 // bytes a second
	readingRest     = 9       // times as long as a body took
)

func newReading() *turns.Turns {
	return turns.New(turns.Config{
		Places: 1, Waiting: readingWaits, Patience: readingPatience,
		Rest: func(bytes int, took time.Duration) time.Duration {
			return max(time.Duration(bytes)*time.Second/readingRate, readingRest*took)
		},
	})
}

// decodeInTurn decodes a text. A large one takes a thousand times as long as a small one, so large ones are read one at a
// time, and their callers take turns.
func (s *server) decodeInTurn(ctx context.Context, c echo.Context, text []byte, into any) error {
	if len(text) > maxBodyBytes {
		leave, err := s.reading.Enter(ctx, turnOf(c), len(text))
		if err != nil {
			return noTurn(err)
		}
		defer leave()
	}
	return decodeText(text, into)
}

// turnOf names the caller as which a request takes turns: the key or the buyer, or without keys the connection.
func turnOf(c echo.Context) string {
	if id := callerOf(c).ID; id != "" {
		return id
	}
	return c.Request().RemoteAddr
}

// noTurn returns the error of a caller that got no turn.
func noTurn(err error) error {
	if errors.Is(err, turns.ErrFull) || errors.Is(err, turns.ErrLate) {
		return &stock.Error{Code: stock.CodeOverloaded, Message: "too many large orders are waiting; try again later", Err: err}
	}
	return err
}
