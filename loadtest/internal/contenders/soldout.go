package contenders

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/internal/stock"
	"inventory/loadtest/internal/servers"
)

const (
	soldOutName = "inventory sold out"
	// sellers are requests under way at once while a SKU is sold out.
	sellers = 16
	// winnersReturn: one request in so many is that of a buyer who has got a unit, and asks again.
	winnersReturn = 10
)

// emptyShelf is a SKU that is sold out, and who has it.
type emptyShelf struct {
	site    *site
	sku     string
	winners []string // order ids
}

// sellOut sells all of a new SKU.
func (s *site) sellOut(ctx context.Context) (*emptyShelf, error) {
	shelf := &emptyShelf{site: s, sku: servers.NewName("gone-")}
	units := s.world.scale.Units
	if err := s.create(ctx, stock.NewSKU{SKU: shelf.sku, Stock: int64(units), Segments: s.world.scale.Segments}); err != nil {
		return nil, err
	}
	fleet, err := s.fleet()
	if err != nil {
		return nil, err
	}
	defer fleet.Close()
	buying, ctx := errgroup.WithContext(ctx)
	buying.SetLimit(sellers)
	for range units {
		id := uuid.NewString()
		shelf.winners = append(shelf.winners, id)
		buying.Go(func() error {
			answer, err := fleet.Deduct(ctx, shelf.sku, client.NewDeduction{OrderID: id, Quantity: 1})
			if err == nil {
				err = answer.Err()
			}
			return err
		})
	}
	s.world.told.Add(shelf.sku, int64(units), 0)
	return shelf, buying.Wait()
}

// entrant sends orders for what is not there, and has every winner answered who asks again.
func (e *emptyShelf) entrant(connections int) *entrant {
	l := load{connections: connections, again: winnersReturn, winners: e.winners}
	return &entrant{name: soldOutName, ours: true, callers: connections, answers: true, measure: func(ctx context.Context) (round, error) {
		r, err := e.site.send(ctx, e.sku, l)
		if err != nil {
			return r, err
		}
		return r, check(r)
	}}
}

// check demands that winners are told of their unit again, and that nobody else gets one. Requests whose answers were
// not heard may have been anybody's.
func check(r round) error {
	if r.counts.Accepted == 0 && r.counts.Replayed <= r.repeated && r.counts.Replayed >= r.repeated-r.unheard {
		return nil
	}
	return fmt.Errorf("of a SKU that is sold out, %d were sold, and %d of %d winners were told so again, %d answers were not heard",
		r.counts.Accepted, r.counts.Replayed, r.repeated, r.unheard)
}
