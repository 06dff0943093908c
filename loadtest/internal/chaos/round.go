//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/history"
)

// The work of a round.
const (
	manySKUs    = 20
	hotStock    = 400
	manyStock   = 60
	buyerLimit  = 40
	segments    = 10
	longestStay = 2 * time.Second // of a reservation
)

// staleness is for how long a process may take a SKU for sold out: what it knows lasts a second, and a fault may keep a notice from it.
const staleness = 4 * time.Second

// round is one sale of SKUs of its own, with faults.
type round struct {
	stack    *stack
	seed     uint64
	name     string // that its SKUs and ids begin with
	hot      string
	limited  string
	reserved string
	many     []string

	began    time.Time
	accepted atomic.Int64
}

func newRound(s *stack, seed uint64) *round {
	r := &round{stack: s, seed: seed, name: fmt.Sprint("r", seed)}
	r.hot, r.limited, r.reserved = r.name+"-hot", r.name+"-limited", r.name+"-reserved"
	for i := range manySKUs {
		r.many = append(r.many, fmt.Sprintf("%s-%02d", r.name, i))
	}
	return r
}

// play plays a round, and holds what callers saw against the rows.
func (r *round) play(ctx context.Context, length time.Duration, kinds []faultKind) (result Round, err error) {
	if err := r.create(ctx); err != nil {
		return Round{}, err
	}
	random := rand.New(rand.NewPCG(r.seed, 0)) //nolint:gosec // it is to be played again
	faults := schedule(random, kinds, length)
	r.began = time.Now()
	working, stop := context.WithTimeout(ctx, length)
	defer stop()
	all := make([]*caller, callers)
	var running sync.WaitGroup
	for i := range all {
		transport := &http.Transport{MaxIdleConnsPerHost: 1}
		defer transport.CloseIdleConnections()
		all[i] = &caller{
			Rand: rand.New(rand.NewPCG(r.seed, uint64(i+1))), round: r, number: i, accepted: &r.accepted, //nolint:gosec // the same
			http: &http.Client{Transport: transport},
		}
		running.Go(func() { all[i].work(working) })
	}
	result = Round{Seed: r.seed}
	var sampling sync.WaitGroup
	sampling.Go(func() { result.Rate = r.sample(working) })
	err = r.stack.happen(working, r.began, faults, func(f fault, from, to time.Time) {
		result.Faults = append(result.Faults, Happened{Kind: f.kind.name, What: f.String(), From: from.Sub(r.began).Seconds(), To: to.Sub(r.began).Seconds()})
	})
	if err != nil {
		stop()
	}
	running.Wait()
	sampling.Wait()
	if err != nil {
		return result, err
	}
	result.recover()
	return result, errors.Join(ctx.Err(), r.judge(ctx, all, &result))
}

// sample measures how many orders are accepted a second.
func (r *round) sample(ctx context.Context) (rate []float64) {
	pace := time.NewTicker(sampleEvery)
	defer pace.Stop()
	before := int64(0)
	for {
		select {
		case <-pace.C:
			now := r.accepted.Load()
			rate = append(rate, float64(now-before)/sampleEvery.Seconds())
			before = now
		case <-ctx.Done():
			return rate
		}
	}
}

// create makes the SKUs of the round.
func (r *round) create(ctx context.Context) error {
	if err := r.stack.ready(ctx); err != nil {
		return err
	}
	stocks := map[string]string{
		r.hot:      fmt.Sprintf(`{"stock":%d,"segments":%d}`, hotStock, segments),
		r.reserved: fmt.Sprintf(`{"stock":%d,"segments":%d}`, hotStock, segments),
		r.limited:  fmt.Sprintf(`{"stock":100000,"segments":%d,"per_buyer_limit":%d}`, segments, buyerLimit),
	}
	for _, sku := range r.many {
		stocks[sku] = fmt.Sprintf(`{"stock":%d,"segments":4}`, manyStock)
	}
	for sku, body := range stocks {
		if status, err := r.once(ctx, http.MethodPut, "/v1/skus/"+sku, body); err != nil || status != http.StatusCreated {
			return fmt.Errorf("create SKU %q: %d, %w", sku, status, err)
		}
	}
	return nil
}

// once asks process 0 when nothing is wrong with it.
func (r *round) once(ctx context.Context, method, path, body string) (status int, err error) {
	a := (&caller{round: r, http: http.DefaultClient}).try(0, true, method, path, []byte(body))
	return a.Answer.Status, ctx.Err()
}

// recover tells of each fault how soon half of what was sold before was sold again.
func (r *Round) recover() {
	at := func(seconds float64) int { return max(0, min(len(r.Rate), int(seconds/sampleEvery.Seconds()))) }
	for i := range r.Faults {
		f := &r.Faults[i]
		f.Recovery = -1
		before := 0.0
		from, to := at(f.From-0.5), at(f.From)
		for _, rate := range r.Rate[from:to] {
			before += rate / float64(to-from)
		}
		for n, rate := range r.Rate[at(f.To):] {
			if rate >= before/2 {
				f.Recovery = float64(n) * sampleEvery.Seconds()
				break
			}
		}
	}
}

// judge waits until nothing moves any more, and checks.
func (r *round) judge(ctx context.Context, all []*caller, result *Round) error {
	if err := r.stack.ready(ctx); err != nil {
		return err
	}
	if !waitUntil(ctx, time.Now().Add(longestStay+time.Second)) { // the last reservations end
		return ctx.Err()
	}
	var operations []history.Operation
	for _, c := range all {
		operations = append(operations, c.history...)
	}
	result.Operations, result.Accepted = len(operations), r.accepted.Load()
	for _, o := range operations {
		result.Attempts += len(o.Attempts)
	}
	rows, err := r.rows(ctx, &operations)
	if err != nil {
		return err
	}
	result.Violations = history.Check(operations, rows, history.Promise{AnswerWithin: answerBound, Staleness: staleness})
	for _, v := range result.Violations {
		result.Broken = append(result.Broken, v.String())
	}
	return nil
}

// rows reads what is there in the end. Before, all that is left of each SKU is bought by one order.
func (r *round) rows(ctx context.Context, operations *[]history.Operation) (rows history.Rows, err error) {
	audit, err := books.Audit(ctx, r.stack.database)
	if err != nil {
		return rows, err
	}
	last := &caller{Rand: rand.New(rand.NewPCG(r.seed, 0)), round: r, number: callers, http: http.DefaultClient, accepted: new(atomic.Int64)} //nolint:gosec // the same
	for _, b := range audit.SKUs {
		if b.SKU != r.hot && b.SKU != r.reserved && b.SKU != r.limited && !slices.Contains(r.many, b.SKU) {
			continue
		}
		s := history.SKU{Name: b.SKU, Initial: b.Initial, Available: b.Available, Sold: b.Available, Difference: b.Difference(), Audit: b.Violations}
		switch {
		case b.SKU == r.limited:
			s.BuyerLimit = buyerLimit
		case b.Available > 0:
			o := history.Operation{Kind: history.Deduct, ID: last.id(), Lines: []history.Line{{SKU: b.SKU, Quantity: b.Available}}}
			if !last.ask(ctx, o, http.MethodPost, "/v1/skus/"+b.SKU+"/deductions", map[string]any{"order_id": o.ID, "quantity": b.Available}).Accepted() {
				s.Sold = 0
			}
		}
		rows.SKUs = append(rows.SKUs, s)
	}
	*operations = append(*operations, last.history...)
	conn, err := pgx.Connect(ctx, r.stack.database)
	if err != nil {
		return rows, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	return rows, errors.Join(r.readDeductions(ctx, conn, &rows), r.readMovements(ctx, conn, &rows), r.readFences(ctx, conn, &rows))
}

func (r *round) readDeductions(ctx context.Context, conn *pgx.Conn, rows *history.Rows) error {
	found, err := conn.Query(ctx, `
		SELECT sku_id, order_id, coalesce(buyer_id, ''), coalesce(asked, quantity)::bigint, quantity::bigint, status, created_at,
		       coalesce(expires_at, 'epoch')
		FROM deductions WHERE sku_id LIKE $1 || '-%'`, r.name)
	if err != nil {
		return fmt.Errorf("read deductions: %w", err)
	}
	rows.Deductions, err = pgx.CollectRows(found, func(row pgx.CollectableRow) (d history.Deduction, err error) {
		err = row.Scan(&d.SKU, &d.ID, &d.Buyer, &d.Asked, &d.Quantity, &d.State, &d.Created, &d.Expires)
		return d, err
	})
	if err != nil {
		return fmt.Errorf("read deductions: %w", err)
	}
	return nil
}

func (r *round) readMovements(ctx context.Context, conn *pgx.Conn, rows *history.Rows) error {
	found, err := conn.Query(ctx, `SELECT sku_id, ref, quantity FROM movements WHERE kind = 'restock' AND sku_id LIKE $1 || '-%'`, r.name)
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	rows.Movements, err = pgx.CollectRows(found, pgx.RowToStructByPos[history.Movement])
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	return nil
}

func (r *round) readFences(ctx context.Context, conn *pgx.Conn, rows *history.Rows) error {
	for i := range rows.SKUs {
		s := &rows.SKUs[i]
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM chaos_fences WHERE sku_id = $1`, s.Name).Scan(&s.FencesFell); err != nil {
			return fmt.Errorf("read what became of fences: %w", err)
		}
	}
	return nil
}
