package api

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// Many deductions in one request: to the caller, each is as if it had been sent alone.

type newDeductions struct {
	Deductions list[newSKUDeduction] `json:"deductions"`
}

type newSKUDeduction struct {
	SKU field[string] `json:"sku"`
	newDeduction
}

type resultsAnswer struct {
	Results []resultAnswer `json:"results"`
}

// resultAnswer is the answer to one of many deductions: one of the two is there.
type resultAnswer struct {
	Status    int              `json:"status"`
	Deduction *deductionAnswer `json:"deduction,omitempty"`
	Problem   *problem         `json:"problem,omitempty"`
}

// deductAll takes stock for many orders.
func (s *server) deductAll(c echo.Context) error {
	deadline, err := s.deadlineOf(c.Request()) // before the body, whose reading may take time
	if err != nil {
		return err
	}
	ctx := waitUntil(c.Request().Context(), deadline)
	orders, err := s.readOrders(ctx, c)
	if err != nil {
		return err
	}
	results, err := s.deductAllowed(c, ctx, orders)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, resultsAnswer{s.answerResults(c, results)})
}

// readOrders reads the body of a request.
func (s *server) readOrders(ctx waiting, c echo.Context) ([]selling.SKUOrder, error) {
	mostBytes, mostOrders := maxManyBytes, stock.MaxOrders
	if callerOf(c).Buyer != "" {
		mostBytes, mostOrders = maxBodyBytes, tokenLines
	}
	text, err := readJSON(c, mostBytes)
	if err != nil {
		return nil, err
	}
	var body newDeductions
	if err := s.decodeInTurn(ctx, c, text, &body); err != nil {
		return nil, err
	}
	orders, err := body.orders()
	if err != nil {
		return nil, err
	}
	if len(orders) == 0 || len(orders) > mostOrders {
		return nil, invalid("deductions", fmt.Sprintf("must be 1 to %d", mostOrders))
	}
	for i, o := range orders {
		if err := o.Check(); err != nil {
			return nil, inElement(i, err)
		}
	}
	return orders, nil
}

func (n newDeductions) orders() ([]selling.SKUOrder, error) {
	if n.Deductions == nil {
		return nil, invalid("deductions", "is required")
	}
	orders := make([]selling.SKUOrder, len(n.Deductions))
	for i, d := range n.Deductions {
		var err error
		if orders[i].SKU, err = d.SKU.require("sku"); err != nil {
			return nil, inElement(i, err)
		}
		if orders[i].Order, err = d.order(); err != nil {
			return nil, inElement(i, err)
		}
	}
	return orders, nil
}

// inElement adds to an error which of many deductions it is about.
func inElement(i int, err error) error {
	e, name := asStockError(err), fmt.Sprintf("deductions[%d].", i)
	return &stock.Error{Code: e.Code, Field: name + e.Field, Message: name + e.Message}
}

// deductAllowed deducts for the orders that their caller may send now, and refuses the others. Each order counts as a
// request; the first one has been counted already.
func (s *server) deductAllowed(c echo.Context, ctx waiting, orders []selling.SKUOrder) ([]selling.Result, error) {
	more, tooMany := s.limitMore(c, len(orders)-1)
	results := make([]selling.Result, len(orders))
	var allowed []selling.SKUOrder
	var at []int // where in results the answer to each of them belongs
	for i, o := range orders {
		if i > more {
			results[i].Err = tooMany
			continue
		}
		if o.BuyerID, o.Own, results[i].Err = buyerFor(c, o.BuyerID); results[i].Err != nil {
			continue
		}
		o.CallerMax = callerOf(c).MaxQuantity
		allowed, at = append(allowed, o), append(at, i)
	}
	decided, err := s.service.DeductAll(ctx, turnOf(c), allowed)
	for i, r := range decided {
		results[at[i]] = r
	}
	return results, err
}

// answerResults turns results into answers, and counts and logs them.
func (s *server) answerResults(c echo.Context, results []selling.Result) []resultAnswer {
	answers, counts := make([]resultAnswer, len(results)), make(map[outcome]int)
	var failures []error
	for i, r := range results {
		answers[i] = resultOf(r)
		o := outcome{post: true, route: c.Path(), status: answers[i].Status}
		if answers[i].Problem != nil {
			o.code = answers[i].Problem.Code
		}
		switch {
		case isHungUp(hungUpOr(c.Request().Context(), r.Err)):
			o.status, o.code = statusHungUp, codeHungUp
		case o.code == stock.CodeUnavailable:
			failures = append(failures, r.Err)
		}
		counts[o]++
		if o.status == http.StatusServiceUnavailable && c.Response().Header().Get(echo.HeaderRetryAfter) == "" {
			setRetryAfter(c)
		}
	}
	c.Set(ordersKey, counts)
	if failures != nil {
		s.log.Warn("orders failed", "orders", len(failures), "route", c.Path(), "request_id", requestID(c), "error", failures[0])
	}
	return answers
}

func resultOf(r selling.Result) resultAnswer {
	if r.Err == nil {
		return resultAnswer{Status: createdOrOK(r.Created), Deduction: new(deductionAnswer(r.Deduction))}
	}
	p := problemOf(r.Err)
	return resultAnswer{Status: p.Status, Problem: &p}
}
