//go:build citus

package citus_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/citus"
	"inventory/migrations"
)

const (
	soldSKUs = 16
	enough   = 10_000_000

	// attempt is the time of one attempt to sell. Those of a dead node fail in it, and are followed by others.
	attempt = 3 * time.Second
)

// sale sells through two stores, like two processes: orders of one SKU and of two, each with its own id.
type sale struct {
	t       *testing.T
	url     string
	stores  []*citus.Store
	selling sync.WaitGroup
	stop    context.CancelFunc
	mu      sync.Mutex
	taken   map[string][]string // SKUs of each acknowledged order
	sold    map[string]int      // acknowledged orders of one SKU, by SKU
	pairs   int                 // acknowledged orders of two SKUs
	failed  map[string]int      // failed orders of one SKU, by SKU
	errs    map[string]bool     // errors other than unavailable
	last    map[string]error    // the last failure of each SKU
}

func skuName(n int) string { return fmt.Sprintf("sku-%d", n) }

func skuNames() (names []string) {
	for n := range soldSKUs {
		names = append(names, skuName(n))
	}
	return names
}

func startSale(t *testing.T, url string) *sale {
	t.Helper()
	s := &sale{t: t, url: url, taken: map[string][]string{}, sold: map[string]int{}, failed: map[string]int{}, errs: map[string]bool{}, last: map[string]error{}}
	for range 2 {
		s.stores = append(s.stores, open(t, url))
	}
	for n := range soldSKUs {
		if _, err := s.stores[0].CreateSKU(t.Context(), stock.NewSKU{SKU: skuName(n), Stock: enough, Segments: 2}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	t.Cleanup(func() { stop(); s.selling.Wait() })
	for p, store := range s.stores {
		for n := range soldSKUs {
			s.selling.Go(func() { s.sellOne(ctx, store, p, n) })
		}
		for n := range 4 {
			s.selling.Go(func() { s.sellPairs(ctx, store, p, n) })
		}
	}
	return s
}

func (s *sale) sellOne(ctx context.Context, store *citus.Store, process, n int) {
	sku := skuName(n)
	for k := 0; ctx.Err() == nil; k++ {
		id := fmt.Sprintf("one-%d-%d", process, k)
		limited, cancel := context.WithTimeout(context.Background(), attempt)
		result, err := store.Deduct(limited, stock.Batch{
			SKU: sku, Layout: 1, Segment: process, Deadline: time.Now().Add(attempt),
			Orders: []stock.Order{{OrderID: id, Quantity: 1}},
		})
		cancel()
		s.note(err, func() {
			if err != nil {
				s.failed[sku]++
				s.last[sku] = err
			} else if result.Outcomes[0].Kind == stock.Accepted {
				s.sold[sku]++
				s.taken[id+"@"+sku] = []string{sku}
			}
		})
	}
}

func (s *sale) sellPairs(ctx context.Context, store *citus.Store, process, n int) {
	for k := 0; ctx.Err() == nil; k++ {
		id := fmt.Sprintf("two-%d-%d-%d", process, n, k)
		order := stock.MultiOrder{OrderID: id, Lines: []stock.Line{{SKU: skuName(k % soldSKUs), Quantity: 1}, {SKU: skuName((k + 1 + n) % soldSKUs), Quantity: 1}}}.Sorted()
		limited, cancel := context.WithTimeout(context.Background(), attempt)
		_, created, err := store.Order(limited, stock.Placement{Order: order, Lines: slices.Repeat([]stock.PlacedLine{{Batch: stock.Batch{Layout: 1, Segment: process}}}, 2)})
		cancel()
		s.note(err, func() {
			if err == nil && created {
				s.pairs++
				s.taken[id] = order.SKUs()
			}
		})
	}
}

// note records a caller's answer. An error whose outcome is known is a fault.
func (s *sale) note(err error, what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && stock.CodeOf(err) != stock.CodeUnavailable {
		s.errs[err.Error()] = true
	}
	what()
	if err != nil {
		s.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		s.mu.Lock()
	}
}

// now returns how much was sold and how much failed so far.
func (s *sale) now() (sold, failed map[string]int, pairs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.sold), maps.Clone(s.failed), s.pairs
}

// sells waits until each of some SKUs is sold again.
func (s *sale) sells(skus []string) {
	s.t.Helper()
	before, _, _ := s.now()
	for _, sku := range skus {
		busytest.Soon(s.t, sku+" sells", func() bool {
			after, _, _ := s.now()
			return after[sku] > before[sku]
		})
	}
}

// sellsAll waits until every SKU is sold again, and so are orders of several.
func (s *sale) sellsAll() {
	s.t.Helper()
	_, _, before := s.now()
	s.sells(skuNames())
	busytest.Soon(s.t, "orders of several SKUs sell", func() bool {
		_, _, after := s.now()
		return after > before
	})
}

// sellsOnly checks that some SKUs sell, and that others do not.
func (s *sale) sellsOnly(these, others []string) {
	s.t.Helper()
	fail := func() {
		_, before, _ := s.now()
		for _, sku := range others {
			busytest.Soon(s.t, "orders of "+sku+" fail", func() bool {
				_, after, _ := s.now()
				return after[sku] > before[sku]+len(s.stores) // also of the process that is slower
			})
		}
	}
	fail() // what was under way has failed by then
	before, failedBefore, _ := s.now()
	fail()
	s.sells(these)
	after, failed, _ := s.now()
	for _, sku := range these {
		if failed[sku] != failedBefore[sku] {
			s.t.Errorf("%d orders of %s failed, want none", failed[sku]-failedBefore[sku], sku)
		}
	}
	for _, sku := range others {
		if after[sku] != before[sku] {
			s.t.Errorf("%d orders of %s were taken, want none", after[sku]-before[sku], sku)
		}
	}
}

// end stops the sale, and compares the acknowledged orders with the rows.
func (s *sale) end() {
	s.t.Helper()
	s.stop()
	s.selling.Wait()
	if len(s.errs) > 0 {
		s.t.Errorf("callers were told: %v", slices.Collect(maps.Keys(s.errs)))
	}
	conn, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(s.t.Context()))
	rows, err := conn.Query(s.t.Context(), `SELECT order_id, sku_id FROM deductions`)
	if err != nil {
		s.t.Fatal(err)
	}
	there, total := map[string]int{}, 0
	var id, sku string
	if _, err := pgx.ForEachRow(rows, []any{&id, &sku}, func() error { there[id+"@"+sku]++; total++; return nil }); err != nil {
		s.t.Fatal(err)
	}
	acknowledged := 0
	for order, skus := range s.taken {
		for _, sku := range skus {
			key := order
			if len(skus) > 1 {
				key = order + "@" + sku
			}
			acknowledged++
			if there[key] != 1 {
				s.t.Errorf("%s was acknowledged and has %d rows, want 1", key, there[key])
			}
		}
	}
	s.t.Logf("%d lines acknowledged, %d rows, %d orders of two SKUs", acknowledged, total, s.pairs)
	var left int64
	if err := conn.QueryRow(s.t.Context(), `SELECT sum(available)::bigint FROM stock_segments`).Scan(&left); err != nil {
		s.t.Fatal(err)
	}
	if left != soldSKUs*enough-int64(total) {
		s.t.Errorf("%d units are left, and %d rows were written", left, total)
	}
	audit, err := s.stores[0].Audit(s.t.Context(), "", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if !audit.OK() || len(audit.SKUs) != soldSKUs {
		s.t.Errorf("the audit of %d SKUs is not ok: %+v", len(audit.SKUs), audit)
	}
}

// placed returns which SKUs are at which port.
func (s *sale) placed() map[int][]string {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(s.t.Context()))
	at := map[int][]string{}
	for n := range soldSKUs {
		var port int
		err := conn.QueryRow(s.t.Context(), `SELECT nodeport FROM pg_dist_node JOIN pg_dist_placement USING (groupid)
			WHERE shardid = get_shard_id_for_distribution_column('skus', $1::text)`, skuName(n)).Scan(&port)
		if err != nil {
			s.t.Fatal(err)
		}
		at[port] = append(at[port], skuName(n))
	}
	return at
}

func (s *sale) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestAWorkerDies: only its SKUs are unavailable. When it is back, they sell again.
func TestAWorkerDies(t *testing.T) {
	c := cluster(t, 2)
	s := startSale(t, distributed(t, c))
	s.sellsAll()
	dead := c.Workers[0]
	at := s.placed()
	s.must(dead.Kill())
	s.sellsOnly(at[c.Workers[1].Port()], at[dead.Port()])
	s.must(s.stores[0].Ready(t.Context()))
	busytest.Soon(t, "it is told that only the dead node has gone", func() bool {
		for address, err := range s.stores[0].Nodes() {
			if gone := address == fmt.Sprintf("127.0.0.1:%d", dead.Port()); gone != (err != nil) {
				return false
			}
		}
		return true
	})
	s.must(dead.Restart(t.Context()))
	s.sellsAll()
	s.end()
}

// TestAStandbyTakesANodesPlaceWhileSelling: Citus gets the new address, as Patroni does it, and the processes find it.
func TestAStandbyTakesANodesPlaceWhileSelling(t *testing.T) {
	c := cluster(t, 2)
	url := distributed(t, c)
	dead := c.Workers[0]
	standby, err := servertest.StartStandby(t.Context(), dead, c.Options()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := startSale(t, url)
	s.sellsAll()
	s.must(dead.Await(t.Context(), true))
	s.must(dead.Kill())
	s.must(standby.Promote(t.Context()))
	s.must(exec(t.Context(), url, fmt.Sprintf(`SELECT citus_update_node(nodeid, '127.0.0.1', %d) FROM pg_dist_node WHERE nodeport = %d`,
		standby.Port(), dead.Port())))
	s.sellsAll()
	s.end()
}

// TestTheCoordinatorDies: orders of one SKU continue, orders of several fail until it is back.
func TestTheCoordinatorDies(t *testing.T) {
	c := cluster(t, 2)
	s := startSale(t, distributed(t, c))
	s.listen()
	s.sellsAll()
	s.must(c.Coordinator.Kill())
	busytest.Soon(t, "it is told that nobody listens to the coordinator", func() bool { return s.stores[0].Nodes()["coordinator"] != nil })
	_, _, pairs := s.now()
	s.sellsOnly(skuNames(), nil)
	if _, _, now := s.now(); now != pairs {
		t.Errorf("%d orders of several were taken without a coordinator, want none", now-pairs)
	}
	s.must(s.stores[0].Ready(t.Context()))
	s.must(c.Coordinator.Restart(t.Context()))
	s.sellsAll()
	busytest.Soon(t, "somebody listens to the coordinator again", func() bool { return s.stores[0].Nodes()["coordinator"] == nil })
	s.end()
}

// listen has the first store listen until the test ends.
func (s *sale) listen() {
	ctx, stop := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() { _ = s.stores[0].Watch(ctx, func() {}, func(string) {}) }) // which ends with ctx
	s.t.Cleanup(func() { stop(); listening.Wait() })
}

// TestShardsMoveWhileSelling moves every shard to the other worker and back: by the log, and while writes wait.
func TestShardsMoveWhileSelling(t *testing.T) {
	c := cluster(t, 2)
	s := startSale(t, distributed(t, c))
	s.sellsAll()
	for _, mode := range []string{"force_logical", "block_writes"} {
		for n := range testShards {
			s.must(exec(t.Context(), s.url, fmt.Sprintf(`
				SELECT citus_move_shard_placement(shardid, '127.0.0.1', nodeport, '127.0.0.1', %d + %d - nodeport, '%s')
				FROM (SELECT * FROM pg_dist_shard WHERE logicalrelid = 'skus'::regclass ORDER BY shardid OFFSET %d LIMIT 1) AS one
				JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)`,
				c.Workers[0].Port(), c.Workers[1].Port(), mode, n)))
		}
		s.sellsAll()
	}
	_, failed, _ := s.now()
	t.Logf("failed meanwhile: %v", failed)
	s.end()
}

// TestANodeIsAddedWhileSelling adds a worker and gives it its part of the shards, once within the statement and once in
// the background.
func TestANodeIsAddedWhileSelling(t *testing.T) {
	for name, rebalance := range map[string][]string{
		"foreground": {`SELECT rebalance_table_shards('skus', shard_transfer_mode := 'force_logical')`},
		"background": {`SELECT citus_rebalance_start(shard_transfer_mode := 'force_logical')`, `SELECT citus_rebalance_wait()`},
	} {
		t.Run(name, func(t *testing.T) { testANodeIsAdded(t, rebalance) })
	}
}

func testANodeIsAdded(t *testing.T, rebalance []string) {
	t.Helper()
	c := cluster(t, 1)
	url := distributed(t, c)
	if err := open(t, url).Outbox().On(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := startSale(t, url)
	s.sellsAll()
	worker := added(t, c, s.url)
	for _, statement := range rebalance {
		s.must(exec(t.Context(), s.url, statement))
	}
	s.sellsAll()
	if len(s.placed()[worker.Port()]) == 0 {
		t.Error("the new node has nothing")
	}
	s.end()
	told := 0
	for after := ""; ; {
		changes, err := s.stores[0].Outbox().Read(t.Context(), after, 1000)
		s.must(err)
		if len(changes) == 0 {
			break
		}
		told, after = told+len(changes), changes[len(changes)-1].Cursor
	}
	t.Logf("the outbox told of %d changes", told)
}

// added adds a worker to a cluster, and creates on it what every node has.
func added(t *testing.T, c *servertest.Citus, url string) *servertest.Postgres {
	t.Helper()
	worker, err := c.StartWorker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Join(t.Context(), url, worker); err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.Distribute(t.Context(), url, testShards, false); err != nil {
		t.Fatal(err)
	}
	return worker
}
