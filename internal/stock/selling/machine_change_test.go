package selling_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"inventory/internal/stock"
)

// finds reports whether a buyer, or anybody without one, finds an order.
func (m *model) finds(id, buyer string) bool {
	_, known := m.orders[id]
	return known && (buyer == "" || buyer == m.owners[id])
}

// linesNow returns the SKUs of an order's lines, ascending.
func (m *model) linesNow(id string) (skus []string) {
	for sku, is := range m.lines[id] {
		if is {
			skus = append(skus, sku)
		}
	}
	slices.Sort(skus)
	return skus
}

// inOrderOf returns the SKUs of the lines that are left of an order, in its order, and those that were added since.
func (m *model) inOrderOf(o stock.MultiOrder) []string {
	skus := m.linesNow(o.OrderID)
	at := func(sku string) int {
		i := slices.IndexFunc(o.Lines, func(l stock.Line) bool { return l.SKU == sku })
		return cmp.Or(i+1, len(o.Lines)+1)
	}
	slices.SortStableFunc(skus, func(a, b string) int { return at(a) - at(b) })
	return skus
}

// deductionsOf returns those of the lines of an order, and whether one holds units.
func (m *model) deductionsOf(id string) (lines []*stock.Deduction, live bool) {
	for _, sku := range m.linesNow(id) {
		d := m.skus[sku].deductions[id]
		lines, live = append(lines, d), live || d.Status.Live()
	}
	return lines, live
}

// commitLines commits some lines of an order, and releases the others.
func (m *model) commitLines(w stock.SettleRequest, only []stock.Line, now time.Time, late bool) (lines []*stock.Deduction, codes []stock.Code) {
	if !m.finds(w.OrderID, w.BuyerID) {
		return nil, []stock.Code{stock.CodeUnknownOrder}
	}
	skus := m.linesNow(w.OrderID)
	for _, line := range only {
		if _, known := m.lines[w.OrderID][line.SKU]; !known {
			return nil, []stock.Code{stock.CodeInvalidRequest}
		}
		if !slices.Contains(skus, line.SKU) {
			skus = append(skus, line.SKU)
		}
	}
	slices.Sort(skus)
	requests, changed, live := make([]stock.SettleRequest, len(skus)), make([]stock.Deduction, len(skus)), false
	for i, sku := range skus {
		s, code := m.skus[sku], stock.Code("")
		requests[i] = w
		if at := slices.IndexFunc(only, func(l stock.Line) bool { return l.SKU == sku }); at >= 0 {
			requests[i].Quantity = only[at].Quantity
		} else {
			requests[i].Verb = stock.Cancel
		}
		changed[i], code = s.settled(*s.deductions[w.OrderID], requests[i], now, late && m.lines[w.OrderID][sku], true)
		if code != "" {
			codes = append(codes, code)
		}
		live = live || changed[i].Status.Live()
	}
	if codes == nil && !live { // all were committed, and returned since
		codes = append(codes, stock.CodeAlreadyCommitted)
	}
	if codes != nil {
		return nil, codes
	}
	if slices.ContainsFunc(requests, func(r stock.SettleRequest) bool { return r.Verb == stock.Cancel }) {
		m.revised(w.OrderID)
	}
	for i, sku := range skus {
		m.skus[sku].change(m.skus[sku].deductions[w.OrderID], changed[i], requests[i])
		if requests[i].Verb == stock.Cancel {
			m.lines[w.OrderID][sku] = false
		} else {
			lines = append(lines, m.skus[sku].deductions[w.OrderID])
		}
	}
	return lines, []stock.Code{""}
}

// revised notes that an order has other lines.
func (m *model) revised(id string) {
	if m.revisions == nil {
		m.revisions = make(map[string]int)
	}
	m.revisions[id]++
}

// changeOrder gives an order other lines, or none.
func (m *model) changeOrder(c stock.OrderChange, now time.Time) (lines []*stock.Deduction, codes []stock.Code) {
	if !m.finds(c.OrderID, c.BuyerID) {
		return nil, []stock.Code{stock.CodeUnknownOrder}
	}
	skus := m.linesNow(c.OrderID)
	for _, line := range c.Lines {
		if m.skus[line.SKU] == nil {
			return nil, []stock.Code{stock.CodeUnknownSKU}
		}
		if !slices.Contains(skus, line.SKU) {
			skus = append(skus, line.SKU)
		}
	}
	slices.Sort(skus) // the line that exceeds a group's limit is the last one by SKU
	ref := [2]string{c.OrderID, c.Ref}
	if before, known := m.changes[ref]; known {
		lines, live := m.deductionsOf(c.OrderID)
		switch {
		case c.Sorted().Replay(before.Sorted()) != nil:
			return nil, []stock.Code{stock.CodeRefReused}
		case !live:
			return nil, []stock.Code{stock.CodeOrderEnded}
		}
		return lines, []stock.Code{""}
	}
	status, until := stock.DeductionStatus(""), time.Time{}
	for _, sku := range skus {
		d := m.skus[sku].deductions[c.OrderID]
		_, member := m.lines[c.OrderID][sku]
		_, used := m.skus[sku].amendments[ref]
		switch {
		case d != nil && !member:
			codes = append(codes, stock.CodeOrderIDReused)
		case member && used:
			codes = append(codes, stock.CodeRefReused)
		case m.lines[c.OrderID][sku] && d.Status.Live():
			if status = d.Status; status == stock.StatusReserved {
				until = d.ExpiresAt
			}
		}
	}
	if codes == nil && status == "" {
		codes = append(codes, stock.CodeOrderEnded)
	}
	if codes != nil {
		return nil, codes
	}
	m.taking = make(map[string]int64) // what goes back first
	defer func() { m.taking = nil }()
	for _, sku := range skus {
		if c.NewBuyer == "" || c.NewBuyer == m.owners[c.OrderID] {
			m.skus[sku].noteTaken(min(0, m.skus[sku].more(c)))
		}
	}
	for _, sku := range skus {
		codes = append(codes, m.skus[sku].refusesChange(c, m.owners[c.OrderID], until, now)...)
	}
	if len(codes) > 0 {
		return nil, codes
	}
	m.changes[ref] = c
	m.revised(c.OrderID)
	for _, sku := range skus {
		m.changeLine(c, sku, status, until, now)
	}
	m.owners[c.OrderID] = cmp.Or(c.NewBuyer, m.owners[c.OrderID])
	lines, _ = m.deductionsOf(c.OrderID)
	return lines, []stock.Code{""}
}

// more returns how many units a change takes of the SKU, below zero: gives back.
func (s *modelSKU) more(c stock.OrderChange) int64 {
	if d := s.deductions[c.OrderID]; d != nil && d.Status.Live() {
		return c.Units(s.created.SKU) - d.Quantity
	}
	return c.Units(s.created.SKU)
}

// refusesChange returns all codes with which a line may refuse a change. Otherwise it notes what the line takes, for the lines after it.
func (s *modelSKU) refusesChange(c stock.OrderChange, owner string, until, now time.Time) (codes []stock.Code) {
	want, more, buyer := c.Units(s.created.SKU), s.more(c), cmp.Or(c.NewBuyer, owner)
	counted := max(more, 0)
	if buyer != owner {
		counted = want
	}
	if limit := s.created.PerBuyerLimit; limit > 0 && counted > 0 && s.held(buyer)+counted > limit {
		codes = append(codes, stock.CodeBuyerLimit)
	}
	if more > 0 {
		codes = append(codes, s.refusals(stock.Order{BuyerID: buyer, Quantity: more, ReserveFor: max(0, until.Sub(now))}, now)...)
		if s.created.MaxQuantity > 0 && want > s.created.MaxQuantity {
			codes = append(codes, stock.CodeInvalidRequest)
		}
	}
	if codes == nil {
		s.noteTaken(counted)
	}
	return codes
}

// changeLine gives a line its units.
func (m *model) changeLine(c stock.OrderChange, sku string, status stock.DeductionStatus, until, now time.Time) {
	s, order := m.skus[sku], m.orders[c.OrderID]
	more, d := s.more(c), s.deductions[c.OrderID]
	switch {
	case more < 0:
		w := stock.SettleRequest{Verb: stock.Cancel, OrderID: c.OrderID, Ref: c.Ref, Quantity: -more, Reason: c.Reason}
		if status == stock.StatusCommitted {
			w.Verb, w.WriteOff = stock.Return, c.WriteOff
		}
		after, _ := s.settled(*d, w, now, false, true)
		s.change(d, after, w)
	case more > 0:
		if d == nil {
			d = &stock.Deduction{SKU: sku, Order: stock.Order{OrderID: c.OrderID, ReserveFor: order.ReserveFor}, CreatedAt: now}
			if status == stock.StatusCommitted {
				d.CommittedAt = now
			}
			s.deductions[c.OrderID] = d
		}
		if d.Status == stock.StatusReturned { // the next return of all is another one
			delete(s.amendments, [2]string{c.OrderID, ""})
		}
		held := int64(0)
		if d.Status.Live() {
			held = d.Quantity
		}
		if held > 0 && status == stock.StatusCommitted {
			d.Committed = cmp.Or(d.Committed, d.Quantity)
		}
		if d.Status, d.Quantity = status, held+more; status == stock.StatusReserved {
			d.ExpiresAt = until
		}
		s.available -= more
		s.amendments[[2]string{c.OrderID, c.Ref}] = stock.Amendment{Verb: stock.Take}
	}
	d.BuyerID = cmp.Or(c.NewBuyer, m.owners[c.OrderID])
	m.lines[c.OrderID][sku] = c.Units(sku) > 0
}

// someLines draws lines of an order.
func (m *machine) someLines(t *rapid.T) (lines []stock.Line) {
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID[string]).Draw(t, "skus") {
		lines = append(lines, stock.Line{SKU: m.prefix + name, Quantity: rapid.Int64Range(1, 4).Draw(t, "quantity")})
	}
	return lines
}

// anOrder draws the id of an order of several SKUs, if there is one.
func (m *machine) anOrder(t *rapid.T) string {
	var ids []string
	for id := range m.model.orders {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return m.id(t)
	}
	slices.SortFunc(ids, strings.Compare)
	return rapid.SampledFrom(ids).Draw(t, "order")
}

func (m *machine) ChangeOrder(t *rapid.T) {
	c := stock.OrderChange{
		OrderID: m.anOrder(t), Lines: m.someLines(t), Ref: rapid.SampledFrom([]string{"r", "s", "t", "u", "v"}).Draw(t, "ref"),
		WriteOff: rapid.Bool().Draw(t, "write off"),
	}
	if rapid.IntRange(0, 2).Draw(t, "hand over") == 0 {
		c.NewBuyer = m.buyer(t)
	}
	m.unreadAll()
	s := m.service(t)
	want, codes := m.model.changeOrder(c, m.world.clock.now())
	m.expectLines(t, fmt.Sprintf("change %+v", c), want, codes, func(ctx context.Context) (stock.PlacedOrder, error) {
		got, _, err := s.ChangeOrder(ctx, c)
		return got, err
	})
}

func (m *machine) CommitLines(t *rapid.T) {
	w := stock.SettleRequest{OrderID: m.anOrder(t)}
	lines, late := m.someLines(t), rapid.Bool().Draw(t, "late")
	m.unreadAll()
	s := m.service(t)
	want, codes := m.model.commitLines(w, lines, m.world.clock.now(), late)
	m.expectLines(t, fmt.Sprintf("commit %v of %+v %t", lines, w, late), want, codes, func(ctx context.Context) (stock.PlacedOrder, error) {
		return s.CommitLines(ctx, w, lines, late)
	})
}

// expectLines calls a service until the call ends as it may, and compares the lines of the order that it returns.
func (m *machine) expectLines(t *rapid.T, what string, want []*stock.Deduction, codes []stock.Code, call func(context.Context) (stock.PlacedOrder, error)) {
	var got stock.PlacedOrder
	if !m.expect(t, what, codes, func(ctx context.Context) (err error) {
		got, err = call(ctx)
		return err
	}) {
		return
	}
	if len(got.Lines) != len(want) {
		t.Fatalf("%s: got %d lines, want %d", what, len(got.Lines), len(want))
	}
	for i := range want {
		m.sameDeduction(t, what, got.Lines[i], want[i])
	}
}
