package stocktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

// storm lets everything happen to two SKUs at once, while they get other numbers of segments.
type storm struct {
	*kit
	limits map[string]int64 // per buyer
}

// testStorm is audited in its midst and at its end: no unit is lost or sold twice, no buyer holds too much, whatever met
// whatever. A deadlock would be an error.
func testStorm(t *testing.T, k *kit) {
	const workers, steps, audits = 8, 60, 8
	s := storm{kit: k, limits: map[string]int64{"s": 4, "u": 0}}
	for name, limit := range s.limits {
		n := stock.NewSKU{SKU: name, Stock: 300, Segments: 10, Terms: stock.Terms{PerBuyerLimit: limit}}
		if _, err := k.store.CreateSKU(t.Context(), n, at); err != nil {
			t.Fatal(err)
		}
	}
	seeds := seeded(t)
	group, ctx := errgroup.WithContext(t.Context())
	for worker := range workers {
		r := newRand(seeds.Uint64(), seeds.Uint64())
		group.Go(func() error {
			for n := range steps {
				if err := s.step(ctx, r, fmt.Sprintf("%d-%d", worker, n)); err != nil && !expected(err) {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		for n, segments := range []int{64, 1, 10, 3, 64, 10, 1, 2} {
			for name := range s.limits {
				m := resegment(fmt.Sprint("resegment ", n), segments)
				m.SKU = name
				if _, err := k.store.Move(ctx, m); err != nil {
					return err
				}
			}
		}
		return nil
	})
	group.Go(func() error {
		for range audits {
			audit, err := k.store.Audit(ctx, "")
			if err != nil {
				return err
			}
			if !audit.OK() {
				return fmt.Errorf("audit in the storm: %+v", audit)
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// expected tells whether an error is one that callers live with.
func expected(err error) bool {
	code := stock.CodeOf(err)
	return errors.Is(err, stock.ErrLayout) || errors.Is(err, stock.ErrSpread) || (code != "" && code != stock.CodeUnavailable)
}

// step does one thing, under an id of its own or one that another worker may use as well.
func (s storm) step(ctx context.Context, r *rand.Rand, id string) error {
	name := []string{"s", "u"}[r.IntN(2)]
	views, err := s.store.Views(ctx, "s", "u")
	if err != nil {
		return err
	}
	when := at.Add(time.Duration(r.IntN(100)) * time.Second)
	if r.IntN(3) == 0 {
		id = fmt.Sprint("shared ", r.IntN(40))
	}
	switch r.IntN(9) {
	case 0, 1:
		_, err = s.store.Deduct(ctx, stock.Batch{
			SKU: name, Layout: views[name].Layout, Segment: r.IntN(len(views[name].Segments)), Limit: s.limits[name], At: when,
			Orders: s.some(r, id),
		})
	case 2:
		_, err = s.store.Merge(ctx, stock.Batch{
			SKU: name, Layout: views[name].Layout, Limit: s.limits[name], At: when, Orders: s.some(r, id),
		})
	case 3, 4:
		_, err = s.store.Settle(ctx, stock.Settlement{SKU: name, At: when, Requests: requests(r)})
	case 5:
		_, _, err = s.store.Order(ctx, s.both(r, id, views, when))
	case 6:
		_, err = s.store.Expire(ctx, name, when)
	case 7:
		_, err = s.store.Move(ctx, stock.Movement{SKU: name, Ref: id, Kind: stock.Restocked, Quantity: r.Int64N(9) + 1, At: when})
	default:
		_, err = s.store.Move(ctx, stock.Movement{SKU: name, Ref: id, Kind: stock.Adjusted, Quantity: 2*r.Int64N(10) - 15, Reason: "r", At: when})
	}
	return err
}

// some are orders of several buyers, some of them reservations, and one that may not fit.
func (s storm) some(r *rand.Rand, id string) []stock.Order {
	list := make([]stock.Order, 5)
	for i, buyer := range r.Perm(30)[:len(list)] {
		list[i] = stock.Order{OrderID: fmt.Sprint(id, " ", i), BuyerID: fmt.Sprint("buyer ", buyer), Quantity: r.Int64N(3) + 1}
		if r.IntN(2) == 0 {
			list[i].ReserveFor = time.Duration(r.IntN(60)+1) * time.Second
		}
	}
	list[0].Quantity += r.Int64N(40)
	return list
}

// requests settle what may be there, in any order.
func requests(r *rand.Rand) []stock.SettleRequest {
	var list []stock.SettleRequest
	for _, n := range r.Perm(40)[:8] {
		request := stock.SettleRequest{
			OrderID: fmt.Sprintf("shared %d %d", n, r.IntN(5)), Verb: []stock.Verb{stock.Commit, stock.Cancel, stock.Return}[r.IntN(3)],
		}
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

// both is an order of the two SKUs.
func (s storm) both(r *rand.Rand, id string, views map[string]stock.View, when time.Time) stock.Placement {
	var p stock.Placement
	p.At, p.Order = when, stock.MultiOrder{OrderID: id, BuyerID: fmt.Sprint("buyer ", r.IntN(30)), ReserveFor: time.Duration(r.IntN(2)) * time.Minute}
	for _, name := range []string{"s", "u"} {
		p.Order.Lines = append(p.Order.Lines, stock.Line{SKU: name, Quantity: r.Int64N(3) + 1})
		p.Lines = append(p.Lines, stock.PlacedLine{
			Layout: views[name].Layout, Limit: s.limits[name], Segment: r.IntN(len(views[name].Segments)+1) - 1,
		})
	}
	return p
}
