package stock

// uniqueOf returns the orders without those that repeat the id of an earlier one. first has, for each of all orders, the
// index of the unique one with its id; nil if all are unique, as nearly always.
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

// repeat returns the outcomes of all orders from those of the unique ones. If the first order of an id was accepted, the
// others are known.
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
