package selling_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/internal/stock/stocktest"
)

var meetRounds = flag.Int("meet.rounds", 20, "orders at which commits, cancels, returns, extensions and retakes meet, of each kind on each store")

// TestSettlementsMeet: requests from two processes meet at one order. Their answers are those of some order of them, the units are
// where that order leaves them, and whoever reads a whole order meanwhile sees all its lines alike.
func TestSettlementsMeet(t *testing.T) {
	t.Parallel()
	for kind, whole := range map[string]bool{"deduction": false, "whole order": true} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, w *world) {
				w.clock = newClock()
				m := &meetings{world: w, whole: whole, processes: [2]*selling.Service{w.start(nil), w.startOn(w.another(), nil)}}
				w.shop(m.processes[0], 2, 10, 10)
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it is to be played again
				for n := range *meetRounds {
					m.meet(r, fmt.Sprintf("o-%d", n), n%2 == 1)
				}
			})
		})
	}
}

// meetings are orders of three units in each SKU.
type meetings struct {
	*world
	whole     bool // of two SKUs; otherwise deductions of the first one
	processes [2]*selling.Service
}

// meet lets requests meet at one order, before its end or after it.
func (m *meetings) meet(r *rand.Rand, id string, late bool) {
	m.t.Helper()
	m.reserve(id)
	start := stock.StatusReserved
	if late {
		m.clock.advance(time.Minute)
		start = stock.StatusExpired
	}
	var all []stock.SettleRequest
	for _, verb := range []stock.Verb{stock.Commit, stock.Commit, stock.Cancel, stock.Return, stock.Return, stock.Extend, stock.Extend} {
		request := stock.SettleRequest{OrderID: id, Verb: verb}
		if verb == stock.Extend {
			request.Ref, request.ExtendFor = "longer", time.Hour
		}
		all = append(all, request)
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	answers := make([]string, len(all))
	var meanwhile string
	var wg sync.WaitGroup
	wg.Go(func() { meanwhile = m.status(id) })
	for i, request := range all {
		wg.Go(func() { answers[i] = m.settle(m.t.Context(), m.processes[i%2], request) })
	}
	wg.Wait()
	ends := m.status(id)
	if !(stocktest.Meeting{Status: start}).Explains(all, answers, stock.DeductionStatus(ends)) {
		verbs := stock.Column(all, func(w stock.SettleRequest) string { return fmt.Sprint(w.Verb) })
		m.t.Fatalf("%s, which was %s: no order of %s gives the answers %s, and %s", id, start, strings.Join(verbs, ", "), strings.Join(answers, ", "), ends)
	}
	if strings.HasPrefix(meanwhile, "a part") {
		m.t.Errorf("%s was seen as %s", id, meanwhile)
	}
	held := int64(0)
	if stock.DeductionStatus(ends).Live() {
		held = 3
	}
	m.left(10 - held)
	if ends == string(stock.StatusCommitted) {
		m.settle(m.t.Context(), m.processes[0], stock.SettleRequest{OrderID: id, Verb: stock.Return})
	}
	m.settle(m.t.Context(), m.processes[1], stock.SettleRequest{OrderID: id, Verb: stock.Cancel})
	m.left(10)
}

func (m *meetings) reserve(id string) {
	m.t.Helper()
	var err error
	if m.whole {
		_, _, err = m.processes[0].Order(m.t.Context(), stock.MultiOrder{
			OrderID: id, ReserveFor: time.Minute, Lines: []stock.Line{{SKU: shopSKU(0), Quantity: 3}, {SKU: shopSKU(1), Quantity: 3}},
		})
	} else {
		_, _, err = m.processes[0].Deduct(m.t.Context(), shopSKU(0), stock.Order{OrderID: id, Quantity: 3, ReserveFor: time.Minute})
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// settle sends a request to a process, and returns the status that it was told, or the code.
func (m *meetings) settle(ctx context.Context, process *selling.Service, request stock.SettleRequest) string {
	var lines []stock.Deduction
	var err error
	if m.whole {
		var there stock.PlacedOrder
		there, err = process.SettleOrder(ctx, request, request.Verb == stock.Commit)
		lines = there.Lines
	} else {
		lines = make([]stock.Deduction, 1)
		lines[0], err = process.Settle(ctx, shopSKU(0), request, request.Verb == stock.Commit)
	}
	if code := stock.CodeOf(err); code != "" {
		return string(code)
	}
	return alike(lines, err)
}

// status reads the order.
func (m *meetings) status(id string) string {
	if m.whole {
		there, err := m.processes[1].PlacedOrder(m.t.Context(), id, "")
		return alike(there.Lines, err)
	}
	d, err := m.processes[1].Deduction(m.t.Context(), shopSKU(0), id, "")
	return alike([]stock.Deduction{d}, err)
}

// alike returns the status of all lines, or what is wrong.
func alike(lines []stock.Deduction, err error) string {
	if err != nil {
		return err.Error()
	}
	for _, d := range lines {
		if d.Status != lines[0].Status || d.Quantity != 3 {
			return fmt.Sprintf("a part: %+v", lines)
		}
	}
	return string(lines[0].Status)
}

// left checks how many units of each SKU are left.
func (m *meetings) left(want int64) {
	m.t.Helper()
	for i := range 2 {
		status, err := m.processes[0].SKU(m.t.Context(), shopSKU(i))
		if i == 1 && !m.whole {
			want = 10
		}
		if err != nil || status.Available != want {
			m.t.Fatalf("%s: got %d units left, %v, want %d", shopSKU(i), status.Available, err, want)
		}
	}
}
