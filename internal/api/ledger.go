package api

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
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
	Ref      string             `json:"ref,omitempty"`
	OrderID  string             `json:"order_id,omitempty"`
	Kind     stock.MovementKind `json:"kind"`
	Quantity int64              `json:"quantity"`
	Segments int                `json:"segments,omitempty"`
	Terms    stock.TermsChange  `json:"terms,omitzero"`
	Reason   string             `json:"reason,omitempty"`
	At       time.Time          `json:"at"`
}

// readMovements answers with a page of a SKU's ledger.
func (s *server) readMovements(c echo.Context) error {
	after, limit, err := pageOf(c.QueryParams())
	if err != nil {
		return err
	}
	sku := param(c, "sku")
	movements, err := s.Service.Movements(c.Request().Context(), sku, after, limit)
	if err != nil {
		return err
	}
	answer := movementsAnswer{SKU: sku, Movements: make([]movementAnswer, len(movements))}
	for i, m := range movements {
		key, ref := m.Returned()
		_, orderID := stock.SplitOrderKey(key)
		answer.Movements[i] = movementAnswer{
			Ref: ref, OrderID: orderID, Kind: m.Kind, Quantity: m.Quantity, Segments: m.Segments, Terms: m.Terms, Reason: m.Reason, At: m.At.UTC(),
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
	return len(text) <= maxRefBytes && utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

const maxRefBytes = 512 // of a write-off, the longest

// unitsRequest is the body of a request that changes the amount of stock.
type unitsRequest struct {
	Ref      field[string] `json:"ref"`
	Quantity field[int64]  `json:"quantity"`
	Reason   field[string] `json:"reason"`
}

func (r unitsRequest) read(f *form) stock.Movement {
	return stock.Movement{
		Kind: stock.Restocked, Ref: required(f, "ref", r.Ref), Quantity: required(f, "quantity", r.Quantity), Reason: r.Reason.value,
	}
}

// adjustRequest is the body of an adjustment.
type adjustRequest struct {
	unitsRequest
	IfStock field[int64] `json:"if_stock"`
}

func (r adjustRequest) read(f *form) stock.Movement {
	m := r.unitsRequest.read(f)
	if m.Kind = stock.Adjusted; r.IfStock.set {
		m.IfStock = &r.IfStock.value
	}
	if r.IfStock.value < 0 || r.IfStock.value > maxStock {
		f.refuse("if_stock", fmt.Sprintf("must be 0 to %d", int64(maxStock)))
	}
	return m
}

// maxStock is above any stock, and a number that JavaScript has exactly.
const maxStock = 1<<53 - 1

type resegmentRequest struct {
	Ref      field[string] `json:"ref"`
	Segments field[int64]  `json:"segments"`
	Reason   field[string] `json:"reason"`
}

func (r resegmentRequest) read(f *form) stock.Movement {
	return stock.Movement{
		Kind: stock.Resegmented, Ref: required(f, "ref", r.Ref), Segments: int(required(f, "segments", r.Segments)), Reason: r.Reason.value,
	}
}

type changeAnswer struct {
	Ref      string `json:"ref"`
	Quantity int64  `json:"quantity,omitempty"`
	Segments int    `json:"segments,omitempty"`
	Reason   string `json:"reason,omitempty"`
	stock.TermsChange
}

// changing returns a handler that changes the SKU in the path as a B asks for.
func changing[B body[stock.Movement]](s *server) echo.HandlerFunc {
	return s.bounded(func(c echo.Context) error {
		m, err := readAs[B](c, decode)
		if err != nil {
			return err
		}
		m.SKU = param(c, "sku")
		created, err := s.Service.Move(c.Request().Context(), m)
		if err != nil {
			return err
		}
		return c.JSON(createdOrOK(created), changeAnswer{Ref: m.Ref, Quantity: m.Quantity, Segments: m.Segments, Reason: m.Reason, TermsChange: m.Terms})
	})
}

// AuditReport is an audit as JSON.
type AuditReport struct {
	OK         bool         `json:"ok"`
	SKUs       []AuditedSKU `json:"skus"`
	Violations []string     `json:"violations,omitempty"` // in words: those that no sum shows
}

// AuditedSKU is the balance of one SKU in an [AuditReport].
type AuditedSKU struct {
	SKU        string `json:"sku"`
	Initial    int64  `json:"initial"`
	Restocked  int64  `json:"restocked"`
	Adjusted   int64  `json:"adjusted"`
	WrittenOff int64  `json:"written_off"`
	Available  int64  `json:"available"`
	Reserved   int64  `json:"reserved"`
	Committed  int64  `json:"committed"`
	Difference int64  `json:"difference"`
}

// ReportAudit returns the report of an audit.
func ReportAudit(audit stock.Audit) AuditReport {
	r := AuditReport{OK: audit.OK(), SKUs: make([]AuditedSKU, len(audit.SKUs))}
	for i, b := range audit.SKUs {
		r.Violations = append(r.Violations, b.Violations...)
		r.SKUs[i] = AuditedSKU{
			b.SKU, b.Initial, b.Restocked, b.Adjusted, b.WrittenOff, b.Available, b.Reserved, b.Committed, b.Difference(),
		}
	}
	return r
}

// auditSKU answers with the balance of the SKU in the path.
func (s *server) auditSKU(c echo.Context) error {
	sku := param(c, "sku")
	if sku == "" { // it would mean all SKUs
		return invalid("sku", "must not be empty")
	}
	return s.sendAudit(c, sku)
}

// audit answers with the balance of all SKUs.
func (s *server) audit(c echo.Context) error { return s.sendAudit(c, "") }

func (s *server) sendAudit(c echo.Context, sku string) error {
	audit, err := s.Service.Audit(c.Request().Context(), sku)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ReportAudit(audit))
}
