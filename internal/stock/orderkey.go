package stock

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An order id belongs to the shop or to the buyer that chose it. The shop chooses ids for the orders of all its buyers. A
// buyer with a token chooses ids without knowing other buyers' ids. Another buyer's orders must not make an id
// unusable, nor may the buyer learn of them. So each buyer has a namespace, and the shop has one, which is "".
//
// Stores know nothing of namespaces. What they keep as an order id is an order key: in the shop's namespace the id itself,
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

// BeyondKeys returns a text that is above all keys in the order of their bytes.
func BeyondKeys() string { return strings.Repeat(string(unicode.MaxRune), maxKeyBytes/utf8.UTFMax+1) }
