package selling

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// catalogue is a store of many SKUs, of which it counts the names that are read.
type catalogue struct {
	idle
	skus []stock.SKUName
	read int // names
}

// catalogueOf returns a catalogue of 20,000 SKUs, every thousandth of which is a lamp.
func catalogueOf() *catalogue {
	c := &catalogue{}
	for n := range 20_000 {
		c.skus = append(c.skus, stock.SKUName{SKU: fmt.Sprintf("sku-%05d", n), Name: "a thing"})
		if n%1000 == 999 {
			c.skus[n].Name = "Größe L, LAMP"
		}
	}
	return c
}

func (c *catalogue) Names(_ context.Context, from string, limit int) ([]stock.SKUName, error) {
	first, _ := slices.BinarySearchFunc(c.skus, from, func(n stock.SKUName, from string) int { return strings.Compare(n.SKU, from) })
	page := c.skus[first:min(len(c.skus), first+limit)]
	c.read += len(page)
	return page, nil
}

func (*catalogue) StatusesOf(_ context.Context, skus ...string) (map[string]stock.Status, error) {
	all := make(map[string]stock.Status)
	for _, sku := range skus {
		all[sku] = stock.Status{SKU: sku}
	}
	return all, nil
}

// found goes through all pages of a search, and returns what it finds and how many pages there are.
func (c *catalogue) found(t *testing.T, s *Service, text string, limit int) (all []string, pages int) {
	t.Helper()
	for after := ""; ; {
		c.read = 0
		page, err := s.FindSKUs(t.Context(), text, after, limit)
		if err != nil || len(page.SKUs) > limit || c.read > 5000+limit {
			t.Fatalf("%q: %d SKUs in a page of %d, %d names read, %v", text, len(page.SKUs), limit, c.read, err)
		}
		if short := len(page.SKUs) < limit; short != (page.StoppedAt != "") && page.Next != "" {
			t.Fatalf("%q: %d SKUs, stopped at %q", text, len(page.SKUs), page.StoppedAt)
		}
		for _, status := range page.SKUs {
			all = append(all, status.SKU)
		}
		pages++
		if after = page.Next; after == "" {
			return all, pages
		}
	}
}

// TestSearchFindsAllInPages: a page reads a bounded number of SKUs, however few of them match.
func TestSearchFindsAllInPages(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) { // no scan takes time
		c := catalogueOf()
		s := NewService(Config{Store: c})
		defer func() {
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		for _, of := range []struct {
			text         string
			limit        int
			found, pages int
			first        string
		}{
			{"sku-0001", 200, 10, 5, "sku-00010"},   // their ids begin with it; then the scan of the others in four pages
			{"sku-1", 200, 10_000, 55, "sku-10000"}, // 50 full pages, then the scan
			{"lamp", 200, 20, 5, "sku-00999"},       // of names, in lower case
			{"größe l", 8, 20, 5, "sku-00999"},      // no id can begin with it
			{"9999", 200, 2, 5, "sku-09999"},        // within ids
			{"SKU-00010", 200, 1, 5, "sku-00010"},   // in upper case
			{"nothing", 200, 0, 5, ""},              // 20,000 SKUs in pages of 5,000
			{"sku-19999", 1, 1, 6, "sku-19999"},     // a full page that has no other
		} {
			all, pages := c.found(t, s, of.text, of.limit)
			if len(all) != of.found || pages != of.pages || of.found > 0 && all[0] != of.first {
				t.Errorf("%q: %d SKUs in %d pages, want %d in %d, the first %s: %v", of.text, len(all), pages, of.found, of.pages, of.first, all[:min(3, len(all))])
			}
			slices.Sort(all)
			if len(slices.Compact(all)) != of.found {
				t.Errorf("%q: some are found twice", of.text)
			}
		}
		for _, after := range []string{"a b", "~a b", "~~"} {
			if _, err := s.FindSKUs(t.Context(), "a", after, 1); stock.CodeOf(err) != stock.CodeInvalidRequest {
				t.Errorf("after %q: %v", after, err)
			}
		}
	})
}

// library is a store whose names are read until the test is over. It has no orders.
type library struct{ idle }

func (library) Names(ctx context.Context, _ string, _ int) ([]stock.SKUName, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (library) PlacedOrder(context.Context, string) (*stock.PlacedOrder, error) { return nil, nil }

// TestSearchesLeavePlacesToOrders, however many buyers search. In virtual time.
func TestSearchesLeavePlacesToOrders(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := NewService(Config{Store: library{}})
		searching, stop := context.WithCancel(t.Context())
		var searches sync.WaitGroup
		for range 3 * mostReads {
			searches.Go(func() {
				if _, err := s.FindSKUs(searching, "lamp", "", 10); stock.CodeOf(err) != stock.CodeUnavailable {
					t.Errorf("search: %v", err)
				}
			})
		}
		synctest.Wait()
		ordering, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.PlacedOrder(ordering, "o-1", ""); stock.CodeOf(err) != stock.CodeUnknownOrder {
			t.Errorf("order beside searches: %v, want %s", err, stock.CodeUnknownOrder)
		}
		stop()
		searches.Wait()
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
