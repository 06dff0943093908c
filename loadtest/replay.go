package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"inventory/internal/cli"
	"inventory/loadtest/internal/orderfile"
	"inventory/loadtest/internal/replay"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

const (
	// defaultOrders is the shop's file that the lab brings along.
	defaultOrders = "loadtest/testdata/online-retail-2010-12-01.csv.gz"
	// quickLines is how much of a file a quick round replays.
	quickLines = 1500
)

type replayCommand struct {
	Orders      string  `help:"CSV of order lines in time order, gzipped or not, with the columns order_id,at,buyer_id,sku,quantity. Default: ${default}, from the root of the repository." default:"loadtest/testdata/online-retail-2010-12-01.csv.gz" placeholder:"FILE"`
	StockFactor float64 `help:"Stock of a SKU in parts of what all its orders ask for, 0 to 1000000. Default: ${default}." default:"0.8" placeholder:"FACTOR" least:"0" most:"1000000"`
	Concurrency int     `help:"Requests under way at once, 1 to 10000, never two of one SKU. Default: ${default}." default:"64" placeholder:"REQUESTS" least:"1" most:"10000"`
	WholeOrders bool    `help:"Send the lines of an order as one order of several SKUs, all or nothing, and not SKU by SKU. Default: off."`
	Quick       bool    `help:"One short round: only the orders of the first 1500 lines. Default: off."`
	targetFlags
	reportFlags
}

// Help is what --help and list tell beside the flags.
func (c *replayCommand) Help() string {
	return about{
		Shows: "what becomes of each of 22,523 order lines of nine days when 80% of the stock is there, latencies by outcome, and whether the rows agree.",
		Full:  "under a minute", Quick: "seconds",
		Needs: "nothing. With --private-servers the programs of PostgreSQL and Redis; or a service of yours: --url.",
	}.String()
}

// Run replays, audits, and delivers the report.
func (c *replayCommand) Run(ctx context.Context, s cli.Streams) error {
	plan, err := c.plan()
	if err != nil {
		return err
	}
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) {
		return c.at(ctx, s, func(to *target.Target) (report.Document, error) {
			return documented(replay.Play(ctx, plan, c.settings(s), to))
		})
	})
}

// settings are what the flags say.
func (c *replayCommand) settings(s cli.Streams) replay.Settings {
	return replay.Settings{Prefix: newPrefix(), Concurrency: c.Concurrency, Key: c.APIKey, Progress: s.Err}
}

// plan reads the orders, all of them before anything is started.
func (c *replayCommand) plan() (replay.Plan, error) {
	lines, err := orderfile.ReadFile(c.Orders)
	if errors.Is(err, fs.ErrNotExist) && c.Orders == defaultOrders {
		err = fmt.Errorf("%w; run from the root of the repository, or name a file with --orders", err)
	}
	if err != nil {
		return replay.Plan{}, err
	}
	if c.Quick {
		lines = orderfile.FirstOrders(lines, quickLines)
	}
	plan, err := replay.NewPlan(lines, c.StockFactor, c.WholeOrders)
	if err != nil {
		return replay.Plan{}, fmt.Errorf("plan the orders of %s: %w", c.Orders, err)
	}
	return plan, nil
}

// newPrefix begins the names of a run's SKUs. They are fresh, so that a database can be used again, and those of
// later runs sort after those of earlier ones.
func newPrefix() string {
	at := strconv.FormatInt(time.Now().Unix(), 36)
	return "replay-" + at + strings.ToLower(rand.Text()[:6]) + "-"
}
