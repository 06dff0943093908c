package stock

// Demand is what stores decide a batch from.
type Demand struct {
	Orders []Order // no two with the same id
	// Known are the deductions that the order ids have already.
	Known map[string]Deduction
	// Closed says that the SKU is not sold at the instant of the decision.
	Closed bool
	Limit  int64            // per buyer; 0: none
	Taken  map[string]int64 // units of each buyer of the orders, if there is a limit; Admit keeps it up to date
	InTurn bool             // no order fits after one that does not
}

func (f Facts) demand(sku string, orders []Order, limit int64, window SaleWindow) Demand {
	return Demand{
		Orders: orders, Known: f.Known, Closed: window.Refusal(sku, f.At) != nil, Limit: limit, Taken: f.BuyerUnits,
	}
}

// Admit goes through the orders in turn and takes each that still fits into the available units and into its buyer's
// limit. It sets the outcome of each order that does not fit, and of each that is known, and returns the indexes of the
// others.
//
// The turn of an order is its place in the batch, not its id: ids must not buy a better place.
func (d Demand) Admit(available int64, outcomes []Outcome) (admitted []int) {
	over := false // for the orders that follow
	for i, o := range d.Orders {
		if known, ok := d.Known[o.OrderID]; ok {
			outcomes[i] = Outcome{Kind: Known, Deduction: known}
		} else if d.Closed {
			outcomes[i] = Outcome{Kind: Closed}
		} else if d.Limit > 0 && d.Taken[o.BuyerID]+o.Quantity > d.Limit {
			outcomes[i] = Outcome{Kind: Limited}
		} else if over || o.Quantity > available {
			over = d.InTurn
			outcomes[i] = Outcome{Kind: Short, Available: available}
		} else {
			admitted = append(admitted, i)
			available -= o.Quantity
			if d.Limit > 0 {
				d.Taken[o.BuyerID] += o.Quantity
			}
		}
	}
	return admitted
}
