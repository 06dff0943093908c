package stock

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// Forgetting asks to call a buyer by another name wherever the buyer's id is kept: in the deductions, orders, counts and changes, in the
// outbox, and in the keys of the buyer's own orders. Counts go on under the name, so a limit still holds.
type Forgetting struct {
	BuyerID string
	Name    string // a [Pseudonym]
	// Again is how often the buyer's own order ids were found to be taken under the name: a service without the key has sold them again since
	// the buyer was forgotten. Each time they get another name.
	Again int
}

// Pseudonym returns the name of a buyer who is forgotten: a hash that nobody can compute without the key. The name of "" tells keys apart.
func Pseudonym(key []byte, buyerID string) string {
	hash := hmac.New(sha256.New, key)
	hash.Write([]byte(buyerID))
	return "forgotten-" + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16])
}

// PrunedBuyer returns what an order of several SKUs that was pruned keeps of its buyer's id: a hash, by which the id of the order stays
// taken for this buyer. [Forgetting] puts the buyer's name in its place.
func PrunedBuyer(buyerID string) string {
	if buyerID == "" {
		return ""
	}
	hash := sha256.Sum256([]byte(buyerID))
	return "pruned-" + base64.RawURLEncoding.EncodeToString(hash[:16])
}

// Own returns the bounds of the keys of the buyer's own orders: first <= key < behind.
func (f Forgetting) Own() (first, behind string) {
	return f.BuyerID + keySeparator, f.BuyerID + string(keySeparator[0]+1)
}

// KeyName is what takes the place of the buyer's id in the keys of the buyer's own orders.
func (f Forgetting) KeyName() string {
	if f.Again == 0 {
		return f.Name
	}
	return f.Name + "~" + strconv.Itoa(f.Again)
}

// Renamed returns an order key under the new name.
func (f Forgetting) Renamed(key string) string {
	if namespace, orderID := SplitOrderKey(key); namespace == f.BuyerID && namespace != "" {
		return OrderKey(f.KeyName(), orderID)
	}
	return key
}

// IsOwn reports whether a key is that of one of the buyer's own orders.
func (f Forgetting) IsOwn(key string) bool { return strings.HasPrefix(key, f.BuyerID+keySeparator) }

// ForgottenBuyer is a buyer who is forgotten, or is about to be.
type ForgottenBuyer struct {
	Name string
	Done bool // no row has the buyer's id any more
}

// ForgetPart is a part of the work that it takes to forget a buyer.
type ForgetPart int

// The parts, in their order.
const (
	ForgetOrders     ForgetPart = iota // orders of several SKUs, with their lines
	ForgetDeductions                   // SKU by SKU
	ForgetCounts                       // of groups
	ForgetOutbox
	ForgetDone
)

// ForgetStep is how far a buyer is forgotten.
type ForgetStep struct {
	Part  ForgetPart
	SKU   string // the present one, for ForgetDeductions; "": the first one is next
	After string // the last key, or the cursor of the outbox, that is done; "": none
}
