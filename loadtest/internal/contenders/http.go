package contenders

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"inventory/internal/access"
	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/afternoon"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
	"inventory/loadtest/internal/worker"
)

// site is a process that answers over HTTP, and connections to it.
type site struct {
	*load.Services
	world       *world
	adminURL    string // "" where there are no metrics
	redisURL    string // "": it has none
	databaseURL string
	countsBytes bool // that PostgreSQL writes
}

const (
	// siteLimit is how long a site lives at most.
	siteLimit = time.Hour
	// patience is how long an answer may take.
	patience = 10 * time.Second
)

// serveAfternoon starts a site of an afternoon on a database of its own; without connections, one that does nothing.
func (w *world) serveAfternoon(ctx context.Context, connections int) (s *site, err error) {
	j := afternoon.Job{Connections: connections}
	if connections > 0 {
		if j.DatabaseURL, err = w.postgres(ctx, afternoon.Audit); err != nil {
			return nil, err
		}
	}
	s = &site{world: w, databaseURL: j.DatabaseURL}
	process, err := worker.Start(context.WithoutCancel(ctx), worker.Job{Kind: afternoon.Worker, Job: j, Limit: siteLimit}, &s.adminURL)
	if err != nil {
		return nil, err
	}
	w.OnClose(process.End)
	return s, s.connect(load.Config{URLs: []string{s.adminURL}})
}

// serve starts the service on a database, or on one of its own.
func (w *world) serve(ctx context.Context, databaseURL, redisURL string) (s *site, err error) {
	return w.serveJob(ctx, target.Job{DatabaseURL: databaseURL, RedisURL: redisURL}, nil)
}

// serveJob starts a service that asks for a key. encryption is for its callers, if it has a certificate.
func (w *world) serveJob(ctx context.Context, j target.Job, encryption *tls.Config) (s *site, err error) {
	if j.DatabaseURL == "" {
		if j.DatabaseURL, err = w.postgres(ctx, history.AuditRows); err != nil {
			return nil, err
		}
	}
	key, keysFile, err := w.issueKey()
	if err != nil {
		return nil, err
	}
	j.KeysFile, j.AnswerWithin = keysFile, cmp.Or(j.AnswerWithin, target.AnswerWithin)
	service, err := target.Process{LogLevel: slog.LevelError}.Start(ctx, j)
	if err != nil {
		return nil, err
	}
	w.OnClose(service.End)
	s = &site{world: w, adminURL: service.AdminURL, redisURL: j.RedisURL, databaseURL: j.DatabaseURL}
	return s, s.connect(load.Config{URLs: []string{service.URL}, Key: key, TLS: encryption})
}

func (s *site) connect(to load.Config) (err error) {
	to.Patience = patience
	s.Services, err = load.Open(to)
	if err == nil {
		s.world.OnClose(func() error { s.Close(); return nil })
	}
	return err
}

// issueKey makes an API key, and the file that lets it in.
func (w *world) issueKey() (key, file string, err error) {
	folder, err := w.Folder()
	if err != nil {
		return "", "", err
	}
	key, line, err := access.NewKey("lab", access.ScopeAdmin)
	file = filepath.Join(folder, "keys")
	if err = errors.Join(err, os.WriteFile(file, []byte(line+"\n"), 0o600)); err != nil {
		return "", "", fmt.Errorf("issue an API key: %w", err)
	}
	return key, file, nil
}

// watch reads the processor time of a site and its servers, until stop, in microseconds; a nil site has none.
func (s *site) watch(ctx context.Context) (stop func() map[string]float64) {
	if s == nil || s.adminURL == "" {
		return func() map[string]float64 { return nil }
	}
	sources := gauges.Sources{AdminURLs: []string{s.adminURL}}
	if s.redisURL != app.Embedded { // else neither server works for it
		sources.PostmasterPID = s.world.postmaster
	}
	if s.redisURL == s.world.URLs.RedisURL {
		sources.RedisPID = s.world.redisPID
	}
	if s.countsBytes {
		sources.DatabaseURL = s.databaseURL
	}
	watched := gauges.Start(ctx, sources, siteLimit)
	return func() map[string]float64 {
		read := watched()
		spent := map[string]float64{
			serviceCost: 1e6 * read.CPU(gauges.Service), postgresCost: 1e6 * read.CPU(gauges.PostgreSQL), redisCost: 1e6 * read.CPU(gauges.Redis),
			logBytes: read.Grown(gauges.WALBytes), diskBytes: read.Grown(gauges.TableBytes) + read.Grown(gauges.IndexBytes),
		}
		maps.DeleteFunc(spent, func(_ string, amount float64) bool { return math.IsNaN(amount) })
		return spent
	}
}

// create puts a SKU up for sale that will not be sold out.
func (s *site) create(ctx context.Context, sku string) error {
	return s.Create(ctx, sku, client.NewSKU{Stock: stock.MaxStock, Segments: &s.world.scale.segments})
}

// buy sends an order of a unit of each of some SKUs. It implements [buyer].
func (s *site) buy(_ context.Context, id string, skus ...string) (load.Outcome, error) {
	return became(s.Send(0, load.NewRequest(unitOfEach(id, skus))))
}

// unitOfEach is an order of a unit of each of some SKUs.
func unitOfEach(id string, skus []string) *history.Operation {
	o := &history.Operation{Kind: history.Deduct, ID: id}
	for _, sku := range skus {
		o.Lines = append(o.Lines, history.Line{SKU: sku, Quantity: 1})
	}
	if len(skus) > 1 {
		o.Kind = history.Order
	}
	return o
}

// one sends an order of one SKU. It implements [load.Seller].
func (s *site) one(ctx context.Context, o load.Order) (load.Outcome, error) {
	return s.buy(ctx, o.ID, o.SKU)
}

// together sends many orders in one request.
func (s *site) together(_ context.Context, o load.Order) (load.Outcome, error) {
	type order struct {
		SKU      string `json:"sku"`
		OrderID  string `json:"order_id"`
		Quantity int64  `json:"quantity"`
	}
	all := make([]order, manySize)
	for i := range all {
		all[i] = order{o.SKU, uuid.NewString(), 1}
	}
	body, err := json.Marshal(map[string]any{"deductions": all})
	if err != nil {
		return load.Refused, fmt.Errorf("write a request: %w", err)
	}
	status, answer, err := s.Send(0, load.Request{Method: http.MethodPost, Path: "/v1/deductions", Body: body})
	if err == nil && status == http.StatusOK && bytes.Count(answer, []byte(`{"status":201,`)) == manySize {
		return load.Accepted, nil
	}
	return load.Refused, errors.Join(err, fmt.Errorf("a wrong answer to many orders: %d %.500s", status, answer))
}

// became is what an answer says: a sale, or a refusal for want of stock; any other answer is an error.
func became(status int, body []byte, err error) (load.Outcome, error) {
	switch {
	case err != nil:
		return load.Refused, err
	case status == http.StatusCreated:
		return load.Accepted, nil
	case status == http.StatusOK:
		return load.Replayed, nil
	case status == http.StatusConflict && bytes.Contains(body, []byte(`"code":"sold_out"`)):
		return load.Refused, nil
	}
	return load.Refused, fmt.Errorf("a wrong answer: %d %.500s", status, body)
}

// winnersReturn: one request in this many repeats an accepted order.
const winnersReturn = 10

// soldOut is an entrant whose SKU has been sold out. A repeated winner is answered 200; any other order is refused.
func (s *site) soldOut(ctx context.Context) (entrant, error) {
	sku, units := servers.NewName("gone-"), s.world.scale.units
	if err := s.Create(ctx, sku, client.NewSKU{Stock: int64(units), Segments: &s.world.scale.segments}); err != nil {
		return entrant{}, err
	}
	s.world.expected.Add(sku, int64(units), 0)
	winners := make([]string, units)
	for i := range winners {
		winners[i] = uuid.NewString()
		if got, err := s.buy(ctx, winners[i], sku); err != nil || got != load.Accepted {
			return entrant{}, errors.Join(fmt.Errorf("sell a SKU out: unit %d of %d is %s", i+1, units, got), err)
		}
	}
	var sent, repeated, forgotten atomic.Int64
	return entrant{
		site: s, sku: sku, answers: true,
		sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
			if sent.Add(1)%winnersReturn > 0 {
				return s.buy(ctx, o.ID, sku)
			}
			repeated.Add(1)
			got, err := s.buy(ctx, winners[rand.IntN(units)], sku)
			if err == nil && got != load.Replayed {
				forgotten.Add(1)
			}
			return got, err
		},
		after: func(_ context.Context, r sold) error {
			if r.Counts[load.Accepted]+forgotten.Load() > 0 || r.Counts[load.Replayed] > repeated.Load() {
				return fmt.Errorf("of a SKU that is sold out, %d were sold, and %d winners were not answered 200", r.Counts[load.Accepted], forgotten.Load())
			}
			return nil
		},
	}, nil
}
