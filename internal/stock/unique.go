package stock

// uniqueOf returns orders without those whose id an earlier one has, and where in them the first one of each order's id is;
// nil if all are unique, as nearly always.
func uniqueOf(orders []Order) (unique []Order, first []int) {
	at := make(map[string]int, len(orders))
	for _, o := range orders {
		if _, again := at[o.OrderID]; !again {
			at[o.OrderID] = len(at)
		}
	}
	if len(at) == len(orders) {
		return orders, nil
	}
	for _, o := range orders {
		first = append(first, at[o.OrderID])
		if at[o.OrderID] == len(unique) {
			unique = append(unique, o)
		}
	}
	return unique, first
}

// repeat returns the outcomes of all orders from those of the unique ones: what was accepted a moment ago is known.
func repeat(unique []Outcome, first []int) []Outcome {
	if first == nil {
		return unique
	}
	all, seen := make([]Outcome, len(first)), 0
	for i, at := range first {
		all[i] = unique[at]
		if at == seen {
			seen++
		} else if all[i].Kind == Accepted {
			all[i].Kind = Known
		}
	}
	return all
}
