package history

import (
	"context"
	"strings"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// TestAnAuditOutlivesItsRun for a while.
func TestAnAuditOutlivesItsRun(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		run, interrupt := context.WithCancel(t.Context())
		audit, cancel := Patience(run)
		defer cancel()
		time.Sleep(limit / 2) // of a clock that waits for nothing
		interrupt()
		time.Sleep(lateLimit - time.Second)
		if audit.Err() != nil {
			t.Error("it ended with its run")
		}
		time.Sleep(2 * time.Second)
		if audit.Err() == nil {
			t.Error("it goes on and on")
		}
		unhurried, cancel := Patience(t.Context())
		defer cancel()
		time.Sleep(limit - time.Second)
		if unhurried.Err() != nil {
			t.Error("it ended before its time")
		}
	})
}

func TestRowsAreHeldAgainstBuyers(t *testing.T) {
	t.Parallel()
	expected := Expected{}
	expected.Add("full", 1010, 0)
	expected.Add("hot", 60, 2)
	expected.Add("hot", 40, 0)
	expected.Add("never begun", 0, 3) // it need not have rows
	rows := func(hot, full int64) stock.Audit {
		return stock.Audit{SKUs: []stock.Balance{
			{SKU: "hot", Initial: 500, Available: 500 - hot, Committed: hot},
			{SKU: "full", Initial: 5000, Available: 5000 - full, Committed: full},
		}}
	}
	lost, stranger := rows(100, 1010), rows(100, 1010)
	lost.SKUs[0].Available--
	reserved := rows(100, 1010)
	reserved.SKUs[0].Reserved, reserved.SKUs[0].Committed = 70, 30
	stranger.SKUs = append(stranger.SKUs, stock.Balance{SKU: "who", Initial: 1, Committed: 1})
	for name, c := range map[string]struct {
		audit stock.Audit
		says  string
	}{
		"all agree":                 {rows(100, 1010), ""},
		"an answer was not heard":   {rows(102, 1010), ""},
		"some are reservations":     {reserved, ""},
		"a row too many":            {rows(103, 1010), "SKU hot: 103 orders have rows, and buyers know of 100; 2 more"},
		"a row too few":             {rows(99, 1010), "SKU hot: 99 orders"},
		"an order has gone":         {rows(100, 1009), "SKU full: 1009 orders"},
		"a unit is missing":         {lost, "SKU hot: 1 units are missing"},
		"nobody knows of the buyer": {stranger, "SKU who: 1 orders have rows, and buyers know of 0"},
		"no rows":                   {stock.Audit{SKUs: rows(100, 1010).SKUs[:1]}, "SKU full: there are no rows"},
	} {
		wrong := expected.Against(c.audit)
		if c.says == "" && len(wrong) > 0 || c.says != "" && (len(wrong) != 1 || !strings.HasPrefix(wrong[0], c.says)) {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}
