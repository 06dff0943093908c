package stock

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"
)

// soldOutStore is a store of one SKU that has sold out.
type soldOutStore struct {
	Store
	accepted int
}

func (s soldOutStore) Expired(context.Context, time.Time, int) ([]string, error) { return nil, nil }

func (s soldOutStore) Watch(context.Context, func(), func(string)) error { return nil }

func (s soldOutStore) SoldOut(_ context.Context, _ string, limit int, accepted func([]byte)) (SoldOutState, error) {
	var id []byte
	for n := range min(limit, s.accepted) {
		id = strconv.AppendInt(append(id[:0], "order-"...), int64(n), 10)
		accepted(id)
	}
	return SoldOutState{SoldOut: true, Versions: []int64{1, 2, 3}}, nil
}

// remembering returns a service that knows that a SKU has sold out to so many.
func remembering(t testing.TB, accepted int) *Service {
	t.Helper()
	s := NewService(Config{Store: soldOutStore{accepted: accepted}})
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s.remember("hot")
	for !s.memories.of("hot").live() {
		if t.Context().Err() != nil {
			t.Fatal("nothing is remembered")
		}
	}
	return s
}

func TestIDSetMissesNone(t *testing.T) {
	set := newIDSet()
	for n := range 10_000 {
		set.add([]byte(strconv.Itoa(n)))
	}
	set.index()
	for n := range 20_000 {
		if got, want := set.has(strconv.Itoa(n)), n < 10_000; got != want {
			t.Errorf("%d: %v", n, got)
		}
	}
}

func TestForgottenMemoryStaysForgotten(t *testing.T) {
	s := remembering(t, 1)
	m := s.memories.of("hot")
	s.forget("hot")
	now := time.Now()
	m.confirmed.Store(&now) // by a check that was under way
	if m.live() {
		t.Error("it lives")
	}
}

func TestMemoryHasABound(t *testing.T) {
	s := remembering(t, 10)
	s.memories.take(memoryLimit - 19) // nine are left
	s.remember("other")
	m := s.memories.of("other")
	<-m.ctx.Done() // it found no room, and rests
	if m.accepted != nil || m.live() {
		t.Error("it holds ids without room for them")
	}
	if !s.memories.of("hot").live() {
		t.Error("it took the room of another")
	}
	s.memories.take(-1)
	s.remember("third")
	for m := s.memories.of("third"); !m.live(); {
		if m.ctx.Err() != nil {
			t.Fatal("ten found no room for ten")
		}
	}
	if room := s.memories.room(); room != 0 {
		t.Errorf("room for %d more", room)
	}
}

// BenchmarkRefusal is what a loser costs, of a SKU that a million orders have bought.
func BenchmarkRefusal(b *testing.B) {
	s := remembering(b, 1_000_000)
	orders := make([]Order, 1<<12)
	for n := range orders {
		orders[n] = Order{OrderID: fmt.Sprintf("loser-%d", n), BuyerID: "b", Quantity: 1}
	}
	refusal := s.memories.of("hot").refusal
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, _, err := s.Deduct(b.Context(), "hot", orders[n%len(orders)]); err != refusal { //nolint:errorlint // the very one
			b.Fatal(err)
		}
	}
}

// BenchmarkIDSet looks ids up among a million.
func BenchmarkIDSet(b *testing.B) {
	set := newIDSet()
	for n := range 1_000_000 {
		set.add([]byte(strconv.Itoa(n)))
	}
	set.index()
	ids := make([]string, 1<<12)
	for n := range ids {
		ids[n] = strconv.Itoa(n * 499)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		set.has(ids[n%len(ids)])
	}
}
