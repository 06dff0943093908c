package contenders

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

const (
	plainName = "inventory, plain"
	termsName = "inventory, limit, window and reservations"
	// buyerLimit is how many units one buyer may have, and more than an honest buyer orders.
	buyerLimit = 2
	// reserveFor is longer than a case takes: nothing expires under it.
	reserveFor = "15m"
	// saleLasts is how long the window of a sale is open before and after now.
	saleLasts = 24 * time.Hour
)

// underTerms compares the sale of a SKU that asks for nothing with one that counts what each buyer has, is open for a while,
// and is sold as reservations, each to a buyer of its own.
func underTerms(ctx context.Context, w *world) ([]*entrant, error) {
	site, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	many, now := w.Scale.many(), time.Now()
	limited := client.NewSKU{PerBuyerLimit: new(int64(buyerLimit)), SaleStartsAt: new(now.Add(-saleLasts)), SaleEndsAt: new(now.Add(saleLasts))}
	return []*entrant{
		site.entrant(offer{name: plainName, traffic: traffic{connections: many}}),
		site.entrant(offer{name: termsName, terms: limited, traffic: traffic{connections: many, buyer: newBuyers, reserveFor: reserveFor}}),
	}, nil
}

const (
	aloneName = "inventory, buyers alone"
	botName   = "inventory, a bot beside them"
)

// besideBot compares a sale to buyers with one order each with the same sale during the requests of a bot, which has all that
// the limit allows and has connections of its own.
func besideBot(ctx context.Context, w *world) ([]*entrant, error) {
	site, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	limited := client.NewSKU{PerBuyerLimit: new(int64(buyerLimit))}
	buyers := traffic{connections: w.Scale.many() - w.Scale.bots(), buyer: newBuyers}
	return []*entrant{
		site.entrant(offer{name: aloneName, terms: limited, traffic: buyers}),
		{name: botName, ours: true, callers: buyers.connections, measure: func(ctx context.Context) (round, error) {
			sku, err := site.putUp(ctx, limited)
			if err != nil {
				return round{}, err
			}
			return site.sellBesideBot(ctx, sku, buyers)
		}},
	}, nil
}

// sellBesideBot is the round of the buyers; the refusals are the bot's. The bot's few units are not in its counts.
func (s *site) sellBesideBot(ctx context.Context, sku string, buyers traffic) (round, error) {
	greedy := traffic{connections: s.world.Scale.bots(), buyer: uuid.NewString()}
	if err := s.sellLimit(ctx, sku, greedy.buyer); err != nil {
		return round{sku: sku, unanswered: buyerLimit}, err
	}
	s.world.expected.Add(sku, buyerLimit, 0)
	var bought, refused round
	both, driving := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		bought, err = s.send(driving, sku, buyers)
		return err
	})
	both.Go(func() (err error) {
		refused, err = s.send(driving, sku, greedy)
		return err
	})
	err := both.Wait()
	bought.sku, bought.unanswered = sku, bought.unanswered+refused.unanswered
	if err == nil {
		err = checkBot(bought, refused)
	}
	bought.counts[load.Refused] += refused.counts[load.Refused]
	return bought, err
}

// sellLimit sells a buyer all that one may have.
func (s *site) sellLimit(ctx context.Context, sku, buyer string) error {
	o := history.Operation{Kind: history.Deduct, ID: uuid.NewString(), Buyer: buyer, Lines: []history.Line{{SKU: sku, Quantity: buyerLimit}}}
	return s.withServices(func(services *load.Services) error { return services.Do(ctx, &o, load.Persistence{}) })
}

// checkBot demands that the bot gets nothing beyond its limit, and that no other buyer is refused.
func checkBot(bought, bot round) error {
	if bot.counts[load.Accepted] == 0 && bought.counts[load.Refused] == 0 {
		return nil
	}
	return fmt.Errorf("a bot got %d units beyond its limit of %d, and %d buyers were refused",
		bot.counts[load.Accepted], buyerLimit, bought.counts[load.Refused])
}

func botTargets(s Scale) []experiment.Target {
	buyers := s.many() - s.bots()
	return []experiment.Target{atLeast("buyers beside a bot, in parts of buyers alone", at(botName, buyers), at(aloneName, buyers), 0.90)}
}
