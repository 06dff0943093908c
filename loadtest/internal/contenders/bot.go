package contenders

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
	"inventory/loadtest/internal/experiment"
)

const (
	aloneName = "inventory, buyers alone"
	botName   = "inventory, a bot beside them"
)

// besideBot compares a sale to buyers who have one order each with the same sale while one buyer more, who has got all that
// the limit allows, goes on asking for the same SKU over connections of its own.
func besideBot(ctx context.Context, w *world) ([]*entrant, error) {
	site, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	limited := stock.Terms{PerBuyerLimit: buyerLimit}
	buyers := load{connections: w.scale.many() - w.scale.bots(), buyer: newBuyers}
	return []*entrant{
		site.entrantUnder(limited, aloneName, buyers),
		{name: botName, ours: true, callers: buyers.connections, measure: func(ctx context.Context) (round, error) {
			sku, err := site.putUp(ctx, limited)
			if err != nil {
				return round{}, err
			}
			return site.sellBesideBot(ctx, sku, buyers)
		}},
	}, nil
}

// sellBesideBot is the round of the buyers, in which the refusals are the bot's. Its few units are written down, and
// are no part of what the buyers got.
func (s *site) sellBesideBot(ctx context.Context, sku string, buyers load) (round, error) {
	greedy := load{connections: s.world.scale.bots(), buyer: uuid.NewString()}
	var bought, taken round
	both, driving := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		bought, err = s.send(driving, sku, buyers)
		return err
	})
	both.Go(func() (err error) {
		taken, err = s.send(driving, sku, greedy)
		return err
	})
	err := both.Wait()
	bought.sku = sku
	s.world.told.Add(sku, taken.counts.Accepted, taken.unheard)
	if err == nil {
		err = checkBot(bought, taken)
	}
	bought.counts.Refused += taken.counts.Refused
	return bought, err
}

// checkBot demands that the bot gets what one buyer may have, and that nobody pays for it.
func checkBot(bought, taken round) error {
	if taken.counts.Accepted <= buyerLimit && bought.counts.Refused == 0 {
		return nil
	}
	return fmt.Errorf("a bot got %d units where a buyer may have %d, and %d buyers were refused",
		taken.counts.Accepted, buyerLimit, bought.counts.Refused)
}

func botTargets(s Scale) []experiment.Target {
	buyers := s.many() - s.bots()
	return []experiment.Target{atLeast("buyers beside a bot, in parts of buyers alone", counted, at(botName, buyers), at(aloneName, buyers), 0.90)}
}
