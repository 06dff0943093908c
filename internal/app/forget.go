package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/internal/stock/sqlite"
)

const (
	forgetKeyBytes = 16                    // at least
	forgetPause    = 50 * time.Millisecond // between tries while another transaction holds a row
	forgetTries    = 200
)

// Forget calls a buyer by a pseudonym wherever the database has the buyer's id, also while services use it. The key is in a file. It works in
// small steps and reports the number of each: if it is interrupted, the next call begins anew, and until it ends requests that name the buyer are
// answered as unavailable.
func Forget(ctx context.Context, databaseURL, keyFile, buyerID string, report func(steps int)) (err error) {
	if err := stock.CheckKnownID("buyer_id", buyerID); err != nil {
		return ConfigError{err}
	}
	key, err := readForgetKey(keyFile)
	if err != nil {
		return err
	}
	d, err := existing(databaseURL)
	if err == nil && d.citus {
		err = ConfigError{errors.New("on Citus no buyer can be forgotten: an order's id says where it is")}
	}
	if err != nil {
		return err
	}
	store, err := openBeside(ctx, databaseURL, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	notice := selling.ForgetNotice
	if d.file != "" {
		if unlock, err := sqlite.LockFile(d.file); err == nil { // no service has the file, nor will
			defer func() { _ = unlock.Unlock() }()
			notice = 0
		}
	}
	return forget(ctx, store, key, buyerID, notice, report)
}

// readForgetKey reads the key by which buyers are forgotten; "" is none.
func readForgetKey(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--forget-key: %w", err)
	}
	if key = bytes.TrimSpace(key); len(key) < forgetKeyBytes {
		return nil, ConfigError{fmt.Errorf("--forget-key: %s has %d bytes, and needs %d at least", file, len(key), forgetKeyBytes)}
	}
	return key, nil
}

func forget(ctx context.Context, store stock.Store, key []byte, buyerID string, notice time.Duration, report func(steps int)) error {
	f := stock.Forgetting{BuyerID: buyerID, Name: stock.Pseudonym(key, buyerID)}
	if err := noteKey(ctx, store, key); err != nil {
		return err
	}
	if err := store.NoteForgotten(ctx, stock.ForgottenBuyer{Name: f.Name}); err != nil {
		return err
	}
	if err := sleep(ctx, notice); err != nil {
		return err
	}
	steps, step := 0, stock.ForgetStep{}
	for step.Part != stock.ForgetDone {
		start := time.Now()
		next, err := forgetUntilFree(ctx, store, f, step)
		if err != nil {
			return err
		}
		step = next
		steps++
		report(steps)
		if notice > 0 { // services use the database: rest for as long as the step took
			if err := sleep(ctx, time.Since(start)); err != nil {
				return err
			}
		}
	}
	return store.NoteForgotten(ctx, stock.ForgottenBuyer{Name: f.Name, Done: true})
}

// noteKey notes the key of the first buyer who is forgotten, and refuses another one.
func noteKey(ctx context.Context, store stock.Store, key []byte) error {
	noted, err := store.NoteForgetKey(ctx, stock.Pseudonym(key, ""))
	if err == nil && !noted {
		err = ConfigError{selling.ErrForgetKey}
	}
	return err
}

// forgetUntilFree takes a step, again while another transaction holds a row.
func forgetUntilFree(ctx context.Context, store stock.Store, f stock.Forgetting, step stock.ForgetStep) (stock.ForgetStep, error) {
	for try := 1; ; try++ {
		next, err := store.Forget(ctx, f, step)
		if !errors.Is(err, stock.ErrHeld) || try == forgetTries {
			return next, err
		}
		if err := sleep(ctx, forgetPause); err != nil {
			return next, err
		}
	}
}

// learnForgotten has the service read which buyers are forgotten before it serves. It warns if some are and there is no key.
func (a *App) learnForgotten(ctx context.Context) error {
	if a.config.ForgetKey != "" {
		err := a.service.LearnForgotten(ctx)
		if errors.Is(err, selling.ErrForgetKey) {
			return ConfigError{fmt.Errorf("--forget-key: %w", err)}
		}
		return err
	}
	all, err := a.store.Forgotten(ctx)
	if len(all) > 0 {
		a.warnings.begin("forget_key_missing", "buyers were forgotten, and there is no --forget-key: their limits begin anew, and orders that they send again are refused or taken twice")
	}
	return err
}
