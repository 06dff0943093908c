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

// works are the kinds of work of SCALE.md, by the words of the page, with their number of connections.
var works = []struct {
	name, row     string
	limited, sale bool // the tables of limits and needs have it
}{
	{"one hot SKU", "one hot SKU | 64", true, true},
	{"1,000 SKUs", "uniform over 1,000 | 64", true, true},
	{"baskets of 3 SKUs", "baskets of 3 of 1,000 | 64", true, false}, // many need several nodes, where a basket costs more
	{"a sold-out SKU", "sold out | 64", true, false},
	{"one hot SKU, 512 connections", "one hot SKU | 512", false, false},
}

// costs are the microseconds of processors that an order costs the service, PostgreSQL and Redis.
type costs [3]float64

// costsOf reads the costs of a kind of work from the page that contenders --case afternoon wrote.
func costsOf(t *testing.T, page, row string) (c costs) {
	t.Helper()
	_, columns, _ := strings.Cut(page, "\n|  | SKUs |")
	columns, _, _ = strings.Cut("|  | SKUs |"+columns, "\n")
	line := regexp.MustCompile(`(?m)^\| inventory over HTTP \| ` + regexp.QuoteMeta(row) + ` \|.*$`).FindString(page)
	names, cells := strings.Split(columns, " | "), strings.Split(line, " | ")
	if line == "" || len(names) != len(cells) {
		t.Fatalf("docs/benchmarks/afternoon.md has no costs of %s", row)
	}
	for i, name := range names {
		for part, of := range []string{"service us", "PostgreSQL us", "Redis us"} {
			if name != of {
				continue
			}
			var err error
			if c[part], err = strconv.ParseFloat(cells[i], 64); err != nil {
				t.Fatal(err)
			}
		}
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

// rounded is a number of orders with three digits that count.
func rounded(orders float64) string {
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

// TestScaleFollowsFromTheAfternoon: the tables of SCALE.md are computed from the page that contenders --markdown wrote.
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
	for name, want := range map[string]string{"costs": cost, "limits": most, "needs": need} {
		if got := generated(t, "../docs/SCALE.md", name); got != want {
			t.Errorf("docs/SCALE.md has between the marks of %s\n%s\nand the page says\n%s", name, got, want)
		}
	}
}
