package tables

import (
	"fmt"
	"strings"
	"time"

	"inventory/internal/stock"
)

// insert is the only list of the columns of a new deduction. The statements around it provide what it inserts: o is the
// order id, q the quantity, r the microseconds for which it is reserved, s the segment (null if several gave), and at the
// instant of the decision. The texts have the names of their columns. The SKU is $1, or what [WithInsertOf] says.
var insert = `INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at` +
	stock.EachText(func(_ int, column string) string { return ", " + column }) + `)
    SELECT {sku}, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at` +
	stock.EachText(func(_ int, column string) string { return ", nullif(" + column + ", '')" })

// WithInsert completes a statement that inserts deductions: its last arguments, from number first on, are texts.
func WithInsert(statement string, first int) string { return WithInsertOf("$1", statement, first) }

// WithInsertOf is [WithInsert] for a SKU that is not $1.
func WithInsertOf(sku, statement string, first int) string {
	texts := stock.EachText(func(n int, _ string) string { return fmt.Sprintf(", $%d::text[]", first+n) })
	names := stock.EachText(func(_ int, column string) string { return ", " + column })
	into := strings.Replace(insert, "{sku}", sku, 1)
	return strings.NewReplacer("{insert}", into, ", {texts}", texts, ", {names}", names).Replace(statement)
}

// InsertMerged inserts deductions from [Arrays]. None of them may be there already.
var InsertMerged = WithInsert(`
{insert}
FROM (SELECT $6::timestamptz AS at) AS decided,
     unnest($2::text[], $3::integer[], $4::bigint[], $5::integer[], {texts}) AS asked (o, q, r, s, {names})
ORDER BY o COLLATE "C"`, 7)

// OnKnown makes a statement skip what is there already.
const OnKnown = `
ON CONFLICT (sku_id, order_id) DO NOTHING`

// InsertDeductions inserts the deductions that are not there.
var InsertDeductions = InsertMerged + OnKnown

// Arrays are what unnest turns into rows of new deductions.
type Arrays struct {
	OrderIDs   []string
	Quantities []int32
	Reserves   []int64 // microseconds; nil: all are committed at once
	Segments   []*int  // nil: several gave
	Texts      []any   // a []string for each text
	Units      int64
}

// ArraysOf returns the arrays of orders.
func ArraysOf(orders []stock.Order) Arrays {
	a := Arrays{OrderIDs: stock.IDsOf(orders), Quantities: make([]int32, len(orders))}
	for n, o := range orders {
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

// Insert inserts deductions by [InsertMerged] or [InsertDeductions].
func (s *Statements) Insert(statement, sku string, a Arrays, at time.Time) *Statement {
	args := []any{sku, a.OrderIDs, a.Quantities, a.Reserves, a.Segments, at}
	return s.Exec(statement, append(args, a.Texts...)...)
}
