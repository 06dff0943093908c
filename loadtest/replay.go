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
			played, err := replay.Play(ctx, plan, replay.Settings{Prefix: newPrefix(), Concurrency: c.Concurrency, Key: c.APIKey, Progress: s.Err}, to)
			return played.Report(), err
		})
	})
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
		lines = orderfile.FirstOrders(lines, 1500)
	}
	plan, err := replay.NewPlan(lines, c.StockFactor, c.WholeOrders)
	if err != nil {
		return replay.Plan{}, fmt.Errorf("plan the orders of %s: %w", c.Orders, err)
	}
	return plan, nil
}

// newPrefix begins the names of a run's SKUs. They are new, so that a database can be used again, and sort by time.
func newPrefix() string {
	return "replay-" + strconv.FormatInt(time.Now().Unix(), 36) + strings.ToLower(rand.Text()[:6]) + "-"
}
