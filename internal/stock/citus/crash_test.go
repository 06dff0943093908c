//go:build citus

package citus_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/citus"
)

// crash is a cluster in which a node dies while an order of two SKUs, one at each worker, is between the two phases.
type crash struct {
	t       *testing.T
	cluster *servertest.Citus
	url     string
	store   *citus.Store
	skus    [2]string // at the first worker, and at the second
}

// TestCitusCrashesBetweenThePhases: an order exists whole or not at all, whichever node dies at whichever step.
// Meanwhile the audit must not be OK.
func TestCitusCrashesBetweenThePhases(t *testing.T) {
	c := &crash{t: t, cluster: cluster(t, 2)}
	c.url = distributed(t, c.cluster)
	c.store = open(t, c.url)
	s := &sale{t: t, url: c.url}
	for n := range soldSKUs {
		if _, err := c.store.CreateSKU(t.Context(), stock.NewSKU{SKU: skuName(n), Stock: 10, Segments: 1}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	at := s.placed()
	coordinator, first, second := c.cluster.Coordinator, c.cluster.Workers[0], c.cluster.Workers[1]
	c.skus = [2]string{at[first.Port()][0], at[second.Port()][0]}
	c.stopBeforePrepare(second)

	const onePrepared, release = `INSERT INTO held VALUES (1)`, `DELETE FROM held`
	for name, dead := range map[string]*servertest.Postgres{"the coordinator": coordinator, "the other node": second} {
		c.on(second, onePrepared)
		answer := c.order("one prepared, dead: " + name)
		busytest.Soon(c.t, "one node has prepared", func() bool { return c.prepared(first) == 1 })
		c.die(dead)
		if dead == coordinator {
			c.unwell(name)
			c.on(second, release)
		}
		if <-answer {
			t.Errorf("%s: it was acknowledged", name)
		}
		c.must(dead.Restart(t.Context()))
		c.on(second, release)
		c.settled("one prepared, dead: "+name, false)
	}
	// A commit waits, with its record on the disk, for a standby that does not exist: all nodes have prepared, and none
	// has committed.
	const wait, goOn = `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`, `ALTER SYSTEM RESET synchronous_standby_names`
	for name, dead := range map[string]*servertest.Postgres{"the coordinator": coordinator, "a node": second} {
		c.on(coordinator, wait)
		c.on(coordinator, `SELECT pg_reload_conf()`)
		answer := c.order("all prepared, dead: " + name)
		busytest.Soon(c.t, "the order is decided", func() bool {
			return c.count(coordinator, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query ILIKE '%commit%'`) > 0 &&
				c.prepared(first) == 1 && c.prepared(second) == 1
		})
		c.die(dead)
		c.unwell(name)
		if dead == coordinator {
			c.must(dead.Restart(t.Context()))
		}
		c.on(coordinator, goOn)
		c.on(coordinator, `SELECT pg_reload_conf()`)
		if dead != coordinator {
			<-answer // perhaps it was acknowledged
			c.must(dead.Restart(t.Context()))
		}
		c.settled("all prepared, dead: "+name, true)
	}
}

func (c *crash) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// die kills all processes of a node at once: one that survives could finish what it waits for.
func (c *crash) die(node *servertest.Postgres) {
	c.t.Helper()
	c.must(node.Pause())
	c.must(node.Kill())
}

// stopBeforePrepare makes a node wait before it prepares a transaction that sells its SKU, while there is a row in held.
func (c *crash) stopBeforePrepare(node *servertest.Postgres) {
	c.t.Helper()
	shard := c.count(node, fmt.Sprintf(`SELECT get_shard_id_for_distribution_column('stock_segments', '%s')`, c.skus[1]))
	c.on(node, fmt.Sprintf(`SET citus.enable_ddl_propagation = off; SET citus.enable_manual_changes_to_shards = on;
		CREATE TABLE held (n int);
		CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN WHILE EXISTS (SELECT FROM public.held) LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER held AFTER UPDATE ON stock_segments_%d DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION held()`, shard))
}

// order sends an order of both SKUs, and reports whether it was acknowledged.
func (c *crash) order(id string) <-chan bool {
	answer := make(chan bool, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), busytest.Patience)
		defer cancel()
		_, created, err := c.store.Order(ctx, c.placement(id))
		answer <- created && err == nil
	}()
	return answer
}

func (c *crash) placement(id string) stock.Placement {
	o := stock.MultiOrder{OrderID: id, Lines: []stock.Line{{SKU: c.skus[0], Quantity: 1}, {SKU: c.skus[1], Quantity: 1}}}.Sorted()
	return stock.Placement{Order: o, Lines: slices.Repeat([]stock.PlacedLine{{Batch: stock.Batch{Layout: 1}}}, 2)}
}

// unwell checks that the audit is not OK.
func (c *crash) unwell(dead string) {
	c.t.Helper()
	if audit, err := c.store.Audit(c.t.Context(), "", nil); err == nil && audit.OK() {
		c.t.Errorf("%s is dead, and the audit says that all is well", dead)
	}
}

// settled waits until no transaction is between its phases, and checks whether an order exists.
func (c *crash) settled(id string, there bool) {
	c.t.Helper()
	busytest.Soon(c.t, "transactions are settled", func() bool {
		if c.prepared(c.cluster.Workers[0])+c.prepared(c.cluster.Workers[1]) > 0 {
			return false
		}
		audit, err := c.store.Audit(c.t.Context(), "", nil)
		return err == nil && audit.OK()
	})
	order, err := c.store.PlacedOrder(c.t.Context(), id)
	if err != nil || (order != nil) != there || there && len(order.Lines) != 2 {
		c.t.Errorf("%s: got %+v, %v, want an order of two lines: %v", id, order, err, there)
	}
	for _, sku := range c.skus {
		found, err := c.store.Deductions(c.t.Context(), sku, []string{id})
		if err != nil || (len(found) == 1) != there {
			c.t.Errorf("%s: %v of SKU %s, %v", id, found, sku, err)
		}
	}
}

func (c *crash) prepared(node *servertest.Postgres) int {
	c.t.Helper()
	return c.count(node, `SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()`)
}

func (c *crash) count(node *servertest.Postgres, query string) (n int) {
	c.t.Helper()
	at, err := node.At(c.url)
	c.must(err)
	conn, err := pgx.Connect(c.t.Context(), at)
	c.must(err)
	defer conn.Close(context.WithoutCancel(c.t.Context()))
	c.must(conn.QueryRow(c.t.Context(), query).Scan(&n))
	return n
}

func (c *crash) on(node *servertest.Postgres, statement string) {
	c.t.Helper()
	at, err := node.At(c.url)
	c.must(err)
	c.must(exec(c.t.Context(), at, statement))
}
