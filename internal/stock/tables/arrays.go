package tables

import "inventory/internal/stock"

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
