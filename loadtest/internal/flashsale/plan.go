package flashsale

import (
	"math/rand/v2"
	"strconv"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// The phases.
const (
	Trickle  = "trickle"   // before the sale opens
	Spike    = "spike"     // new orders
	Storm    = "storm"     // retries alone
	CoolDown = "cool-down" // half new orders, half retries
)

// opening is when the sale opens: when the trickle is over.
func opening(phases []load.Phase) time.Duration {
	if first := spans(phases)[0]; first.name == Trickle {
		return first.to
	}
	return 0
}

// span is the time of a phase in a round.
type span struct {
	name     string
	from, to time.Duration
}

func spans(phases []load.Phase) (all []span) {
	var at time.Duration
	for _, p := range phases {
		all = append(all, span{p.Name, at, at + p.Length})
		at += p.Length
	}
	return all
}

// orders are n requests for one SKU: new orders, and retries of earlier ones. first has for each request the first request of
// its order. It is a pure function.
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

// order draws a new order.
func (c Config) order(random *rand.Rand, sku string, buyer int) history.Operation {
	o := history.Operation{Kind: history.Deduct, Lines: []history.Line{{SKU: sku, Quantity: c.Quantity.Least + random.Int64N(c.Quantity.Most-c.Quantity.Least+1)}}}
	if c.Buyers > 0 {
		buyer = random.IntN(c.Buyers)
	}
	o.ID, o.Buyer = load.NewID(random), "buyer-"+strconv.Itoa(buyer)
	return o
}
