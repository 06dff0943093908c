package stocktest

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

// soldOut reads with a limit, and returns the ids ascending.
func (k *kit) soldOut(limit int) (versions []int64, soldOut bool, ids []string) {
	k.Helper()
	found, err := k.store.SoldOut(k.Context(), sku, limit, func(id []byte) { ids = append(ids, string(id)) })
	if err != nil {
		k.Fatalf("sold out: %v", err)
	}
	slices.Sort(ids)
	return found.Versions, found.SoldOut(), ids
}

func testSoldOut(t *testing.T, k *kit) {
	_, err := k.store.SoldOut(t.Context(), sku, 9, nil)
	k.code(err, stock.CodeUnknownSKU)
	k.create(4, 3)
	k.deduct(0, stock.Fence{}, order("a", 2))
	k.deduct(1, stock.Fence{}, order("ü€😀", 1))
	if versions, soldOut, ids := k.soldOut(9); len(versions) != 3 || soldOut || ids != nil {
		t.Errorf("with a unit left: %v, %v, %q", versions, soldOut, ids)
	}
	k.merge(nil, order("c", 1))
	all := []string{"a", "c", "ü€😀"}
	if versions, soldOut, ids := k.soldOut(9); len(versions) != 3 || !soldOut || !slices.Equal(ids, all) {
		t.Errorf("with nothing left: %v, %v, %q", versions, soldOut, ids)
	}
	for limit := range len(all) + 1 {
		if _, soldOut, ids := k.soldOut(limit); !soldOut || len(ids) != limit {
			t.Errorf("limit %d: %v, %q", limit, soldOut, ids)
		}
	}
}

// testVersions goes every way of a write. What writes nothing may leave the versions as they are.
func testVersions(t *testing.T, k *kit) {
	k.create(20, 3)
	before, _, _ := k.soldOut(0)
	for _, c := range []struct {
		name  string
		write func()
	}{
		{"batch", func() { k.deduct(0, stock.Fence{}, order("a", 1)) }},
		{"batch with a known order", func() { k.deduct(0, stock.Fence{Token: 1}, order("a", 1), order("b", 1)) }},
		{"batch with a short order", func() { k.deduct(1, stock.Fence{}, order("c", 1), order("d", 100)) }},
		{"merge from one segment", func() { k.merge(nil, order("e", 1)) }},
		{"merge from several segments", func() { k.merge(nil, order("f", 14)) }},
		{"merge of the last units", func() { k.merge(map[int]stock.Fence{0: {Token: 2}}, order("g", 2)) }},
		{"restock of fewer units than segments", func() {
			if _, err := k.store.Move(t.Context(), restock(sku, "r", 1)); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		c.write()
		after, _, _ := k.soldOut(0)
		grown := false
		for i := range after {
			if after[i] < before[i] {
				t.Errorf("%s: versions fell from %v to %v", c.name, before, after)
			}
			grown = grown || after[i] > before[i]
		}
		if !grown {
			t.Errorf("%s: versions stayed %v", c.name, after)
		}
		before = after
	}
}

// testSoldOutIsOneSnapshot reads while units come and are sold. One raises the versions by one, and so does the
// other: where nothing is left, there is an accepted order for every two.
func testSoldOutIsOneSnapshot(t *testing.T, k *kit) {
	const sellers = 3
	units := 60
	if testing.Short() {
		units = 20
	}
	k.create(0, 2)
	group, ctx := errgroup.WithContext(t.Context())
	for seller := range sellers {
		group.Go(func() error {
			for n := range units {
				id := fmt.Sprintf("%d-%d", seller, n)
				if _, err := k.store.Move(ctx, restock(sku, id, 1)); err != nil {
					return err
				}
				_, err := k.store.Deduct(ctx, k.batch(0, stock.Fence{}, order(id, 1)))
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	over := make(chan error, 1)
	go func() { over <- group.Wait() }()
	for looks := 0; ; looks++ {
		versions, soldOut, ids := k.soldOut(sellers*units + 1)
		if soldOut && sum(versions) != 2*int64(len(ids)) {
			t.Fatalf("look %d: versions %v beside %d order ids", looks, versions, len(ids))
		}
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			k.sold(int64(sellers * units))
			return
		default:
		}
	}
}
