package sqlite_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/sqlite"
)

// model is what the rows of one SKU should be.
type model struct {
	store  *sqlite.Store
	sku    string
	limit  int64
	stock  int64 // initial and movements
	layout int64
	rows   map[string]stock.Deduction // as they are written, by order id
	refs   int

	versions []int64 // as they were last read, and with them:
	levels   []int64
	count    int
}

// held returns the units in the rows that count, by state.
func (m *model) held(counts func(stock.Deduction) bool) (units int64) {
	for _, d := range m.rows {
		if d.Status.Live() && counts(d) {
			units += d.Quantity
		}
	}
	return units
}

func everything(stock.Deduction) bool { return true }

// available returns what could be bought at an instant if all expired reservations had been ended.
func (m *model) available(at time.Time) int64 {
	return m.stock - m.held(func(d stock.Deduction) bool { return !due(d, at) })
}

// due reports whether it is a reservation past its end.
func due(d stock.Deduction, at time.Time) bool {
	return d.Status == stock.StatusReserved && !at.Before(d.ExpiresAt)
}

// sweep ends expired reservations, and counts them.
func (m *model) sweep(at time.Time) (reservations int) {
	for id, d := range m.rows {
		if due(d, at) {
			d.Status = stock.StatusExpired
			m.rows[id] = d
			reservations++
		}
	}
	return reservations
}

func (m *model) until() (until time.Time) {
	for _, d := range m.rows {
		if d.Status == stock.StatusReserved && (until.IsZero() || d.ExpiresAt.Before(until)) {
			until = d.ExpiresAt
		}
	}
	return until
}

// takeOrder decides an order by the rows and the units left, and takes it.
func (m *model) takeOrder(o stock.Order, left int64, at time.Time) stock.Outcome {
	if d, ok := m.rows[o.OrderID]; ok {
		return stock.Outcome{Kind: stock.Known, Deduction: d}
	}
	if m.limit > 0 && o.Quantity+m.held(func(d stock.Deduction) bool { return d.BuyerID == o.BuyerID }) > m.limit {
		return stock.Outcome{Kind: stock.Limited}
	}
	if o.Quantity > left {
		return stock.Outcome{Kind: stock.Short, Available: left}
	}
	outcome := stock.AcceptedOutcome(m.sku, o, at)
	m.rows[o.OrderID] = outcome.Deduction
	return outcome
}

// takeAll decides orders one by one, and returns the units left.
func (m *model) takeAll(orders []stock.Order, left int64, at time.Time) (outcomes []stock.Outcome, rest int64) {
	for _, o := range orders {
		outcome := m.takeOrder(o, left, at)
		if outcome.Kind == stock.Accepted {
			left -= o.Quantity
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, left
}

// settle decides a request by the rows, and carries it out.
func (m *model) settle(w stock.SettleRequest, at time.Time) (after stock.Deduction, code stock.Code) {
	d, ok := m.rows[w.OrderID]
	if !ok || (w.BuyerID != "" && w.BuyerID != d.BuyerID) {
		return stock.Deduction{}, stock.CodeUnknownDeduction
	}
	now := d
	if due(d, at) { // it ends, whatever the request
		now.Status = stock.StatusExpired
		m.rows[w.OrderID] = now
	}
	switch committed := now.Status == stock.StatusCommitted; {
	case w.Verb == stock.Cancel && (committed || now.Status == stock.StatusReturned):
		return stock.Deduction{}, stock.CodeAlreadyCommitted
	case w.Verb == stock.Cancel && now.Status != stock.StatusReserved, w.Verb == stock.Return && now.Status == stock.StatusReturned:
		return now, ""
	case w.Verb == stock.Cancel:
		now.Status = stock.StatusCancelled
	case w.Verb == stock.Return && !committed:
		return stock.Deduction{}, stock.CodeNotCommitted
	case w.Verb == stock.Return:
		now.Status, now.Committed = stock.StatusReturned, now.Quantity
	case w.Verb == stock.Commit && w.InOrder && now.Status == stock.StatusReturned:
		return now, ""
	case committed && (w.Quantity == 0 || w.Quantity == now.Quantity):
		return now, ""
	case committed, now.Status == stock.StatusReturned:
		return stock.Deduction{}, stock.CodeAlreadyCommitted
	case now.Status != stock.StatusReserved:
		return stock.Deduction{}, stock.CodeNotReserved
	case w.Quantity > now.Quantity:
		return stock.Deduction{}, stock.CodeInvalidRequest
	default:
		now.Status, now.CommittedAt = stock.StatusCommitted, at
		if w.Quantity > 0 {
			now.Quantity = w.Quantity
		}
	}
	m.rows[w.OrderID] = now
	return now, ""
}

// agrees compares all that can be read with the model.
func (m *model) agrees(t *testing.T, at time.Time) {
	t.Helper()
	audit, err := m.store.Audit(t.Context(), m.sku, nil)
	if err != nil || !audit.OK() {
		t.Fatalf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
	status, err := m.store.Status(t.Context(), m.sku, at)
	if err != nil {
		t.Fatal(err)
	}
	available := m.stock - m.held(everything)
	reserved := m.held(func(d stock.Deduction) bool { return d.Status == stock.StatusReserved })
	want := stock.Status{
		SKU: m.sku, Stock: m.stock, Terms: stock.Terms{PerBuyerLimit: m.limit}, Layout: m.layout, Segments: status.Segments,
		Available: available, Reserved: reserved, Committed: m.stock - available - reserved,
		Stale: slices.ContainsFunc(slices.Collect(maps.Values(m.rows)), func(d stock.Deduction) bool { return due(d, at) }),
	}
	equal(t, "status", status, want)
	equal(t, "sum of the segments", sum(status.Segments), available)
	rows, err := m.store.Deductions(t.Context(), m.sku, slices.Collect(maps.Keys(m.rows)))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "deductions", rows, m.rows)
	m.versionsTell(t)
}

// versionsTell checks that nothing has changed if all versions are unchanged.
func (m *model) versionsTell(t *testing.T) {
	t.Helper()
	found, err := m.store.SoldOut(t.Context(), []string{m.sku}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	empty := found[m.sku]
	equal(t, "next expiry", empty.NextExpiry, m.until())
	levels := m.look(t).Segments
	equal(t, "sold out", empty.SoldOut(), sum(levels) == 0)
	equal(t, "what the segments hold", sum(levels), m.stock-m.held(everything))
	if slices.Equal(empty.Versions, m.versions) {
		equal(t, "levels under the same versions", levels, m.levels)
		equal(t, "deductions under the same versions", len(m.rows), m.count)
	}
	m.versions, m.levels, m.count = empty.Versions, levels, len(m.rows)
}

func (m *model) look(t *testing.T) stock.View {
	t.Helper()
	views, err := m.store.Views(t.Context(), m.sku)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "layout", views[m.sku].Layout, m.layout)
	return views[m.sku]
}

func sum(levels []int64) (total int64) {
	for _, level := range levels {
		total += level
	}
	return total
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Fatalf("%s: got %s, want %s", what, g, w)
	}
}
