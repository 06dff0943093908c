package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// prunable is a store of archived SKUs, each with the same number of pages of one deduction.
type prunable struct {
	stock.Store
	skus, pages int
	prune       func(sku, orderID string) (stock.Pruned, error)
}

func (p prunable) Statuses(_ context.Context, after string, limit int) (page []stock.Status, err error) {
	for n := range p.skus {
		if sku := fmt.Sprintf("%03d", n); sku > after && len(page) < limit {
			page = append(page, stock.Status{SKU: sku, Terms: stock.Terms{ArchivedAt: time.Unix(1, 0)}})
		}
	}
	return page, nil
}

func (p prunable) DeductionPage(_ context.Context, q stock.DeductionQuery) (page stock.DeductionPage, err error) {
	page.Next = q.After + "x"
	page.Deductions = []stock.Deduction{{SKU: q.SKU, Order: stock.Order{OrderID: page.Next}}}
	if len(page.Next) == p.pages {
		page.Next = ""
	}
	return page, nil
}

func (p prunable) Prune(_ context.Context, pruning stock.Pruning) (stock.Pruned, error) {
	return p.prune(pruning.SKU, pruning.OrderIDs[0])
}

// TestPruneReportsWhatItDid: for every SKU, also for one that was pruned in part.
func TestPruneReportsWhatItDid(t *testing.T) {
	t.Parallel()
	one, broken := stock.Pruned{Deductions: 1, Units: 2}, errors.New("broken")
	all := func(string, string) (stock.Pruned, error) { return one, nil }
	for name, c := range map[string]struct {
		store prunable
		told  string // first and last
		err   error
	}{
		"many SKUs": {prunable{skus: 2*listPage + 1, pages: 3, prune: all}, "000: 3 6, 200: 3 6", nil},
		"it breaks in the second SKU": {prunable{skus: 3, pages: 3, prune: func(sku, id string) (stock.Pruned, error) {
			if sku == "001" && id == "xx" {
				return stock.Pruned{}, broken
			}
			return one, nil
		}}, "000: 3 6, 001: 1 2", broken},
		"the first SKU is in use": {prunable{skus: 3, pages: 3, prune: func(sku, id string) (stock.Pruned, error) {
			return map[bool]stock.Pruned{true: {Busy: true}, false: one}[sku == "000" && id == "xxx"], nil
		}}, "000: 2 4, 002: 3 6", ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				var told []string
				err := pruneAll(t.Context(), c.store, time.Unix(2, 0), false, func(sku string, p stock.Pruned) error {
					told = append(told, fmt.Sprintf("%s: %d %d", sku, p.Deductions, p.Units))
					return nil
				})
				if got := strings.Join([]string{told[0], told[len(told)-1]}, ", "); got != c.told || !errors.Is(err, c.err) {
					t.Errorf("told %s, %v; want %s, %v", got, err, c.told, c.err)
				}
			})
		})
	}
}

// TestPruneWaitsASecondForASKU: Prune retries a SKU that another transaction holds, for a bounded time, and ends with its
// context.
func TestPruneWaitsASecondForASKU(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ patience, took time.Duration }{
		{time.Hour, (pruneTries - 1) * prunePause},
		{3 * prunePause / 2, 3 * prunePause / 2},
	} {
		busytest.Virtual(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			defer cancel()
			start := time.Now()
			busy := prunable{skus: 1, pages: 1, prune: func(string, string) (stock.Pruned, error) { return stock.Pruned{Busy: true}, nil }}
			err := pruneAll(ctx, busy, start, false, func(string, stock.Pruned) error { return errors.New("told of nothing") })
			if want := map[bool]error{true: ErrBusy, false: context.DeadlineExceeded}[ctx.Err() == nil]; !errors.Is(err, want) || time.Since(start) != c.took {
				t.Errorf("%v after %v; want %v after %v", err, time.Since(start), want, c.took)
			}
		})
	}
}
