package app_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"inventory/internal/app"
	"inventory/internal/stock"
)

// shop has SKUs for orders of all sizes: many for the large orders, and some for the small ones.
type shop struct {
	wide []string // SKUs of the large orders, all but the last
}

const (
	shopSegments = 10
	shopStock    = 1_000_000
)

func openShop(t *testing.T, a *app.App) *shop {
	t.Helper()
	s := &shop{}
	news := []stock.NewSKU{
		{SKU: "zz-sold-out"},
		{SKU: "zz-few", Stock: 2},
		{SKU: "zz-plenty", Stock: shopStock},
		{SKU: "zz-limited", Stock: shopStock, Terms: stock.Terms{PerBuyerLimit: 2}},
	}
	for i := range stock.MaxLines - 1 {
		s.wide = append(s.wide, fmt.Sprintf("wide-%03d", i))
		news = append(news, stock.NewSKU{SKU: s.wide[i], Stock: shopStock})
	}
	for i := range 50 {
		news = append(news, stock.NewSKU{SKU: "small-" + strconv.Itoa(i), Stock: shopStock})
	}
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for i := part; i < len(news); i += 4 {
				news[i].Segments = shopSegments
				if _, _, err := a.Service().CreateSKU(t.Context(), news[i]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	_, _, err := a.Service().Deduct(t.Context(), "zz-limited", stock.Order{OrderID: "before", BuyerID: "greedy", Quantity: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// small orders two SKUs of fifty.
func (*shop) small(ctx context.Context, c *caller, who, n int) int {
	return c.post(ctx, "/v1/orders", fmt.Appendf(nil,
		`{"order_id":"small-%d","lines":[{"sku":"small-%d","quantity":1},{"sku":"small-%d","quantity":1}]}`, n, n%50, (n+7)%50))
}

// large orders the most SKUs that an order may have, of which the last one is given.
func (s *shop) large(last string, quantity int) func(ctx context.Context, c *caller, who, n int) int {
	lines := s.lines(1) + fmt.Sprintf(`{"sku":%q,"quantity":%d}`, last, quantity)
	return func(ctx context.Context, c *caller, who, n int) int {
		return c.post(ctx, "/v1/orders", fmt.Appendf(nil, `{"order_id":"%s-%d","buyer_id":"greedy","lines":[%s]}`, last, n, lines))
	}
}

// lines returns order lines with the given quantity of each wide SKU.
func (s *shop) lines(quantity int) string {
	var lines strings.Builder
	for _, sku := range s.wide {
		fmt.Fprintf(&lines, `{"sku":%q,"quantity":%d},`, sku, quantity)
	}
	return lines.String()
}

// merging orders more of each SKU than one segment has.
func (s *shop) merging() func(ctx context.Context, c *caller, who, n int) int {
	lines := strings.TrimSuffix(s.lines(shopStock/shopSegments+1), ",")
	return func(ctx context.Context, c *caller, who, n int) int {
		return c.post(ctx, "/v1/orders", fmt.Appendf(nil, `{"order_id":"merging-%d","lines":[%s]}`, n, lines))
	}
}

// again repeats one order.
func (s *shop) again() func(ctx context.Context, c *caller, who, n int) int {
	lines := strings.TrimSuffix(s.lines(1), ",")
	return func(ctx context.Context, c *caller, who, n int) int {
		return c.post(ctx, "/v1/orders", fmt.Appendf(nil, `{"order_id":"again-%d","lines":[%s]}`, who, lines))
	}
}

// nonsense sends a body of the largest size whose end is not JSON.
func (s *shop) nonsense() func(ctx context.Context, c *caller, who, n int) int {
	body := []byte(`{"order_id":"nonsense","lines":[` + strings.Repeat(s.lines(1), 3))
	return func(ctx context.Context, c *caller, who, n int) int { return c.post(ctx, "/v1/orders", body) }
}

// manyDeductions sends many deductions at once, as much as fits in a body, of which the last is none.
func (s *shop) manyDeductions() func(ctx context.Context, c *caller, who, n int) int {
	body := []byte(`{"deductions":[` + strings.Repeat(`{},`, 170_000) + `0]}`)
	return func(ctx context.Context, c *caller, who, n int) int { return c.post(ctx, "/v1/deductions", body) }
}

// manyLines sends as many lines as fit in a body.
func (s *shop) manyLines() func(ctx context.Context, c *caller, who, n int) int {
	body := []byte(`{"order_id":"nonsense","lines":[` + strings.Repeat(`{},`, 43_000) + `{}]}`)
	return func(ctx context.Context, c *caller, who, n int) int { return c.post(ctx, "/v1/orders", body) }
}
