// Package orderfile reads order lines: a CSV, gzipped or not. A file is read and checked whole, before anything is sent. Every error
// but those of the file system is a [LineError].
package orderfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"inventory/internal/stock"
)

// maxBytes bounds the text of a file, so that a small gzip cannot fill the memory.
const maxBytes = 512 << 20

// LineError is what is wrong with a line. The header is line 1.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *LineError) Unwrap() error { return e.Err }

// ReadFile reads the lines of a file.
func ReadFile(path string) (lines []Line, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	defer file.Close()
	if lines, err = Read(file); err != nil {
		return nil, fmt.Errorf("read orders from %s: %w", path, err)
	}
	return lines, nil
}

// Read reads all lines, or none and the first thing that is wrong.
func Read(r io.Reader) ([]Line, error) {
	text, err := plain(r)
	if err != nil {
		return nil, err
	}
	records := csv.NewReader(bytes.NewReader(text))
	records.FieldsPerRecord = -1 // counted here, for the line number and the names
	header, number, err := next(records)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if number != 1 || !slices.Equal(header, columns()) {
		return nil, &LineError{1, fmt.Errorf("the header must be %s", strings.Join(columns(), ","))}
	}
	var lines []Line
	for {
		record, number, err := next(records)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		line, err := parse(record)
		if err == nil && len(lines) > 0 && line.At.Before(lines[len(lines)-1].At) {
			err = fmt.Errorf("at %q is before the line above: lines must be in time order", record[1])
		}
		if err != nil {
			return nil, &LineError{number, err}
		}
		line.Number = number
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil, &LineError{2, errors.New("no order lines follow the header")}
	}
	return lines, nil
}

// plain reads the whole text, unpacked if its first bytes are gzip's.
func plain(r io.Reader) ([]byte, error) {
	buffered := bufio.NewReader(r)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &LineError{1, err}
	}
	from := io.Reader(buffered)
	if bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if from, err = gzip.NewReader(buffered); err != nil {
			return nil, &LineError{1, broken(err)}
		}
	}
	text, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	switch {
	case err != nil:
		return nil, &LineError{1 + bytes.Count(text, []byte("\n")), broken(err)}
	case len(text) > maxBytes:
		return nil, &LineError{1 + bytes.Count(text, []byte("\n")), fmt.Errorf("the text is longer than %d bytes", maxBytes)}
	}
	return text, nil
}

// broken explains an error of gzip.
func broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("the gzip data is cut off: %w", err)
	}
	return fmt.Errorf("the file is corrupt: %w", err)
}

// columns are the names that the header must have.
func columns() []string { return []string{"order_id", "at", "buyer_id", "sku", "quantity"} }

// next returns a record and the line it begins on. io.EOF means that there are no more.
func next(records *csv.Reader) ([]string, int, error) {
	record, err := records.Read()
	var wrong *csv.ParseError
	switch {
	case errors.As(err, &wrong):
		return nil, 0, &LineError{wrong.StartLine, wrong.Err}
	case err != nil:
		return nil, 0, err
	}
	number, _ := records.FieldPos(0)
	return record, number, nil
}

const (
	// maxIDBytes is the service's limit.
	maxIDBytes = 128
	// maxGoodsBytes leaves room, in the 64 that the service allows, for the prefix of a run.
	maxGoodsBytes = 40
	// nameLetters are those that the service allows in the name of a SKU.
	nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
)

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

// parse reads a record. Its errors say which column is wrong.
func parse(record []string) (Line, error) {
	if len(record) != len(columns()) {
		return Line{}, fmt.Errorf("%d columns instead of %d", len(record), len(columns()))
	}
	l := Line{OrderID: record[0], BuyerID: record[2], SKU: record[3]}
	if err := checkID("order_id", l.OrderID); err != nil {
		return Line{}, err
	}
	var err error
	if l.At, err = time.Parse(time.RFC3339, record[1]); err != nil {
		return Line{}, fmt.Errorf("at %.40q is not a time such as 2010-12-01T08:26:00Z", record[1])
	}
	if l.BuyerID != "" {
		if err := checkID("buyer_id", l.BuyerID); err != nil {
			return Line{}, err
		}
	}
	if err := l.checkSKU(); err != nil {
		return Line{}, err
	}
	l.Quantity, err = strconv.ParseInt(record[4], 10, 64)
	if err != nil || l.Quantity < -stock.MaxQuantity || l.Quantity > stock.MaxQuantity {
		return Line{}, fmt.Errorf("quantity %.40q is not a whole number from -%d to %d",
			record[4], stock.MaxQuantity, stock.MaxQuantity)
	}
	return l, nil
}

// checkSKU checks that the service accepts the SKU of goods. Other lines are not sent.
func (l Line) checkSKU() error {
	if err := checkID("sku", l.SKU); err != nil {
		return err
	}
	if l.IsGoods() && (len(l.SKU) > maxGoodsBytes || strings.Trim(l.SKU, nameLetters) != "") {
		return fmt.Errorf("sku %.60q of goods must be at most %d characters of A-Z a-z 0-9 . _ -", l.SKU, maxGoodsBytes)
	}
	return nil
}

// checkID checks that the service accepts an id.
func checkID(column, id string) error {
	switch {
	case id == "":
		return errors.New(column + " is empty")
	case len(id) > maxIDBytes || !utf8.ValidString(id):
		return fmt.Errorf("%s %.60q is not at most %d bytes of UTF-8", column, id, maxIDBytes)
	case strings.ContainsFunc(id, unicode.IsControl):
		return fmt.Errorf("%s %.60q has control characters", column, id)
	}
	return nil
}
