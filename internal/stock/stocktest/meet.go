package stocktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

// Meeting is what several requests meet at: a deduction, or an order of several SKUs. It is as simple as the promises.
type Meeting struct {
	Status stock.DeductionStatus // before them
	Whole  bool                  // it is an order of several SKUs

	committed, extended bool
}

// settle is what a request does when it comes alone, and its answer. A commit takes the units of an expired reservation again.
func (m *Meeting) settle(w stock.SettleRequest) string {
	live := m.Status == stock.StatusReserved || m.Status == stock.StatusExpired
	switch {
	case w.Verb == stock.Commit && live:
		m.Status, m.committed = stock.StatusCommitted, true
	case w.Verb == stock.Commit && m.Status == stock.StatusReturned && m.Whole:
		return string(stock.CodeOrderEnded) // it says for each line what became of it
	case w.Verb == stock.Commit && m.Status != stock.StatusCommitted:
		return string(stock.CodeNotReserved)
	case w.Verb == stock.Cancel && m.committed:
		return string(stock.CodeAlreadyCommitted)
	case w.Verb == stock.Cancel && m.Status == stock.StatusReserved:
		m.Status = stock.StatusCancelled
	case w.Verb == stock.Return && m.Status == stock.StatusCommitted:
		m.Status = stock.StatusReturned
	case w.Verb == stock.Return && m.Status != stock.StatusReturned:
		return string(stock.CodeNotCommitted)
	case w.Verb == stock.Extend && m.extended: // under the same ref
	case w.Verb == stock.Extend && m.Status != stock.StatusReserved:
		return string(stock.CodeNotReserved)
	case w.Verb == stock.Extend:
		m.extended = true
	}
	return string(m.Status)
}

// Explains reports whether the answers, statuses or codes, are those of the requests one after another in some order, which ends with
// the status.
func (m Meeting) Explains(requests []stock.SettleRequest, answers []string, ends stock.DeductionStatus) bool {
	if len(requests) == 0 {
		return m.Status == ends
	}
	for i, w := range requests {
		next := m
		if next.settle(w) != answers[i] {
			continue
		}
		if next.Explains(slices.Delete(slices.Clone(requests), i, i+1), slices.Delete(slices.Clone(answers), i, i+1), ends) {
			return true
		}
	}
	return false
}

// testRequestsMeet: commits, cancels, returns, extensions and retakes of one deduction meet. Their answers are those of some order of
// them, and the units are where that order leaves them.
func testRequestsMeet(t *testing.T, k *kit) {
	const rounds = 150
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it is to be played again
	k.create(10, 3)
	over := at.Add(time.Minute)
	for n := range rounds {
		id, late := fmt.Sprintf("o-%d", n), n%2 == 1
		k.merge(nil, reserved(id, 3, time.Minute))
		start, when := stock.StatusReserved, at
		if late {
			start, when = stock.StatusExpired, over
			k.expire(over, 1)
		}
		all := []stock.SettleRequest{commit(id), commit(id), cancel(id), returns(id, "", 0), extend(id, "r", time.Hour), extend(id, "r", time.Hour)}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		answers, calls := make([]string, len(all)), make([]func(context.Context) error, len(all))
		for i, w := range all {
			calls[i] = func(ctx context.Context) error {
				d, err := k.meets(ctx, when, w, late)
				if answers[i] = string(d.Status); err != nil {
					answers[i] = string(stock.CodeOf(err))
				}
				if stock.CodeOf(err) == stock.CodeUnavailable {
					return err
				}
				return nil
			}
		}
		k.together(calls...)
		d, err := k.store.Deduction(t.Context(), sku, id)
		if err != nil || !(Meeting{Status: start}).Explains(all, answers, d.Status) {
			verbs := stock.Column(all, func(w stock.SettleRequest) string { return fmt.Sprint(w.Verb) })
			t.Fatalf("round %d: no order of %s gives the answers %s and %s, %v", n, strings.Join(verbs, ", "), strings.Join(answers, ", "), d.Status, err)
		}
		if d.Status == stock.StatusCommitted {
			k.settled(when, returns(id, "", 0), stock.StatusReturned, 3, 3)
		}
		k.settle(when, cancel(id)) // if an extension was all
		k.balance(when, 10, 0, 0)
		k.segmentsSum(10)
	}
}

// meets settles one request; a late commit takes the units again.
func (k *kit) meets(ctx context.Context, when time.Time, w stock.SettleRequest, late bool) (stock.Deduction, error) {
	if late && w.Verb == stock.Commit {
		taken, err := k.store.Retake(ctx, time.Time{}, stock.Retake{SKU: sku, Layout: 1, Request: w, At: when})
		if err != nil {
			return stock.Deduction{}, err
		}
		return taken[0], nil
	}
	results, err := k.store.Settle(ctx, stock.Settlement{SKU: sku, At: when, Requests: []stock.SettleRequest{w}})
	if err != nil {
		return stock.Deduction{}, err
	}
	return results[0].Deduction, results[0].Err
}
