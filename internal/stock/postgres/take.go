package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// arraysOf returns the arrays of what is to be taken, orders of several SKUs first. It reports whether they agree about the rows.
func arraysOf(all []sharedItem) (o Orders, agree bool) {
	var orders []stock.Placement
	var batches []stock.Batch
	for _, t := range all {
		if t.order != nil {
			orders = append(orders, *t.order)
		} else {
			batches = append(batches, t.Batch)
		}
	}
	return OrdersOf(orders, batches...)
}

// takeTogether takes batches and orders of several SKUs by one statement: all of them, or nothing.
func (h *sharing) takeTogether(ctx context.Context, deadline time.Time, all []sharedItem) ([]sharedAnswer, error) {
	if h.careful > 0 {
		h.careful--
		return nil, ErrApart
	}
	o, agree := arraysOf(all)
	left, now, err := []int64(nil), time.Time{}, ErrApart
	if agree {
		left, now, err = all[0].store.takeRows(ctx, deadline, o)
	}
	if err != nil {
		h.failed = min(2*h.failed+1, mostCareful)
		h.careful = h.failed
		return nil, err
	}
	h.failed /= 2
	return answersOf(all, o, left, now), nil
}

// takeRows sends the statement, and returns what the segments hold then, and its instant.
func (s *Store) takeRows(ctx context.Context, deadline time.Time, o Orders) (left []int64, now time.Time, err error) {
	r := o.Rows
	starts, ends := r.Window()
	args := []any{
		r.SKUs, r.Segments, r.Layouts, r.Tokens, r.Owners, r.Units, r.Reserved, instant(starts), instant(ends),
		s.deadline(deadline), sharedWait,
		o.Lines.OrderIDs, o.SKUs, o.Segments, o.Lines.Quantities, o.Lines.Reserves, orNull(o.LinesGiven), o.InOrders,
		o.Heads.OrderIDs, o.Heads.Reserves, orNull(o.Given), o.PartSKUs, o.Parts.OrderIDs, o.Parts.Segments, o.Parts.Quantities,
	}
	args = append(append(args, o.Heads.Texts...), o.Lines.Texts...)
	sent := time.Now()
	if err := tables.Single(ctx, s.pool.writing(), []any{&now, &left, nil}, "take_together", args...); err != nil {
		return nil, now, err
	}
	s.clock.note(sent, now)
	return left, now, nil
}

// answersOf returns the answers after all was taken.
func answersOf(all []sharedItem, o Orders, left []int64, now time.Time) []sharedAnswer {
	var emptied []string
	for i, units := range left {
		if units == 0 {
			emptied = append(emptied, o.Rows.SKUs[i])
		}
	}
	answers := make([]sharedAnswer, len(all))
	line := o.InOrders // the first line of the next batch
	for i, t := range all {
		at := cmp.Or(t.given(), now)
		if t.order != nil {
			answers[i].at = &at
			t.order.LeftEmpty(emptied)
			continue
		}
		row := o.From[line] - 1
		line += len(t.Orders)
		before := left[row] + t.Units()
		answers[i].row = &batchRow{before: &before, after: &left[row], orders: len(t.Orders), at: &at}
	}
	return answers
}

// takeEach decides each of some batches of different SKUs, or of some orders of several SKUs, by itself: in one statement, or in one
// transaction if the SKUs are in different tables. Then there is a statement for each set of tables.
func takeEach(ctx context.Context, deadline time.Time, all []sharedItem) (answers []sharedAnswer, err error) {
	groups := groupsOf(all)
	statements := locksToShare(stock.Column(groups, func(g *group) Access { return g.store.pool.access })...)
	for _, g := range groups {
		statements.SQL = g.store.pool.access.SQL
		statements.Single(g.row.columns(), "take_each", g.arguments(deadline)...)
	}
	sent := time.Now()
	if err := groups[0].store.pool.writing().send(ctx, statements); err != nil {
		return nil, err
	}
	answers = make([]sharedAnswer, len(all))
	for _, g := range groups {
		for i, answer := range g.answers(sent) {
			answers[g.places[i]] = answer
		}
	}
	return answers, nil
}

// group is what is to be taken from the same tables: usually all.
type group struct {
	store  *Store
	all    []sharedItem
	places []int // where these are among all
	row    eachRow
}

// groupsOf divides what is to be taken into groups.
func groupsOf(all []sharedItem) (groups []*group) {
	of := make(map[*Store]*group)
	for i, t := range all {
		g := of[t.store]
		if g == nil {
			g = &group{store: t.store}
			of[t.store], groups = g, append(groups, g)
		}
		g.all, g.places = append(g.all, t), append(g.places, i)
	}
	return groups
}

// arguments returns the arguments of the statement.
func (g *group) arguments(deadline time.Time) []any {
	o, _ := arraysOf(g.all) // they agree: see roomToTake
	r := o.Rows
	args := []any{
		r.SKUs, r.Segments, r.Layouts, r.Tokens, r.Owners, r.Units, orNull(r.Starts), orNull(r.Ends), r.Limits,
		g.store.deadline(deadline), sharedWait,
		o.Of, o.From, o.Lines.OrderIDs, o.Lines.Quantities, o.Lines.Reserves, orNull(o.LinesGiven),
		o.Heads.OrderIDs, o.Heads.Reserves, orNull(o.Given), o.Lengths,
	}
	return append(append(args, o.Heads.Texts...), o.Lines.Texts...)
}

// eachRow is where the row of the statement is scanned. Arrays may be null.
type eachRow struct {
	fillable      []int64 // numbers, from 1
	at            []time.Time
	lines         []int64 // how many of each were taken
	before, after []int64 // what the row of each held and holds
	insertedOf    []int64
	inserted      []string // order ids, if a line was not taken
	emptied       []string
	there, locked []int64
}

func (r *eachRow) columns() []any {
	return []any{
		&r.fillable, &r.at, &r.lines, &r.before, &r.after, &r.insertedOf, &r.inserted, &r.emptied, &r.there, &r.locked,
	}
}

// answers returns what the row of a statement that was sent at an instant says.
func (g *group) answers(sent time.Time) []sharedAnswer {
	r, answers, ids := &g.row, make([]sharedAnswer, len(g.all)), make(map[int64][]string)
	for n := range answers {
		answers[n].skipped = !slices.Contains(r.locked, int64(n+1))
	}
	for i, n := range r.insertedOf {
		ids[n] = append(ids[n], r.inserted[i])
	}
	for i, n := range r.fillable {
		t, answer := g.all[n-1], &answers[n-1]
		if t.given().IsZero() {
			g.store.clock.note(sent, r.at[i])
		}
		switch {
		case t.order == nil:
			answer.row = &batchRow{before: &r.before[i], after: &r.after[i], orders: int(r.lines[i]), inserted: ids[n], at: &r.at[i]}
		case r.lines[i] > 0:
			answer.at = &r.at[i]
			t.order.LeftEmpty(r.emptied)
		}
	}
	for _, n := range r.there {
		answers[n-1].at = &time.Time{}
	}
	return answers
}
