package tables

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"inventory/internal/stock"
)

// Arrays are what unnest turns into rows of new deductions.
type Arrays struct {
	OrderIDs   []string
	Quantities []int32
	Reserves   []int64 // microseconds; nil: all are committed at once
	Segments   []*int  // nil: several gave
	Texts      []any   // a []string for each text
	Units      int64
	InOrder    bool // they are lines of orders of several SKUs
	Limited    bool // the SKU has a buyer limit
}

// ArraysOf returns the arrays of orders.
func ArraysOf(orders []stock.Order) Arrays {
	a := Arrays{OrderIDs: stock.IDsOf(orders), Quantities: make([]int32, len(orders))}
	for n, o := range orders {
		a.InOrder = o.InOrder
		a.Quantities[n] = int32(o.Quantity) //nolint:gosec // at most stock.MaxQuantity
		a.Units += o.Quantity
		if o.ReserveFor > 0 {
			if a.Reserves == nil {
				a.Reserves = make([]int64, len(orders))
			}
			a.Reserves[n] = o.ReserveFor.Microseconds()
		}
	}
	for _, text := range stock.KeptTexts() {
		column := make([]string, len(orders))
		for n := range orders {
			column[n] = *text.Of(&orders[n])
		}
		a.Texts = append(a.Texts, column)
	}
	return a
}

// Add appends the rows of b.
func (a *Arrays) Add(b Arrays) {
	if a.Reserves == nil && b.Reserves != nil {
		a.Reserves = make([]int64, len(a.OrderIDs))
	}
	switch {
	case b.Reserves != nil:
		a.Reserves = append(a.Reserves, b.Reserves...)
	case a.Reserves != nil:
		a.Reserves = append(a.Reserves, make([]int64, len(b.OrderIDs))...)
	}
	a.OrderIDs, a.Quantities = append(a.OrderIDs, b.OrderIDs...), append(a.Quantities, b.Quantities...)
	a.Units += b.Units
	for n, text := range b.Texts {
		if n == len(a.Texts) {
			a.Texts = append(a.Texts, []string(nil))
		}
		a.Texts[n] = append(a.Texts[n].([]string), text.([]string)...)
	}
}

// Rows are what unnest turns into rows of segments.
type Rows struct {
	SKUs, Owners    []string
	Segments        []int32
	Layouts, Tokens []int64
	Units, Reserved []int64 // that are wanted from each row; of these, units of reservations
	Starts, Ends    []Instant
}

// Add adds a row from which units are wanted.
func (r *Rows) Add(sku string, line stock.PlacedLine, units int64) {
	r.SKUs, r.Segments = append(r.SKUs, sku), append(r.Segments, int32(line.Segment)) //nolint:gosec // at most stock.MaxSegments
	r.Layouts, r.Tokens, r.Owners = append(r.Layouts, line.Layout), append(r.Tokens, line.Fence.Token), append(r.Owners, line.Fence.Owner)
	r.Units, r.Reserved = append(r.Units, units), append(r.Reserved, 0)
	r.Starts, r.Ends = append(r.Starts, Instant(line.SaleWindow.StartsAt)), append(r.Ends, Instant(line.SaleWindow.EndsAt))
}

// Window returns the latest beginning and the earliest end of the rows' sales; the zero time is none.
func (r *Rows) Window() (starts, ends time.Time) {
	for i := range r.Starts {
		if at := time.Time(r.Starts[i]); at.After(starts) {
			starts = at
		}
		ends = stock.Earlier(ends, time.Time(r.Ends[i]))
	}
	return starts, ends
}

// OrNull returns null in place of an array of which all elements are null, which is the usual case: unnest makes nulls of it.
func OrNull(instants []Instant) any {
	if slices.ContainsFunc(instants, func(i Instant) bool { return !time.Time(i).IsZero() }) {
		return instants
	}
	return nil
}

// Orders are what unnest turns into orders of several SKUs, their lines, and the rows of segments from which these take.
type Orders struct {
	Heads    Arrays // each order by its first line
	Given    []Instant
	Lengths  []int64 // in lines
	Lines    Arrays
	SKUs     []string // of lines
	Segments []int32
	Of, From []int64 // the numbers of each line's order and row, from 1
	Rows     Rows    // ascending
	// LinesGiven are the instants of the decisions, for each line.
	LinesGiven []Instant
}

// SegmentRow names the row of a segment.
type SegmentRow struct {
	SKU     string
	Segment int
}

func (s SegmentRow) compare(other SegmentRow) int {
	return cmp.Or(cmp.Compare(s.SKU, other.SKU), cmp.Compare(s.Segment, other.Segment))
}

// RowOf returns the row from which a line is to be taken.
func RowOf(p stock.Placement, line int) SegmentRow {
	return SegmentRow{p.Order.Lines[line].SKU, p.Lines[line].Segment}
}

// addRows adds the rows of orders, ascending, and returns their numbers, from 0.
func (r *Rows) addRows(placements []stock.Placement) map[SegmentRow]int {
	places := make(map[SegmentRow]stock.PlacedLine)
	for _, p := range placements {
		for i, place := range p.Lines {
			places[RowOf(p, i)] = place
		}
	}
	numbers := make(map[SegmentRow]int, len(places))
	for n, at := range slices.SortedFunc(maps.Keys(places), SegmentRow.compare) {
		numbers[at] = n
		r.Add(at.SKU, places[at], 0)
	}
	return numbers
}

// OrdersOf returns the arrays of orders, of which each line has a segment.
func OrdersOf(placements []stock.Placement) (o Orders) {
	numbers := o.Rows.addRows(placements)
	var heads, lines []stock.Order
	for n, p := range placements {
		heads, o.Given = append(heads, p.Order.Of(p.Order.Lines[0])), append(o.Given, Instant(p.At))
		o.Lengths = append(o.Lengths, int64(len(p.Lines)))
		for i, line := range p.Order.Lines {
			at := numbers[RowOf(p, i)]
			o.Rows.Units[at] += line.Quantity
			if p.Order.ReserveFor > 0 {
				o.Rows.Reserved[at] += line.Quantity
			}
			lines, o.SKUs = append(lines, p.Order.Of(line)), append(o.SKUs, line.SKU)
			o.Segments, o.LinesGiven = append(o.Segments, o.Rows.Segments[at]), append(o.LinesGiven, Instant(p.At))
			o.Of, o.From = append(o.Of, int64(n+1)), append(o.From, int64(at+1))
		}
	}
	o.Heads, o.Lines = ArraysOf(heads), ArraysOf(lines)
	return o
}
