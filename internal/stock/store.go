// Package stock is the domain: SKUs whose units lie in segments, orders and deductions, reservations, the ledger.
//
// It has what callers and stores both know:
//
//   - the values, and which of them are allowed ([Order], [NewSKU], [Movement], [MultiOrder], their Check methods);
//   - the contract of a [Store], which reads, locks and writes rows;
//   - the plans, pure functions that decide what a store writes ([PlanBatch], [PlanMovement], [PlanSettlement],
//     [PlanExpiry], [Retake.Plan]), so that all stores decide alike;
//   - the errors that callers see, by [Code].
//
// Package selling, below this one, does the selling. The stores are in postgres and sqlite, and stocktest is the suite
// that both pass.
package stock

import (
	"context"
	"slices"
	"time"
)

// Store keeps the rows. Every write is one transaction, relative and conditional, so that processes with and
// without locks may write at the same time: the guard is here, not in the locks.
//
// Every method locks rows in one order: the order's own row; then SKU by SKU, ascending, its segments, its buyers and its
// deductions, each ascending.
//
// Every transaction that changes what a segment holds, or inserts a deduction, raises the version of a segment's row.
// So equal versions of all segments, read at two instants, prove that nothing happened in between. The versions of new
// segments are above all earlier ones.
//
// A reservation is live until a write ends it, so no writer contradicts what a reader was told. From the instant of its
// expiry on, every write that finds it ends it: [Store.Settle] does not commit it, [Store.Merge] and [Store.Order] give
// its units back before they refuse anything, and [Store.Expire] returns them.
//
// Time is the store's clock: PostgreSQL's, or the process' for a file of SQLite. A write reads it once it holds the last
// row that it has to wait for, and decides everything that depends on time by that one instant. If it then has to wait for
// a buyer's row or an order id, it decides again if the sale has ended meanwhile, and its reservations last from when it
// has them, or at most 100 ms less than requested. If a write has an instant of its own (At), which is for tests, it
// decides by that.
//
// No write commits after its deadline, nor after its context's, however late its statement reaches the database: the
// transaction reads the database's own clock last of all. If it is too late, it writes nothing and returns [ErrLate].
//
// Errors: a *[Error] if there is a code for the caller, a *[FencedError], [ErrLayout], [ErrSpread], [ErrLate], [ErrGuard],
// or another [ErrUnwritten]; any other error of a write means that the outcome is not known.
type Store interface {
	// CreateSKU adds a SKU, its stock spread over its segments. It reports false if the same SKU was there
	// already, and CodeSKUExists if it was there with other properties.
	CreateSKU(ctx context.Context, sku NewSKU, at time.Time) (created bool, err error)
	// TryCreateSKU reports what CreateSKU would, and leaves everything as it is.
	TryCreateSKU(ctx context.Context, sku NewSKU, at time.Time) (created bool, err error)
	// Status reads a SKU in one snapshot. Its cost does not depend on how much has been sold or reserved.
	Status(ctx context.Context, sku string, at time.Time) (Status, error)
	// Statuses reads the SKUs after a given one, in the order of their bytes; "" is before all. Its cost grows with limit
	// alone, not with how much has been sold or reserved. Reservations that have expired and were not ended yet count as
	// reserved.
	Statuses(ctx context.Context, after string, limit int) ([]Status, error)
	// StatusesOf reads some SKUs as Statuses does, in one snapshot each. A SKU that does not exist is missing in the result.
	StatusesOf(ctx context.Context, skus ...string) (map[string]Status, error)
	// Names reads the ids and names of SKUs from a text on, in the order of the ids' bytes, limit of them at most.
	Names(ctx context.Context, from string, limit int) ([]SKUName, error)
	// Views reads what each segment of each SKU holds and on which terms it is sold, each SKU in one snapshot and without any lock.
	// A SKU that does not exist is missing in the result.
	Views(ctx context.Context, skus ...string) (map[string]View, error)
	// Ages reads how often each SKU was written, without any lock: while the age of a SKU is the same, nothing has happened to what its
	// segments hold, and no order was accepted. A SKU that does not exist is missing in the result.
	Ages(ctx context.Context, skus ...string) (map[string]Age, error)
	// BuyerOrders reads the deductions of a buyer that hold units and are counted at a SKU or in a group, at most limit of them: those of the
	// buyer's own namespace, or the shop's, in the order of their keys.
	BuyerOrders(ctx context.Context, count, buyerID string, own bool, limit int) ([]Deduction, error)
	// DueInGroup returns the SKUs of which buyers have reservations that have expired, and still count in the count of a group.
	DueInGroup(ctx context.Context, count string, buyerIDs []string, at time.Time) (skus []string, err error)

	// Deduct takes a batch from one segment.
	Deduct(ctx context.Context, batch Batch) (BatchResult, error)
	// Merge takes a batch from all segments of a SKU, whose rows it locks, so its refusals are final. Before it
	// decides, the units of reservations that have expired come back.
	Merge(ctx context.Context, merge Batch) (BatchResult, error)
	// Order takes all lines of an order, or nothing. It returns the deductions in the order of the lines, without their
	// parts, and reports false if the same order was there already. CodeOrderIDReused is for an id that belongs to
	// another order, or to a deduction of one of its SKUs. CodeSoldOut, CodeInsufficientStock and CodeBuyerLimit name
	// the SKU, and are final if the line could be filled from all segments.
	Order(ctx context.Context, placement Placement) (lines []Deduction, created bool, err error)
	// Settle commits, cancels, returns and extends deductions. It carries out what [PlanSettlement] says.
	Settle(ctx context.Context, settlement Settlement) ([]Settled, error)
	// SettleOrder settles all lines of an order of several SKUs, or none. It carries out what [PlanLines] says. If the
	// order was not looked up, it may return no results: then it has written nothing, and the caller looks the order up.
	SettleOrder(ctx context.Context, settlement OrderSettlement) ([]Settled, error)
	// ChangeOrder gives an order other lines, or changes nothing. It carries out what [Revision.Plan] says, once for its ref.
	ChangeOrder(ctx context.Context, revision Revision) (Revised, error)
	// Retake takes the units of reservations that have expired or were cancelled again, of all or of none. They are of one order id, ascending by
	// SKU. It carries out what [Retake.Plan] says.
	Retake(ctx context.Context, deadline time.Time, retakes ...Retake) ([]Deduction, error)
	// Expire gives back the units of the reservations of a SKU that have expired, and returns how many reservations those
	// were. If there are very many, it does so in several transactions.
	Expire(ctx context.Context, sku string, at time.Time) (reservations int, err error)
	// ExpireFree is Expire for many SKUs, as far as nobody holds the rows to which units come back: it waits for nobody. It may leave
	// reservations of a SKU for the next call. SKUs of which it has ended none are missing in the result.
	ExpireFree(ctx context.Context, at time.Time, skus ...string) (map[string]Ended, error)
	// Expired returns the SKUs of the limit reservations that have expired first and still hold units, the longest overdue SKU first. Its
	// cost grows with what has expired alone.
	Expired(ctx context.Context, at time.Time, limit int) ([]Due, error)

	// Deduction reads one deduction with its parts.
	Deduction(ctx context.Context, sku, orderID string) (Deduction, error)
	// PlacedOrder reads an order of several SKUs as it is now; nil if there is none.
	PlacedOrder(ctx context.Context, orderID string) (*PlacedOrder, error)
	// History reads what happened to a deduction.
	History(ctx context.Context, sku, orderID string) (History, error)
	// HandOvers reads when an order of several SKUs got another buyer, the first time first.
	HandOvers(ctx context.Context, orderID string) ([]Entry, error)
	// Deductions reads the deductions that order ids have, without their parts.
	Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]Deduction, error)
	// DeductionPage reads deductions of a SKU, in the order of their keys. It reads no more rows than the query's Bound.
	DeductionPage(ctx context.Context, query DeductionQuery) (DeductionPage, error)
	// ListOrders builds the indexes that OrderLines needs, or removes them, beside sales. OrdersListed says whether they are there.
	ListOrders(ctx context.Context, on bool) error
	OrdersListed(ctx context.Context) (bool, error)
	// OrderLines reads lines of the orders of all SKUs, by when they were created. It reads no more rows than the query's Scan.
	OrderLines(ctx context.Context, query OrderQuery) (LinePage, error)
	// SoldOut reads SKUs without any lock, each in one snapshot. Of those that have nothing left it calls accepted with the id of each
	// order that was accepted, at most limit of them in a snapshot and in any order, one call at a time; accepted must not keep the
	// bytes after it returns. A limit of 0 reads no ids. Unknown SKUs are left out. Ages tell whether what it has read is still so.
	SoldOut(ctx context.Context, skus []string, limit int, accepted func(sku, orderID []byte)) (map[string]View, error)

	// Move changes the segments as [PlanMovement] says, and adds a row to the ledger. It reports false if the same
	// movement was there already.
	Move(ctx context.Context, m Movement) (created bool, err error)
	// BeingCounted returns SKUs, limit of them at most, of which a change of the buyer limit has left earlier orders to be counted, or no
	// longer to be.
	BeingCounted(ctx context.Context, limit int) ([]string, error)
	// CountEarlier does so with a page of the deductions of such a SKU, at most so many, in a transaction, and reports whether some are left. Orders go on
	// meanwhile, and count themselves. ErrHeld: another transaction does it, or holds a row that it needs.
	CountEarlier(ctx context.Context, sku string, page int) (left bool, err error)
	// Archive ends the sale of a SKU for good: its rows get [ArchivedLayout], and its terms say since when. It reports false
	// if the SKU was archived already.
	Archive(ctx context.Context, sku string, at time.Time) (archived bool, err error)
	// Prune folds deductions of an archived SKU into a sum, which Audit counts. It does not wait for rows: it folds nothing
	// of orders that another transaction has locked, nor of a SKU that is not archived.
	Prune(ctx context.Context, pruning Pruning) (Pruned, error)
	// Forgotten reads all buyers who are forgotten, or about to be.
	Forgotten(ctx context.Context) ([]ForgottenBuyer, error)
	// NoteForgetKey notes the name of "" under a key, and reports false if another key was noted before: of two that come at once, one is
	// noted.
	NoteForgetKey(ctx context.Context, name string) (noted bool, err error)
	// NoteForgotten notes one.
	NoteForgotten(ctx context.Context, buyer ForgottenBuyer) error
	// Forget takes the next step to forget a buyer, in a transaction of a bounded number of rows, and returns what is done then; the zero step is
	// the first one. If it is interrupted, it may begin anew. ErrHeld: another transaction holds a row for long.
	Forget(ctx context.Context, f Forgetting, step ForgetStep) (next ForgetStep, err error)
	// Movements reads the ledger of a SKU after a position, the oldest movement first; the zero Position is before all.
	Movements(ctx context.Context, sku string, after Position, limit int) ([]Movement, error)
	// NewestMovements reads the ledger of a SKU before a position, the newest movement first; the zero Position is behind all.
	NewestMovements(ctx context.Context, sku string, before Position, limit int) ([]Movement, error)

	// Watch calls restocked for every SKU to which any process returns or adds units, soon after the commit; deductions and
	// merges do not count, nor does ExpireFree if the SKU had units. It calls listening once it receives all of this; what came before
	// is missed. It returns nil at once if no other process can write, otherwise the error that ended it, at the latest when ctx ends.
	Watch(ctx context.Context, listening func(), restocked func(sku string)) error
	// Audit recomputes the balance of a SKU from its rows, of all SKUs if it is "", in one snapshot. It tells audited how many SKUs it has
	// done, and of how many, if it reads them one after another; nil: nobody.
	Audit(ctx context.Context, sku string, audited func(done, of int)) (Audit, error)
	// HasMoreOrders reports whether a SKU, or all SKUs together if it is "", have more deductions than that. It counts no more of them.
	HasMoreOrders(ctx context.Context, sku string, than int) (bool, error)
	// Pool returns how much the connections to the database are in use.
	Pool() Pool
	// Now returns the time of the store's clock, as far as this process knows it without a query: it may be late by a round
	// trip.
	Now() time.Time
	// Clock returns between which times the clock is that decides about a SKU, as far as this process knows it without a
	// query. After [Store.Deduction], [Store.Deductions], [Store.PlacedOrder] and [Store.Views], the earliest is no earlier than the clock
	// was when they read. So a reservation that has not expired by then was live when it was read.
	Clock(sku string) (earliest, latest time.Time)
	// Ping returns an error unless the database answers.
	Ping(ctx context.Context) error
	// Ready returns an error unless the database answers and takes writes: [ErrNotWritable] if it only answers.
	Ready(ctx context.Context) error
	// Close gives everything back.
	Close() error
}

// Due is a SKU with a reservation that has expired and still holds units.
type Due struct {
	SKU   string
	Since time.Time // the expiry of the first one
}

// Ended are reservations of a SKU that [Store.ExpireFree] has ended.
type Ended struct {
	Reservations int
	WasEmpty     bool // the SKU may have had no units before
}

// Pool is how much the connections of a store are in use. Waits and Waited count all calls since it was opened.
type Pool struct {
	Open   int           // open connections
	Busy   int           // of these, in use now
	Waits  int64         // calls that found no connection free
	Waited time.Duration // by all these calls together
}

// Earlier returns the earlier of two instants; the zero time is none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// WhileAny returns the context of a write that several callers share. It ends at the last of their deadlines; the zero time
// is none, and then it does not end by itself.
func WhileAny(deadlines ...time.Time) (context.Context, context.CancelFunc) {
	if slices.ContainsFunc(deadlines, time.Time.IsZero) {
		return context.WithCancel(context.Background())
	}
	return context.WithDeadline(context.Background(), slices.MaxFunc(deadlines, time.Time.Compare))
}
