package tables

import (
	"cmp"
	"iter"
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
	InOrder    bool    // they are lines of orders of several SKUs
	Limited    bool    // the SKU has a buyer limit
}

// ArraysOf returns the arrays of orders.
func ArraysOf(orders []stock.Order) Arrays {
	a := Arrays{OrderIDs: stock.IDsOf(orders), Quantities: make([]int32, len(orders))}
	for n, o := range orders {
		a.InOrder = o.InOrder
		a.Quantities[n] = int32(o.Quantity) //nolint:gosec // at most stock.MaxQuantity
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

// Rows are what unnest turns into rows of segments.
type Rows struct {
	SKUs, Owners    []string
	Segments        []int32
	Layouts, Tokens []int64
	Units, Reserved []int64 // that are wanted from each row; of these, units of reservations
	Limits          []int64 // per buyer; 0: none
	Starts, Ends    []Instant
}

// Add adds a row from which units are wanted.
func (r *Rows) Add(sku string, line stock.PlacedLine, units int64) {
	r.SKUs, r.Segments = append(r.SKUs, sku), append(r.Segments, int32(line.Segment)) //nolint:gosec // at most stock.MaxSegments
	r.Layouts, r.Tokens, r.Owners = append(r.Layouts, line.Layout), append(r.Tokens, line.Fence.Token), append(r.Owners, line.Fence.Owner)
	r.Units, r.Reserved, r.Limits = append(r.Units, units), append(r.Reserved, 0), append(r.Limits, line.Limit)
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

// Orders are what unnest turns into orders of several SKUs, their lines, and the rows of segments from which these take. The lines
// may go on with the orders of batches.
type Orders struct {
	Heads    Arrays // each order by its first line
	Given    []Instant
	Lengths  []int64 // in lines
	Lines    Arrays
	SKUs     []string // of lines
	Segments []int32
	Of, From []int64 // the numbers of each line's order, or batch, which come after them, and row, from 1; row 0: several
	Rows     Rows    // ascending
	InOrders int     // so many lines are of orders of several SKUs
	// Parts are those of the lines that several segments give, whose segment is -1; each has a SKU.
	Parts    Parts
	PartSKUs []string
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

// EachRow returns the rows from which an order takes, and its lines there.
func EachRow(p stock.Placement) iter.Seq2[SegmentRow, stock.PlacedLine] {
	return func(yield func(SegmentRow, stock.PlacedLine) bool) {
		for i, line := range p.Lines {
			sku := p.Order.Lines[i].SKU
			if line.Segment >= 0 && !yield(SegmentRow{sku, line.Segment}, line) {
				return
			}
			for _, part := range line.Parts {
				line.Segment = part.Segment
				if !yield(SegmentRow{sku, part.Segment}, line) {
					return
				}
			}
		}
	}
}

// RowsOf returns how many rows an order takes from.
func RowsOf(p stock.Placement) (n int) {
	for _, line := range p.Lines {
		n += max(1, len(line.Parts))
	}
	return n
}

// KnownRows are the rows from which orders take, each as one of them knows it.
type KnownRows map[SegmentRow]stock.PlacedLine

// Agrees reports whether a line knows a row as the others do: its layout, sale window and fence. Without a fence it agrees with any.
func (r KnownRows) Agrees(at SegmentRow, line stock.PlacedLine) bool {
	other, there := r[at]
	oneFence := line.Fence == other.Fence || line.Fence.Token == 0 || other.Fence.Token == 0
	return !there || oneFence && line.Layout == other.Layout && line.SaleWindow == other.SaleWindow
}

// Add adds what a line knows of a row. The fence stays that of a line that has one.
func (r KnownRows) Add(at SegmentRow, line stock.PlacedLine) {
	if _, there := r[at]; !there || line.Fence.Token > 0 {
		r[at] = line
	}
}

// sorted adds the rows, ascending, and returns their numbers, from 0.
func (r KnownRows) sorted(rows *Rows) map[SegmentRow]int {
	numbers := make(map[SegmentRow]int, len(r))
	for n, at := range slices.SortedFunc(maps.Keys(r), SegmentRow.compare) {
		numbers[at] = n
		rows.Add(at.SKU, r[at], 0)
	}
	return numbers
}

// OrdersOf returns the arrays of orders of several SKUs, of which each line says from which segments it takes, and of batches. It
// reports whether they agree about the rows.
func OrdersOf(placements []stock.Placement, batches ...stock.Batch) (o Orders, agree bool) {
	rows, agree := KnownRows{}, true
	note := func(at SegmentRow, line stock.PlacedLine) {
		agree = agree && rows.Agrees(at, line)
		rows.Add(at, line)
	}
	for _, p := range placements {
		for at, line := range EachRow(p) {
			note(at, line)
		}
	}
	for _, b := range batches {
		note(SegmentRow{b.SKU, b.Segment}, LineOf(b))
	}
	numbers := rows.sorted(&o.Rows)
	var heads, lines []stock.Order
	add := func(sku string, line stock.Order, given time.Time, from ...stock.Part) {
		segment, row := int32(-1), 0
		for _, part := range from {
			row = numbers[SegmentRow{sku, part.Segment}]
			o.Rows.Units[row] += part.Quantity
			if line.ReserveFor > 0 {
				o.Rows.Reserved[row] += part.Quantity
			}
		}
		if len(from) == 1 {
			segment, row = o.Rows.Segments[row], row+1
		} else {
			o.Parts.add(line.OrderID, from)
			o.PartSKUs, row = append(o.PartSKUs, slices.Repeat([]string{sku}, len(from))...), 0
		}
		lines, o.SKUs, o.Segments = append(lines, line), append(o.SKUs, sku), append(o.Segments, segment)
		o.LinesGiven, o.From = append(o.LinesGiven, Instant(given)), append(o.From, int64(row))
	}
	for n, p := range placements {
		heads, o.Given = append(heads, p.Order.Of(p.Order.Lines[0])), append(o.Given, Instant(p.At))
		o.Lengths = append(o.Lengths, int64(len(p.Lines)))
		for i, line := range p.Order.Lines {
			add(line.SKU, p.Order.Of(line), p.At, p.Lines[i].From(line.Quantity)...)
			o.Of = append(o.Of, int64(n+1))
		}
	}
	o.InOrders = len(lines)
	for n, b := range batches {
		for _, order := range b.Orders {
			add(b.SKU, order, b.At, stock.Part{Segment: b.Segment, Quantity: order.Quantity})
			o.Of = append(o.Of, int64(len(placements)+n+1))
		}
	}
	o.Heads, o.Lines = ArraysOf(heads), ArraysOf(lines)
	return o, agree
}

// LineOf returns where a batch takes from.
func LineOf(b stock.Batch) stock.PlacedLine {
	return stock.PlacedLine{Layout: b.Layout, Limit: b.Limit, SaleWindow: b.SaleWindow, Segment: b.Segment, Fence: b.Fence}
}
