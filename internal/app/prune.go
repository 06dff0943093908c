package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/stock"
)

const (
	prunePage  = 500                   // deductions that one transaction checks
	pruneTries = 20                    // how often a page is tried while another transaction holds the SKU
	prunePause = 50 * time.Millisecond // between tries
	listPage   = 100                   // SKUs that are read at once
)

// ErrBusy means that SKUs could not be pruned, because another transaction held their rows.
var ErrBusy = errors.New("in use")

// Prune folds deductions of archived SKUs that are older than an instant into a sum for each SKU, or only counts them in
// a dry run, also while a service uses the database. It calls report for each SKU that has some. It works page by page, each
// in its own transaction: if it is interrupted, the next call goes on.
func Prune(ctx context.Context, databaseURL string, before time.Time, dryRun bool, report func(sku string, pruned stock.Pruned) error) (err error) {
	store, err := openBeside(ctx, databaseURL, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return pruneAll(ctx, store, before, dryRun, report)
}

func pruneAll(ctx context.Context, store stock.Store, before time.Time, dryRun bool, report func(sku string, pruned stock.Pruned) error) error {
	busy := 0
	for after := ""; ; {
		skus, err := store.Statuses(ctx, after, listPage)
		if err != nil {
			return fmt.Errorf("list SKUs: %w", err)
		}
		for _, sku := range skus {
			if after = sku.SKU; sku.ArchivedAt.IsZero() {
				continue
			}
			pruned, err := pruneSKU(ctx, store, stock.Pruning{SKU: sku.SKU, Before: before, DryRun: dryRun})
			if pruned.Deductions > 0 { // also for a SKU that was not pruned to the end
				err = errors.Join(err, report(sku.SKU, pruned))
			}
			if err != nil {
				return fmt.Errorf("prune %s: %w", sku.SKU, err)
			}
			if pruned.Busy {
				busy++
			}
		}
		if len(skus) < listPage {
			break
		}
	}
	if busy > 0 {
		return fmt.Errorf("%d SKUs were %w, and were not pruned to the end: try again", busy, ErrBusy)
	}
	return nil
}

// pruneSKU prunes a SKU page by page. After each page it rests for the time that the page took, so sales hardly slow down.
func pruneSKU(ctx context.Context, store stock.Store, p stock.Pruning) (all stock.Pruned, err error) {
	query := stock.DeductionQuery{SKU: p.SKU, Limit: prunePage}
	for {
		start := time.Now()
		page, err := store.DeductionPage(ctx, query)
		if err != nil {
			return all, err
		}
		p.OrderIDs = nil
		for _, d := range page.Deductions {
			p.OrderIDs = append(p.OrderIDs, d.OrderID)
		}
		if len(p.OrderIDs) == 0 {
			return all, nil
		}
		pruned, err := pruneUntilFree(ctx, store, p)
		all.Deductions, all.Units, all.Busy = all.Deductions+pruned.Deductions, all.Units+pruned.Units, pruned.Busy
		if err != nil || pruned.Busy || page.Next == "" {
			return all, err
		}
		query.After = page.Next
		if err := sleep(ctx, time.Since(start)); err != nil {
			return all, err
		}
	}
}

// pruneUntilFree tries again while another transaction holds the SKU.
func pruneUntilFree(ctx context.Context, store stock.Store, p stock.Pruning) (stock.Pruned, error) {
	for try := 1; ; try++ {
		pruned, err := store.Prune(ctx, p)
		if err != nil || !pruned.Busy || try == pruneTries {
			return pruned, err
		}
		if err := sleep(ctx, prunePause); err != nil {
			return pruned, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
