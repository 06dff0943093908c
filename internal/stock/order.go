package stock

import (
	"cmp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Order is what a buyer asks for. OrderID makes it idempotent within its SKU.
type Order struct {
	OrderID    string
	BuyerID    string // may be empty if the SKU has no buyer limit
	Own        bool   // the order id is one of the buyer's own, and not the shop's
	Quantity   int64
	ReserveFor time.Duration // 0: committed at once; else MinReserve to MaxReserve, in whole microseconds
	// CallerMax is how many units its caller may ask for if the SKU has no MaxQuantity of its own; 0: the package's. It
	// is not part of the request: a replay may have another one.
	CallerMax int64
	InOrder   bool // it is a line of an order of several SKUs
}

// MaxOrders bounds the orders of a request of many.
const MaxOrders = 1000

// How long a reservation lasts, at least and at most.
const (
	MinReserve = time.Second
	MaxReserve = 30 * 24 * time.Hour
)

// Check refuses an order that is not allowed.
func (o Order) Check() error {
	err := checkOrderID(o.OrderID)
	for _, text := range keptTexts {
		check := checkOptional
		if o.Own && text.Column == "buyer_id" {
			check = checkText
		}
		err = cmp.Or(err, check(text.Column, text.Get(o), maxIDBytes))
	}
	return cmp.Or(err, checkReserve("reserve_for", o.ReserveFor), checkQuantity(o.Quantity))
}

// checkReserve accepts what both stores keep exactly, and 0 for none.
func checkReserve(field string, d time.Duration) error {
	if d == 0 || CheckReserve(d) {
		return nil
	}
	return Invalid(field, "must be %s to %s, in whole microseconds", MinReserve, MaxReserve)
}

// CheckReserve reports whether a reservation can last that long.
func CheckReserve(d time.Duration) bool {
	return d >= MinReserve && d <= MaxReserve && d%time.Microsecond == 0
}

func checkQuantity(q int64) error { return checkRange("quantity", q, 1, MaxQuantity) }

func checkRange[N int | int64](field string, n, least, most N) error {
	if n < least || n > most {
		return Invalid(field, "must be %d to %d", least, most)
	}
	return nil
}

// kept returns an order as a deduction keeps it: without what its caller may do, whose id it is, and where it came from.
func (o Order) kept() Order {
	o.Own, o.CallerMax, o.InOrder = false, 0, false
	return o
}

// KeptText is a text of an order that stores keep as it is. Its column has the name of the request's field, and is null
// if the text is empty.
type KeptText struct {
	Column string
	Get    func(Order) string
	Of     func(*Order) *string
}

var keptTexts = []KeptText{
	{"buyer_id", func(o Order) string { return o.BuyerID }, func(o *Order) *string { return &o.BuyerID }},
}

// KeptTexts returns all kept texts. Callers must not change them.
func KeptTexts() []KeptText { return keptTexts }

// CheckBuyerID refuses a text that cannot be the buyer's id of an [Order].
func CheckBuyerID(id string) error { return checkText("buyer_id", id, maxIDBytes) }

// Column returns what of returns for each row.
func Column[R, C any](rows []R, of func(R) C) []C {
	column := make([]C, len(rows))
	for i, row := range rows {
		column[i] = of(row)
	}
	return column
}

// IDsOf returns the ids of orders.
func IDsOf(orders []Order) []string {
	return Column(orders, func(o Order) string { return o.OrderID })
}

// An order id belongs to the shop or to the buyer that chose it. The shop chooses ids for the orders of all its buyers. A
// buyer with a token chooses ids without knowing other buyers' ids. Another buyer's orders must not make an id
// unusable, nor may the buyer learn of them. So each buyer has a namespace, and the shop has one, which is "".
//
// Stores know nothing of namespaces. Their order id is an order key: in the shop's namespace the id itself,
// else the namespace and the id with a character between them that neither can contain. So the buyer is part of every
// database key that the id is part of, and the rows of the shop are as they always were.
//
// A buyer's id also finds an order that the shop made in the buyer's name under that id: programs from before the
// namespaces made all orders that way.

// keySeparator stands between a namespace and an order id: a control character, which [Order] allows in neither.
const keySeparator = "\x1f"

// OrderKey returns the key of an order id.
func OrderKey(namespace, orderID string) string {
	if namespace == "" {
		return orderID
	}
	return namespace + keySeparator + orderID
}

// SplitOrderKey returns the namespace and the order id of a key, as stores keep it.
func SplitOrderKey(key string) (namespace, orderID string) {
	namespace, orderID, found := strings.Cut(key, keySeparator)
	if !found {
		return "", key
	}
	return namespace, orderID
}

// Key returns what stores keep as the id of an order: its key in the shop's namespace or in its buyer's.
func (o Order) Key() string {
	if o.Own {
		return OrderKey(o.BuyerID, o.OrderID)
	}
	return o.OrderID
}

// CheckKey reports whether a text can be a key or a position among keys: databases can compare it, and it is no longer than
// a key.
func CheckKey(text string) bool {
	return text != "" && len(text) <= maxKeyBytes && utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// maxKeyBytes bounds a key: a namespace, the separator and an id.
const maxKeyBytes = 2*maxIDBytes + len(keySeparator)

// lastID returns an id that no other one in its namespace is above.
func lastID() string { return strings.Repeat(string(unicode.MaxRune), maxIDBytes/utf8.UTFMax) }

// BeyondKeys returns a text that is above all keys in the order of their bytes.
func BeyondKeys() string { return strings.Repeat(string(unicode.MaxRune), maxKeyBytes/utf8.UTFMax+1) }
