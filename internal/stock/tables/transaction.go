package tables

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"inventory/internal/stock"
)

// Statements are statements that go to the database together: in one message, if it takes messages.
type Statements struct {
	List []*Statement
	SQL  func(name string) SQL // has the texts of those that are added next; nil: the transaction has
	// Briefly says that some of them wait only briefly for rows (Tx.RowWait): that they did not get these is [stock.ErrHeld].
	Briefly bool
}

// Statement is one of them.
type Statement struct {
	Name  string
	SQL   SQL // in place of the one of that name, if it has a text
	Args  []any
	Into  []any                       // where its only row is scanned, which has to exist; nil: it has any number of rows
	Each  func(Row) error             // reads each row; nil: there are none
	Wrote func(rows int64) error      // gets the number of rows that were written; nil: any number is right
	Do    func(context.Context) error // in place of a statement; nil: there is one
}

// Exec adds a statement that writes.
func (s *Statements) Exec(name string, args ...any) *Statement {
	one := &Statement{Name: name, Args: args}
	if s.SQL != nil {
		one.SQL = s.SQL(name)
	}
	s.List = append(s.List, one)
	return one
}

// Each adds a query.
func (s *Statements) Each(read func(Row) error, name string, args ...any) {
	s.Exec(name, args...).Each = read
}

// Single adds a query that always has one row.
func (s *Statements) Single(into []any, name string, args ...any) { s.Exec(name, args...).Into = into }

// wrote records whether a row was written.
func wrote(any *bool) func(int64) error {
	return func(rows int64) error {
		*any = rows > 0
		return nil
	}
}

// Tx is a transaction of a store.
type Tx interface {
	Querier
	// Send carries out statements; there may be none.
	Send(ctx context.Context, statements *Statements) error
	// Expire gives back the units of reservations that have expired, [stock.ExpireLimit] at most, and says how many those were. The
	// rows of all segments are locked.
	Expire(statements *Statements, sku string, at time.Time) (reservations *int)
	// Swept is what the store knows of reservations that have expired.
	Swept() *Swept
	// RowWait says how long the statements after it wait for a row; 0: as long as usual.
	RowWait(statements *Statements, wait time.Duration)
	// Instant sets at to the instant of a decision, after all statements that wait: given, or if it is zero the time of the
	// store's clock.
	Instant(statements *Statements, given time.Time, at *time.Time)
	// Rename forgets a buyer in a deduction, and changes the deduction's key, and that of what belongs to it, if it has the buyer's id.
	Rename(statements *Statements, sku, orderID string, f stock.Forgetting)
	// Notify tells other processes that units of a SKU are back or were added.
	Notify(statements *Statements, sku string)
}

// LockAll locks the rows of all segments. None means that there is no such SKU.
func (s *Statements) LockAll(sku string) *[]stock.Segment {
	s.Exec("lock_layout", sku)
	return s.segments("lock_segments", sku)
}

// LockRefilled locks the rows of all segments, and reads them once the units of reservations that have expired are back.
func (s *Statements) LockRefilled(tx Tx, sku string, at time.Time) (segments *[]stock.Segment, expired *int) {
	s.LockAll(sku)
	expired = tx.Expire(s, sku, at)
	return s.segments("lock_segments", sku), expired
}

// Locking is how a write that brings units back locks the rows of a SKU.
type Locking int

// The tries of such a write, one after the other, as long as each is [stock.ErrHeld].
const (
	LockSoon     Locking = iota // all rows, if nobody holds one for long
	LockFree                    // those rows that nobody holds
	LockInTheEnd                // all rows: somebody holds each of them
)

// How long such a write waits for a row.
const (
	heldAfter  = 500 * time.Millisecond // then the units go to other rows
	tellBefore = 100 * time.Millisecond // before the end of its context, there is time to say that a row is held
)

// UntilFree calls write with each way of locking, until it is not [stock.ErrHeld].
func UntilFree(write func(Locking) error) (err error) {
	for how := LockSoon; how <= LockInTheEnd; how++ {
		if err = write(how); !errors.Is(err, stock.ErrHeld) {
			return err
		}
	}
	return err
}

// Lock locks the rows of a SKU one of these ways.
func (s *Statements) Lock(ctx context.Context, tx Tx, sku string, how Locking) *[]stock.Segment {
	switch how {
	case LockFree:
		return s.LockFree(sku)
	case LockSoon:
		tx.RowWait(s, heldAfter)
	default:
		tx.RowWait(s, untilLate(ctx))
	}
	defer tx.RowWait(s, 0)
	return s.LockAll(sku)
}

// untilLate returns how long a row may be waited for; 0: as long as usual.
func untilLate(ctx context.Context) time.Duration {
	deadline, is := ctx.Deadline()
	if !is {
		return 0
	}
	return max(time.Until(deadline)-tellBefore, time.Millisecond)
}

// LockFree locks the rows of the segments that no other transaction holds, and reads all of them.
func (s *Statements) LockFree(sku string) *[]stock.Segment {
	var found []stock.Segment
	s.Each(func(row Row) (err error) {
		var one stock.Segment
		err = row.Scan(&one.Available, &one.Reserved, &one.Fence.Token, &one.Fence.Owner, &one.Layout, &one.Version, &one.Held)
		found = append(found, one)
		return err
	}, "lock_free", sku)
	return &found
}

// LockSome locks the rows of some segments. Segments that do not exist are missing in the result.
func (s *Statements) LockSome(sku string, segments ...int) *[]stock.Segment {
	return s.segments("lock_some", sku, segments)
}

func (s *Statements) segments(statement string, args ...any) *[]stock.Segment {
	var found []stock.Segment
	s.Each(func(row Row) error {
		one, err := segment(row)
		found = append(found, one)
		return err
	}, statement, args...)
	return &found
}

func segment(row Row) (s stock.Segment, err error) {
	err = row.Scan(&s.Available, &s.Reserved, &s.Fence.Token, &s.Fence.Owner, &s.Layout, &s.Version)
	return s, err
}

// Changes are changes of segments, whose rows are locked.
type Changes struct {
	segments               []int32
	units, reserved, token []int64
	owners                 []string
}

// Add adds units, which may be below zero, to a segment, and reserved to what reservations have taken from it. The zero fence
// leaves the row's.
func (c *Changes) Add(segment int, units, reserved int64, fence stock.Fence) {
	if units == 0 && reserved == 0 {
		return
	}
	c.segments = append(c.segments, int32(segment)) //nolint:gosec // at most stock.MaxSegments
	c.units, c.reserved = append(c.units, units), append(c.reserved, reserved)
	c.token, c.owners = append(c.token, fence.Token), append(c.owners, fence.Owner)
}

// Change changes segments.
func (s *Statements) Change(sku string, c Changes) {
	if len(c.segments) > 0 {
		s.Exec("change_segments", sku, c.segments, c.units, c.reserved, c.token, c.owners)
	}
}

// ErrRaced rolls back a transaction that has decided from data that changed meanwhile. Then the transaction restarts. This
// ends: each time another transaction has committed something.
var ErrRaced = errors.New("another transaction was faster")

// AllOf expects that many written rows; any other number is a race.
func AllOf(rows int) func(int64) error {
	return func(written int64) error {
		if written != int64(rows) {
			return ErrRaced
		}
		return nil
	}
}

// Count adds orders to the counts of their buyers, if there is a limit. If it cannot do so for all of them, that is a race.
func (s *Statements) Count(count string, limit int64, orders []stock.Order) {
	counts := make(map[string]int64, len(orders))
	for _, o := range orders {
		if o.BuyerID != "" {
			counts[o.BuyerID] += o.Quantity
		}
	}
	if limit > 0 && len(counts) > 0 {
		buyers, units := columnsOf(counts)
		s.Exec("count_buyers", count, buyers, units, limit).Wrote = AllOf(len(buyers))
	}
}

// GiveBack gives units back to segments, whose rows are locked, and to buyers who are counted at the SKU.
func (s *Statements) GiveBack(sku string, back stock.Returns) {
	var returned Changes // written without a lock's fence
	for segment, units := range back.Segments {
		returned.Add(segment, units, -back.Reserved[segment], stock.Fence{})
	}
	s.Change(sku, returned)
	s.Uncount(inGroups(back.Buyers, false))
}

// UncountInGroups takes what settlements give back from the counts of groups. Their rows are the first of buyers' rows that a transaction
// locks, in ascending order.
func (s *Statements) UncountInGroups(plans ...stock.SettlementPlan) {
	all := make(map[stock.Counted]int64)
	for _, plan := range plans {
		for of, units := range inGroups(plan.Returns.Buyers, true) {
			all[of] += units
		}
	}
	s.Uncount(all)
}

// inGroups returns those who are counted in groups, or the others.
func inGroups(buyers map[stock.Counted]int64, are bool) map[stock.Counted]int64 {
	some := maps.Clone(buyers)
	maps.DeleteFunc(some, func(of stock.Counted, _ int64) bool { return stock.IsGroup(of.At) != are })
	return some
}

// LockCounted locks the rows of buyers, and makes those that are missing.
func (s *Statements) LockCounted(buyers []stock.Counted) {
	none := make(map[stock.Counted]int64, len(buyers))
	for _, of := range buyers {
		none[of] = 0
	}
	s.Uncount(none)
}

// Uncount takes units from the counts of buyers.
func (s *Statements) Uncount(buyers map[stock.Counted]int64) {
	if len(buyers) > 0 {
		counts, ids, units := columnsOfCounted(buyers)
		s.Exec("uncount_buyers", counts, ids, units)
	}
}

// columnsOfCounted splits what is counted into columns, ascending.
func columnsOfCounted(buyers map[stock.Counted]int64) (counts, ids []string, units []int64) {
	for _, of := range slices.SortedFunc(maps.Keys(buyers), stock.Counted.Compare) {
		counts, ids, units = append(counts, of.At), append(ids, of.BuyerID), append(units, buyers[of])
	}
	return counts, ids, units
}

// columnsOf splits a map into two columns, ascending by key.
func columnsOf(units map[string]int64) (keys []string, column []int64) {
	for _, key := range slices.Sorted(maps.Keys(units)) {
		keys = append(keys, key)
		column = append(column, units[key])
	}
	return keys, column
}
