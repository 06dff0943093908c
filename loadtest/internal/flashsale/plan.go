package flashsale

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// The phases that have a meaning by their names.
const (
	Trickle  = "trickle"   // before the sale opens
	Spike    = "spike"     // new orders, as in every phase of another name
	Storm    = "storm"     // retries alone
	CoolDown = "cool-down" // half new orders, half retries
)

// opening is when the sale opens: when the first phase begins that is no trickle.
func opening(phases []load.Phase) time.Duration {
	if first := spans(phases)[0]; first.name == Trickle {
		return first.to
	}
	return 0
}

// retries is the share of retries of a phase.
func retries(phase string) float64 {
	switch phase {
	case Storm:
		return 1
	case CoolDown:
		return 0.5
	}
	return 0
}

// span is the time of a phase in a round. Neighbours of one name are one span.
type span struct {
	name     string
	from, to time.Duration
}

func spans(phases []load.Phase) (all []span) {
	var at time.Duration
	for _, p := range phases {
		if n := len(all); n > 0 && all[n-1].name == p.Name {
			all[n-1].to += p.Length
		} else {
			all = append(all, span{p.Name, at, at + p.Length})
		}
		at += p.Length
	}
	return all
}

// nameAt is the phase of a time.
func nameAt(all []span, at time.Duration) string {
	for _, s := range all {
		if at < s.to {
			return s.name
		}
	}
	return ""
}

// orders are n requests for one SKU: new orders, and retries of earlier ones. first has for each request the first request of
// its order. It is a pure function.
func (c Config) orders(seed uint64, sku string, n int, retries func(i int) float64) (all []history.Operation, first []int) {
	random := load.NewRandom(seed, "orders")
	var fresh []int
	for i := range n {
		if len(fresh) > 0 && random.Float64() < retries(i) {
			again := fresh[random.IntN(len(fresh))]
			all, first = append(all, all[again]), append(first, again)
			continue
		}
		all, first = append(all, c.order(random, sku, len(fresh))), append(first, i)
		fresh = append(fresh, i)
	}
	return all, first
}

// order draws a new order.
func (c Config) order(random *rand.Rand, sku string, buyer int) history.Operation {
	o := history.Operation{Kind: history.Deduct, Lines: []history.Line{{SKU: sku, Quantity: c.Least + random.Int64N(c.Most-c.Least+1)}}}
	if c.Buyers > 0 {
		buyer = random.IntN(c.Buyers)
	}
	o.ID, o.Buyer = load.NewID(random), "buyer-"+strconv.Itoa(buyer)
	return o
}

// Bounds of the flags.
const (
	MostRate   = 100_000.0 // requests a second
	MostLength = 24 * time.Hour
	mostName   = 40
)

// ReadRates reads phases from CSV: seconds,rate or seconds,rate,name in each line, in order of time.
//
// A line says what the rate, in requests a second, is at that second since the beginning. From line to line it changes evenly;
// two lines of the same second make a step. A name begins a phase, which lasts until the next name; see the names that have
// a meaning. The first line is of second 0, and the last one ends the run. Lines that begin with # and a header line
// "seconds,rate" or "seconds,rate,name" say nothing.
func ReadRates(from io.Reader) ([]load.Phase, error) {
	lines := csv.NewReader(from)
	lines.FieldsPerRecord, lines.Comment, lines.TrimLeadingSpace = -1, '#', true
	var phases []load.Phase
	last := point{name: "sale"}
	for n := 0; ; n++ {
		fields, err := lines.Read()
		switch {
		case errors.Is(err, io.EOF):
			if len(phases) == 0 {
				return nil, errors.New("it takes two lines of different seconds, seconds,rate each")
			}
			return phases, nil
		case err != nil:
			return nil, err
		case n == 0 && fields[0] == "seconds":
			n-- // a header
			continue
		}
		next, err := readPoint(fields)
		if err == nil {
			err = next.follows(last, n == 0)
		}
		if err != nil {
			line, _ := lines.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if n > 0 && next.at > last.at {
			phases = append(phases, load.Phase{Name: last.name, From: last.rate, To: next.rate, Length: next.at - last.at})
		}
		if next.name == "" {
			next.name = last.name
		}
		last = next
	}
}

// point is a line.
type point struct {
	at   time.Duration
	rate float64
	name string
}

func readPoint(fields []string) (p point, err error) {
	if len(fields) < 2 || len(fields) > 3 {
		return point{}, fmt.Errorf("has %d fields; must be seconds,rate or seconds,rate,name", len(fields))
	}
	for i, field := range fields {
		fields[i] = strings.TrimSpace(field)
	}
	seconds, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || !(seconds >= 0 && seconds <= MostLength.Seconds()) {
		return point{}, fmt.Errorf("seconds %q: must be 0 to %.0f", fields[0], MostLength.Seconds())
	}
	if p.rate, err = strconv.ParseFloat(fields[1], 64); err != nil || !(p.rate >= 0 && p.rate <= MostRate) {
		return point{}, fmt.Errorf("rate %q: must be 0 to %.0f requests a second", fields[1], MostRate)
	}
	p.at = time.Duration(math.Round(seconds * float64(time.Second)))
	if len(fields) == 3 {
		p.name = fields[2]
	}
	for _, r := range p.name {
		if !unicode.IsPrint(r) {
			return point{}, fmt.Errorf("name %q: must be printable", p.name)
		}
	}
	if len(p.name) > mostName {
		return point{}, fmt.Errorf("name %q: must have no more than %d bytes", p.name, mostName)
	}
	return p, nil
}

// follows is why a point cannot come after another one.
func (p point) follows(last point, first bool) error {
	switch {
	case first && p.at != 0:
		return errors.New("the first line must be of second 0")
	case p.at < last.at:
		return fmt.Errorf("second %g comes after second %g", p.at.Seconds(), last.at.Seconds())
	}
	return nil
}
