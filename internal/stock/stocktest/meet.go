package stocktest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

// Meeting is what several requests meet at: a deduction, or an order of several SKUs. It is as simple as the promises.
type Meeting struct {
	Status stock.DeductionStatus // before them

	units     int64  // that it holds while it is live; 0: no request is for a part, and no answer tells units
	committed int64  // by a commit
	plain     bool   // a commit takes no units again
	done      string // the refs of the amendments that have been made
}

// settle is what a request does when it comes alone, and its answer.
func (m *Meeting) settle(w stock.SettleRequest) string {
	before := *m
	refused := m.on(w)
	switch {
	case w.Verb == stock.Expire: // who sweeps is not told what it met
		return ""
	case refused != "":
		return string(refused)
	case m.units == 0:
		return string(m.Status)
	}
	return answer(m.Status, m.units, max(0, before.held()-m.held()))
}

// answer is what a caller is told: the state, the units, and how many went back.
func answer(status stock.DeductionStatus, units, back int64) string {
	return fmt.Sprint(status, " ", units, ", ", back, " back")
}

// on does what a request asks, or tells why not. A commit takes the units of a reservation that has ended again, unless it is plain.
func (m *Meeting) on(w stock.SettleRequest) (refused stock.Code) {
	ref := fmt.Sprintf("%q ", w.Ref)
	switch {
	case w.Ref != "" && strings.Contains(m.done, ref): // whatever has happened since
	case w.Verb == stock.Expire:
		if m.Status == stock.StatusReserved && !strings.Contains(m.done, `"longer" `) {
			m.Status = stock.StatusExpired
		}
	case w.Verb == stock.Commit:
		return m.commit(w)
	case w.Verb == stock.Cancel && (m.Status == stock.StatusCommitted || m.Status == stock.StatusReturned):
		return stock.CodeAlreadyCommitted
	case w.Verb == stock.Return && m.Status == stock.StatusReturned && w.Quantity == 0:
	case w.Verb == stock.Return && m.Status != stock.StatusCommitted:
		return stock.CodeNotCommitted
	case w.Verb == stock.Cancel && m.Status != stock.StatusReserved && w.Quantity == 0:
	case w.Verb != stock.Return && m.Status != stock.StatusReserved:
		return stock.CodeNotReserved
	case w.Quantity > m.units:
		return stock.CodeInvalidRequest
	case w.Verb != stock.Extend && (w.Quantity == 0 || w.Quantity == m.units):
		m.Status = map[stock.Verb]stock.DeductionStatus{stock.Cancel: stock.StatusCancelled, stock.Return: stock.StatusReturned}[w.Verb]
		m.done += ref
	default:
		m.units -= w.Quantity
		m.done += ref
	}
	return ""
}

func (m *Meeting) commit(w stock.SettleRequest) (refused stock.Code) {
	switch {
	case m.Status == stock.StatusCommitted && (w.Quantity == 0 || w.Quantity == m.committed):
		return ""
	case m.Status == stock.StatusCommitted, m.Status == stock.StatusReturned:
		return stock.CodeAlreadyCommitted
	case m.Status != stock.StatusReserved && (m.plain || !w.MayRetake(m.Status)):
		return stock.CodeNotReserved
	case w.Quantity > m.units:
		return stock.CodeInvalidRequest
	case w.Quantity > 0:
		m.units = w.Quantity
	}
	m.Status, m.committed = stock.StatusCommitted, m.units
	return ""
}

// held is how many units are not for sale.
func (m *Meeting) held() int64 {
	if m.Status.Live() {
		return m.units
	}
	return 0
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

// testRequestsMeet: commits, cancels, returns, all of them also of parts, extensions, retakes and a sweep of one deduction meet. Their
// answers are those of some order of them, and each unit is where that order leaves it.
func testRequestsMeet(t *testing.T, k *kit) {
	const rounds, units, meeting = 60, 5, 6
	r := seeded(t)
	k.create(2*units, 3)
	over := at.Add(time.Minute)
	for n := range rounds {
		id := fmt.Sprintf("o-%d", n)
		m := Meeting{Status: stock.StatusReserved, units: units, plain: n%4 != 1}
		when, o := at, reserved(id, units, time.Minute)
		all := []stock.SettleRequest{
			commit(id), commit(id), commitOf(id, 3), cancel(id), cancel(id),
			giveBack(id, "a", 2), giveBack(id, "a", 2), giveBack(id, "b", 4),
			returns(id, "", 0), returns(id, "c", 2), returns(id, "c", 2), returns(id, "d", 2),
			extend(id, "longer", time.Hour), extend(id, "longer", time.Hour),
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:meeting]
		switch n % 4 {
		case 1: // it has expired
			m.Status, when = stock.StatusExpired, over
		case 2: // it expires: the requests come in its last instant, and a sweep just after it
			when = over.Add(-time.Microsecond)
			all = append(all, stock.SettleRequest{OrderID: id, Verb: stock.Expire})
		case 3: // it is committed
			m.Status, m.committed, o.ReserveFor = stock.StatusCommitted, units, 0
		}
		k.merge(nil, o)
		if m.Status == stock.StatusExpired {
			k.expire(over, 1)
		}
		answers, calls := make([]string, len(all)), make([]func(context.Context) error, len(all))
		for i, w := range all {
			calls[i] = func(ctx context.Context) (err error) {
				answers[i], err = k.meets(ctx, when, w, m)
				return err
			}
		}
		k.together(calls...)
		ends := k.state(id)
		if !m.Explains(all, answers, ends) {
			asked := stock.Column(all, func(w stock.SettleRequest) string { return fmt.Sprint(w.Verb, " ", w.Quantity, w.Ref) })
			t.Fatalf("round %d: no order of %s gives the answers %s and %s", n, strings.Join(asked, ", "), strings.Join(answers, ", "), ends)
		}
		k.settle(when, returns(id, "", 0))
		k.settle(when, cancel(id))
		k.balance(when, 2*units, 0, 0)
	}
}

// meets settles one request, and returns the answer.
func (k *kit) meets(ctx context.Context, when time.Time, w stock.SettleRequest, m Meeting) (string, error) {
	var results []stock.Settled
	var err error
	switch {
	case w.Verb == stock.Expire:
		_, err = k.store.Expire(ctx, sku, when.Add(time.Microsecond))
		return "", err
	case w.Verb == stock.Commit && !m.plain:
		var taken []stock.Deduction
		taken, err = k.store.Retake(ctx, time.Time{}, stock.Retake{SKU: sku, Layout: k.layout, Request: w, At: when})
		results = stock.Column(taken, func(d stock.Deduction) stock.Settled { return stock.Settled{Deduction: d} })
	default:
		results, err = k.store.Settle(ctx, stock.Settlement{SKU: sku, At: when, Requests: []stock.SettleRequest{w}})
	}
	if code := stock.CodeOf(err); err == nil {
		err = results[0].Err
	} else if code == stock.CodeUnavailable {
		return "", err
	}
	if err != nil {
		return string(stock.CodeOf(err)), nil
	}
	return answer(results[0].Deduction.Status, results[0].Deduction.Quantity, results[0].Returned), nil
}
