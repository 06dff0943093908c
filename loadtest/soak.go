package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"inventory/internal/cli"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/soak"
	"inventory/loadtest/internal/target"
)

type soakCommand struct {
	For         time.Duration `help:"How long work is sent, 1s to 168h. Default: ${default}." default:"10m" placeholder:"DURATION" least:"1s" most:"168h"`
	Quick       bool          `help:"Only 30 seconds. Default: off."`
	Rate        float64       `help:"Requests a second, 1 to 10000. Default: ${default}." default:"200" placeholder:"RATE" least:"1" most:"10000"`
	SKUs        int           `name:"skus" help:"SKUs, 2 to 100000, of which some are wanted far more often than others. Default: ${default}." default:"200" placeholder:"NUMBER" least:"2" most:"100000"`
	Stock       int64         `help:"Units of each SKU in the beginning, 0 to 1000000. As much as is taken is put back in, in the mean. Default: ${default}." default:"50" placeholder:"UNITS" least:"0" most:"1000000"`
	Segments    int           `help:"Segments of each SKU in the beginning, 1 to 1024. Default: ${default}." default:"8" placeholder:"NUMBER" least:"1" most:"1024"`
	Seed        uint64        `help:"What the requests and their times follow from; 0 draws one. A database is soaked with a seed once. Default: ${default}." default:"0" placeholder:"NUMBER"`
	Arrivals    string        `help:"How requests lie in time: poisson, as people come, or even. Default: ${default}." default:"poisson" enum:"poisson,even" placeholder:"KIND"`
	Connections int           `help:"Connections, 1 to 10000, each with one request under way. Default: ${default}." default:"64" placeholder:"NUMBER" least:"1" most:"10000"`

	reportFlags
	targetFlags
}

// Help is what --help and list tell beside the flags.
func (c *soakCommand) Help() string {
	return about{
		Shows: "whether memory and goroutines are given back, how much tables and indexes grow for each order, whether answers take longer as " +
			"time goes by, and what the machine and the servers do meanwhile.",
		Full: "ten minutes; --for says otherwise", Quick: "under a minute",
		Needs: "nothing. With --private-servers the programs of PostgreSQL and Redis; or a service of yours: --url.",
	}.String()
}

// quickSoak is how long a quick run lasts.
const quickSoak = 30 * time.Second

// Validate tells kong which flag is wrong.
func (c *soakCommand) Validate() error {
	if n := c.work().Expected(); n > mostRequests {
		return fmt.Errorf("--rate and --for come to %.0f requests; at most %.0f can be planned", n, mostRequests)
	}
	return c.config(cli.Streams{Err: io.Discard}).Check()
}

// work is what the flags say of it.
func (c *soakCommand) work() soak.Work {
	w := soak.Work{
		Seed: c.Seed, Rate: c.Rate, Length: c.For, Spacing: load.Spacing(c.Arrivals), SKUs: c.SKUs, Stock: c.Stock, Segments: c.Segments,
	}
	if c.Quick {
		w.Length = min(w.Length, quickSoak)
	}
	return w
}

// Run soaks and reports.
func (c *soakCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) { return c.measure(ctx, s) })
}

// measure soaks the target of the flags.
func (c *soakCommand) measure(ctx context.Context, s cli.Streams) (d report.Document, err error) {
	where, err := c.apart(s)
	if err != nil {
		return report.Document{}, err
	}
	to, err := target.Open(ctx, where)
	if err != nil {
		return report.Document{}, err
	}
	defer func() { err = errors.Join(err, to.Close(context.WithoutCancel(ctx))) }()
	config := soak.Config{Work: c.work(), Connections: c.Connections, Key: c.APIKey, Progress: s.Err}
	config.Seed = drawnSeed(config.Seed)
	if _, err := fmt.Fprintf(s.Err, "soak: seed %d, about %.0f requests over %v, sent to %s\n", config.Seed, config.Expected(),
		config.Length, to.Name); err != nil {
		return report.Document{}, fmt.Errorf("print: %w", err)
	}
	return soak.Run(ctx, config, to)
}
