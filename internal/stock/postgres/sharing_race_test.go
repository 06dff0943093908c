package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// racers write to the same SKUs through several stores, and record their answers.
type racers struct {
	*sharers
	stores []*postgres.Store

	mu       sync.Mutex
	accepted map[string]int // how often an order was accepted, by SKU and id
	told     []stock.Deduction
}

// step does one thing, mostly a batch.
func (r *racers) step(worker, round int) {
	store := r.stores[worker%len(r.stores)]
	sku := name(rand.IntN(12))
	switch rand.IntN(12) {
	case 0:
		_, err := store.Move(r.t.Context(), stock.Movement{SKU: sku, Ref: fmt.Sprint(worker, round), Kind: stock.Restocked, Quantity: 3})
		r.may(err)
	case 1:
		result, err := store.Merge(r.t.Context(), stock.Batch{SKU: sku, Layout: 1, Orders: r.orders(worker, round)})
		r.may(err)
		r.note(sku, result.Outcomes)
	case 2:
		wish := stock.SettleRequest{OrderID: fmt.Sprint("shared ", rand.IntN(rounds)), Verb: stock.Cancel}
		_, err := store.Settle(r.t.Context(), stock.Settlement{SKU: sku, Requests: []stock.SettleRequest{wish}})
		r.may(err)
	case 3:
		_, err := r.several(store, fmt.Sprint("several ", worker, " ", round))
		r.may(err)
	default:
		batch := stock.Batch{SKU: sku, Layout: 1, Segment: rand.IntN(2), Deadline: time.Now().Add(time.Minute), Orders: r.orders(worker, round)}
		if rand.IntN(3) == 0 {
			r.limit(&batch)
		}
		if rand.IntN(3) == 0 {
			batch.Fence = stock.Fence{Token: rand.Int64N(20) + 1, Owner: fmt.Sprint(worker)}
		}
		result, err := joining{store}.Deduct(r.t.Context(), batch)
		r.may(err)
		r.note(batch.SKU, result.Outcomes)
	}
}

// rounds is how many order ids several workers use.
const rounds = 30

// orders are some with their own ids, and one that others send too.
func (r *racers) orders(worker, round int) []stock.Order {
	list := []stock.Order{
		{OrderID: fmt.Sprint("shared ", rand.IntN(rounds)), Quantity: 1},
		{OrderID: fmt.Sprint("own ", worker, " ", round), Quantity: rand.Int64N(3) + 1},
	}
	if rand.IntN(3) == 0 {
		list[1].ReserveFor = time.Hour
	}
	if rand.IntN(8) == 0 {
		list = append(list, stock.Order{OrderID: fmt.Sprint("large ", worker, " ", round), Quantity: 30})
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// limit turns it into a batch of one of the two SKUs that have a buyer limit. No buyer has two orders in it.
func (r *racers) limit(batch *stock.Batch) {
	batch.SKU, batch.Limit = name(12+rand.IntN(2)), raceLimit
	for n := range batch.Orders {
		batch.Orders[n].BuyerID = fmt.Sprint("buyer ", n, " ", rand.IntN(20))
		if strings.HasPrefix(batch.Orders[n].OrderID, "shared") { // the same order again, not a different one
			batch.Orders[n].BuyerID = "buyer of " + batch.Orders[n].OrderID
		}
	}
}

// raceLimit is what a buyer may have of a SKU with a limit.
const raceLimit = 3

// several is an order of two SKUs, under an id that batches may have too. A line takes from one segment, from all, or from two. Some
// orders are settled at once.
func (r *racers) several(store *postgres.Store, id string) (created bool, err error) {
	if rand.IntN(2) == 0 {
		id = fmt.Sprint("shared ", rand.IntN(rounds))
	}
	a := rand.IntN(11)
	p := stock.Placement{Order: stock.MultiOrder{OrderID: id, Lines: []stock.Line{{SKU: name(a), Quantity: 1}, {SKU: name(a + 1), Quantity: 1}}}}
	if rand.IntN(2) == 0 {
		p.Order.ReserveFor = time.Hour
	}
	for i := range p.Order.Lines {
		line := stock.PlacedLine{Batch: stock.Batch{Layout: 1, Segment: rand.IntN(3) - 1}}
		if line.Segment < 0 && rand.IntN(2) == 0 {
			p.Order.Lines[i].Quantity, line.Parts = 3, []stock.Part{{Segment: 0, Quantity: 1}, {Segment: 1, Quantity: 2}}
		}
		p.Lines = append(p.Lines, line)
	}
	_, created, err = store.Order(r.t.Context(), p)
	if created && p.Order.ReserveFor > 0 {
		verb := []stock.Verb{stock.Commit, stock.Cancel, stock.Extend}[rand.IntN(3)]
		o := stock.OrderSettlement{Keys: []string{id}, Request: stock.SettleRequest{OrderID: id, InOrder: true, Verb: verb, Ref: "longer", ExtendFor: 2 * time.Hour}}
		_, settling := store.SettleOrder(r.t.Context(), o)
		r.may(settling)
	}
	return created, err
}

// may reports an error that callers must not get.
func (r *racers) may(err error) {
	code := stock.CodeOf(err)
	if err != nil && (code == stock.CodeUnavailable && !errors.Is(err, stock.ErrFenced) && !errors.Is(err, stock.ErrSpread)) {
		r.t.Error(err)
	}
}

// note records an answer.
func (r *racers) note(sku string, outcomes []stock.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range outcomes {
		switch o.Kind {
		case stock.Accepted:
			r.accepted[sku+" "+o.Deduction.OrderID]++
			r.told = append(r.told, o.Deduction)
		case stock.Short:
			// a short order asked for more than its segment had
			if o.Available < 0 {
				r.t.Errorf("%s: short of %d", sku, o.Available)
			}
		}
	}
}

// lockRows locks a segment's row for a moment, again and again.
func (r *racers) lockRows(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		_, err := r.conn.Exec(r.t.Context(), fmt.Sprintf(`
			BEGIN; SELECT FROM stock_segments WHERE sku_id = '%s' AND segment = %d FOR UPDATE; SELECT pg_sleep(0.005); COMMIT`,
			name(rand.IntN(12)), rand.IntN(2)))
		if err != nil {
			return err
		}
	}
}

// check compares the rows with the answers: each accepted order was accepted once, exists, and is as it was answered;
// every unit is accounted for.
func (r *racers) check() {
	r.t.Helper()
	r.audit()
	r.checkBuyers()
	for order, times := range r.accepted {
		if times != 1 {
			r.t.Errorf("%s was accepted %d times, want 1", order, times)
		}
	}
	for _, d := range r.told {
		kept, err := r.store.Deduction(r.t.Context(), d.SKU, d.OrderID)
		same := kept.Status == d.Status || kept.Status == stock.StatusCancelled
		if err != nil || !same || kept.Order != d.Order || !slices.Equal([]int64{kept.Quantity}, []int64{d.Quantity}) {
			r.t.Errorf("told %+v, kept %+v, %v", d, kept, err)
		}
	}
}

// checkBuyers compares the counts of buyers with what they have bought.
func (r *racers) checkBuyers() {
	r.t.Helper()
	var buyers, wrong int
	err := r.conn.QueryRow(r.t.Context(), `
		SELECT count(*), count(*) FILTER (WHERE units IS DISTINCT FROM bought OR units > $1)
		FROM (SELECT sku_id, buyer_id, units FROM buyers WHERE units > 0) AS counted
		FULL JOIN (SELECT sku_id, buyer_id, sum(quantity) AS bought FROM deductions
		           WHERE buyer_id IS NOT NULL AND status <> 'cancelled' GROUP BY 1, 2) AS sold USING (sku_id, buyer_id)`, raceLimit).Scan(&buyers, &wrong)
	if err != nil || buyers == 0 || wrong > 0 {
		r.t.Errorf("of %d buyers %d are counted wrong, %v", buyers, wrong, err)
	}
}
