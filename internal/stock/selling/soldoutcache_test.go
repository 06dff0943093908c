package selling

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// soldOutStore is a store of one SKU that has sold out.
type soldOutStore struct {
	stock.Store
	accepted int
}

func (s soldOutStore) Views(context.Context, ...string) (map[string]stock.View, error) {
	return nil, nil
}

func (s soldOutStore) BeingCounted(context.Context, int) ([]string, error) { return nil, nil }

func (s soldOutStore) Expired(context.Context, time.Time, int) ([]stock.Due, error) { return nil, nil }

func (s soldOutStore) Watch(context.Context, func(), func(string)) error { return nil }

func (s soldOutStore) SoldOut(_ context.Context, skus []string, limit int, accepted func(_, _ []byte)) (map[string]stock.View, error) {
	views := make(map[string]stock.View)
	var id []byte
	for _, sku := range skus {
		for n := range s.accepted {
			if limit--; limit < 0 {
				break
			}
			id = strconv.AppendInt(append(id[:0], "order-"...), int64(n), 10)
			accepted([]byte(sku), id)
		}
		views[sku] = stock.View{Versions: []int64{1, 2, 3}}
	}
	return views, nil
}

func (s soldOutStore) Ages(_ context.Context, skus ...string) (map[string]stock.Age, error) {
	ages := make(map[string]stock.Age)
	for _, sku := range skus {
		ages[sku] = stock.Age{Version: 1 + 2 + 3}
	}
	return ages, nil
}

// remembering returns a service whose cache has a SKU that has sold out to that many buyers.
func remembering(t testing.TB, accepted int) *Service {
	t.Helper()
	s := NewService(Config{Store: soldOutStore{accepted: accepted}})
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s.remember(t, "hot")
	return s
}

// remember waits until the cache has a SKU.
func (s *Service) remember(t testing.TB, sku string) {
	t.Helper()
	s.cacheSoldOut(sku)
	busytest.Soon(t, "it is remembered that "+sku+" has sold out", func() bool { return s.soldOut.entry(sku).valid() })
}

func TestAcceptedIDsAreAllFound(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		m := remembering(t, 10_000).soldOut.entry("hot")
		for n := range 20_000 {
			if got, want := m.has(fmt.Sprint("order-", n)), n < 10_000; got != want {
				t.Errorf("%d: %v, want %v", n, got, want)
			}
		}
	})
}

func TestForgottenMemoryStaysForgotten(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := remembering(t, 1)
		m := s.soldOut.entry("hot")
		s.onRestock("hot")
		now := time.Now()
		m.confirmed.Store(&now) // by a confirmation that was under way
		if m.valid() {
			t.Error("it lives")
		}
	})
}

func TestMemoryHasABound(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := remembering(t, 10)
		s.soldOut.ids.Store(cacheLimit - 9) // nine are left
		s.cacheSoldOut("other")
		m := s.soldOut.entry("other")
		<-m.ctx.Done() // it found no room, and rests
		if len(m.accepted) > 0 || m.valid() {
			t.Error("it holds ids without room for them")
		}
		if !s.soldOut.entry("hot").valid() {
			t.Error("it took the room of another")
		}
		s.soldOut.ids.Add(-1)
		s.remember(t, "third") // ten find room for ten
		if ids := s.soldOut.ids.Load(); ids != cacheLimit {
			t.Errorf("it counts %d ids, want %d", ids, cacheLimit)
		}
	})
}

// TestASKUWithTooManyOrdersHarmsNoOther: two SKUs are read together, and only one of them fits.
func TestASKUWithTooManyOrdersHarmsNoOther(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := remembering(t, 10)
		s.soldOut.ids.Store(cacheLimit - 15)
		var both []*soldOutEntry
		for _, sku := range []string{"fits", "too large"} {
			e := &soldOutEntry{service: s, sku: sku, refusal: stock.SoldOutError(sku), loaded: make(chan struct{})}
			e.ctx, e.invalidate = context.WithCancel(s.background)
			both = append(both, e)
		}
		s.load(both)
		if !both[0].valid() || both[1].valid() || len(both[0].accepted) != 10 || both[1].rest != fullRest {
			t.Errorf("valid %t and %t, want only the first; %d ids, want 10; rest %v, want %v", both[0].valid(), both[1].valid(),
				len(both[0].accepted), both[1].rest, fullRest)
		}
	})
}

// BenchmarkRefusal measures a refusal of a SKU that a million orders have bought.
func BenchmarkRefusal(b *testing.B) {
	s := remembering(b, 1_000_000)
	orders := make([]stock.Order, 1<<12)
	for n := range orders {
		orders[n] = stock.Order{OrderID: fmt.Sprintf("loser-%d", n), BuyerID: "b", Quantity: 1}
	}
	refusal := s.soldOut.entry("hot").refusal
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, _, err := s.Deduct(b.Context(), "hot", orders[n%len(orders)]); err != refusal { //nolint:errorlint // exactly this error
			b.Fatal(err)
		}
	}
}
