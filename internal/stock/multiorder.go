package stock

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxLines bounds an order of several SKUs.
const MaxLines = 1000

// MultiOrder is an order of several SKUs: all of it, or nothing. Its order id is global, and each line is a deduction
// of its SKU under that id as well.
type MultiOrder struct {
	OrderID    string
	BuyerID    string // may be empty if no SKU has a buyer limit
	Own        bool   // the order id is one of the buyer's own, and not the shop's
	ReserveFor time.Duration
	CallerMax  int64 // units of each line, see [Order]
	Lines      []Line
	// Caller is the one whose turn places the order. Callers take turns; one that orders many lines gets fewer turns.
	Caller string
}

// Line is what a [MultiOrder] asks of one SKU.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// Check refuses an order that is not allowed.
func (o MultiOrder) Check() error {
	return cmp.Or(checkRange("lines", len(o.Lines), 1, MaxLines), o.Of(Line{Quantity: 1}).Check(), CheckLines(o.Lines))
}

// CheckLines refuses lines that are not allowed.
func CheckLines(lines []Line) error {
	if err := checkRange("lines", len(lines), 1, MaxLines); err != nil {
		return err
	}
	seen := make(map[string]bool, len(lines))
	for i, line := range lines {
		var twice error
		if seen[line.SKU] {
			twice = Invalid("sku", "must not be there twice")
		}
		if err := cmp.Or(CheckSKU(line.SKU), twice, checkQuantity(line.Quantity)); err != nil {
			return inLine(i, err)
		}
		seen[line.SKU] = true
	}
	return nil
}

// inLine adds the line that an error is about to its field and its message.
func inLine(i int, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	name := fmt.Sprintf("lines[%d].", i)
	return &Error{Code: e.Code, Field: name + e.Field, Message: name + e.Message}
}

// Of returns a line as an order of its SKU.
func (o MultiOrder) Of(line Line) Order {
	return Order{OrderID: o.OrderID, BuyerID: o.BuyerID, Own: o.Own, Quantity: line.Quantity, ReserveFor: o.ReserveFor, CallerMax: o.CallerMax, InOrder: true}
}

// SKUs returns the SKUs of the lines, in their order.
func (o MultiOrder) SKUs() []string {
	return Column(o.Lines, func(l Line) string { return l.SKU })
}

// Sorted returns the order with its lines ascending by SKU, the order in which every write locks them.
func (o MultiOrder) Sorted() MultiOrder {
	o.Lines = slices.Clone(o.Lines)
	slices.SortFunc(o.Lines, func(a, b Line) int { return strings.Compare(a.SKU, b.SKU) })
	return o
}

// Placement says where an order of several SKUs is to be taken from.
type Placement struct {
	Order MultiOrder // lines ascending by SKU
	At    time.Time  // zero: the store's clock
	// Lines leave out what they have in common with the order: see [Placement.Batches].
	Lines []PlacedLine
	// AtOnce says that the caller has not looked at the SKUs. A store may then return ErrLayout, with nothing taken, if it cannot take
	// the order in one write.
	AtOnce bool
	// RowWait is as in a [Batch].
	RowWait time.Duration
	// Emptied is called for each SKU of which the order may have left a segment empty, before it is taken for good; nil: nobody asks.
	Emptied func(sku string)
}

// PlacedLine says how a line of a [Placement] is taken: from one segment or, as a merge, from all.
type PlacedLine struct {
	Batch
	// Parts are what several segments together seem to hold for a merge: a store that tries the order at once may take these. Nil: it is
	// not known.
	Parts []Part
	// FreeRows has a merge leave out the rows that another transaction holds.
	FreeRows bool
}

// From returns what an order of the line takes from which segments; nil if the rows of all have to be seen first.
func (l PlacedLine) From(quantity int64) []Part {
	if l.Segment >= 0 {
		return []Part{{Segment: l.Segment, Quantity: quantity}}
	}
	return l.Parts
}

// Batches returns the lines as batches of one order each.
func (p Placement) Batches() []PlacedLine {
	batches := slices.Clone(p.Lines)
	for i, line := range p.Order.Lines {
		batches[i].SKU, batches[i].At, batches[i].Orders = line.SKU, p.At, []Order{p.Order.Of(line)}
	}
	return batches
}

// PlacedOrder is an order that is there already, its lines ascending by SKU, as they are now.
type PlacedOrder struct {
	BuyerID    string // a [PrunedBuyer] once it was pruned
	OrderedBy  string // the buyer for whom it was ordered: another one, if it has changed hands
	ReserveFor time.Duration
	Lines      []Deduction
	Removed    []Deduction // lines that a change has removed, or a commit of others has released
	Revision   int         // how often its lines were changed
	// From says which segments gave the lines, by SKU. A store that changes no order at once leaves it out.
	From   map[string][]Part
	Pruned bool // its lines are no longer known, only that its id is taken
}

// Add adds a line as it was read. removed says that it is none any more, and revision after which change it is so.
func (o *PlacedOrder) Add(line Deduction, revision int, removed bool) {
	if o.Revision = max(o.Revision, revision); removed {
		o.Removed = append(o.Removed, line)
	} else {
		o.Lines = append(o.Lines, line)
	}
}

// IsOf reports whether it is a buyer's, also after it was pruned.
func (o *PlacedOrder) IsOf(buyerID string) bool {
	return o.BuyerID == buyerID || o.Pruned && o.BuyerID == PrunedBuyer(buyerID)
}

// ordered returns the lines as they were ordered first, ascending by SKU. Those that a change has added were asked for with 0 units.
func (o *PlacedOrder) ordered() []Line {
	var lines []Line
	for _, d := range append(slices.Clone(o.Lines), o.Removed...) {
		if d.Order.Quantity > 0 {
			lines = append(lines, Line{d.SKU, d.Order.Quantity})
		}
	}
	slices.SortFunc(lines, func(a, b Line) int { return strings.Compare(a.SKU, b.SKU) })
	return lines
}

// Replay answers a placement whose order was not inserted, from the order that is there; nil means that there is none.
func (p Placement) Replay(there *PlacedOrder) ([]Deduction, error) {
	order := p.Order
	if there == nil {
		return nil, UnknownDeduction(order.Lines[0].SKU, order.OrderID)
	}
	if p.AtOnce && there.Pruned { // a look finds that its SKUs are archived
		return nil, ErrLayout
	}
	if there.Pruned {
		return nil, OrderIDReused()
	}
	if differs := order.differs(*there); differs != nil {
		err := OrderIDReused()
		if !order.Own || order.BuyerID == there.OrderedBy { // of another buyer's order a token learns nothing
			err.Message += differs.String()
		}
		return nil, err
	}
	return there.Lines, nil
}

// differs says how an order differs from the one that is there, whose lines are ascending by SKU like its own.
func (o MultiOrder) differs(there PlacedOrder) (d differences) {
	d.add("buyer_id", there.OrderedBy, o.BuyerID)
	d.add("reserve_for", there.ReserveFor, o.ReserveFor)
	units := make(map[string]int64, len(o.Lines))
	for _, line := range o.Lines {
		units[line.SKU] = line.Quantity
	}
	for _, line := range there.ordered() {
		d.add("the quantity of SKU "+strconv.Quote(line.SKU), line.Quantity, units[line.SKU])
		delete(units, line.SKU)
	}
	for _, sku := range slices.Sorted(maps.Keys(units)) {
		d.add("the quantity of SKU "+strconv.Quote(sku), int64(0), units[sku])
	}
	return d
}

// AcceptedLines returns the lines of an order that was taken at an instant.
func (p Placement) AcceptedLines(at time.Time) []Deduction {
	lines := make([]Deduction, len(p.Order.Lines))
	for i, line := range p.Order.Lines {
		lines[i] = AcceptedOutcome(line.SKU, p.Order.Of(line), at).Deduction
	}
	return lines
}

// Place takes the lines of a new order, each as a batch from its segment or as a merge from all of them. It names all of them
// to take. Then it has what they need read, and what take has returned decides the lines one after another.
func (p Placement) Place(take func(PlacedLine) (decide func() (BatchResult, error)), read func() error) ([]Deduction, error) {
	lines := p.Batches()
	decide := Column(lines, take)
	if err := read(); err != nil {
		return nil, err
	}
	taken := make([]Deduction, len(lines))
	var refused []*Error
	for i, line := range lines {
		result, err := decide[i]()
		if err == nil {
			p.left(line.SKU, result.Available == 0 || slices.Contains(result.Segments, 0))
			err = line.refusalOfLine(result)
		}
		if refusal, ok := errors.AsType[*Error](err); ok && refusal.SKU != "" {
			refused = append(refused, refusal)
			continue
		}
		if err != nil {
			return nil, err
		}
		taken[i] = result.Outcomes[0].Deduction
	}
	if refused != nil {
		return nil, RefusedLines(refused)
	}
	return taken, nil
}

// RefusedLines is the error for a new order of which lines are refused: that of the first one, and it names all of them.
func RefusedLines(refused []*Error) *Error {
	all := *refused[0]
	all.Lines = refused
	return &all
}

// left tells whether a line has left a segment empty.
func (p Placement) left(sku string, empty bool) {
	if empty && p.Emptied != nil {
		p.Emptied(sku)
	}
}

// LeftEmpty tells of the SKUs of which a segment was left empty, those that are among the lines.
func (p Placement) LeftEmpty(skus []string) {
	for _, line := range p.Order.Lines {
		p.left(line.SKU, slices.Contains(skus, line.SKU))
	}
}

// refusalOfLine returns the error of a line of an order that was not taken; nil if it was.
func (b Batch) refusalOfLine(result BatchResult) error {
	switch o := result.Outcomes[0]; {
	case o.Kind == Accepted:
		return nil
	case result.Stale && b.Segment >= 0:
		return ErrSpread // with the rows of all segments, expired reservations give their units back first
	case result.Stale:
		return ErrStale
	case o.Kind == Known:
		return OrderIDReused()
	case o.Kind == Limited:
		return BuyerLimited(b.SKU, b.LimitGroup, b.Orders[0].BuyerID, b.Limit)
	case o.Kind == Closed:
		return b.SaleWindow.Refusal(b.SKU, result.At) // b.At may be zero: the store's own clock decides
	case b.Segment >= 0:
		return ErrSpread
	case o.Kind == Open:
		return Unavailable(ErrHeld, "take from all segments")
	default:
		return Shortage(b.SKU, o.Available)
	}
}

// OrderSettlement asks for all lines of an order of several SKUs to be settled: all of them, or none.
type OrderSettlement struct {
	Request    SettleRequest            // of each line; OrderID is the order's key
	SKUs       []string                 // of the lines, ascending; nil: the order was not looked up
	Commit     []Line                   // of a commit: these alone, ascending by SKU, and the others are released; nil: all lines
	Keys       []string                 // without SKUs: those that the order may have; the first that is one of the buyer's counts
	MostExtend map[string]time.Duration // by SKU, for an extension
	// Deadline and At are as in a [Batch].
	Deadline, At time.Time
}

// Of returns what it asks of a line.
func (o OrderSettlement) Of(sku string) Settlement {
	request := o.RequestOf(sku)
	request.InOrder, request.MostExtend = true, o.MostExtend[sku]
	return Settlement{SKU: sku, Deadline: o.Deadline, At: o.At, Requests: []SettleRequest{request}}
}

// RequestOf returns what its request is for a line.
func (o OrderSettlement) RequestOf(sku string) SettleRequest {
	request := o.Request
	if o.Commit != nil {
		at, listed := slices.BinarySearchFunc(o.Commit, sku, func(l Line, sku string) int { return strings.Compare(l.SKU, sku) })
		if listed {
			request.Quantity = o.Commit[at].Quantity
		} else {
			request.Verb, request.Releases = Cancel, true
		}
	}
	return request
}

// Lines returns what it asks of each line.
func (o OrderSettlement) Lines() []Settlement { return Column(o.SKUs, o.Of) }

// Refusal returns the error of an order whose lines were not settled; nil if they were. It names each line that was refused.
func (o OrderSettlement) Refusal(results []Settled) error {
	var refused []*Error
	for i, r := range results {
		if r.Err == nil {
			continue
		}
		e, ok := errors.AsType[*Error](r.Err)
		if !ok {
			return r.Err
		}
		named := *e
		named.SKU = o.SKUs[i]
		refused = append(refused, &named)
	}
	if refused == nil {
		return nil
	}
	first := *refused[0]
	first.Message, first.Lines = fmt.Sprintf("the line of SKU %q: %s", first.SKU, first.Message), refused
	return &first
}

// UnknownOrder is the error for an order id, or its key, of which there is no order of several SKUs.
func UnknownOrder(key string) *Error {
	_, orderID := SplitOrderKey(key)
	return refusal(CodeUnknownOrder, "", "there is no order of several SKUs with order id %q", orderID)
}
