// Package replay sends the order lines of a real shop to the service.
//
// NewPlan turns lines into requests, and Play sends them in a closed loop. Requests of one SKU are sent one after another in the
// order of the file, so on one process the outcome of each is fixed: two runs of the same lines sell, refuse and restock the same.
package replay

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"inventory/internal/stock"
	"inventory/loadtest/internal/history"
)

// lineError says which line is wrong. The header is line 1.
func lineError(line int, err error) error { return fmt.Errorf("line %d: %w", line, err) }

// Line is one line of an order, of a return, or a correction.
type Line struct {
	Number   int // in the file; the header is 1
	OrderID  string
	At       time.Time
	BuyerID  string // "": the shop knew none
	SKU      string
	Quantity int64 // units; negative for returns and some corrections
}

// IsGoods reports whether the line is of goods, whose SKU begins with five digits, and not of postage, discounts or fees.
func (l Line) IsGoods() bool {
	return len(l.SKU) >= 5 && strings.Trim(l.SKU[:5], "0123456789") == ""
}

// IsReturn reports whether the line belongs to a return.
func (l Line) IsReturn() bool { return strings.HasPrefix(l.OrderID, "C") }

// FirstOrders returns at least n lines, if there are as many, and the rest of the last order.
func FirstOrders(lines []Line, n int) []Line {
	if n < 1 || n >= len(lines) {
		return lines
	}
	for n < len(lines) && lines[n].OrderID == lines[n-1].OrderID {
		n++
	}
	return lines[:n]
}

// ReadOrders reads order lines from a file, a CSV, gzipped or not. It is read and checked whole, before anything is sent.
func ReadOrders(path string) (lines []Line, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	defer file.Close()
	if lines, err = readOrders(file); err != nil {
		return nil, fmt.Errorf("read orders from %s: %w", path, err)
	}
	return lines, nil
}

// columns are the names that the header must have.
func columns() []string { return []string{"order_id", "at", "buyer_id", "sku", "quantity"} }

// readOrders reads all lines, or none and the first thing that is wrong.
func readOrders(r io.Reader) (lines []Line, err error) {
	text, err := unpacked(r)
	if err != nil {
		return nil, err
	}
	records := csv.NewReader(text)
	records.FieldsPerRecord = -1 // counted here, with the names
	header, err := records.Read()
	if err == nil && !slices.Equal(header, columns()) || errors.Is(err, io.EOF) {
		err = lineError(1, fmt.Errorf("the header must be %s", strings.Join(columns(), ",")))
	}
	var last time.Time
	for err == nil {
		var record []string
		if record, err = records.Read(); err != nil {
			break
		}
		var line Line
		if line, err = parse(record); err == nil && line.At.Before(last) {
			err = fmt.Errorf("at %q is before the line above: lines must be in time order", record[1])
		}
		line.Number, _ = records.FieldPos(0)
		if err != nil {
			return nil, lineError(line.Number, err)
		}
		lines, last = append(lines, line), line.At
	}
	var wrong *csv.ParseError
	switch {
	case errors.As(err, &wrong):
		return nil, lineError(wrong.StartLine, wrong.Err)
	case !errors.Is(err, io.EOF):
		return nil, err
	case len(lines) == 0:
		return nil, lineError(2, errors.New("no order lines follow the header"))
	}
	return lines, nil
}

// unpacked is the text, unpacked if its first bytes are gzip's.
func unpacked(r io.Reader) (io.Reader, error) {
	text := bufio.NewReader(r)
	if magic, err := text.Peek(2); err != nil || string(magic) != "\x1f\x8b" {
		return text, nil //nolint:nilerr // who reads on gets the error
	}
	return gzip.NewReader(text)
}

const (
	// maxGoodsBytes leaves room, in the 64 that the service allows, for the prefix of a run.
	maxGoodsBytes = 40
	// nameLetters are those that the service allows in the name of a SKU.
	nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
)

// parse reads a record. Its errors say which column is wrong. Only the SKUs of goods must be such as the service accepts: other lines
// are not sent.
func parse(record []string) (l Line, err error) {
	if len(record) != len(columns()) {
		return Line{}, fmt.Errorf("%d columns instead of %d", len(record), len(columns()))
	}
	for i, id := range record {
		if len(id) > maxIDBytes || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) || id == "" && i != 2 {
			return Line{}, fmt.Errorf("%s %.60q is not text of 1 to %d bytes of UTF-8", columns()[i], id, maxIDBytes)
		}
	}
	l = Line{OrderID: record[0], BuyerID: record[2], SKU: record[3]}
	if l.At, err = time.Parse(time.RFC3339, record[1]); err != nil {
		return Line{}, fmt.Errorf("at %.40q is not a time such as 2010-12-01T08:26:00Z", record[1])
	}
	if l.IsGoods() && (len(l.SKU) > maxGoodsBytes || strings.Trim(l.SKU, nameLetters) != "") {
		return Line{}, fmt.Errorf("sku %.60q of goods must be at most %d characters of A-Z a-z 0-9 . _ -", l.SKU, maxGoodsBytes)
	}
	l.Quantity, err = strconv.ParseInt(record[4], 10, 64)
	if err != nil || l.Quantity < -stock.MaxQuantity || l.Quantity > stock.MaxQuantity {
		return Line{}, fmt.Errorf("quantity %.40q is not a whole number from -%d to %d", record[4], stock.MaxQuantity, stock.MaxQuantity)
	}
	return l, nil
}

const (
	// mostSegments is how many segments a SKU has that has as many units.
	mostSegments = 10
	// maxIDBytes is the service's limit for ids and refs.
	maxIDBytes = 128
)

// Plan is what a replay does.
type Plan struct {
	Lines    int // all that were read
	LeftOut  int // those without a request
	From, To time.Time
	Prefix   string // of the names of the SKUs, so that a database can be used again
	SKUs     []SKU  // of all requests
	// Requests are orders, and returns of one SKU, which restock, in the order of the file.
	Requests []history.Operation
}

// SKU is one that orders or returns name.
type SKU struct {
	Name     string
	Demand   int64 // units that all its orders ask for
	Stock    int64 // units to start with
	Segments int
}

// planner collects a plan line by line.
type planner struct {
	plan     Plan
	whole    bool
	skus     map[string]int // index by name
	requests map[key]int    // index
}

// key is what the lines of one request have in common. The key of a whole order has no SKU.
type key struct{ orderID, sku string }

// NewPlan plans the replay of lines, with stocks of factor times the demand. Orders are sent whole, or SKU by SKU. The names of SKUs
// begin with a prefix.
func NewPlan(lines []Line, factor float64, whole bool, prefix string) (Plan, error) {
	p := planner{plan: Plan{Prefix: prefix}, whole: whole, skus: map[string]int{}, requests: map[key]int{}}
	for _, l := range lines {
		if err := p.add(l); err != nil {
			return Plan{}, lineError(l.Number, err)
		}
	}
	if len(lines) > 0 {
		p.plan.Lines, p.plan.From, p.plan.To = len(lines), lines[0].At, lines[len(lines)-1].At
	}
	return p.plan, p.plan.stockUp(factor)
}

// add plans a line. Lines that are no goods, and corrections by the shop, are left out.
func (p *planner) add(l Line) error {
	quantity := l.Quantity
	if l.IsReturn() {
		quantity = -quantity
	}
	if !l.IsGoods() || quantity <= 0 {
		p.plan.LeftOut++
		return nil
	}
	request, name := p.request(l), p.plan.Prefix+l.SKU
	sku := known(p.skus, name, &p.plan.SKUs, SKU{Name: name})
	at := slices.IndexFunc(request.Lines, func(of history.Line) bool { return of.SKU == name })
	if at < 0 {
		at = len(request.Lines)
		request.Lines = append(request.Lines, history.Line{SKU: name})
	}
	if at > 0 {
		request.Kind = history.Order
	}
	sum := &request.Lines[at].Quantity
	*sum += quantity
	switch {
	case *sum > stock.MaxQuantity:
		return fmt.Errorf("order %q asks for more than %d units of %s", l.OrderID, stock.MaxQuantity, l.SKU)
	case len(request.Lines) > stock.MaxLines:
		return fmt.Errorf("order %q has more than %d SKUs", l.OrderID, stock.MaxLines)
	case l.IsReturn() && len(request.ID) > maxIDBytes:
		return fmt.Errorf("order_id %q of a return is too long for a ref of %d bytes with %s", l.OrderID, maxIDBytes, l.SKU)
	case !l.IsReturn():
		sku.Demand += quantity
	}
	return nil
}

// request is the one that a line belongs to. Its place is that of its first line.
func (p *planner) request(l Line) *history.Operation {
	k, o := key{l.OrderID, l.SKU}, history.Operation{Kind: history.Deduct, ID: l.OrderID, Buyer: l.BuyerID}
	switch {
	case l.IsReturn():
		o.Kind, o.ID = history.Restock, l.OrderID+"/"+l.SKU // one return may have several SKUs
	case p.whole:
		k.sku = ""
	}
	return known(p.requests, k, &p.plan.Requests, o)
}

// known is the element of a key, at first fresh.
func known[K comparable, T any](at map[K]int, key K, all *[]T, fresh T) *T {
	n, there := at[key]
	if !there {
		n, at[key] = len(*all), len(*all)
		*all = append(*all, fresh)
	}
	return &(*all)[n]
}

// stockUp gives every SKU its stock: factor times the demand, rounded down, but at least one unit.
func (p *Plan) stockUp(factor float64) error {
	if factor < 0 {
		return fmt.Errorf("a stock factor of %v", factor)
	}
	for i := range p.SKUs {
		s := &p.SKUs[i]
		// 0.29 times 100 is 29 units, and a little less in floating point.
		units := math.Floor(math.Nextafter(factor*float64(s.Demand), math.Inf(1)))
		if units > stock.MaxStock {
			return fmt.Errorf("stock of %s: %v times its demand of %d is more than %d", s.Name, factor, s.Demand, stock.MaxStock)
		}
		s.Stock = max(1, int64(units))
		s.Segments = int(min(mostSegments, s.Stock))
	}
	return nil
}
