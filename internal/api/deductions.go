package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"inventory/internal/access"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

type newDeduction struct {
	OrderID    field[string] `json:"order_id"`
	BuyerID    field[string] `json:"buyer_id"`
	Quantity   field[int64]  `json:"quantity"`
	ReserveFor duration      `json:"reserve_for"`
}

// deductionAnswer is a deduction as JSON. It has the texts of [stock.KeptTexts], whichever these are.
type deductionAnswer stock.Deduction

// MarshalJSON implements [encoding/json.Marshaler].
func (a deductionAnswer) MarshalJSON() ([]byte, error) {
	d, text := stock.Deduction(a), make([]byte, 0, 256)
	text = appendString(append(text, `{"sku":`...), d.SKU)
	text = appendString(append(text, `,"order_id":`...), d.OrderID)
	for _, kept := range stock.KeptTexts() {
		if value := kept.Get(d.Order); value != "" {
			text = appendString(append(append(append(text, `,"`...), kept.Column...), `":`...), value)
		}
	}
	text = strconv.AppendInt(append(text, `,"quantity":`...), d.Quantity, 10)
	text = appendString(append(text, `,"status":`...), string(d.Status))
	if at := expiry(d); !at.IsZero() {
		text = append(at.AppendFormat(append(text, `,"expires_at":"`...), time.RFC3339Nano), '"')
	}
	before := `,"parts":[`
	if d.InOrder {
		text = appendString(append(text, `,"order":`...), orderPath(d.OrderID))
	}
	for _, part := range d.Parts {
		text = fmt.Appendf(text, `%s{"segment":%d,"quantity":%d}`, before, part.Segment, part.Quantity)
		before = ","
	}
	if len(d.Parts) > 0 {
		text = append(text, ']')
	}
	return append(text, '}'), nil
}

// appendString appends a JSON string. Bytes that are not UTF-8 are replaced.
func appendString(to []byte, s string) []byte {
	to, _ = jsontext.AppendQuote(to, s)
	return to
}

// sendDeduction answers with a deduction.
func sendDeduction(c echo.Context, status int, d stock.Deduction) error {
	text, err := deductionAnswer(d).MarshalJSON()
	if err != nil {
		return err
	}
	return c.JSONBlob(status, append(text, '\n'))
}

// expiry returns when a reservation ends, or has ended, by itself; zero if that does not matter.
func expiry(d stock.Deduction) time.Time {
	if d.Status == stock.StatusReserved || d.Status == stock.StatusExpired {
		return d.ExpiresAt.UTC()
	}
	return time.Time{}
}

func (s *server) deduct(c echo.Context) error {
	deadline, err := s.deadlineOf(c.Request()) // before the body, whose reading may take time
	if err != nil {
		return err
	}
	var body newDeduction
	if err := decode(c, &body); err != nil {
		return err
	}
	order, err := body.order()
	if err != nil {
		return err
	}
	if order.BuyerID, order.Own, err = buyerFor(c, order.BuyerID); err != nil {
		return err
	}
	order.CallerMax = callerOf(c).MaxQuantity
	d, created, err := s.service.Deduct(waitUntil(c.Request().Context(), deadline), param(c, "sku"), order)
	if err != nil {
		return err
	}
	return sendDeduction(c, createdOrOK(created), d)
}

func (n newDeduction) order() (o stock.Order, err error) {
	if o.OrderID, err = n.OrderID.require("order_id"); err != nil {
		return o, err
	}
	if o.Quantity, err = n.Quantity.require("quantity"); err != nil {
		return o, err
	}
	if o.BuyerID, err = optional("buyer_id", n.BuyerID); err != nil {
		return o, err
	}
	o.ReserveFor, err = reserve("reserve_for", n.ReserveFor)
	return o, err
}

func (s *server) readDeduction(c echo.Context) error {
	buyerID, err := namedBuyer(c)
	if err != nil {
		return err
	}
	d, err := s.service.Deduction(c.Request().Context(), param(c, "sku"), param(c, "order_id"), buyerID)
	if err != nil {
		return err
	}
	return sendDeduction(c, http.StatusOK, d)
}

type commitRequest struct {
	Quantity  field[int64]  `json:"quantity"`
	IfExpired field[string] `json:"if_expired"`
}

// retake reads whether a commit takes the units of an expired reservation again.
func (r commitRequest) retake() (bool, error) {
	if r.IfExpired.set && r.IfExpired.value != "retake" {
		return false, invalid("if_expired", `must be "retake"`)
	}
	return r.IfExpired.set, nil
}

type cancelRequest struct {
	Quantity field[int64]  `json:"quantity"`
	Ref      field[string] `json:"ref"`
}

type returnRequest struct {
	Quantity field[int64]  `json:"quantity"`
	Ref      field[string] `json:"ref"`
	Restock  field[bool]   `json:"restock"`
	Reason   field[string] `json:"reason"`
}

type extendRequest struct {
	Ref        field[string] `json:"ref"`
	ReserveFor duration      `json:"reserve_for"`
}

// commit keeps what is reserved.
func (s *server) commit(c echo.Context) error {
	var body commitRequest
	if err := decodeIfAny(c, &body); err != nil {
		return err
	}
	quantity, err := count("quantity", body.Quantity, stock.MaxQuantity)
	if err != nil {
		return err
	}
	retake, err := body.retake()
	if err != nil {
		return err
	}
	if retake {
		return settle(c, s.service.CommitLate, stock.SettleRequest{Quantity: quantity})
	}
	return settle(c, s.service.Settle, stock.SettleRequest{Quantity: quantity})
}

// cancel gives up a reservation, all of it or a part.
func (s *server) cancel(c echo.Context) error {
	var body cancelRequest
	if err := decodeIfAny(c, &body); err != nil {
		return err
	}
	request := stock.SettleRequest{Verb: stock.Cancel}
	var err error
	if request.Quantity, request.Ref, err = partOf(body.Quantity, body.Ref); err != nil {
		return err
	}
	return settle(c, s.service.Settle, request)
}

// giveBack returns committed units, all of them or a part.
func (s *server) giveBack(c echo.Context) error {
	var body returnRequest
	if err := decodeIfAny(c, &body); err != nil {
		return err
	}
	request, err := body.request()
	if err != nil {
		return err
	}
	return settle(c, s.service.Settle, request)
}

func (r returnRequest) request() (request stock.SettleRequest, err error) {
	request = stock.SettleRequest{Verb: stock.Return, WriteOff: r.Restock.set && !r.Restock.value, Reason: r.Reason.value}
	if r.Reason.set && r.Reason.value == "" {
		return request, invalid("reason", "must not be empty; leave it out")
	}
	request.Quantity, request.Ref, err = partOf(r.Quantity, r.Ref)
	return request, err
}

// partOf reads which part of a deduction a request is about: all of it, or both members are there.
func partOf(quantity field[int64], ref field[string]) (units int64, once string, err error) {
	if !quantity.set && !ref.set {
		return 0, "", nil
	}
	if units, err = quantity.require("quantity"); err != nil {
		return 0, "", err
	}
	once, err = ref.require("ref")
	return units, once, err
}

// extend gives a reservation a later end.
func (s *server) extend(c echo.Context) error {
	request, err := decodeExtend(c)
	if err != nil {
		return err
	}
	return settle(c, s.service.Settle, request)
}

// decodeExtend reads the body of a request for a later end.
func decodeExtend(c echo.Context) (request stock.SettleRequest, err error) {
	var body extendRequest
	if err := decode(c, &body); err != nil {
		return request, err
	}
	request.Verb = stock.Extend
	if request.Ref, err = body.Ref.require("ref"); err != nil {
		return request, err
	}
	if _, err := body.ReserveFor.require("reserve_for"); err != nil {
		return request, err
	}
	request.ExtendFor, err = reserve("reserve_for", body.ReserveFor)
	return request, err
}

// settle settles the deduction in the path, and answers with the deduction afterwards.
func settle(
	c echo.Context, do func(context.Context, string, stock.SettleRequest) (stock.Deduction, error), request stock.SettleRequest,
) (err error) {
	if request.BuyerID, err = namedBuyer(c); err != nil {
		return err
	}
	request.OrderID = param(c, "order_id")
	d, err := do(c.Request().Context(), param(c, "sku"), request)
	if err != nil {
		return err
	}
	return sendDeduction(c, http.StatusOK, d)
}

type historyAnswer struct {
	SKU     string         `json:"sku"`
	OrderID string         `json:"order_id"`
	History []historyEntry `json:"history"`
}

type historyEntry struct {
	Kind      stock.EntryKind `json:"kind"`
	Quantity  int64           `json:"quantity,omitempty"`
	At        time.Time       `json:"at"`
	ExpiresAt time.Time       `json:"expires_at,omitzero"`
	Ref       string          `json:"ref,omitempty"`
	Reason    string          `json:"reason,omitempty"`
}

// readHistory answers with what happened to a deduction, the oldest entry first.
func (s *server) readHistory(c echo.Context) error {
	buyerID, err := namedBuyer(c)
	if err != nil {
		return err
	}
	h, err := s.service.History(c.Request().Context(), param(c, "sku"), param(c, "order_id"), buyerID)
	if err != nil {
		return err
	}
	answer := historyAnswer{SKU: h.SKU, OrderID: h.OrderID}
	for _, e := range h.Entries() {
		answer.History = append(answer.History, historyEntry{e.Kind, e.Quantity, e.At.UTC(), e.Until.UTC(), e.Ref, e.Reason})
	}
	return c.JSON(http.StatusOK, answer)
}

type deductionsAnswer struct {
	SKU        string            `json:"sku"`
	Deductions []listedDeduction `json:"deductions"`
	Next       string            `json:"next,omitempty"`
}

// listedDeduction is a deduction in a list. Own means that the order id belongs to its buyer, who came with a token.
type listedDeduction struct {
	OrderID   string                `json:"order_id"`
	Own       bool                  `json:"own,omitempty"`
	BuyerID   string                `json:"buyer_id,omitempty"`
	Quantity  int64                 `json:"quantity"`
	Status    stock.DeductionStatus `json:"status"`
	ExpiresAt time.Time             `json:"expires_at,omitzero"`
}

// readDeductions returns a page of a SKU's deductions. Only an admin reads those of all buyers; the others read one buyer's, under
// order ids of their own.
func (s *server) readDeductions(c echo.Context) error {
	query, err := deductionQuery(c.QueryParams())
	if err != nil {
		return err
	}
	query.SKU = param(c, "sku")
	if caller := callerOf(c); caller.Scope < access.ScopeAdmin {
		if query.BuyerID, _, err = buyerFor(c, query.BuyerID); err != nil {
			return err
		}
		if query.BuyerID == "" {
			return forbidden("this takes a buyer_id, or a key of the scope admin")
		}
		query.Namespace = &caller.Buyer
	}
	page, err := s.service.Deductions(c.Request().Context(), query)
	if err != nil {
		return err
	}
	answer := deductionsAnswer{SKU: query.SKU, Deductions: make([]listedDeduction, len(page.Deductions))}
	for i, d := range page.Deductions {
		namespace, orderID := stock.SplitOrderKey(d.OrderID)
		answer.Deductions[i] = listedDeduction{
			OrderID: orderID, Own: namespace != "", BuyerID: d.BuyerID, Quantity: d.Quantity, Status: d.Status, ExpiresAt: expiry(d),
		}
	}
	answer.Next = base64.RawURLEncoding.EncodeToString([]byte(page.Next))
	return c.JSON(http.StatusOK, answer)
}

// deductionQuery reads which deductions the caller wants. A parameter that is present and empty is not the same as an
// absent one.
func deductionQuery(query url.Values) (q stock.DeductionQuery, err error) {
	for _, name := range []string{"after", "buyer_id", "status"} {
		if query.Has(name) && query.Get(name) == "" {
			return q, invalid(name, "must not be empty; leave it out")
		}
	}
	after, err := base64.RawURLEncoding.Strict().DecodeString(query.Get("after"))
	if err != nil {
		return q, invalid("after", "must be the next of an earlier answer")
	}
	q = stock.DeductionQuery{BuyerID: query.Get("buyer_id"), Status: stock.DeductionStatus(query.Get("status")), After: string(after)}
	q.Limit, err = pageSize(query, selling.MaxPage)
	return q, err
}
