package api

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
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

// movementAnswer is a movement as JSON. A write-off has the id of the order whose units came back.
type movementAnswer struct {
	Ref     string `json:"ref,omitempty"`
	OrderID string `json:"order_id,omitempty"`
	stock.Movement
}

// readMovements answers with a page of a SKU's ledger.
func (s *server) readMovements(c echo.Context) (any, error) {
	query := c.QueryParams()
	after, limit, err := pageOf(query)
	if err != nil {
		return nil, err
	}
	sku, read := param(c, "sku"), s.Service.Movements
	switch order := query.Get("order"); {
	case order == "newest":
		read = s.Service.NewestMovements
	case query.Has("order") && order != "oldest":
		return nil, invalid("order", "must be oldest or newest")
	}
	movements, err := read(c.Request().Context(), sku, after, limit)
	answer := movementsAnswer{SKU: sku, Movements: make([]movementAnswer, len(movements))}
	for i, m := range movements {
		key, ref := m.Returned()
		_, orderID := stock.SplitOrderKey(key)
		m.At = m.At.UTC()
		answer.Movements[i] = movementAnswer{ref, orderID, m}
	}
	if len(movements) == limit { // more may follow
		last := movements[limit-1]
		answer.Next = cursorOf(stock.Position{At: last.At, Ref: last.Ref})
	}
	return answer, err
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

// unitsRequest reads a change of the amount of stock.
func unitsRequest(f *form) stock.Movement {
	m := stock.Movement{Kind: stock.Restocked, Ref: required(f, (*form).text, "ref"), Quantity: required(f, (*form).number, "quantity")}
	m.Reason, _ = f.text("reason")
	return m
}

func adjustRequest(f *form) stock.Movement {
	m := unitsRequest(f)
	m.Kind = stock.Adjusted
	if units, there := f.number("if_stock"); there {
		m.IfStock = &units
		if units < 0 || units > maxStock {
			f.refuse("if_stock", fmt.Sprintf("must be 0 to %d", int64(maxStock)))
		}
	}
	return m
}

// maxStock is above any stock, and a number that JavaScript has exactly.
const maxStock = 1<<53 - 1

func resegmentRequest(f *form) stock.Movement {
	m := stock.Movement{
		Kind: stock.Resegmented, Ref: required(f, (*form).text, "ref"), Segments: int(required(f, (*form).number, "segments")),
	}
	m.Reason, _ = f.text("reason")
	return m
}

type changeAnswer struct {
	Ref      string `json:"ref"`
	Quantity int64  `json:"quantity,omitempty"`
	Segments int    `json:"segments,omitempty"`
	Reason   string `json:"reason,omitempty"`
	stock.TermsChange
	limitAnswer
}

// limitAnswer says since when a limit per buyer counts earlier orders, too.
type limitAnswer struct {
	Counting   bool      `json:"counting,omitempty"` // not yet
	LimitSince time.Time `json:"limit_since,omitzero"`
}

// limitOf tells about the limit per buyer that a change has made.
func (s *server) limitOf(ctx context.Context, m stock.Movement) (limitAnswer, error) {
	if m.Terms.PerBuyerLimit.To == 0 && m.Terms.LimitGroup.To == "" {
		return limitAnswer{}, nil
	}
	status, err := s.Service.SKU(ctx, m.SKU)
	return limitAnswer{status.Counting, status.LimitSince.UTC()}, stock.AfterWrite(err, "read the changed SKU")
}

// changing returns a handler that changes the SKU in the path.
func (s *server) changing(read func(*form) stock.Movement) echo.HandlerFunc {
	return s.bounded(func(c echo.Context) (created bool, answer any, err error) {
		m, err := readAs(s, c, maxBodyBytes, read)
		if err != nil {
			return false, nil, err
		}
		m.SKU = param(c, "sku")
		if created, err = s.Service.Move(c.Request().Context(), m); err != nil {
			return false, nil, err
		}
		limit, err := s.limitOf(c.Request().Context(), m)
		return created, changeAnswer{m.Ref, m.Quantity, m.Segments, m.Reason, m.Terms, limit}, err
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
	stock.Balance
	Difference int64 `json:"difference"`
}

// ReportAudit returns the report of an audit.
func ReportAudit(audit stock.Audit) AuditReport {
	r := AuditReport{OK: audit.OK(), SKUs: make([]AuditedSKU, len(audit.SKUs))}
	for i, b := range audit.SKUs {
		r.Violations = append(r.Violations, b.Violations...)
		r.SKUs[i] = AuditedSKU{b, b.Difference()}
	}
	return r
}

// auditSKU answers with the balance of the SKU in the path.
func (s *server) auditSKU(c echo.Context) (any, error) {
	sku := param(c, "sku")
	if sku == "" { // it would mean all SKUs
		return nil, invalid("sku", "must not be empty")
	}
	audit, err := s.Service.Audit(c.Request().Context(), sku)
	return ReportAudit(audit), err
}

// audit answers with the balance of all SKUs.
func (s *server) audit(c echo.Context) (any, error) {
	audit, err := s.Service.Audit(c.Request().Context(), "")
	return ReportAudit(audit), err
}
