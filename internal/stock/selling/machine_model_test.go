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
	taking map[string]int64 // units that lines before the one at hand take, by limit group
	// Of orders of several SKUs: which SKUs have been lines and whether they still are, whose they are, and their changes by order id and ref.
	lines   map[string]map[string]bool
	owners  map[string]string
	changes map[[2]string]stock.OrderChange
	// How often the lines of an order were changed, or released.
	revisions map[string]int
}

type modelSKU struct {
	model      *model
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
			model: m, created: n, segments: n.Segments, layout: 1, put: n.Stock, available: n.Stock,
			deductions: make(map[string]*stock.Deduction), amendments: make(map[[2]string]stock.Amendment),
		}
		return []stock.Code{""}
	case known.created != n:
		return []stock.Code{stock.CodeSKUExists}
	default:
		return []stock.Code{""}
	}
}

// limited returns the SKUs over which the buyer limit counts.
func (s *modelSKU) limited() (all []*modelSKU) {
	for _, other := range s.model.skus {
		if other == s || s.created.LimitGroup != "" && other.created.LimitGroup == s.created.LimitGroup {
			all = append(all, other)
		}
	}
	return all
}

// held returns how many units count for a buyer.
func (s *modelSKU) held(buyer string) (units int64) {
	for _, sku := range s.limited() {
		for _, d := range sku.deductions {
			if d.Status.Live() && d.BuyerID == buyer {
				units += d.Quantity
			}
		}
	}
	return units + s.model.taking[s.created.LimitGroup]
}

// noteTaken notes units that a line takes, for the lines after it.
func (s *modelSKU) noteTaken(units int64) {
	if group := s.created.LimitGroup; group != "" {
		s.model.taking[group] += units
	}
}

// ordersOf returns the order ids under which a buyer holds units that count, ascending.
func (s *modelSKU) ordersOf(buyer string) (ids []string) {
	for _, sku := range s.limited() {
		for id, d := range sku.deductions {
			if d.Status.Live() && d.BuyerID == buyer {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
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

func (s *modelSKU) takeOrder(o stock.Order, now time.Time) *stock.Deduction {
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
		if sameOrder(d, o) && d.Status.Live() {
			return d, []stock.Code{""}
		} else if sameOrder(d, o) {
			return nil, append(refusals, stock.CodeOrderEnded)
		}
		return nil, append(refusals, stock.CodeOrderIDReused)
	}
	if len(refusals) > 0 {
		return nil, refusals
	}
	return s.takeOrder(o, now), []stock.Code{""}
}

// settle settles one deduction. late takes its units again if its reservation has ended.
func (m *model) settle(sku string, w stock.SettleRequest, now time.Time, late bool) (*stock.Deduction, []stock.Code) {
	s := m.skus[sku]
	if s == nil {
		return nil, []stock.Code{stock.CodeUnknownSKU, stock.CodeUnknownDeduction}
	}
	d := s.deductions[w.OrderID]
	_, inOrder := m.lines[w.OrderID][sku]
	switch {
	case d == nil || w.BuyerID != "" && w.BuyerID != d.BuyerID:
		return nil, []stock.Code{stock.CodeUnknownDeduction}
	case inOrder && w.Verb != stock.Return:
		return nil, []stock.Code{stock.CodePartOfOrder}
	}
	after, code := s.settled(*d, w, now, late, false)
	if code != "" {
		return nil, []stock.Code{code}
	}
	s.change(d, after, w)
	return d, []stock.Code{""}
}

// settleOrder settles all lines of an order, or none.
func (m *model) settleOrder(w stock.SettleRequest, now time.Time, late bool) (lines []*stock.Deduction, codes []stock.Code) {
	if !m.finds(w.OrderID, w.BuyerID) {
		return nil, []stock.Code{stock.CodeUnknownOrder}
	}
	var changed []stock.Deduction
	live, skus := false, m.linesNow(w.OrderID)
	m.taking = make(map[string]int64)
	defer func() { m.taking = nil }()
	again := slices.ContainsFunc(skus, func(sku string) bool {
		_, known := m.skus[sku].amendments[[2]string{w.OrderID, w.Ref}]
		_, code := m.skus[sku].settled(*m.skus[sku].deductions[w.OrderID], w, now, late, true)
		return w.Verb == stock.Extend && known && code == ""
	})
	for _, sku := range skus {
		s := m.skus[sku]
		before := *s.deductions[w.OrderID]
		after, code := s.settled(before, w, now, late, true)
		if again && code != stock.CodeRefReused { // lines that were added since are not extended
			after, code = before, ""
		}
		if w.MayRetake(before.Status) && after.Status == stock.StatusCommitted {
			s.noteTaken(after.Quantity)
		}
		if code != "" {
			codes = append(codes, code)
		}
		live = live || after.Status.Live()
		changed = append(changed, after)
	}
	if codes == nil && w.Verb == stock.Commit && !live {
		codes = append(codes, stock.CodeAlreadyCommitted)
	}
	if codes == nil && m.cameBackOtherwise(w, skus) {
		codes = append(codes, stock.CodeRefReused)
	}
	if codes != nil {
		return nil, codes
	}
	for i, sku := range skus {
		s := m.skus[sku]
		if !again {
			s.change(s.deductions[w.OrderID], changed[i], w)
		}
		lines = append(lines, s.deductions[w.OrderID])
	}
	return lines, []stock.Code{""}
}

// cameBackOtherwise reports whether an order that is to be returned has come back already, by another return.
func (m *model) cameBackOtherwise(w stock.SettleRequest, skus []string) (other bool) {
	for _, sku := range skus {
		if s := m.skus[sku]; w.Verb != stock.Return || s.deductions[w.OrderID].Status != stock.StatusReturned {
			return false
		} else if done, known := s.amendments[[2]string{w.OrderID, w.Ref}]; known && s.sameAmendment(w, done) {
			return false
		} else if known {
			other = true
		}
	}
	return other
}

// sameAmendment reports whether a request asks for what was done under its ref.
func (*modelSKU) sameAmendment(w stock.SettleRequest, done stock.Amendment) bool {
	wanted := asked(w)
	if wanted.Units == 0 && wanted.Extended == 0 {
		wanted.Units = done.Units
	}
	return wanted == done
}

// settled returns a deduction as a request leaves it, or the code with which it is refused.
func (s *modelSKU) settled(d stock.Deduction, w stock.SettleRequest, now time.Time, late, inOrder bool) (stock.Deduction, stock.Code) {
	if inOrder && w.Verb == stock.Return && d.Status == stock.StatusReturned {
		return d, ""
	}
	if done, known := s.amendments[[2]string{w.OrderID, w.Ref}]; known && w.Amends() {
		if !s.sameAmendment(w, done) {
			return d, stock.CodeRefReused
		}
		return d, ""
	}
	longest := s.created.MaxReserveFor
	given := cmp.Or(w.Quantity, d.Quantity)
	ended := stock.StatusCancelled
	switch w.Verb {
	case stock.Commit:
		switch {
		case d.Status == stock.StatusCommitted && (w.Quantity == 0 || w.Quantity == cmp.Or(d.Committed, d.Quantity)):
			return d, ""
		case d.Status == stock.StatusCommitted:
			return d, stock.CodeAlreadyCommitted
		case d.Status == stock.StatusReturned && inOrder:
			return d, ""
		case d.Status == stock.StatusReturned:
			return d, stock.CodeAlreadyCommitted
		case late && w.MayRetake(d.Status) && given > d.Quantity:
			return d, stock.CodeInvalidRequest
		case late && w.MayRetake(d.Status) && given <= s.available && (s.created.PerBuyerLimit == 0 || s.held(d.BuyerID)+given <= s.created.PerBuyerLimit):
		case d.Status != stock.StatusReserved:
			return d, stock.CodeNotReserved
		case given > d.Quantity:
			return d, stock.CodeInvalidRequest
		}
		d.Status, d.Quantity, d.CommittedAt = stock.StatusCommitted, given, now
		return d, ""
	case stock.Extend:
		switch until := now.Add(w.ExtendFor); {
		case d.Status != stock.StatusReserved:
			return d, stock.CodeNotReserved
		case longest > 0 && w.ExtendFor > longest:
			return d, stock.CodeInvalidRequest
		case until.After(d.ExpiresAt):
			d.ExpiresAt = until
		}
		return d, ""
	case stock.Return:
		switch {
		case d.Status == stock.StatusReturned && w.Quantity == 0:
			return d, ""
		case d.Status != stock.StatusCommitted:
			return d, stock.CodeNotCommitted
		}
		ended = stock.StatusReturned
	default: // cancel
		switch {
		case d.Status == stock.StatusCommitted, d.Status == stock.StatusReturned:
			return d, stock.CodeAlreadyCommitted
		case d.Status != stock.StatusReserved && w.Quantity == 0:
			return d, ""
		case d.Status != stock.StatusReserved:
			return d, stock.CodeNotReserved
		}
	}
	if given > d.Quantity {
		return d, stock.CodeInvalidRequest
	}
	if d.Status == stock.StatusCommitted {
		d.Committed = cmp.Or(d.Committed, d.Quantity)
	}
	if given == d.Quantity {
		d.Status = ended
	} else {
		d.Quantity -= given
	}
	return d, ""
}

func asked(w stock.SettleRequest) stock.Amendment {
	verb := w.Verb
	if w.WriteOff {
		verb = stock.WriteOff
	}
	return stock.Amendment{Verb: verb, Units: w.Quantity, Extended: w.ExtendFor}
}

// change puts a deduction into its new state, and its units where they are then.
func (s *modelSKU) change(d *stock.Deduction, after stock.Deduction, w stock.SettleRequest) {
	held := func(d stock.Deduction) int64 {
		if d.Status.Live() {
			return d.Quantity
		}
		return 0
	}
	back := held(*d) - held(after)
	ref := [2]string{w.OrderID, w.Ref}
	if _, known := s.amendments[ref]; w.Amends() && !known && (back > 0 || w.Verb == stock.Extend) {
		made := asked(w)
		if w.Verb == stock.Return {
			made.Units = back
		}
		s.amendments[ref] = made
	}
	*d = after
	if !w.WriteOff {
		s.available += back
	} else if back > 0 {
		s.put -= back
		ref := w.Ref
		if changed := s.model.revisions[w.OrderID]; ref == "" && changed > 0 {
			ref = stock.AsideRef(changed)
		}
		s.movements = append(s.movements, stock.Movement{
			SKU: d.SKU, Ref: w.OrderID + "\x1e" + ref, Kind: stock.WrittenOff, Quantity: -back, Reason: w.Reason,
		})
	}
}

func (m *model) order(o stock.MultiOrder, now time.Time) (lines []*stock.Deduction, codes []stock.Code) {
	taken := false
	m.taking = make(map[string]int64)
	defer func() { m.taking = nil }()
	for _, line := range o.Sorted().Lines {
		s, of := m.skus[line.SKU], stock.Order{OrderID: o.OrderID, BuyerID: o.BuyerID, Quantity: line.Quantity, ReserveFor: o.ReserveFor}
		if s == nil {
			codes = append(codes, stock.CodeUnknownSKU)
			continue
		}
		taken = taken || s.deductions[o.OrderID] != nil
		codes = append(codes, s.refusals(of, now)...)
		s.noteTaken(line.Quantity)
	}
	if before, known := m.orders[o.OrderID]; known && sameLines(before, o) {
		live := false
		for _, sku := range m.inOrderOf(o) {
			d := m.skus[sku].deductions[o.OrderID]
			lines, live = append(lines, d), live || d.Status.Live()
		}
		if !live {
			return nil, append(codes, stock.CodeOrderEnded)
		}
		return lines, []stock.Code{""}
	} else if known || taken {
		return nil, append(codes, stock.CodeOrderIDReused)
	}
	if len(codes) > 0 {
		return nil, codes
	}
	m.orders[o.OrderID], m.owners[o.OrderID], m.lines[o.OrderID] = o, o.BuyerID, make(map[string]bool)
	for _, line := range o.Lines {
		m.lines[o.OrderID][line.SKU] = true
		of := stock.Order{OrderID: o.OrderID, BuyerID: o.BuyerID, Quantity: line.Quantity, ReserveFor: o.ReserveFor}
		lines = append(lines, m.skus[line.SKU].takeOrder(of, now))
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
