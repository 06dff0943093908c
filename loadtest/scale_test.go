package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"
)

// The assumptions of docs/SCALE.md.
const (
	busy              = 0.6 // of a processor's time
	processProcessors = 2
	nodeProcessors    = 8
	nodeConnections   = 500
	connectionsEach   = 34 // of a process, at each node
	buyers            = 1_000_000
)

// The kinds of orders of prices.md.
const (
	hotSKU        = "one hot SKU"
	limitAndToken = "a limit and a token"
)

// pricesTold are what SCALE.md has the prices of.
func pricesTold() []string {
	return []string{
		hotSKU, "a limit for each buyer", "a token of each buyer", limitAndToken, "reserve, then commit", "the outbox", "TLS",
		"a connection of each buyer", "TLS, a connection of each buyer", "none of 1 SKU", "none of 10,000 SKUs",
	}
}

// farWorks are the columns of OPERATIONS.md about far servers.
func farWorks() []string { return []string{hotSKU, "uniform over 1,000", "baskets of 3 of 1,000"} }

// works are the kinds of work of SCALE.md, by the words of the page, with their number of connections.
var works = []struct {
	name, row     string
	limited, sale bool // the tables of limits and needs have it
}{
	{hotSKU, hotSKU + " | 64", true, true},
	{"1,000 SKUs", "uniform over 1,000 | 64", true, true},
	{"baskets of 3 SKUs", "baskets of 3 of 1,000 | 64", true, false}, // many need several nodes, where a basket costs more
	{"a sold-out SKU", "sold out | 64", true, false},
	{hotSKU + ", 512 connections", hotSKU + " | 512", false, false},
}

// costs are what an order costs: the microseconds of processors of the service, PostgreSQL and Redis, and the bytes that PostgreSQL writes.
type costs [5]float64

// cellsOf are the cells of a row of a page that contenders wrote, by their columns. row is how it begins.
func cellsOf(t *testing.T, page, row string) map[string]string {
	t.Helper()
	_, columns, _ := strings.Cut(page, "\n|  | SKUs |")
	columns, _, _ = strings.Cut("|  | SKUs |"+columns, "\n")
	line := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(row) + ` \|.*$`).FindString(page)
	names, cells := strings.Split(columns, " | "), strings.Split(line, " | ")
	if line == "" || len(names) != len(cells) {
		t.Fatalf("a page of docs/benchmarks has no row of %s", row)
	}
	by := make(map[string]string)
	for i, name := range names {
		by[name] = cells[i]
	}
	return by
}

// costsOf reads the costs of a kind of work from such a page. A cost that the page does not have is 0.
func costsOf(t *testing.T, page, row string) (c costs) {
	t.Helper()
	cells := cellsOf(t, page, "inventory over HTTP | "+row)
	for part, of := range []string{"service us", "PostgreSQL us", "Redis us", "WAL bytes", "disk bytes"} {
		if cell, known := cells[of]; known && cell != "-" {
			var err error
			if c[part], err = strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// beside is how many times as much as another order each part of an order costs.
func (c costs) beside(other costs) (times costs) {
	for i := range c {
		times[i] = c[i] / other[i]
	}
	return times
}

// times is what an order costs that costs so many times as much.
func (c costs) times(more costs) costs {
	for i := range c {
		c[i] *= more[i]
	}
	return c
}

// serves is how many orders a second so many busy processors serve.
func serves(processors, cost float64) float64 { return busy * processors * 1_000_000 / cost }

// process, node and redis are the orders a second of one of them.
func (c costs) process() float64 { return serves(processProcessors, c[0]) }
func (c costs) node() float64    { return serves(nodeProcessors, c[1]) }
func (c costs) redis() float64   { return serves(1, c[2]) }

// limits is a row of what stops first.
func (c costs) limits(work string) string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", work, rounded(c.process()), rounded(c.node()), rounded(c.redis()),
		rounded(nodeConnections/connectionsEach*c.process()))
}

// rounded is a number of orders with three digits that count; a dash if there is no bound.
func rounded(orders float64) string {
	if math.IsInf(orders, 1) {
		return "-"
	}
	digit := math.Pow(10, math.Floor(math.Log10(orders))-2)
	return humanize.Comma(int64(math.Round(math.Round(orders/digit) * digit)))
}

// need is a row of what a sale needs.
func (c costs) need(work, within string, seconds float64) string {
	rate := buyers / seconds
	processes := math.Ceil(rate / c.process())
	return fmt.Sprintf("| %s | %s | %s | %g | %g | %g |\n", work, within, humanize.Comma(int64(math.Round(rate))), processes,
		math.Ceil(rate/c.node()), connectionsEach*processes)
}

// TestScaleFollowsFromTheAfternoon: the tables of SCALE.md are computed from the pages that contenders --markdown wrote.
func TestScaleFollowsFromTheAfternoon(t *testing.T) {
	t.Parallel()
	page := readFile(t, "../docs/benchmarks/afternoon.md")
	cost := "| Work | Service, us | PostgreSQL, us | Redis, us |\n|---|---:|---:|---:|\n"
	most := "| Work | one process | one node | one Redis | connections |\n|---|---:|---:|---:|---:|\n"
	need := "| Work | Within | Orders a second | Processes of 2 processors | PostgreSQL nodes of 8 | Connections |\n|---|---|---:|---:|---:|---:|\n"
	for _, work := range works {
		c := costsOf(t, page, work.row)
		cost += fmt.Sprintf("| %s | %g | %g | %g |\n", work.name, c[0], c[1], c[2])
		if work.limited {
			most += c.limits(work.name)
		}
		if work.sale {
			need += c.need(work.name, "10 s", 10) + c.need(work.name, "a minute", 60)
		}
	}
	price := "| An order | Service | PostgreSQL | WAL, bytes | Disk, bytes |\n|---|---:|---:|---:|---:|\n"
	prices := readFile(t, "../docs/benchmarks/prices.md")
	usual := costsOf(t, prices, hotSKU+" | 64")
	for _, asked := range pricesTold() {
		cost := costsOf(t, prices, asked+" | 64")
		more := cost.beside(usual)
		price += fmt.Sprintf("| %s | x %.2f | x %.2f | %.0f | %.0f |\n", asked, more[0], more[1], cost[3], cost[4])
		if asked == limitAndToken {
			need += costsOf(t, page, hotSKU+" | 64").times(more).need(hotSKU+", "+asked, "10 s", 10)
		}
	}
	for name, want := range map[string]string{"costs": cost, "prices": price, "limits": most, "needs": need} {
		shows(t, "../docs/SCALE.md", name, want)
	}
}

// TestOperationsShowsFarServers: OPERATIONS.md has the rates of the page that contenders --case far wrote.
func TestOperationsShowsFarServers(t *testing.T) {
	t.Parallel()
	page := readFile(t, "../docs/benchmarks/far.md")
	want := "| Round trip |"
	for _, work := range farWorks() {
		want += " " + work + " |"
	}
	want += "\n|---|---:|---:|---:|\n"
	for _, trip := range []string{"0 ms", "3 ms", "20 ms", "80 ms"} {
		want += "| " + trip + " |"
		for _, work := range farWorks() {
			cells := cellsOf(t, page, "inventory over HTTP, "+trip+" | "+work+" | 64")
			rate, _, _ := strings.Cut(cells["accepted per second"], " ")
			want += " " + rate + " |"
		}
		want += "\n"
	}
	shows(t, "../docs/OPERATIONS.md", "far", want)
}
