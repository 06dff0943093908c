package selling

import (
	"cmp"
	"context"
	"strings"
	"time"

	"inventory/internal/stock"
)

// Bounds of the scan of one search.
const (
	scanBatch  = 1000 // SKUs that one statement reads
	mostLooked = 5 * scanBatch
	scanWithin = 500 * time.Millisecond
)

// FoundSKUs is a page of a search for SKUs.
type FoundSKUs struct {
	SKUs []stock.Status
	Next string // after which the next page begins; "": this is the end
	// StoppedAt is the last SKU that was looked at if the scan has stopped at its bound; "": it has not. The search goes on with Next.
	StoppedAt string
}

// scanMark begins a Next within the scan. No SKU has it.
const scanMark = "~"

// FindSKUs searches for SKUs by a text. First come those whose ids begin with it, by an index, in the order of their bytes. Then come the
// others whose id or name contains it, in upper or lower case, by a scan of all SKUs. The scan of one page is bounded in rows and in time, so a page may hold
// few SKUs or none, and have a Next anyway.
func (s *Service) FindSKUs(ctx context.Context, text, after string, limit int) (FoundSKUs, error) {
	asked := cmp.Or(stock.CheckSearch(text), checkLimit(limit, MaxSKUPage))
	if of, _ := strings.CutPrefix(after, scanMark); of != "" && stock.CheckSKU(of) != nil {
		asked = cmp.Or(asked, error(stock.Invalid("after", "must be the next of an earlier answer")))
	}
	return longRead(ctx, s, asked, "search SKUs", func() (FoundSKUs, error) {
		f := search{store: s.store, text: text, lower: strings.ToLower(text), limit: limit, byID: stock.CheckSKU(text) == nil}
		scanned, inScan := strings.CutPrefix(after, scanMark)
		var err error
		if !inScan && f.byID {
			scanned, err = "", f.beginning(ctx, after)
		}
		if err == nil && len(f.found) < limit {
			err = f.scan(ctx, scanned)
		}
		if err != nil {
			return FoundSKUs{}, err
		}
		return f.page(ctx)
	})
}

// search is one search.
type search struct {
	store       stock.Store
	text, lower string
	limit       int
	byID        bool // the text can begin an id
	found       []string
	next        string
	stoppedAt   string
}

// beginning finds the SKUs after one whose ids begin with the text.
func (f *search) beginning(ctx context.Context, after string) error {
	from := f.text
	if after != "" {
		from = stock.AfterSKU(after)
	}
	names, err := f.store.Names(ctx, from, f.limit)
	for _, n := range names {
		if !strings.HasPrefix(n.SKU, f.text) {
			break
		}
		f.found, f.next = append(f.found, n.SKU), n.SKU
	}
	return err
}

// scan finds the others after a SKU.
func (f *search) scan(ctx context.Context, after string) error {
	start := time.Now()
	for looked := 0; looked < mostLooked && time.Since(start) < scanWithin; looked += scanBatch {
		from := ""
		if after != "" {
			from = stock.AfterSKU(after)
		}
		names, err := f.store.Names(ctx, from, scanBatch)
		if err != nil {
			return err
		}
		for _, n := range names {
			if begins := f.byID && strings.HasPrefix(n.SKU, f.text); !begins && n.Contains(f.lower) {
				f.found = append(f.found, n.SKU)
			}
			if after = n.SKU; len(f.found) == f.limit {
				f.next = scanMark + after
				return nil
			}
		}
		if len(names) < scanBatch {
			f.next = ""
			return nil
		}
	}
	f.next, f.stoppedAt = scanMark+after, after
	return nil
}

// page returns what was found.
func (f *search) page(ctx context.Context) (FoundSKUs, error) {
	page := FoundSKUs{Next: f.next, StoppedAt: f.stoppedAt}
	if len(f.found) == 0 {
		return page, nil
	}
	all, err := f.store.StatusesOf(ctx, f.found...)
	for _, sku := range f.found {
		if status, there := all[sku]; there {
			page.SKUs = append(page.SKUs, status)
		}
	}
	return page, err
}
