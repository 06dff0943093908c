package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// Many deductions in one request: to the caller, each is as if it had been sent alone.

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
func (s *server) deductAll(c echo.Context, deadline time.Time) (created bool, answer any, err error) {
	orders, err := readAs(s, c, maxManyBytes, newDeductions)
	if err != nil {
		return false, nil, err
	}
	if callerOf(c).Buyer != "" && len(orders) > tokenLines {
		return false, nil, invalid("deductions", fmt.Sprintf("must be 1 to %d with a token", tokenLines))
	}
	results, err := s.deductAllowed(c, deadline, orders)
	if err != nil {
		return false, nil, err
	}
	return false, resultsAnswer{s.answerResults(c, results)}, nil
}

// oneOfMany is one of many orders, or why it cannot be read.
type oneOfMany struct {
	selling.SKUOrder
	err error
}

func newDeductions(f *form) (orders []oneOfMany) {
	for _, item := range f.list("deductions") {
		order, err := readForm(item, func(f *form) selling.SKUOrder {
			return selling.SKUOrder{SKU: required(f, (*form).text, "sku"), Order: newDeduction(f)}
		})
		if err == nil {
			err = order.Check()
		}
		orders = append(orders, oneOfMany{order, err})
	}
	return orders
}

// deductAllowed deducts for the orders that their caller may send now, and refuses the others. Each order counts as a
// request; the first one has been counted already.
func (s *server) deductAllowed(c echo.Context, deadline time.Time, orders []oneOfMany) ([]selling.Result, error) {
	more, tooMany := s.limitMore(c, len(orders)-1)
	results := make([]selling.Result, len(orders))
	var allowed []selling.SKUOrder
	var at []int // where in results the answer to each of them belongs
	for i, asked := range orders {
		if i > more {
			results[i].Err = tooMany
			continue
		}
		o, err := asked.SKUOrder, asked.err
		if err == nil {
			o.BuyerID, o.Own, err = s.buyerFor(c, o.BuyerID)
		}
		if results[i].Err = err; err != nil {
			continue
		}
		o.CallerMax = callerOf(c).MaxQuantity
		allowed, at = append(allowed, o), append(at, i)
	}
	decided, err := s.Service.DeductAllBy(c.Request().Context(), deadline, turnOf(c), allowed)
	for i, r := range decided {
		results[at[i]] = r
	}
	ctx, end := context.WithDeadline(c.Request().Context(), deadline)
	defer end()
	s.nameOrders(ctx, callerOf(c).Buyer, results)
	return results, err
}

// nameOrders names the orders that use a buyer limit up, once for each buyer of a SKU and one after the other: a request with many
// refusals takes one connection, and not all of them.
func (s *server) nameOrders(ctx context.Context, namespace string, results []selling.Result) {
	type holder struct{ sku, group, buyer string }
	named := make(map[holder]error)
	for i, r := range results {
		refusal, ok := errors.AsType[*stock.Error](r.Err)
		if !ok || refusal.LimitOf == "" {
			continue
		}
		of := holder{refusal.SKU, refusal.LimitGroup, refusal.LimitOf}
		if named[of] == nil {
			named[of] = s.Service.NameOrders(ctx, refusal, namespace)
		}
		results[i].Err = named[of]
	}
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
		case errors.Is(hungUpOr(c.Request().Context(), r.Err), errHungUp):
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
		s.Logger.Warn("orders failed", "orders", len(failures), "route", c.Path(), "request_id", requestID(c), "error", failures[0])
	}
	return answers
}

func resultOf(r selling.Result) resultAnswer {
	if r.Err == nil {
		return resultAnswer{Status: createdOrOK(r.Created), Deduction: new(answerOf(r.Deduction))}
	}
	p := problemOf(r.Err)
	return resultAnswer{Status: p.Status, Problem: &p}
}
