package postgres

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Rows are what unnest turns into rows of segments.
type Rows struct {
	SKUs, Owners    []string
	Segments        []int32
	Layouts, Tokens []int64
	Units, Reserved []int64 // that are wanted from each row; of these, units of reservations
	Limits          []int64 // per buyer; 0: none
	Starts, Ends    []tables.Instant
}

// Add adds a row from which a batch wants units.
func (r *Rows) Add(b stock.Batch, segment int, units int64) {
	r.SKUs, r.Segments = append(r.SKUs, b.SKU), append(r.Segments, int32(segment)) //nolint:gosec // at most stock.MaxSegments
	r.Layouts, r.Tokens, r.Owners = append(r.Layouts, b.Layout), append(r.Tokens, b.Fence.Token), append(r.Owners, b.Fence.Owner)
	r.Units, r.Reserved, r.Limits = append(r.Units, units), append(r.Reserved, 0), append(r.Limits, b.Limit)
	r.Starts, r.Ends = append(r.Starts, tables.Instant(b.SaleWindow.StartsAt)), append(r.Ends, tables.Instant(b.SaleWindow.EndsAt))
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

// orNull returns null in place of an array of which all elements are null, which is the usual case: unnest makes nulls of it.
func orNull(instants []tables.Instant) any {
	if slices.ContainsFunc(instants, func(i tables.Instant) bool { return !time.Time(i).IsZero() }) {
		return instants
	}
	return nil
}

// Orders are what unnest turns into orders of several SKUs, their lines, and the rows of segments from which these take. The lines
// may go on with the orders of batches.
type Orders struct {
	Heads    tables.Arrays // each order by its first line
	Given    []tables.Instant
	Lengths  []int64 // in lines
	Lines    tables.Arrays
	SKUs     []string // of lines
	Segments []int32
	Of, From []int64 // the numbers of each line's order, or batch, which come after them, and row, from 1; row 0: several
	Rows     Rows    // ascending
	InOrders int     // so many lines are of orders of several SKUs
	// Parts are those of the lines that several segments give, whose segment is -1; each has a SKU.
	Parts    tables.Parts
	PartSKUs []string
	// LinesGiven are the instants of the decisions, for each line.
	LinesGiven []tables.Instant
}

// segmentRow names the row of a segment.
type segmentRow struct {
	SKU     string
	Segment int
}

func (s segmentRow) compare(other segmentRow) int {
	return cmp.Or(cmp.Compare(s.SKU, other.SKU), cmp.Compare(s.Segment, other.Segment))
}

// rowsOf returns how many rows an order takes from.
func rowsOf(p stock.Placement) (n int) {
	for _, line := range p.Lines {
		n += max(1, len(line.Parts))
	}
	return n
}

// knownRows are the rows from which batches and lines of orders take, each as one of them knows it.
type knownRows map[segmentRow]stock.Batch

// agrees reports whether a batch knows its rows as the others do: their layout, sale window and fence. Without a fence it agrees with
// any.
func (r knownRows) agrees(b stock.PlacedLine) bool {
	for _, part := range b.From(0) {
		other, there := r[segmentRow{b.SKU, part.Segment}]
		oneFence := b.Fence == other.Fence || b.Fence.Token == 0 || other.Fence.Token == 0
		if there && (!oneFence || b.Layout != other.Layout || b.SaleWindow != other.SaleWindow) {
			return false
		}
	}
	return true
}

// add adds what a batch knows of its rows. The fence stays that of a batch that has one.
func (r knownRows) add(b stock.PlacedLine) {
	for _, part := range b.From(0) {
		at := segmentRow{b.SKU, part.Segment}
		if _, there := r[at]; !there || b.Fence.Token > 0 {
			r[at] = b.Batch
		}
	}
}

// sorted adds the rows, ascending, and returns their numbers, from 0.
func (r knownRows) sorted(rows *Rows) map[segmentRow]int {
	numbers := make(map[segmentRow]int, len(r))
	for n, at := range slices.SortedFunc(maps.Keys(r), segmentRow.compare) {
		numbers[at] = n
		rows.Add(r[at], at.Segment, 0)
	}
	return numbers
}

// OrdersOf returns the arrays of orders of several SKUs, of which each line says from which segments it takes, and of batches. It
// reports whether they agree about the rows.
func OrdersOf(placements []stock.Placement, batches ...stock.Batch) (o Orders, agree bool) {
	var all []stock.PlacedLine // first the lines of orders
	var heads, lines []stock.Order
	for n, p := range placements {
		all = append(all, p.Batches()...)
		heads, o.Given = append(heads, p.Order.Of(p.Order.Lines[0])), append(o.Given, tables.Instant(p.At))
		o.Lengths, o.Of = append(o.Lengths, int64(len(p.Lines))), append(o.Of, slices.Repeat([]int64{int64(n + 1)}, len(p.Lines))...)
	}
	o.InOrders = len(all)
	for n, b := range batches {
		all = append(all, stock.PlacedLine{Batch: b})
		o.Of = append(o.Of, slices.Repeat([]int64{int64(len(placements) + n + 1)}, len(b.Orders))...)
	}
	rows, agree := knownRows{}, true
	for _, b := range all {
		agree = agree && rows.agrees(b)
		rows.add(b)
	}
	numbers := rows.sorted(&o.Rows)
	for _, b := range all {
		for _, order := range b.Orders {
			o.addOrder(b, order, numbers)
			lines = append(lines, order)
		}
	}
	o.Heads, o.Lines = tables.ArraysOf(heads), tables.ArraysOf(lines)
	return o, agree
}

// addOrder adds what an order of a batch takes from the rows of these numbers.
func (o *Orders) addOrder(b stock.PlacedLine, order stock.Order, numbers map[segmentRow]int) {
	segment, row, from := int32(-1), 0, b.From(order.Quantity)
	for _, part := range from {
		row = numbers[segmentRow{b.SKU, part.Segment}]
		o.Rows.Units[row] += part.Quantity
		if order.ReserveFor > 0 {
			o.Rows.Reserved[row] += part.Quantity
		}
	}
	if len(from) == 1 {
		segment, row = o.Rows.Segments[row], row+1
	} else {
		o.Parts.Add(order.OrderID, from)
		o.PartSKUs, row = append(o.PartSKUs, slices.Repeat([]string{b.SKU}, len(from))...), 0
	}
	o.SKUs, o.Segments = append(o.SKUs, b.SKU), append(o.Segments, segment)
	o.LinesGiven, o.From = append(o.LinesGiven, tables.Instant(b.At)), append(o.From, int64(row))
}
