package flashsale

import (
	"math/rand/v2"
	"strconv"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// orders are n requests for units of one SKU: new orders, and retries, which ask for the very order of an earlier request
// again, as a buyer does who has not heard or does not believe what became of it. first is the request that asked for the order
// of each first; its own number if that is this one. They are a pure function of the arguments.
func (c Config) orders(seed uint64, sku string, n int, retries func(i int) float64) (all []history.Operation, first []int) {
	random := load.NewRandom(seed, "orders")
	var fresh []int
	for i := range n {
		if len(fresh) > 0 && random.Float64() < retries(i) {
			again := fresh[random.IntN(len(fresh))]
			all, first = append(all, all[again]), append(first, again)
			continue
		}
		all, first = append(all, c.order(random, sku, len(fresh))), append(first, i)
		fresh = append(fresh, i)
	}
	return all, first
}

// order draws an order that nobody has asked for before.
func (c Config) order(random *rand.Rand, sku string, buyer int) history.Operation {
	o := history.Operation{Kind: history.Deduct, Lines: []history.Line{{SKU: sku, Quantity: c.Least + random.Int64N(c.Most-c.Least+1)}}}
	if c.Buyers > 0 {
		buyer = random.IntN(c.Buyers)
	}
	o.ID, o.Buyer = load.NewID(random), "buyer-"+strconv.Itoa(buyer)
	return o
}
