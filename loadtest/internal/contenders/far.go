package contenders

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"inventory/internal/faultproxy"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/target"
)

// farName is the case whose rates are in docs/OPERATIONS.md.
const farName = "far"

// farOf is the service with a time to its servers and back.
func farOf(trip time.Duration) string {
	return fmt.Sprintf("%s, %d ms", overHTTPName, trip.Milliseconds())
}

// farServers compares services by the time of a round trip to PostgreSQL and Redis. They sell the same SKUs, one after the other.
func farServers(ctx context.Context, w *world) error {
	near, err := w.serve(ctx, "", w.URLs.RedisURL)
	if err != nil {
		return err
	}
	mixes := []mix{mixesOf(w.scale)[0], mixesOf(w.scale)[1], basketsOf(w.scale, fewLines)}
	if err := w.stock(ctx, mixes[1].skus, near.create); err != nil {
		return err
	}
	for _, trip := range w.scale.trips {
		s, err := w.serveFar(ctx, near.databaseURL, trip)
		if err != nil {
			return err
		}
		for _, x := range mixes {
			w.enter(ctx, entrant{
				name: farOf(trip), mix: x.name, units: int64(x.lines), site: s, sku: manySKUs, warmUp: 3 * w.scale.warmUp, callers: w.scale.callers[0], unsure: true,
				sell: func(_ context.Context, o load.Order) (load.Outcome, error) { return s.tried(o.ID, x.choose()...) },
			})
		}
	}
	return nil
}

// serveFar starts the service, with the deadlines that it has by default, behind networks to its servers that take that long both ways.
func (w *world) serveFar(ctx context.Context, databaseURL string, trip time.Duration) (*site, error) {
	j := target.Job{AnswerWithin: selling.DefaultAnswerWithin}
	for near, far := range map[string]*string{databaseURL: &j.DatabaseURL, w.URLs.RedisURL: &j.RedisURL} {
		through, network, err := faultproxy.StartBefore(ctx, near)
		if err != nil {
			return nil, fmt.Errorf("make a network: %w", err)
		}
		w.OnClose(network.Close)
		network.Slow(trip / 2)
		*far = through
	}
	return w.serveJob(ctx, j, nil)
}

// tried sends an order once. A service without time for it is no error.
func (s *site) tried(id string, skus ...string) (load.Outcome, error) {
	status, body, err := s.Send(0, load.NewRequest(unitOfEach(id, skus)))
	if err == nil && status == http.StatusServiceUnavailable {
		return load.GaveUp, nil
	}
	return became(status, body, err)
}
