package stock

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An order id belongs to whoever chose it. A shop chooses ids for all its orders, whoever their buyers are. A buyer who
// comes with a token chooses ids without knowing those of others, and must neither be denied one by a stranger nor
// learn of theirs. So each buyer has a namespace of their own, and the shop has one, which is "".
//
// Stores know nothing of that. What they keep as an order id is a key: the id itself in the shop's namespace, else the
// namespace and the id with a character between them that neither can contain. So the buyer is part of every key that
// the id is part of, and the rows of the shop are as they always were.
//
// A buyer's id also finds an order that the shop made in the buyer's name under that id: programs from before the
// namespaces made all orders so.

// keySeparator stands between a namespace and an order id: a control character, of which [Order] allows none in either.
const keySeparator = "\x1f"

// OrderKey is the key of an order id.
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

// Key is what stores keep as the id of an order: its own in the shop's namespace, or one in its buyer's.
func (o Order) Key() string {
	if o.Own {
		return OrderKey(o.BuyerID, o.OrderID)
	}
	return o.OrderID
}

// CheckKey tells whether a text can be a key, or a place among keys: what databases can compare, and no longer than a key.
func CheckKey(text string) bool {
	return text != "" && len(text) <= maxKeyBytes && utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// maxKeyBytes bounds a key: a namespace and an id, and what is between them.
const maxKeyBytes = 2*maxIDBytes + len(keySeparator)

// BeyondKeys is above all keys in the order of their bytes.
func BeyondKeys() string { return strings.Repeat(string(unicode.MaxRune), maxKeyBytes/utf8.UTFMax+1) }
