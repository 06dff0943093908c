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

	"inventory/internal/stock"
)

// Bench is one empty database under test.
type Bench struct {
	Store stock.Store
	// Exec runs a statement beside the store, as somebody would who writes to the tables by hand.
	Exec func(ctx context.Context, statement string) error
	// Hold keeps every other writer of the database waiting until it is released.
	Hold func(ctx context.Context) (release func() error, err error)
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
			b := open(t)
			k := &kit{T: t, store: b.Store, exec: b.Exec, holding: b.Hold, layout: firstLayout}
			c.run(t, k)
			k.audit()
		})
	}
}

// Cases are all cases of the suite.
func Cases() []Case { return slices.Concat(CalmCases(), RacingCases()) }

// CalmCases are those with one caller after another: every write and every read, and what it returns.
func CalmCases() []Case {
	return []Case{
		{"create", testCreate},
		{"create after its sale", testCreateAfterItsSale},
		{"unknown SKU", testUnknownSKU},
		{"SKUs page by page", testStatuses},
		{"archive", testArchive},
		{"an archived SKU is not sold out", testArchivedIsNotSoldOut},
		{"prune", testPrune},
		{"prune orders of several SKUs", testPruneOrders},
		{"prune in steps", testPruneInSteps},
		{"terms", testTerms},
		{"terms refuse those who know others", testTermsRefuseOthers},
		{"a buyer limit comes, changes and goes", testLimitChanges},
		{"deductions page by page", testDeductionPages},
		{"a page of deductions reads no more than its bound", testDeductionPagesAreBounded},
		{"batch", testBatch},
		{"short order leaves its neighbours", testShortOrder},
		{"in turn, nobody is served behind a short order", testInTurn},
		{"turns, not ids, decide who gets the last unit", testTurns},
		{"fences", testFences},
		{"fences with a buyer limit", testFencesWithALimit},
		{"fences stay", testFencesStay},
		{"stale token changes nothing", testStaleToken},
		{"stale token of a merge changes nothing", testStaleMerge},
		{"short batch raises the fence", testShortBatchRaisesTheFence},
		{"write without a lock leaves the fence", testLocklessWrite},
		{"replay", testReplay},
		{"replay after the stock is gone", testReplayWhenGone},
		{"merge takes from several segments", testMerge},
		{"merge refuses truly", testMergeRefuses},
		{"merge of known order ids", testMergeKnown},
		{"merge tops one segment up", testMergeTopsUp},
		{"restock", testRestock},
		{"sold out", testSoldOut},
		{"every write raises a version", testVersions},
		{"reserve", testReserve},
		{"what has expired is reserved until it is ended", testStale},
		{"expire", testExpire},
		{"SKUs with expired reservations", testExpired},
		{"merge takes back what has expired first", testMergeTakesBackFirst},
		{"sold out until a reservation expires", testSoldOutUntil},
		{"a sale begins and ends at an instant", testSaleWindow},
		{"commit", testCommit},
		{"cancel", testCancel},
		{"commit of a part", testCommitOfAPart},
		{"settle refuses", testSettleRefuses},
		{"a cancel leaves what is committed", testCancelLeavesCommitted},
		{"settle together", testSettleTogether},
		{"extend", testExtend},
		{"extend refuses", testExtendRefuses},
		{"return of a part", testReturnOfAPart},
		{"what is left after a return expires", testReturnOfAPartExpires},
		{"return", testReturn},
		{"write-off", testWriteOff},
		{"retake", testRetake},
		{"retake while many have expired", testRetakeAmongMany},
		{"history", testHistory},
		{"an order is settled as a whole", testSettleOrder},
		{"an order expires", testOrderExpires},
		{"a half of an order is taken again", testRetakeOfAHalf},
		{"amend together", testAmendTogether},
		{"buyer limit", testLimit},
		{"buyer limit counts turns", testLimitCountsTurns},
		{"what uses a buyer limit up", testBuyerOrders},
		{"buyer limit and what comes back", testLimitAndWhatComesBack},
		{"adjust", testAdjust},
		{"adjust takes back what has expired first", testAdjustTakesBackFirst},
		{"adjust if the stock is as expected", testAdjustIfStock},
		{"movements", testMovements},
		{"resegment", testResegment},
		{"resegment keeps fences", testResegmentKeepsFences},
		{"resegment takes back what has expired first", testResegmentTakesBackFirst},
		{"order of several SKUs", testOrder},
		{"order id reused", testOrderIDReused},
		{"order is all or nothing", testOrderIsAllOrNothing},
		{"order takes back what has expired first", testOrderTakesBackFirst},
		{"order at a limit of what has expired", testOrderAtAStaleLimit},
		{"audit sees a lost unit", testAuditSees},
		{"audit sees a wrong count", testAuditSeesBuyers},
		{"audit sees a wrong return", testAuditSeesAmendments},
		{"audit of one SKU", testAuditOfOne},
		{"constraints guard the rows", testGuard},
		{"every field of an order is kept", testFieldsAreKept},
		{"ids of every kind", testIDs},
		{"ended context", testEndedContext},
	}
}

// RacingCases are those in which callers meet, or wait for each other.
func RacingCases() []Case {
	return []Case{
		{"a SKU is archived while buyers order", testArchiveRace},
		{"terms change while buyers order", testTermsRace},
		{"short batches race", testShortRace},
		{"replay racing its own commit", testReplayRace},
		{"same ids through two segments in opposite order", testOppositeOrder},
		{"merges and batches race for the last units", testRace},
		{"restocks race sales", testRestockRace},
		{"connections in use are told", testPool},
		{"sold out is read in one snapshot", testSoldOutIsOneSnapshot},
		{"a write after its deadline writes nothing", testLate},
		{"a write that was held up in time", testInTime},
		{"time is read after waiting", testDecidesAfterWaiting},
		{"the sale ends while a write waits", testSaleEndsWhileWaiting},
		{"a reservation expires while its commit waits", testExpiresWhileWaiting},
		{"orders of one buyer race", testLimitRace},
		{"replays at the limit race", testLimitReplayRace},
		{"replays below the limit race", testRoomReplayRace},
		{"movements beside writers", testMovementsBesideWriters},
		{"commit or expiry", testCommitOrExpiry},
		{"cancel or commit", testCancelOrCommit},
		{"extend or expiry", testExtendOrExpiry},
		{"returns race", testReturnsRace},
		{"cancel of a part or of all", testCancelOfAPartOrOfAll},
		{"sweepers race", testSweepers},
		{"requests meet", testRequestsMeet},
		{"orders of several SKUs race", testOrdersRace},
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
	*testing.T
	store   stock.Store
	exec    func(ctx context.Context, statement string) error
	holding func(ctx context.Context) (func() error, error)
	limit   int64 // per buyer, of the SKU that create makes
	layout  int64 // of the SKU, as its writes are told
	taken   int   // units by passes
	damaged bool  // the case damaged the rows on purpose: no audit at its end
}

// hold keeps other writers waiting until it is released.
func (k *kit) hold() (release func()) {
	k.Helper()
	free, err := k.holding(context.WithoutCancel(k.Context()))
	if err != nil {
		k.Fatalf("hold: %v", err)
	}
	return func() {
		if err := free(); err != nil {
			k.Errorf("release: %v", err)
		}
	}
}

func (k *kit) create(units int64, segments int) {
	k.Helper()
	created, err := k.store.CreateSKU(k.Context(), stock.NewSKU{
		SKU: sku, Stock: units, Segments: segments, Terms: stock.Terms{PerBuyerLimit: k.limit},
	}, at)
	if err != nil || !created {
		k.Fatalf("create: created %v, error %v", created, err)
	}
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
	k.Helper()
	result, err := k.store.Deduct(k.Context(), k.batch(segment, fence, orders...))
	if err != nil {
		k.Fatalf("deduct: %v", err)
	}
	return result
}

func (k *kit) merge(fences map[int]stock.Fence, orders ...stock.Order) stock.BatchResult {
	k.Helper()
	result, err := k.store.Merge(k.Context(), k.merging(fences, orders...))
	if err != nil {
		k.Fatalf("merge: %v", err)
	}
	return result
}

// segments checks what each segment holds.
func (k *kit) segments(want ...int64) {
	k.Helper()
	views, err := k.store.Views(k.Context(), sku)
	if err != nil {
		k.Fatalf("look: %v", err)
	}
	k.equal("segments", fmt.Sprint(views[sku].Segments), fmt.Sprint(want))
}

// outcomes checks what became of each order.
func (k *kit) outcomes(outcomes []stock.Outcome, want ...stock.OutcomeKind) {
	k.Helper()
	var got []stock.OutcomeKind
	for _, o := range outcomes {
		got = append(got, o.Kind)
	}
	k.equal("outcomes", fmt.Sprint(got), fmt.Sprint(want))
}

func (k *kit) equal(what, got, want string) {
	k.Helper()
	if got != want {
		k.Fatalf("%s: got %s, want %s", what, got, want)
	}
}

// fenced checks that a fence was refused, and that the error tells the tokens of the rows that did.
func (k *kit) fenced(err error, tokens map[int]int64) {
	k.Helper()
	var refused *stock.FencedError
	if !errors.As(err, &refused) || !errors.Is(err, stock.ErrFenced) || !maps.Equal(refused.Tokens, tokens) {
		k.Fatalf("error: got %v, want a fence refused by %v", err, tokens)
	}
}

func (k *kit) absent(orderID string) {
	k.Helper()
	_, err := k.store.Deduction(k.Context(), sku, orderID)
	k.code(err, stock.CodeUnknownDeduction)
}

func (k *kit) code(err error, want stock.Code) {
	k.Helper()
	var e *stock.Error
	if !errors.As(err, &e) || e.Code != want {
		k.Fatalf("error: got %v, want code %s", err, want)
	}
}

// audit checks I1 and I3 on the rows.
func (k *kit) audit() {
	k.Helper()
	if k.damaged || k.Failed() {
		return
	}
	audit, err := k.store.Audit(context.WithoutCancel(k.Context()), "")
	if err != nil {
		k.Fatalf("audit: %v", err)
	}
	if !audit.OK() {
		k.Fatalf("audit: %+v", audit)
	}
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
