package flashsale

import (
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/openloop"
)

// none is the number of a request that is not there.
const none = -1

// played is a round whose requests ended so, each due when it was sent. The one of the number retry asks for an order of
// before again.
func played(quantity int64, retry int, replies ...openloop.Reply) *round {
	r := &round{sku: "hot", at: make([]time.Duration, len(replies))}
	for i, reply := range replies {
		r.at[i] = reply.Sent
	}
	r.orders = openloop.NewOrders(openloop.OrdersConfig{
		Seed: 1, SKU: "hot", Least: quantity, Most: quantity,
		Retries: func(i int) float64 {
			return map[bool]float64{true: 1}[i == retry]
		},
	}, len(replies))
	r.result = openloop.Result{At: r.at, Replies: replies}
	return r
}

func reply(outcome openloop.Outcome, sent, over time.Duration) openloop.Reply {
	return openloop.Reply{Sent: sent, Over: over, Outcome: outcome}
}

// withRows are the fates of the orders of a round where the rows are as buyers were told.
func withRows(r *round) []fate {
	all, _ := r.fates()
	for i := range all {
		if all[i].told() {
			all[i].hasRow, all[i].asked, all[i].units = true, true, r.orders.Quantity(i)
		}
	}
	return all
}

func TestFalseSoldOutsAreBounded(t *testing.T) {
	t.Parallel()
	const accepted, soldOut, short = openloop.Accepted, openloop.SoldOut, openloop.InsufficientStock
	for name, c := range map[string]struct {
		quantity int64
		left     int64
		replies  []openloop.Reply
		want     falsely
	}{
		"sold before":         {1, 0, []openloop.Reply{reply(accepted, 10, 20), reply(soldOut, 11, 21)}, falsely{0, 0}},
		"answered later":      {1, 0, []openloop.Reply{reply(soldOut, 10, 20), reply(accepted, 11, 21)}, falsely{0, 1}},
		"sent at that time":   {1, 0, []openloop.Reply{reply(soldOut, 10, 20), reply(accepted, 20, 30)}, falsely{0, 1}},
		"sent later":          {1, 0, []openloop.Reply{reply(soldOut, 10, 20), reply(accepted, 21, 30)}, falsely{1, 1}},
		"never sold":          {1, 1, []openloop.Reply{reply(soldOut, 10, 20)}, falsely{1, 1}},
		"too few never sold":  {5, 4, []openloop.Reply{reply(short, 10, 20)}, falsely{0, 0}},
		"sold out, four left": {5, 4, []openloop.Reply{reply(soldOut, 10, 20)}, falsely{1, 1}},
		"two later, five asked": {5, 0, []openloop.Reply{
			reply(short, 10, 20), reply(accepted, 15, 25), reply(accepted, 21, 30),
		}, falsely{1, 1}},
		"other refusals": {1, 1, []openloop.Reply{reply(openloop.SaleClosed, 10, 20), reply(openloop.BuyerLimit, 10, 20)}, falsely{0, 0}},
	} {
		r := played(c.quantity, none, c.replies...)
		if got := r.falseRefusals(withRows(r), c.left); got != c.want {
			t.Errorf("%s: %+v instead of %+v", name, got, c.want)
		}
	}
}

// TestAnUnheardOrderBoundsFalseSoldOuts has rows of orders that got no answer: they may have been taken at any time since.
func TestAnUnheardOrderBoundsFalseSoldOuts(t *testing.T) {
	t.Parallel()
	r := played(1, none, reply(openloop.Unknown, 10, 90), reply(openloop.SoldOut, 20, 30))
	fates := withRows(r)
	fates[0].hasRow, fates[0].units = true, 1
	if got := r.falseRefusals(fates, 0); got != (falsely{0, 1}) {
		t.Errorf("%+v", got)
	}
}

func TestRetriesByWhatWasKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first  openloop.Reply
		retry  openloop.Reply
		want   standing
		denied bool
	}{
		"winner":       {reply(openloop.Accepted, 10, 20), reply(openloop.Replayed, 20, 30), winner, false},
		"in time":      {reply(openloop.Accepted, 10, 20), reply(openloop.Replayed, 19, 30), undecided, false},
		"refused":      {reply(openloop.SoldOut, 10, 20), reply(openloop.SoldOut, 21, 30), refused, false},
		"not answered": {reply(openloop.Unknown, 10, 20), reply(openloop.Replayed, 21, 30), undecided, false},
		"not sent":     {reply(openloop.Dropped, 0, 20), reply(openloop.Accepted, 21, 30), undecided, false},
		"denied":       {reply(openloop.Accepted, 10, 20), reply(openloop.SoldOut, 21, 30), winner, true},
	} {
		r := played(1, 1, c.first, c.retry)
		all, retried := r.fates()
		if retried[c.want][c.retry.Outcome] != 1 || all[0].denied != c.denied {
			t.Errorf("%s: %v, denied: %t", name, retried, all[0].denied)
		}
	}
}

func TestStrandedUnitsWereWanted(t *testing.T) {
	t.Parallel()
	r := played(3, none, reply(openloop.InsufficientStock, 10, 20))
	for left, want := range map[int64]int64{0: 0, 2: 0, 3: 3, 7: 7} {
		if got := r.stranded(left); got != want {
			t.Errorf("%d left: %d stranded", left, got)
		}
	}
}

func TestAnswersAreHeldAgainstTheRows(t *testing.T) {
	t.Parallel()
	agree := func() (*round, []fate) {
		r := played(2, 1, reply(openloop.Accepted, 10, 20), reply(openloop.Replayed, 30, 40), reply(openloop.SoldOut, 11, 21),
			reply(openloop.Unknown, 12, 22))
		r.balance = stock.Balance{SKU: "hot", Initial: 2, Committed: 2}
		r.account.known = true
		return r, withRows(r)
	}
	for name, c := range map[string]struct {
		spoil func(r *round, fates []fate)
		says  []string
	}{
		"all agree": {func(*round, []fate) {}, nil},
		"an order of no answer may be there": {func(_ *round, f []fate) {
			f[3].hasRow, f[3].asked, f[3].units = true, true, 1
			f[0].units = 1
		}, nil},
		"a row too few": {func(r *round, f []fate) {
			f[0].hasRow = false
			r.balance = stock.Balance{SKU: "hot", Initial: 2, Available: 2}
		}, []string{"orders that buyers were told of have no row"}},
		"a row of the refused": {func(_ *round, f []fate) {
			f[2].hasRow, f[2].asked = true, true
		}, []string{"orders that were refused have a row"}},
		"another quantity": {func(_ *round, f []fate) { f[0].asked = false }, []string{"rows are not what was asked for"}},
		"sold twice": {func(_ *round, f []fate) {
			f[0].accepted = 2
		}, []string{"orders were accepted more than once"}},
		"no such winner": {func(_ *round, f []fate) {
			f[0].accepted = 0
		}, []string{"orders were told to have been accepted before"}},
		"a winner denied": {func(_ *round, f []fate) { f[0].denied = true }, []string{"winners were refused"}},
		"oversold": {func(r *round, f []fate) {
			r.balance.Committed, r.balance.Available, f[0].units = 3, -1, 3
		}, []string{"1 units were sold beyond"}},
		"a row of nobody": {func(r *round, _ []fate) {
			r.balance.Initial, r.balance.Committed = 3, 3
		}, []string{"3 units of the initial stock", "3 units are committed instead of 2", "1 units were sold beyond"}},
		"a unit lost":      {func(r *round, _ []fate) { r.balance.Committed = 1 }, []string{"1 units are missing", "1 units are committed"}},
		"a violation":      {func(r *round, _ []fate) { r.balance.Violations = []string{"an odd row"} }, []string{"an odd row"}},
		"nothing is there": {func(r *round, _ []fate) { r.account.known = false }, []string{"the database does not know it"}},
	} {
		r, fates := agree()
		c.spoil(r, fates)
		r.settle(fates, 2)
		wrong := r.account.complaints.Tell()
		if len(wrong) != len(c.says) || !slices.EqualFunc(wrong, c.says, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", name, wrong, c.says)
		}
	}
	r, fates := agree()
	r.opening = 5
	r.settle(fates, 2)
	if a := r.account; a.rows != 1 || a.told != 1 || a.units != 2 || a.soldOut != 15 || a.open != 0 {
		t.Errorf("account %+v", a)
	}
}

func TestClocksThatDifferAreTold(t *testing.T) {
	t.Parallel()
	r := played(1, none, reply(openloop.Accepted, 10, 20), reply(openloop.SaleClosed, 40, 50), reply(openloop.SaleClosed, 10, 50),
		reply(openloop.SoldOut, 60, 70))
	r.opening = 30
	r.clocks()
	if a := r.account; a.early != 1 || a.late != 1 || a.firstNo != 70 {
		t.Errorf("account %+v", a)
	}
}
