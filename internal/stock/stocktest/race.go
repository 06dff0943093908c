package stocktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

// together runs all of them at once, and waits.
func (k *kit) together(all ...func(context.Context) error) {
	k.t.Helper()
	group, ctx := errgroup.WithContext(k.t.Context())
	for _, f := range all {
		group.Go(func() error { return f(ctx) })
	}
	if err := group.Wait(); err != nil {
		k.t.Fatal(err)
	}
}

// beside looks again and again while all of them run, and once more when they are over.
func (k *kit) beside(look func(), all ...func(context.Context) error) {
	k.t.Helper()
	group, ctx := errgroup.WithContext(k.t.Context())
	for _, f := range all {
		group.Go(func() error { return f(ctx) })
	}
	over := make(chan error, 1)
	go func() { over <- group.Wait() }()
	for {
		select {
		case err := <-over:
			if err != nil {
				k.t.Fatal(err)
			}
			look()
			return
		default:
			look()
		}
	}
}

// testReplayRace sends the same orders through two segments at once, every other time in opposite order or with one that does not fit.
// Of each order one is accepted, and the other is told so, though the first one's row was not there when its statement began. A deadlock
// would be an error.
func testReplayRace(t *testing.T, k *kit) {
	const rounds, size = 36, 24
	k.create(4*rounds*size, 2)
	for round := range rounds {
		var batches [2][]stock.Order
		for i := range size {
			batches[0] = append(batches[0], by(fmt.Sprintf("buyer-%d-%d", round, size-i), fmt.Sprintf("o-%d-%d", round, i), 1))
		}
		if round%4 > 1 {
			batches[0] = append(batches[0], by("large", fmt.Sprintf("large-%d", round), 4*rounds*size))
		}
		if batches[1] = slices.Clone(batches[0]); round%2 == 1 {
			slices.Reverse(batches[1])
		}
		var told [2]map[string]stock.OutcomeKind
		send := func(segment int) func(context.Context) error {
			return func(ctx context.Context) error {
				result, err := k.store.Deduct(ctx, k.batch(segment, stock.Fence{}, batches[segment]...))
				told[segment] = make(map[string]stock.OutcomeKind)
				for i, o := range result.Outcomes {
					told[segment][batches[segment][i].OrderID] = o.Kind
				}
				return err
			}
		}
		k.together(send(0), send(1))
		for _, o := range batches[0][:size] {
			if a, b := told[0][o.OrderID], told[1][o.OrderID]; a+b != stock.Accepted+stock.Known {
				t.Fatalf("round %d, order %s: outcomes %d and %d", round, o.OrderID, a, b)
			}
		}
	}
	k.balance(at, 3*rounds*size, 0, rounds*size)
}

// replaysAtLimit is testReplayRace where each buyer could buy so often: whose order is known is not told that it has too much, and is
// not counted twice.
func replaysAtLimit(limit int64) func(*testing.T, *kit) {
	return func(t *testing.T, k *kit) {
		k.limit = limit
		testReplayRace(t, k)
	}
}

// testGreedyBuyer sends many orders of one buyer through all ways at once, beside those of buyers who buy once. It gets what its limit
// allows, and nobody else is refused because of it.
func testGreedyBuyer(_ *testing.T, k *kit) {
	const segments, all = 4, 96
	k.limit = 3
	k.createKnown(1000, segments)
	var greedy atomic.Int64
	calls := make([]func(context.Context) error, all)
	for n := range calls {
		way := ways()[n%len(ways())]
		calls[n] = func(ctx context.Context) error {
			got, err := way.takeFirst(k, ctx, k.batch(n%segments, stock.Fence{}, by("greedy", fmt.Sprint("g-", n), 1)))
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			if got.Kind == stock.Accepted {
				greedy.Add(1)
			}
			got, err = way.takeFirst(k, ctx, k.batch(n%segments, stock.Fence{}, by(fmt.Sprint("fair ", n), fmt.Sprint("f-", n), 1)))
			if err != nil || got.Kind != stock.Accepted {
				return fmt.Errorf("%s: a fair buyer's order: %+v, %w", way.name, got, err)
			}
			return nil
		}
	}
	k.together(calls...)
	k.equal("orders of the greedy buyer", greedy.Load(), k.limit)
	k.balance(at, 1000-1-k.limit-all, 0, 1+k.limit+all)
}

// testSweepers lets processes sweep the same SKU, while a merge looks for units as well.
func testSweepers(_ *testing.T, k *kit) {
	const rounds, reservations = 5, 40
	k.limit = reservations
	k.create(reservations+1, 4)
	over := at.Add(time.Minute)
	for n := range rounds {
		list := orders(fmt.Sprint(n), reservations)
		for i := range list {
			list[i].BuyerID, list[i].ReserveFor = fmt.Sprint(i%7), time.Minute
		}
		k.merge(nil, list...)
		var total atomic.Int64
		sweep := func(ctx context.Context) error {
			n, err := k.store.Expire(ctx, sku, over)
			total.Add(int64(n))
			return err
		}
		merge := k.merging(nil, by("m", fmt.Sprint("m", n), 1))
		merge.At = over
		k.together(sweep, sweep, sweep, func(ctx context.Context) error {
			result, err := k.store.Merge(ctx, merge)
			total.Add(int64(result.Expired))
			return err
		})
		k.equal("reservations given back", total.Load(), reservations)
		k.settle(over, returns(fmt.Sprint("m", n), "", 0))
		k.balance(over, reservations+1, 0, 0)
	}
}

// testArchiveRace: an order is sold before, or refused.
func testArchiveRace(_ *testing.T, k *kit) {
	const callers = 6
	k.createKnown(90, 3)
	var sold atomic.Int64
	var archived atomic.Bool
	many := make(chan struct{}) // closed when many orders are sold
	calls := []func(context.Context) error{func(ctx context.Context) error {
		select {
		case <-many:
		case <-ctx.Done():
		}
		_, err := k.store.Archive(ctx, sku, at)
		archived.Store(true)
		return err
	}}
	for caller := range callers {
		calls = append(calls, func(ctx context.Context) error {
			for n, late := 0, 0; late < 5; n++ {
				after := archived.Load()
				views, err := k.store.Views(ctx, sku)
				if err != nil {
					return err
				}
				b := k.batch(n%3, stock.Fence{}, by("b", fmt.Sprintf("%d-%d", caller, n), 1))
				b.Layout = views[sku].Layout
				got, err := ways()[n%len(ways())].takeFirst(k, ctx, b)
				switch {
				case err != nil && !errors.Is(err, stock.ErrLayout) && !errors.Is(err, stock.ErrSpread): // or a segment was empty before
					return err
				case got.Kind == stock.Accepted && after:
					return fmt.Errorf("%d-%d was sold when the SKU was archived", caller, n)
				case got.Kind == stock.Accepted:
					if sold.Add(1) == 5*callers {
						close(many)
					}
				case after:
					late++
				}
			}
			return nil
		})
	}
	k.together(calls...)
	k.balance(at, 90-1-sold.Load(), 0, 1+sold.Load())
}

// storm lets everything happen to two SKUs at once, while they get other numbers of segments and other terms.
type storm struct {
	*kit
	seed uint64

	mu       sync.Mutex
	accepted map[string]int // how often callers were told that an order was accepted, by SKU and id
}

// testStorm is audited in its midst and at its end: no unit is lost or sold twice, no buyer holds too much, whatever met
// whatever, and of those who sent an order one is told that it was accepted. A deadlock would be an error.
func testStorm(t *testing.T, k *kit) {
	const workers, steps, audits = 8, 60, 8
	s := &storm{kit: k, seed: seeded(t).Uint64(), accepted: make(map[string]int)}
	skus := []string{"s", "u"}
	for n, name := range skus {
		k.makes(stock.NewSKU{SKU: name, Stock: 300, Segments: 10, Terms: stock.Terms{PerBuyerLimit: []int64{4, 0}[n]}})
	}
	calls := []func(context.Context) error{s.moves, func(ctx context.Context) error {
		for range audits {
			audit, err := k.store.Audit(ctx, "", nil)
			if err != nil || !audit.OK() {
				return fmt.Errorf("audit in the storm: %+v, %w", audit, err)
			}
		}
		return nil
	}}
	for worker := range workers {
		r := newRand(s.seed, uint64(worker))
		calls = append(calls, func(ctx context.Context) error {
			for n := range steps {
				id, content := fmt.Sprintf("%d-%d", worker, n), r
				if r.IntN(2) == 0 { // another worker may ask for the same now
					shared := near(r, n)
					id, content = fmt.Sprint("shared ", shared), newRand(s.seed, uint64(1000+shared))
				}
				if err := s.step(ctx, r, content, n, id); err != nil && !expected(err) {
					return err
				}
			}
			return nil
		})
	}
	k.together(calls...)
	for _, name := range skus {
		page, err := k.store.DeductionPage(t.Context(), stock.DeductionQuery{SKU: name, Limit: 10_000, Scan: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Deductions {
			if times := s.accepted[name+" "+d.OrderID]; times != 1 {
				t.Errorf("SKU %s, order %s was accepted %d times", name, d.OrderID, times)
			}
			delete(s.accepted, name+" "+d.OrderID)
		}
	}
	if len(s.accepted) > 0 {
		t.Errorf("accepted, and not there: %v", s.accepted)
	}
}

// near is the number of what several workers ask for in a step.
func near(r *rand.Rand, step int) int { return step/4 + r.IntN(3) }

// moves gives both SKUs other segments and buyer limits.
func (s *storm) moves(ctx context.Context) error {
	for n, segments := range []int{64, 1, 10, 3, 64, 10, 1, 2} {
		for _, name := range []string{"s", "u"} {
			layout, limit := resegment(fmt.Sprint("resegment ", n), segments), reterm(fmt.Sprint("limit ", n), stock.TermsChange{
				PerBuyerLimit: stock.To(int64((n + len(name)) % 3 * 4)), SaleEndsAt: stock.To(at.Add(time.Hour * time.Duration(n+1))),
			})
			layout.SKU, limit.SKU = name, name
			for _, m := range []stock.Movement{layout, limit} {
				if _, err := s.store.Move(ctx, m); err != nil {
					return err
				}
			}
			if _, err := s.store.CountEarlier(ctx, name, 50); err != nil && !errors.Is(err, stock.ErrHeld) {
				return err
			}
		}
	}
	return nil
}

// expected tells whether an error is one that callers live with.
func expected(err error) bool {
	code := stock.CodeOf(err)
	for _, known := range []error{stock.ErrLayout, stock.ErrSpread, stock.ErrStale, stock.ErrFenced} {
		if errors.Is(err, known) {
			return true
		}
	}
	return code != "" && code != stock.CodeUnavailable
}

// step does one thing, under an id of its own or one that another worker may use as well. Its request is drawn from content.
func (s *storm) step(ctx context.Context, r, content *rand.Rand, n int, id string) error {
	name := []string{"s", "u"}[content.IntN(2)]
	views, err := s.store.Views(ctx, "s", "u")
	if err != nil {
		return err
	}
	view, when := views[name], at.Add(time.Duration(r.IntN(100))*time.Second)
	batch := stock.Batch{
		SKU: name, Layout: view.Layout, Segment: r.IntN(len(view.Segments)), Limit: view.Terms.PerBuyerLimit, SaleWindow: view.Terms.SaleWindow(),
		At: when, Orders: some(content, id),
	}
	switch r.IntN(10) {
	case 0, 1:
		if r.IntN(3) == 0 {
			batch.Fence = stock.Fence{Token: int64(n + 1), Owner: "x"}
		}
		return s.told(name, func() (stock.BatchResult, error) { return s.store.Deduct(ctx, batch) })
	case 2:
		batch.Segment = 0
		return s.told(name, func() (stock.BatchResult, error) { return s.store.Merge(ctx, batch) })
	case 3, 4:
		_, err = s.store.Settle(ctx, stock.Settlement{SKU: name, At: when, Requests: requests(r, n)})
	case 5, 6:
		lines, created, err := s.store.Order(ctx, both(r, content, id, views, when))
		for _, line := range lines {
			s.note(line.SKU, line.OrderID, created)
		}
		return err
	case 7:
		_, err = s.store.Expire(ctx, name, when)
	case 8:
		_, err = s.store.Move(ctx, stock.Movement{SKU: name, Ref: id, Kind: stock.Restocked, Quantity: content.Int64N(9) + 1, At: when})
	default:
		_, err = s.store.Move(ctx, stock.Movement{
			SKU: name, Ref: id, Kind: stock.Adjusted, Quantity: 2*content.Int64N(10) - 15, Reason: "r", At: when,
		})
	}
	return err
}

// told notes which orders a caller is told to be accepted.
func (s *storm) told(sku string, write func() (stock.BatchResult, error)) error {
	result, err := write()
	for _, o := range result.Outcomes {
		s.note(sku, o.Deduction.OrderID, o.Kind == stock.Accepted)
	}
	return err
}

func (s *storm) note(sku, id string, accepted bool) {
	if accepted {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.accepted[sku+" "+id]++
	}
}

// some are orders of several buyers, some of them reservations, and one that may not fit. The first has the id itself.
func some(r *rand.Rand, id string) []stock.Order {
	list := make([]stock.Order, 5)
	for i, buyer := range r.Perm(30)[:len(list)] {
		list[i] = by(fmt.Sprint("buyer ", buyer), fmt.Sprint(id, " ", i), r.Int64N(3)+1)
		if r.IntN(2) == 0 {
			list[i].ReserveFor = time.Duration(r.IntN(60)+1) * time.Second
		}
	}
	list[0].OrderID = id
	list[0].Quantity += r.Int64N(40)
	return list
}

// requests settle what may be there, in any order.
func requests(r *rand.Rand, step int) []stock.SettleRequest {
	var list []stock.SettleRequest
	for n := range 6 {
		id := fmt.Sprint("shared ", near(r, step))
		if n > 0 {
			id = fmt.Sprint(id, " ", n)
		}
		request := stock.SettleRequest{OrderID: id, Verb: []stock.Verb{stock.Commit, stock.Cancel, stock.Return}[r.IntN(3)]}
		switch ref := r.IntN(12); {
		case request.Verb == stock.Commit && ref < 3:
			request.Quantity = 1
		case request.Verb == stock.Commit && ref < 6:
			request.Verb, request.Ref, request.ExtendFor = stock.Extend, fmt.Sprint(ref), time.Duration(r.IntN(60)+1)*time.Second
		case request.Verb != stock.Commit && ref < 6:
			request.Ref, request.Quantity = fmt.Sprint(ref), r.Int64N(2)+1
		}
		request.WriteOff = request.Verb == stock.Return && r.IntN(4) == 0
		list = append(list, request)
	}
	return list
}

// both is an order of the two SKUs, from any segments.
func both(r, content *rand.Rand, id string, views map[string]stock.View, when time.Time) stock.Placement {
	var p stock.Placement
	p.At, p.Order.OrderID, p.Order.BuyerID = when, id, fmt.Sprint("buyer ", content.IntN(30))
	p.Order.ReserveFor = time.Duration(content.IntN(2)) * time.Minute
	for _, name := range []string{"s", "u"} {
		view := views[name]
		p.Order.Lines = append(p.Order.Lines, stock.Line{SKU: name, Quantity: content.Int64N(3) + 1})
		p.Lines = append(p.Lines, placedLines(stock.Batch{
			Layout: view.Layout, Limit: view.Terms.PerBuyerLimit, SaleWindow: view.Terms.SaleWindow(), Segment: r.IntN(len(view.Segments)+1) - 1,
		})...)
	}
	return p
}

func newRand(a, b uint64) *rand.Rand { return rand.New(rand.NewPCG(a, b)) }
