// Package stocktest is the conformance suite of [stock.Store]: every store passes the same cases. Each case
// ends with the audit of what is in the database.
package stocktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// Bench is one empty database under test.
type Bench struct {
	Store stock.Store
	// Exec runs a statement beside the store, as somebody would who writes to the tables by hand.
	Exec func(ctx context.Context, statement string) error
	// Hold keeps every other writer of the database waiting until it is released.
	Hold func(ctx context.Context) (release func() error, err error)
	// Dump returns every row of every table as a text, for [ForgetCases].
	Dump func(ctx context.Context) ([]string, error)
}

// A Case is one case of the suite.
type Case struct {
	name string
	run  func(*testing.T, *kit)
}

// Run runs cases; open returns an empty database for each of them and closes it when the case is over.
func Run(t *testing.T, open func(t *testing.T) Bench, cases ...Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.on(t, open(t))
		})
	}
}

// RunVirtually is Run in virtual time (testing/synctest), which stands still while a statement is under way: on a slow machine no
// time-out of the store ends it. [LateCases] need the real time.
func RunVirtually(t *testing.T, open func(t *testing.T) Bench, cases ...Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) { c.on(t, open(t)) })
		})
	}
}

// on runs the case on a database.
func (c Case) on(t *testing.T, b Bench) {
	k := &kit{t: t, store: b.Store, exec: b.Exec, holding: b.Hold, dump: b.Dump, layout: firstLayout}
	c.run(t, k)
	k.audit()
}

// Cases are all cases of the suite.
func Cases() []Case { return slices.Concat(CalmCases(), RacingCases(), LateCases()) }

// ForgetCases are those of a store that can forget a buyer.
func ForgetCases() []Case {
	return []Case{
		{"forget a buyer", testForget},
		{"forget a buyer again", testForgetAgain},
		{"rv forget a buyer whose units were written off again", testForgetWrittenOffAgain},
		{"forget the buyer of orders of several SKUs", testForgetOrders},
		{"note who is forgotten", testForgotten},
		{"the first key by which buyers are forgotten", testForgetKeys},
		{"forget the buyer of pruned orders", testForgetPruned},
		{"prune an order of several SKUs that its buyer made", testForgetPrunedOwn},
		{"forget a buyer whose order changes meanwhile", testForgetMeetsChange},
	}
}

// CalmCases are those with one caller after another: every write and every read, and what it returns.
func CalmCases() []Case {
	return []Case{
		{"create", testCreate},
		{"unknown SKU", testUnknownSKU},
		{"archive", testArchive},
		{"constraints guard the rows", testGuard},

		{"a sale begins and ends at an instant", testSaleWindow},
		{"a sale with a buyer limit begins and ends at an instant", withLimit(testSaleWindow)},
		{"every write raises a version", testVersions},
		{"every write with a buyer limit raises a version", withLimit(testVersions)},
		{"buyer limit", testLimit},
		{"layouts", testLayouts},
		{"layouts with a buyer limit", withLimit(testLayouts)},
		{"fences", testFences},
		{"fences with a buyer limit", withLimit(testFences)},
		{"fences stay", testFencesStay},
		{"stale token of a merge changes nothing", testStaleMerge},
		{"every field of an order is kept", testFieldsAreKept},
		{"every field of an order with a buyer limit is kept", withLimit(testFieldsAreKept)},

		{"batches", testBatches},
		{"batch", testBatch},
		{"merge takes from several segments", testMerge},
		{"merge takes back what has expired first", testMergeTakesBackFirst},
		{"ids of every kind", testIDs},
		{"ended context", testEndedContext},
		{"what uses a buyer limit up", testBuyerOrders},
		{"buyer limit and what comes back", testLimitAndWhatComesBack},

		{"reserve", testReserve},
		{"expire", testExpire},
		{"commit", testCommit},
		{"settle refuses", testSettleRefuses},
		{"settle together", testSettleTogether},
		{"extend", testExtend},
		{"parts of a deduction", testParts},
		{"write-off", testWriteOff},
		{"retake", testRetake},
		{"retake of a cancelled reservation", testRetakeOfACancelled},
		{"retake while many have expired", testRetakeAmongMany},
		{"history", testHistory},

		{"order of several SKUs", testOrder},
		{"order id reused", testOrderIDReused},
		{"order is all or nothing", testOrderIsAllOrNothing},
		{"order takes back what has expired first", testOrderTakesBackFirst},
		{"order at a limit of what has expired", testOrderAtAStaleLimit},
		{"an order is settled as a whole", testSettleOrder},
		{"an order expires", testOrderExpires},
		{"a half of an order is taken again", testRetakeOfAHalf},

		{"movements", testMovements},
		{"adjust", testAdjust},
		{"resegment", testResegment},
		{"resegment keeps fences", testResegmentKeepsFences},
		{"resegment takes back what has expired first", testResegmentTakesBackFirst},
		{"terms", testTerms},
		{"a buyer limit comes, changes and goes", testLimitChanges},
		{"earlier orders are counted page by page", testCountEarlier},
		{"a change of an order counts its buyers", testChangeCounts},

		{"sold out", testSoldOut},
		{"several SKUs are sold out", testSeveralSoldOut},
		{"SKUs with expired reservations", testExpired},
		{"reservations of many SKUs expire at once", testExpireFree},
		{"SKUs page by page", testStatuses},
		{"deductions page by page", testDeductionPages},
		{"a page of deductions reads no more than its bound", testDeductionPagesAreBounded},
		{"orders by time and buyer", testOrderLines},
		{"audit sees damage", testAuditSees},
		{"audit of one SKU", testAuditOfOne},
		{"audit of all SKUs", testAuditOfAll},
		{"prune", testPrune},
		{"prune orders of several SKUs", testPruneOrders},
		{"prune in steps", testPruneInSteps},
	}
}

// LateCases are those in which time passes while callers wait.
func LateCases() []Case {
	return []Case{
		{"a write after its deadline writes nothing", testLate},
		{"a write with a buyer limit after its deadline writes nothing", withLimit(testLate)},
		{"time is read after waiting", testDecidesAfterWaiting},
		{"the sale ends while a write waits", testSaleEndsWhileWaiting},
		{"the sale with a buyer limit ends while a write waits", withLimit(testSaleEndsWhileWaiting)},
		{"a reservation expires while its commit waits", testExpiresWhileWaiting},
		{"connections in use are told", testPool},
	}
}

// RacingCases are those in which callers meet.
func RacingCases() []Case {
	return []Case{
		{"replays race", testReplayRace},
		{"replays at the limit race", replaysAtLimit(1)},
		{"replays below the limit race", replaysAtLimit(2)},
		{"adjust if the stock is as expected", testAdjustIfStock},
		{"movements beside writers", testMovementsBesideWriters},
		{"sold out is read in one snapshot", testSoldOutIsOneSnapshot},
		{"requests meet", testRequestsMeet},
		{"a greedy buyer", testGreedyBuyer},
		{"sweepers race", testSweepers},
		{"a SKU is archived while buyers order", testArchiveRace},
		{"earlier orders are counted while buyers order", testCountRace},
		{"everything at once", testStorm},
	}
}

const sku = "sku-1"

// firstLayout is the layout of a SKU that was never resegmented.
const firstLayout = 1

// at is the time of every write: stores keep the service's times and have no clock of their own.
var at = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

// kit is what the cases say and check with.
type kit struct {
	t       *testing.T
	store   stock.Store
	exec    func(ctx context.Context, statement string) error
	holding func(ctx context.Context) (func() error, error)
	dump    func(ctx context.Context) ([]string, error)
	limit   int64 // per buyer, of the SKU that create makes
	layout  int64 // of the SKU, as its writes are told
	taken   int   // units by passes
	damaged bool  // the case damaged the rows on purpose: no audit at its end
}

// hold keeps other writers waiting until it is released.
func (k *kit) hold() (release func()) {
	k.t.Helper()
	free, err := k.holding(context.WithoutCancel(k.t.Context()))
	if err != nil {
		k.t.Fatalf("hold: %v", err)
	}
	return func() {
		if err := free(); err != nil {
			k.t.Errorf("release: %v", err)
		}
	}
}

// makes makes a SKU that is new.
func (k *kit) makes(n stock.NewSKU) {
	k.t.Helper()
	created, err := k.store.CreateSKU(k.t.Context(), n, at)
	if err != nil || !created {
		k.t.Fatalf("create %s: created %v, error %v", n.SKU, created, err)
	}
}

func (k *kit) create(units int64, segments int) {
	k.t.Helper()
	k.makes(stock.NewSKU{SKU: sku, Stock: units, Segments: segments, Terms: stock.Terms{PerBuyerLimit: k.limit}})
}

// batch is a batch for a segment of the SKU that create made.
func (k *kit) batch(segment int, fence stock.Fence, orders ...stock.Order) stock.Batch {
	return stock.Batch{
		SKU: sku, Layout: k.layout, Segment: segment, Fence: fence, Limit: k.limit, At: at, Orders: orders,
	}
}

// merging is a merge of the SKU that create made.
func (k *kit) merging(fences map[int]stock.Fence, orders ...stock.Order) stock.Batch {
	return stock.Batch{SKU: sku, Layout: k.layout, Fences: fences, Limit: k.limit, At: at, Orders: orders}
}

func (k *kit) deduct(segment int, fence stock.Fence, orders ...stock.Order) stock.BatchResult {
	k.t.Helper()
	result, err := k.store.Deduct(k.t.Context(), k.batch(segment, fence, orders...))
	if err != nil {
		k.t.Fatalf("deduct: %v", err)
	}
	return result
}

func (k *kit) merge(fences map[int]stock.Fence, orders ...stock.Order) stock.BatchResult {
	k.t.Helper()
	result, err := k.store.Merge(k.t.Context(), k.merging(fences, orders...))
	if err != nil {
		k.t.Fatalf("merge: %v", err)
	}
	return result
}

// view reads what sells a SKU knows of it.
func (k *kit) view(sku string) stock.View {
	k.t.Helper()
	views, err := k.store.Views(k.t.Context(), sku)
	if err != nil {
		k.t.Fatalf("look: %v", err)
	}
	return views[sku]
}

func (k *kit) status(sku string, at time.Time) stock.Status {
	k.t.Helper()
	status, err := k.store.Status(k.t.Context(), sku, at)
	if err != nil {
		k.t.Fatalf("status: %v", err)
	}
	return status
}

// available is what all segments hold.
func (k *kit) available(sku string) int64 {
	k.t.Helper()
	return sum(k.view(sku).Segments)
}

// segments checks what each segment holds.
func (k *kit) segments(want ...int64) {
	k.t.Helper()
	k.equal("segments", k.view(sku).Segments, want)
}

// equal compares what two things look like: times of one instant may differ in their place.
func (k *kit) equal(what string, got, want any) {
	k.t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		k.t.Fatalf("%s: got %s, want %s", what, g, w)
	}
}

// fenced checks that a fence was refused, and that the error tells the tokens of the rows that did.
func (k *kit) fenced(err error, tokens map[int]int64) {
	k.t.Helper()
	var refused *stock.FencedError
	if !errors.As(err, &refused) || !errors.Is(err, stock.ErrFenced) || !maps.Equal(refused.Tokens, tokens) {
		k.t.Fatalf("error: got %v, want a fence refused by %v", err, tokens)
	}
}

func (k *kit) absent(orderID string) {
	k.t.Helper()
	_, err := k.store.Deduction(k.t.Context(), sku, orderID)
	k.code(err, stock.CodeUnknownDeduction)
}

func (k *kit) code(err error, want stock.Code) {
	k.t.Helper()
	var e *stock.Error
	if !errors.As(err, &e) || e.Code != want {
		k.t.Fatalf("error: got %v, want code %s", err, want)
	}
}

// audit checks I1 and I3 on the rows.
func (k *kit) audit() {
	k.t.Helper()
	if k.damaged || k.t.Failed() {
		return
	}
	k.audited("")
}

// audited is an audit that finds everything in order, of one SKU or, without its name, of all.
func (k *kit) audited(sku string) stock.Audit {
	k.t.Helper()
	audit, err := k.store.Audit(context.WithoutCancel(k.t.Context()), sku, nil)
	if err != nil || !audit.OK() {
		k.t.Fatalf("audit: %+v, %v", audit, err)
	}
	return audit
}

func order(id string, quantity int64) stock.Order {
	return stock.Order{OrderID: id, Quantity: quantity}
}

// orders makes n orders of one unit with ids of their own.
func orders(prefix string, n int) []stock.Order {
	list := make([]stock.Order, n)
	for i := range list {
		list[i] = order(fmt.Sprintf("%s-%03d", prefix, i), 1)
	}
	return list
}

// seeded returns a random source that a failing case can be repeated with.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
