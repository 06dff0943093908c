package orderfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"inventory/internal/stock"
)

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

// IsGoods tells goods, whose SKU begins with five digits, from postage, discounts and fees.
func (l Line) IsGoods() bool {
	return len(l.SKU) >= 5 && strings.Trim(l.SKU[:5], "0123456789") == ""
}

// IsReturn tells whether the line belongs to a return.
func (l Line) IsReturn() bool { return strings.HasPrefix(l.OrderID, "C") }

// FirstOrders returns the lines of the first orders: at least n lines, if there are that many, and as many more as
// the last of these orders has.
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

// checkSKU holds goods to what the service accepts. What is no goods is not sent and may look like anything.
func (l Line) checkSKU() error {
	if err := checkID("sku", l.SKU); err != nil {
		return err
	}
	if l.IsGoods() && (len(l.SKU) > maxGoodsBytes || strings.Trim(l.SKU, nameLetters) != "") {
		return fmt.Errorf("sku %.60q of goods must be at most %d characters of A-Z a-z 0-9 . _ -", l.SKU, maxGoodsBytes)
	}
	return nil
}

// checkID holds an id to what the service accepts.
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
