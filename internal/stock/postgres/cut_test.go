package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// cutter cuts one connection at its next message but a few: the message is lost, or its answer.
type cutter struct {
	mu         sync.Mutex
	left       int // messages until the cut; 0: there is none
	loseAnswer bool
}

func (c *cutter) arm(message int, loseAnswer bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.loseAnswer = message, loseAnswer
}

// disarm reports whether a connection was cut.
func (c *cutter) disarm() (cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cut = c.left == 0
	c.left = 0
	return cut
}

// next counts a message.
func (c *cutter) next() (lost, deaf bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return false, false
	}
	c.left--
	return c.left == 0 && !c.loseAnswer, c.left == 0 && c.loseAnswer
}

func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, cutter: c}, nil
}

// cutConn is a connection that its cutter may cut.
type cutConn struct {
	net.Conn
	cutter *cutter
}

func (c *cutConn) Write(message []byte) (int, error) {
	lost, deaf := c.cutter.next()
	if lost {
		return 0, errors.Join(io.ErrClosedPipe, c.Close())
	}
	n, err := c.Conn.Write(message)
	if err == nil && deaf {
		c.untilReady()
		err = c.Close()
	}
	return n, err
}

// untilReady reads until the server has carried out the message.
func (c *cutConn) untilReady() {
	var answer []byte
	for chunk := make([]byte, 4096); !bytes.HasSuffix(answer[:max(0, len(answer)-1)], []byte{'Z', 0, 0, 0, 5}); {
		n, err := c.Conn.Read(chunk)
		if answer = append(answer, chunk[:n]...); err != nil {
			return
		}
	}
}

// A cutVerb is a write that has to happen once, however often its connection is cut.
type cutVerb struct {
	limit int64 // of the SKUs
	write func(ctx context.Context, s *postgres.Store, sku string) error
}

// cutVerbs are a write of each kind: a batch in one statement and one in a transaction, an order, a settlement that gives units
// back, a change of the layout.
func cutVerbs() map[string]cutVerb {
	batch := func(orders ...stock.Order) func(context.Context, *postgres.Store, string) error {
		return func(ctx context.Context, s *postgres.Store, sku string) error {
			_, err := s.Deduct(ctx, stock.Batch{SKU: sku, Layout: 1, Orders: orders})
			return err
		}
	}
	one := stock.Order{OrderID: "one", Quantity: 1}
	return map[string]cutVerb{
		"batch":                   {write: batch(one)},
		"batch that does not fit": {write: batch(one, stock.Order{OrderID: "large", Quantity: 11})},
		"order": {2, func(ctx context.Context, s *postgres.Store, sku string) error {
			p := several("o-"+sku, sku, sku+"-2")
			p.Lines[0].Limit, p.Lines[1].Batch = 2, stock.Batch{Layout: 1, Segment: -1, Limit: 2}
			_, _, err := s.Order(ctx, p)
			return err
		}},
		"cancel": {write: func(ctx context.Context, s *postgres.Store, sku string) error {
			settled, err := s.Settle(ctx, stock.Settlement{SKU: sku, Requests: []stock.SettleRequest{{OrderID: "r", Verb: stock.Cancel}}})
			if err == nil {
				err = settled[0].Err
			}
			return err
		}},
		"resegment": {write: func(ctx context.Context, s *postgres.Store, sku string) error {
			_, err := s.Move(ctx, stock.Movement{SKU: sku, Ref: "m", Kind: stock.Resegmented, Segments: 5})
			return err
		}},
	}
}

// TestACutConnectionLosesNothing cuts the connection of every write at each of its messages, before or after the server has
// carried it out. A caller that is told that it has happened finds it. One that is told that nothing is written finds nothing,
// and is told so whenever the message was lost. One that is told that the outcome is not known repeats it, and it has happened once.
func TestACutConnectionLosesNothing(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		url, drop, err := server.CreateDatabase(t.Context(), template)
		if err != nil {
			t.Fatal(err)
		}
		c := &cutter{}
		store, err := postgres.Open(t.Context(), url, 0, func(config *pgxpool.Config) { config.ConnConfig.DialFunc = c.dial })
		if err != nil {
			t.Fatal(err)
		}
		for name, verb := range cutVerbs() {
			want, _ := verb.once(t, store, c, name+"/uncut", 0, false)
			for _, loseAnswer := range []bool{false, true} {
				for message, cut := 1, true; cut; message++ {
					var got string
					sku := fmt.Sprintf("%s/%t/%d", name, loseAnswer, message)
					if got, cut = verb.once(t, store, c, sku, message, loseAnswer); got != want {
						t.Errorf("%s: got %s, want %s", sku, got, want)
					}
				}
			}
		}
		audit, err := store.Audit(t.Context(), "", nil)
		if err != nil || !audit.OK() {
			t.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
		}
		if err := errors.Join(store.Close(), drop(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
}

// once writes to SKUs of its own, with a cut at a message, and once more. It returns what the SKUs have become, and whether there
// was a cut.
func (v cutVerb) once(t *testing.T, store *postgres.Store, c *cutter, sku string, message int, loseAnswer bool) (state string, cut bool) {
	t.Helper()
	for _, name := range []string{sku, sku + "-2"} {
		n := stock.NewSKU{SKU: name, Stock: 20, Segments: 2, Terms: stock.Terms{PerBuyerLimit: v.limit}}
		if _, err := store.CreateSKU(t.Context(), n, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	reserved := []stock.Order{{OrderID: "r", BuyerID: "y", Quantity: 1, ReserveFor: time.Hour}}
	if _, err := store.Deduct(t.Context(), stock.Batch{SKU: sku, Layout: 1, Segment: 1, Limit: v.limit, Orders: reserved}); err != nil {
		t.Fatal(err)
	}
	before := StateOf(t, store, sku)
	c.arm(message, loseAnswer)
	err := v.write(t.Context(), store, sku)
	cut = c.disarm() && message > 0
	told := StateOf(t, store, sku)
	switch unwritten := errors.Is(err, stock.ErrUnwritten); {
	case unwritten && told != before:
		t.Errorf("%s: told %v, found %s after %s", sku, err, told, before)
	case cut && !loseAnswer && err != nil && !unwritten:
		t.Errorf("%s: the message was lost: got %v, want that nothing was written", sku, err)
	}
	if err := v.write(t.Context(), store, sku); err != nil {
		t.Errorf("%s: again: %v", sku, err)
	}
	state = StateOf(t, store, sku)
	if _, coded := errors.AsType[*stock.Error](err); coded || err == nil && told != state {
		t.Errorf("%s: told %v, found %s, and then %s", sku, err, told, state)
	}
	return state, cut
}

// stateOf returns what a SKU and the second one of its orders hold.
func StateOf(t *testing.T, store *postgres.Store, sku string) (state string) {
	t.Helper()
	for _, name := range []string{sku, sku + "-2"} {
		s, err := store.Status(t.Context(), name, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		state += fmt.Sprint(s.Segments, s.Reserved, s.Committed)
	}
	return state
}
