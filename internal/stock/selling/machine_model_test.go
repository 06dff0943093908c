package selling_test

import (
	"cmp"
	"slices"
	"time"

	"inventory/internal/stock"
)

// model is what a service should do, in memory and without segments, locks or rows. Its methods change the model as a
// call should change the service, and return the codes with which the call may end: "" is success.
type model struct {
	skus   map[string]*modelSKU
	orders map[string]stock.MultiOrder
}

type modelSKU struct {
	created    stock.NewSKU
	segments   int
	layout     int64
	put        int64 // units that were ever added
	available  int64
	deductions map[string]*stock.Deduction
	amendments map[[2]string]stock.Amendment // by order id and ref
	movements  []stock.Movement
}

// expire gives back what has expired.
func (m *model) expire(now time.Time) {
	for _, sku := range m.skus {
		for _, d := range sku.deductions {
			if d.Status == stock.StatusReserved && !now.Before(d.ExpiresAt) {
				d.Status = stock.StatusExpired
				sku.available += d.Quantity
			}
		}
	}
}

func (m *model) create(n stock.NewSKU) []stock.Code {
	known := m.skus[n.SKU]
	switch {
	case known == nil:
		m.skus[n.SKU] = &modelSKU{
			created: n, segments: n.Segments, layout: 1, put: n.Stock, available: n.Stock,
			deductions: make(map[string]*stock.Deduction), amendments: make(map[[2]string]stock.Amendment),
		}
		return []stock.Code{""}
	case known.created != n:
		return []stock.Code{stock.CodeSKUExists}
	default:
		return []stock.Code{""}
	}
}

func (s *modelSKU) held(buyer string) (units int64) {
	for _, d := range s.deductions {
		if d.Status.Live() && d.BuyerID == buyer {
			units += d.Quantity
		}
	}
	return units
}

// refusals returns all codes with which a new order may be refused.
func (s *modelSKU) refusals(o stock.Order, now time.Time) (codes []stock.Code) {
	t := s.created.Terms
	if t.MaxQuantity > 0 && o.Quantity > t.MaxQuantity || t.PerBuyerLimit > 0 && o.BuyerID == "" ||
		t.MaxReserveFor > 0 && o.ReserveFor > t.MaxReserveFor {
		codes = append(codes, stock.CodeInvalidRequest)
	}
	if now.Before(t.SaleStartsAt) || !t.SaleEndsAt.IsZero() && !now.Before(t.SaleEndsAt) {
		codes = append(codes, stock.CodeSaleClosed)
	}
	if t.PerBuyerLimit > 0 && s.held(o.BuyerID)+o.Quantity > t.PerBuyerLimit {
		codes = append(codes, stock.CodeBuyerLimit)
	}
	if s.available == 0 {
		codes = append(codes, stock.CodeSoldOut)
	} else if o.Quantity > s.available {
		codes = append(codes, stock.CodeInsufficientStock)
	}
	return codes
}

func sameOrder(d *stock.Deduction, o stock.Order) bool {
	return d.Order.Quantity == o.Quantity && d.BuyerID == o.BuyerID && d.ReserveFor == o.ReserveFor
}

func (s *modelSKU) take(o stock.Order, now time.Time) *stock.Deduction {
	d := stock.AcceptedOutcome(s.created.SKU, o, now).Deduction
	s.deductions[o.OrderID] = &d
	s.available -= o.Quantity
	return &d
}

// deduct returns the deduction as the service should return it, if it may succeed.
func (m *model) deduct(sku string, o stock.Order, now time.Time) (*stock.Deduction, []stock.Code) {
	s := m.skus[sku]
	if s == nil {
		return nil, []stock.Code{stock.CodeUnknownSKU}
	}
	refusals := s.refusals(o, now)
	if d := s.deductions[o.OrderID]; d != nil {
		if sameOrder(d, o) {
			return d, []stock.Code{""}
		}
		return nil, append(refusals, stock.CodeOrderIDReused)
	}
	if len(refusals) > 0 {
		return nil, refusals
	}
	return s.take(o, now), []stock.Code{""}
}

func (m *model) settle(sku string, w stock.SettleRequest) (*stock.Deduction, []stock.Code) {
	s := m.skus[sku]
	if s == nil {
		return nil, []stock.Code{stock.CodeUnknownSKU, stock.CodeUnknownDeduction}
	}
	d := s.deductions[w.OrderID]
	switch {
	case d == nil || w.BuyerID != "" && w.BuyerID != d.BuyerID:
		return nil, []stock.Code{stock.CodeUnknownDeduction}
	case w.Cancel:
		if d.Status.Live() {
			s.available += d.Quantity
			d.Status = stock.StatusCancelled
		}
	case d.Status == stock.StatusCommitted && (w.Quantity == 0 || w.Quantity == cmp.Or(d.Committed, d.Quantity)):
	case d.Status != stock.StatusReserved:
		return nil, []stock.Code{stock.CodeNotReserved}
	case w.Quantity > d.Quantity:
		return nil, []stock.Code{stock.CodeInvalidRequest}
	default:
		d.Status = stock.StatusCommitted
		if w.Quantity > 0 {
			s.available += d.Quantity - w.Quantity
			d.Quantity = w.Quantity
		}
	}
	return d, []stock.Code{""}
}

func (m *model) amend(sku string, w stock.SettleRequest, now time.Time) (*stock.Deduction, []stock.Code) {
	s := m.skus[sku]
	if s == nil {
		return nil, []stock.Code{stock.CodeUnknownSKU, stock.CodeUnknownDeduction}
	}
	d := s.deductions[w.OrderID]
	if d == nil || w.BuyerID != "" && w.BuyerID != d.BuyerID {
		return nil, []stock.Code{stock.CodeUnknownDeduction}
	}
	asked := stock.Amendment{Returned: w.Quantity, Extended: w.Extend}
	longest := s.created.MaxReserveFor
	switch done, known := s.amendments[[2]string{w.OrderID, w.Ref}]; {
	case known && done != asked:
		return nil, []stock.Code{stock.CodeRefReused}
	case known:
		return d, []stock.Code{""}
	case !d.Status.Live() || !w.Cancel && d.Status != stock.StatusReserved:
		return nil, []stock.Code{stock.CodeNotReserved}
	case w.Cancel && w.Quantity > d.Quantity, !w.Cancel && longest > 0 && w.Extend > longest:
		return nil, []stock.Code{stock.CodeInvalidRequest}
	}
	s.amendments[[2]string{w.OrderID, w.Ref}] = asked
	s.available += w.Quantity
	switch until := now.Add(w.Extend); {
	case w.Cancel && w.Quantity == d.Quantity:
		d.Status = stock.StatusCancelled
	case w.Cancel:
		if d.Status == stock.StatusCommitted {
			d.Committed = cmp.Or(d.Committed, d.Quantity)
		}
		d.Quantity -= w.Quantity
	case until.After(d.ExpiresAt):
		d.ExpiresAt = until
	}
	return d, []stock.Code{""}
}

func (m *model) order(o stock.MultiOrder, now time.Time) (lines []*stock.Deduction, codes []stock.Code) {
	taken := false
	for _, line := range o.Lines {
		s, of := m.skus[line.SKU], stock.Order{OrderID: o.OrderID, BuyerID: o.BuyerID, Quantity: line.Quantity, ReserveFor: o.ReserveFor}
		if s == nil {
			codes = append(codes, stock.CodeUnknownSKU)
			continue
		}
		taken = taken || s.deductions[o.OrderID] != nil
		codes = append(codes, s.refusals(of, now)...)
	}
	if before, known := m.orders[o.OrderID]; known && sameLines(before, o) {
		for _, line := range o.Lines {
			lines = append(lines, m.skus[line.SKU].deductions[o.OrderID])
		}
		return lines, []stock.Code{""}
	} else if known || taken {
		return nil, append(codes, stock.CodeOrderIDReused)
	}
	if len(codes) > 0 {
		return nil, codes
	}
	m.orders[o.OrderID] = o
	for _, line := range o.Lines {
		of := stock.Order{OrderID: o.OrderID, BuyerID: o.BuyerID, Quantity: line.Quantity, ReserveFor: o.ReserveFor}
		lines = append(lines, m.skus[line.SKU].take(of, now))
	}
	return lines, []stock.Code{""}
}

func sameLines(a, b stock.MultiOrder) bool {
	if a.BuyerID != b.BuyerID || a.ReserveFor != b.ReserveFor || len(a.Lines) != len(b.Lines) {
		return false
	}
	for _, line := range a.Lines {
		if !slices.Contains(b.Lines, line) {
			return false
		}
	}
	return true
}

func (m *model) move(v stock.Movement) []stock.Code {
	s := m.skus[v.SKU]
	if s == nil {
		return []stock.Code{stock.CodeUnknownSKU}
	}
	for _, before := range s.movements {
		if before.Ref != v.Ref {
			continue
		}
		if before == v {
			return []stock.Code{""}
		}
		return []stock.Code{stock.CodeRefReused}
	}
	if s.available+v.Quantity < 0 {
		return []stock.Code{stock.CodeInsufficientStock}
	}
	if v.Kind == stock.Resegmented {
		s.segments, s.layout = v.Segments, s.layout+1
	}
	s.put += v.Quantity
	s.available += v.Quantity
	s.movements = append(s.movements, v)
	return []stock.Code{""}
}
