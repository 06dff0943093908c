package api

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

type movementsAnswer struct {
	SKU       string           `json:"sku"`
	Movements []movementAnswer `json:"movements"`
	Next      string           `json:"next,omitempty"`
}

type movementAnswer struct {
	Ref      string             `json:"ref"`
	Kind     stock.MovementKind `json:"kind"`
	Quantity int64              `json:"quantity"`
	Segments int                `json:"segments,omitempty"`
	Terms    stock.TermsChange  `json:"terms,omitzero"`
	Reason   string             `json:"reason,omitempty"`
	At       time.Time          `json:"at"`
}

// readMovements returns a part of a SKU's ledger.
func (s *server) readMovements(c echo.Context) error {
	after, limit, err := pageOf(c.QueryParams())
	if err != nil {
		return err
	}
	sku := param(c, "sku")
	movements, err := s.service.Movements(c.Request().Context(), sku, after, limit)
	if err != nil {
		return err
	}
	answer := movementsAnswer{SKU: sku, Movements: make([]movementAnswer, len(movements))}
	for i, m := range movements {
		answer.Movements[i] = movementAnswer{
			Ref: m.Ref, Kind: m.Kind, Quantity: m.Quantity, Segments: m.Segments, Terms: m.Terms, Reason: m.Reason, At: m.At.UTC(),
		}
	}
	if len(movements) == limit { // more may follow
		last := movements[limit-1]
		answer.Next = cursorOf(stock.Position{At: last.At, Ref: last.Ref})
	}
	return c.JSON(http.StatusOK, answer)
}

// pageOf reads which page of the ledger the caller wants.
func pageOf(query url.Values) (after stock.Position, limit int, err error) {
	if query.Has("after") {
		var ok bool
		if after, ok = positionOf(query.Get("after")); !ok {
			return after, 0, invalid("after", "must be the next of an earlier answer")
		}
	}
	limit, err = pageSize(query, selling.MaxPage)
	return after, limit, err
}

// A cursor is a position in the ledger: the time in microseconds and then the ref, in characters that need no escape in a
// URL. Any caller can make one, so it is checked like other input.

func cursorOf(p stock.Position) string {
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint64(nil, uint64(p.At.UnixMicro())), p.Ref...))
}

func positionOf(cursor string) (p stock.Position, ok bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(text) <= 8 || !isRef(string(text[8:])) {
		return p, false
	}
	p = stock.Position{At: time.UnixMicro(int64(binary.BigEndian.Uint64(text))).UTC(), Ref: string(text[8:])}
	return p, p.At.Year() >= 1970 && p.At.Year() <= 9999 // the range that databases can compare
}

func isRef(text string) bool {
	return len(text) <= maxRefBytes && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

const maxRefBytes = 128
