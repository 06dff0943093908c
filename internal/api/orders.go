package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
	"inventory/internal/turns"
)

type newOrder struct {
	OrderID    field[string] `json:"order_id"`
	BuyerID    field[string] `json:"buyer_id"`
	ReserveFor duration      `json:"reserve_for"`
	Lines      list[newLine] `json:"lines"`
}

type newLine struct {
	SKU      field[string] `json:"sku"`
	Quantity field[int64]  `json:"quantity"`
}

type orderAnswer struct {
	OrderID string       `json:"order_id"`
	BuyerID string       `json:"buyer_id,omitempty"`
	Lines   []lineAnswer `json:"lines"`
}

type lineAnswer struct {
	SKU       string                `json:"sku"`
	Quantity  int64                 `json:"quantity"`
	Status    stock.DeductionStatus `json:"status"`
	ExpiresAt time.Time             `json:"expires_at,omitzero"`
}

// tokenLines bounds the lines of an order from a token: a basket, not a shop's supply. It fits into maxBodyBytes.
const tokenLines = 100

// placeOrder takes stock of several SKUs, all or nothing.
func (s *server) placeOrder(c echo.Context) error {
	order, err := readAs[newOrder](c, s.decodeLarge(maxOrderBytes))
	if err != nil {
		return err
	}
	if order.BuyerID, order.Own, err = buyerFor(c, order.BuyerID); err != nil {
		return err
	}
	if callerOf(c).Buyer != "" && len(order.Lines) > tokenLines {
		return invalid("lines", fmt.Sprintf("must be 1 to %d with a token", tokenLines))
	}
	order.CallerMax, order.Caller = callerOf(c).MaxQuantity, turnOf(c)
	lines, created, err := s.Service.Order(c.Request().Context(), order)
	if err != nil {
		return err
	}
	return c.JSON(createdOrOK(created), orderOf(order.OrderID, order.BuyerID, lines))
}

func (n newOrder) read(f *form) stock.MultiOrder {
	o := stock.MultiOrder{
		OrderID: required(f, "order_id", n.OrderID), BuyerID: f.optional("buyer_id", n.BuyerID),
		ReserveFor: f.period("reserve_for", n.ReserveFor), Lines: make([]stock.Line, len(n.Lines)),
	}
	if n.Lines == nil {
		f.refuse("lines", "is required")
	}
	for i, line := range n.Lines {
		name := fmt.Sprintf("lines[%d].", i)
		o.Lines[i] = stock.Line{SKU: required(f, name+"sku", line.SKU), Quantity: required(f, name+"quantity", line.Quantity)}
	}
	return o
}

// orderPath is the path of an order of several SKUs.
func orderPath(orderID string) string { return orderRoute + "/" + url.PathEscape(orderID) }

// readOrder answers with an order as it is now.
func (s *server) readOrder(c echo.Context) error {
	buyerID, err := namedBuyer(c)
	if err != nil {
		return err
	}
	orderID := param(c, "order_id")
	there, err := s.Service.PlacedOrder(c.Request().Context(), orderID, buyerID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, orderOf(orderID, there.BuyerID, there.Lines))
}

type commitOrderRequest struct {
	IfExpired field[string] `json:"if_expired"`
}

func (r commitOrderRequest) read(f *form) settlement {
	if r.IfExpired.set && r.IfExpired.value != "retake" {
		f.refuse("if_expired", `must be "retake"`)
	}
	return settlement{retake: r.IfExpired.set}
}

type cancelOrderRequest struct{}

func (cancelOrderRequest) read(*form) settlement {
	return settlement{SettleRequest: stock.SettleRequest{Verb: stock.Cancel}}
}

type returnOrderRequest struct {
	Restock field[bool]   `json:"restock"`
	Reason  field[string] `json:"reason"`
}

func (r returnOrderRequest) read(f *form) settlement {
	return settlement{SettleRequest: stock.SettleRequest{
		Verb: stock.Return, WriteOff: r.Restock.set && !r.Restock.value, Reason: f.optional("reason", r.Reason),
	}}
}

// settleOrder settles all lines of an order, and answers with the order afterwards.
func (s *server) settleOrder(c echo.Context, asked settlement) error {
	there, err := s.Service.SettleOrder(c.Request().Context(), asked.SettleRequest, asked.retake)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, orderOf(asked.OrderID, there.BuyerID, there.Lines))
}

func orderOf(orderID, buyerID string, lines []stock.Deduction) orderAnswer {
	a := orderAnswer{OrderID: orderID, BuyerID: buyerID, Lines: make([]lineAnswer, len(lines))}
	for i, d := range lines {
		a.Lines[i] = lineAnswer{SKU: d.SKU, Quantity: d.Quantity, Status: d.Status, ExpiresAt: expiry(d)}
	}
	return a
}

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
