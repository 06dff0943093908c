package api

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
	"inventory/internal/turns"
)

type orderAnswer struct {
	OrderID string            `json:"order_id"`
	BuyerID string            `json:"buyer_id,omitempty"`
	Lines   []deductionAnswer `json:"lines"`
}

// tokenLines bounds the lines of an order from a token: a basket, not a shop's supply. It fits into maxBodyBytes.
const tokenLines = 100

// placeOrder takes stock of several SKUs, all or nothing.
func (s *server) placeOrder(c echo.Context) (created bool, answer any, err error) {
	order, err := readAs(s, c, maxOrderBytes, newOrder)
	if err != nil {
		return false, nil, err
	}
	if order.BuyerID, order.Own, err = s.buyerFor(c, order.BuyerID); err != nil {
		return false, nil, err
	}
	if callerOf(c).Buyer != "" && len(order.Lines) > tokenLines {
		return false, nil, invalid("lines", fmt.Sprintf("must be 1 to %d with a token", tokenLines))
	}
	order.CallerMax, order.Caller = callerOf(c).MaxQuantity, turnOf(c)
	lines, created, err := s.Service.Order(c.Request().Context(), order)
	if len(lines) > 0 { // it may have changed hands
		order.BuyerID = lines[0].BuyerID
	}
	return created, orderOf(order.OrderID, order.BuyerID, lines), err
}

func newOrder(f *form) stock.MultiOrder {
	return stock.MultiOrder{
		OrderID: required(f, (*form).text, "order_id"), BuyerID: f.optional("buyer_id"), ReserveFor: f.period("reserve_for"),
		Lines: linesOf(f),
	}
}

// orderPath is the path of an order of several SKUs.
func orderPath(orderID string) string { return orderRoute + "/" + url.PathEscape(orderID) }

// readOrder answers with an order as it is now.
func (s *server) readOrder(c echo.Context) (any, error) {
	buyerID, err := s.namedBuyer(c)
	if err != nil {
		return nil, err
	}
	orderID := param(c, "order_id")
	there, err := s.Service.PlacedOrder(c.Request().Context(), orderID, buyerID)
	return orderOf(orderID, there.BuyerID, there.Lines), err
}

// retake reads whether the units of a reservation that has ended are to be taken again.
func (f *form) retake(name string) bool {
	then, there := f.text(name)
	if there && then != "retake" {
		f.refuse(name, `must be "retake"`)
	}
	return there
}

// commitLinesRequest commits an order, or the lines that it names.
func commitLinesRequest(f *form) settlement {
	asked := commitOrderRequest(f)
	if f.has("lines") {
		asked.lines = append([]stock.Line{}, linesOf(f)...) // none are not all
	}
	return asked
}

// readLines is readIfAny for a body that may have as many lines as an order.
func readLines(s *server, c echo.Context, _ int, read func(*form) settlement) (settlement, error) {
	return readIfAny(s, c, maxOrderBytes, read)
}

// linesOf reads the lines of an order.
func linesOf(f *form) (lines []stock.Line) {
	f.forms("lines", func(line *form) {
		lines = append(lines, stock.Line{SKU: required(line, (*form).text, "sku"), Quantity: required(line, (*form).number, "quantity")})
	})
	return lines
}

// changeOrder gives an order other lines, and answers with the order afterwards.
func (s *server) changeOrder(c echo.Context) (created bool, answer any, err error) {
	change, err := readAs(s, c, maxOrderBytes, newChange)
	if err != nil {
		return false, nil, err
	}
	if change.BuyerID, err = s.namedBuyer(c); err != nil {
		return false, nil, err
	}
	caller := callerOf(c)
	switch change.OrderID, change.CallerMax = param(c, "order_id"), caller.MaxQuantity; {
	case caller.Buyer != "" && change.NewBuyer != "":
		return false, nil, forbidden("buyer_id takes a key")
	case caller.Buyer != "" && len(change.Lines) > tokenLines:
		return false, nil, invalid("lines", fmt.Sprintf("must be 1 to %d with a token", tokenLines))
	}
	if change.NewBuyer, err = s.Service.KeptName(change.NewBuyer); err != nil {
		return false, nil, err
	}
	change.OnlyReserved = caller.Buyer != ""
	there, _, err := s.Service.ChangeOrder(c.Request().Context(), change)
	return false, orderOf(change.OrderID, there.BuyerID, there.Lines), err
}

func newChange(f *form) stock.OrderChange {
	return stock.OrderChange{
		Ref: required(f, (*form).text, "ref"), Lines: linesOf(f), NewBuyer: f.optional("buyer_id"),
		WriteOff: f.isFalse("restock"), Reason: f.optional("reason"),
	}
}

func commitOrderRequest(f *form) settlement {
	ended, expired := f.retake("if_ended"), f.retake("if_expired")
	return settlement{SettleRequest: stock.SettleRequest{OnlyExpired: !ended}, retake: ended || expired}
}

func cancelOrderRequest(*form) settlement {
	return settlement{SettleRequest: stock.SettleRequest{Verb: stock.Cancel}}
}

func returnOrderRequest(f *form) settlement {
	return settlement{SettleRequest: stock.SettleRequest{Verb: stock.Return, WriteOff: f.isFalse("restock"), Reason: f.optional("reason")}}
}

// settleOrder settles all lines of an order, and answers with the order afterwards.
func (s *server) settleOrder(c echo.Context, asked settlement) (any, error) {
	var there stock.PlacedOrder
	var err error
	if asked.lines == nil {
		there, err = s.Service.SettleOrder(c.Request().Context(), asked.SettleRequest, asked.retake)
	} else {
		there, err = s.Service.CommitLines(c.Request().Context(), asked.SettleRequest, asked.lines, asked.retake)
	}
	return orderOf(asked.OrderID, there.BuyerID, there.Lines), err
}

func orderOf(orderID, buyerID string, lines []stock.Deduction) orderAnswer {
	a := orderAnswer{OrderID: orderID, BuyerID: buyerID, Lines: make([]deductionAnswer, len(lines))}
	for i, d := range lines {
		line := answerOf(d)
		a.Lines[i] = deductionAnswer{
			SKU: line.SKU, Quantity: line.Quantity, Status: line.Status, ExpiresAt: line.ExpiresAt,
			CreatedAt: line.CreatedAt, CommittedAt: line.CommittedAt,
		}
	}
	return a
}

// Large bodies are read one at a time, in a tenth of the time at most. This allows many more in a second than the
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
