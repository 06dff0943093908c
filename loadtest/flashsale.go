package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"inventory/internal/cli"
	"inventory/loadtest/internal/flashsale"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/replay"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

type flashSaleCommand struct {
	flashsale.Config
	Quick bool `help:"One round. Default: off."`

	TrickleRate  float64       `help:"Requests a second before the sale opens, 0 to 100000. Default: ${default}." default:"100" placeholder:"RATE" least:"0" most:"100000"`
	TrickleFor   time.Duration `help:"How long before the sale opens requests come. Default: ${default}." default:"2s" placeholder:"DURATION" least:"0s" most:"24h"`
	SpikeRate    float64       `help:"Orders a second once the sale is open, 0 to 100000. Default: ${default}." default:"5000" placeholder:"RATE" least:"0" most:"100000"`
	SpikeFor     time.Duration `help:"How long new orders come at that rate. Default: ${default}." default:"6s" placeholder:"DURATION" least:"0s" most:"24h"`
	StormRate    float64       `help:"Retries a second after the spike, 0 to 100000. Default: ${default}." default:"3000" placeholder:"RATE" least:"0" most:"100000"`
	StormFor     time.Duration `help:"How long retries come at that rate. Default: ${default}." default:"3s" placeholder:"DURATION" least:"0s" most:"24h"`
	CoolDownRate float64       `help:"Requests a second after that, half of them retries, 0 to 100000. Default: ${default}." default:"200" placeholder:"RATE" least:"0" most:"100000"`
	CoolDownFor  time.Duration `help:"How long requests come at that rate. Default: ${default}." default:"2s" placeholder:"DURATION" least:"0s" most:"24h"`

	reportFlags
	targetFlags
}

// mostRequests bounds what a run plans: each request is remembered, with a hundred bytes or so.
const mostRequests = 5e6

// Run plays the sale and reports.
func (c *flashSaleCommand) Run(ctx context.Context, s cli.Streams) error {
	config, err := c.sale()
	if err != nil {
		return err
	}
	config.Progress = s.Err
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) {
		return c.at(ctx, s, func(to *target.Target) (report.Document, error) {
			_, _ = fmt.Fprintf(s.Err, "flash-sale: seed %d, about %.0f requests over %d x %v, sent to %s\n", config.Seed, config.Load(),
				config.Rounds, load.Length(config.Phases), to.Name) // it is only progress
			return flashsale.Run(ctx, config, to)
		})
	})
}

// sale is the sale that the flags describe.
func (c *flashSaleCommand) sale() (config flashsale.Config, err error) {
	config = c.Config
	config.Key, config.Seed = c.APIKey, drawnSeed(c.Seed)
	if c.Quick {
		config.Rounds = 1
	}
	config.Phases = c.phases()
	switch n := config.Load(); {
	case n > mostRequests:
		return flashsale.Config{}, fmt.Errorf("the rates come to %.0f requests in all rounds; at most %.0f can be planned", n, mostRequests)
	case n < 1:
		return flashsale.Config{}, errors.New("the rates come to no request at all")
	}
	return config, nil
}

// phases are those that take time.
func (c *flashSaleCommand) phases() (all []load.Phase) {
	for _, p := range []load.Phase{
		{Name: flashsale.Trickle, Rate: c.TrickleRate, Length: c.TrickleFor},
		{Name: flashsale.Spike, Rate: c.SpikeRate, Length: c.SpikeFor},
		{Name: flashsale.Storm, Rate: c.StormRate, Length: c.StormFor},
		{Name: flashsale.CoolDown, Rate: c.CoolDownRate, Length: c.CoolDownFor},
	} {
		if p.Length > 0 {
			all = append(all, p)
		}
	}
	return all
}

// defaultOrders is the shop's file that the lab brings along.
const defaultOrders = "loadtest/testdata/online-retail-2010-12-01.csv.gz"

type replayCommand struct {
	Orders      string  `help:"CSV of order lines in time order, gzipped or not, with the columns order_id,at,buyer_id,sku,quantity. Default: ${default}, from the root of the repository." default:"loadtest/testdata/online-retail-2010-12-01.csv.gz" placeholder:"FILE"`
	StockFactor float64 `help:"Stock of a SKU in parts of what all its orders ask for, 0 to 1000000. Default: ${default}." default:"0.8" placeholder:"FACTOR" least:"0" most:"1000000"`
	Concurrency int     `help:"Requests under way at once, 1 to 10000, never two of one SKU. Default: ${default}." default:"64" placeholder:"REQUESTS" least:"1" most:"10000"`
	WholeOrders bool    `help:"Send the lines of an order as one order of several SKUs, all or nothing, and not SKU by SKU. Default: off."`
	Quick       bool    `help:"One short round: only the orders of the first 1500 lines. Default: off."`
	targetFlags
	reportFlags
}

// Run replays, audits, and delivers the report.
func (c *replayCommand) Run(ctx context.Context, s cli.Streams) error {
	plan, err := c.plan()
	if err != nil {
		return err
	}
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) {
		return c.at(ctx, s, func(to *target.Target) (report.Document, error) {
			played, err := replay.Play(ctx, plan, replay.Settings{Concurrency: c.Concurrency, Key: c.APIKey, Progress: s.Err}, to)
			return played.Document, err
		})
	})
}

// plan reads the orders, all of them before anything is started.
func (c *replayCommand) plan() (replay.Plan, error) {
	lines, err := replay.ReadOrders(c.Orders)
	if errors.Is(err, fs.ErrNotExist) && c.Orders == defaultOrders {
		err = fmt.Errorf("%w; run from the root of the repository, or name a file with --orders", err)
	}
	if err != nil {
		return replay.Plan{}, err
	}
	if c.Quick {
		lines = replay.FirstOrders(lines, 1500)
	}
	plan, err := replay.NewPlan(lines, c.StockFactor, c.WholeOrders, servers.NewName("replay-")+"-")
	if err != nil {
		return replay.Plan{}, fmt.Errorf("plan the orders of %s: %w", c.Orders, err)
	}
	return plan, nil
}
