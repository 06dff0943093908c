package stock

import (
	"cmp"
	"strings"
	"time"
)

// Limits of what the service accepts. The database repeats them as constraints.
const (
	MaxStock        = 1_000_000_000 // units a SKU starts with
	MaxQuantity     = 1_000_000     // units of one deduction or restock
	MaxSegments     = 1024
	DefaultSegments = 10
	maxNameBytes    = 200
)

// NewSKU describes a SKU to create.
type NewSKU struct {
	SKU      string
	Name     string // for people; may be empty
	Stock    int64  // units to start with, 0 to MaxStock
	Segments int    // 1 to MaxSegments; may exceed Stock
	Terms
}

// Fresh returns a SKU as it is when it has just been created.
func (n NewSKU) Fresh() Status {
	s := Status{SKU: n.SKU, Name: n.Name, Terms: n.Terms, Stock: n.Stock, Layout: 1, Segments: Spread(n.Stock, n.Segments)}
	s.Complete()
	return s
}

// Status is a SKU with its totals, read in one snapshot. Stock = Available + Reserved + Committed.
type Status struct {
	SKU  string `json:"sku"`
	Name string `json:"name,omitempty"`
	Terms
	Stock     int64   `json:"stock"` // all that was ever put in: the initial stock, the restocks and the adjustments
	Available int64   `json:"available"`
	Reserved  int64   `json:"reserved"`
	Committed int64   `json:"committed"`
	Layout    int64   `json:"layout"` // grows with every resegment and change of terms
	Segments  []int64 `json:"-"`      // available units of each segment
	// Counting says that orders from before the buyer limit are being counted: until then a buyer may get more.
	Counting bool `json:"counting,omitempty"`
	// LimitSince is when the last of them was counted; zero: not yet, or the limit holds since the SKU was created.
	LimitSince time.Time `json:"limit_since,omitzero"`
	// Stale says that some reservations have expired and still count as reserved: no write has ended them yet.
	Stale bool `json:"-"`
}

// SKUName is what people call a SKU by.
type SKUName struct{ SKU, Name string }

// Contains reports whether the id or the name contains a text in lower case, whatever their own case is.
func (n SKUName) Contains(lower string) bool {
	return strings.Contains(strings.ToLower(n.SKU), lower) || strings.Contains(strings.ToLower(n.Name), lower)
}

// CheckSearch refuses a text that no id or name of a SKU can contain.
func CheckSearch(text string) error { return checkKnownText("q", text, maxNameBytes) }

// AfterSKU returns a text behind a SKU and before all later ones: no character of a SKU is below the one that it adds.
func AfterSKU(sku string) string { return sku + "-" }

// Complete computes Available and Committed from the segments, the stock and what is reserved.
func (s *Status) Complete() {
	s.Counting = s.Counting && s.PerBuyerLimit > 0 // otherwise counts are removed
	s.Available = Sum(s.Segments)
	s.Committed = s.Stock - s.Available - s.Reserved
}

const maxSKUBytes = 64

// CheckSKU allows only characters that have no special meaning elsewhere.
//
// SKUs become parts of Redis keys and paths, so their characters must have no meaning there; "." and ".." are steps in a
// path. Every request is checked: a regular expression would cost a refused one as much as all the rest.
func CheckSKU(sku string) error {
	if sku == "." || sku == ".." {
		return Invalid("sku", `must not be "." or ".."`)
	}
	if sku == "" || len(sku) > maxSKUBytes || strings.Trim(sku, skuCharacters) != "" {
		return Invalid("sku", "must be 1 to %d characters of A-Z a-z 0-9 . _ -", maxSKUBytes)
	}
	return nil
}

const skuCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

// Check refuses a new SKU that is not allowed.
func (n NewSKU) Check() error {
	return cmp.Or(
		CheckSKU(n.SKU), checkRange("stock", n.Stock, 0, MaxStock), checkRange("segments", n.Segments, 1, MaxSegments),
		checkOptional("name", n.Name, maxNameBytes), n.Terms.check(), n.checkGroup(),
	)
}

// differs says how a new SKU differs from the one that is there.
func (n NewSKU) differs(there NewSKU) (d differences) {
	d.add("stock", there.Stock, n.Stock)
	d.add("segments", there.Segments, n.Segments)
	d.add("name", there.Name, n.Name)
	d.add("sale_starts_at", there.SaleStartsAt, n.SaleStartsAt)
	d.add("sale_ends_at", there.SaleEndsAt, n.SaleEndsAt)
	d.add("per_buyer_limit", there.PerBuyerLimit, n.PerBuyerLimit)
	d.add("max_quantity", there.MaxQuantity, n.MaxQuantity)
	d.add("max_reserve_for", there.MaxReserveFor, n.MaxReserveFor)
	d.add("limit_group", there.LimitGroup, n.LimitGroup)
	return d
}

// CheckReplay refuses a SKU if the one that is there already has other properties. Both stores keep microseconds.
func (n NewSKU) CheckReplay(there NewSKU) error {
	for _, at := range []*time.Time{&n.SaleStartsAt, &n.SaleEndsAt} {
		*at = at.UTC().Truncate(time.Microsecond)
	}
	switch {
	case !there.ArchivedAt.IsZero():
		return refusal(CodeSKUExists, n.SKU, "SKU %q is archived: its name is not used again", n.SKU)
	case n != there:
		return refusal(CodeSKUExists, n.SKU, "SKU %q exists with other properties%v", n.SKU, n.differs(there))
	default:
		return nil
	}
}

// CheckWindow refuses a sale that is over when its SKU is created.
func (n NewSKU) CheckWindow(created time.Time) error {
	if !n.SaleEndsAt.IsZero() && !created.Before(n.SaleEndsAt) {
		return Invalid("sale_ends_at", "must not lie in the past")
	}
	return nil
}

// View is what who sells has to know about a SKU, in one snapshot.
type View struct {
	Terms    Terms
	Layout   int64
	Segments []int64 // available units
	Versions []int64 // of the segments: while they are the same, nothing has been written
	// NextExpiry is the earliest expiry of a reservation that is not settled: from then on there may be more units than the segments
	// hold. Zero: there is none. If units are left, it may be zero unless it has passed.
	NextExpiry time.Time
}

// Archived reports whether the SKU is archived, so that it sells nothing whatever it holds.
func (v View) Archived() bool { return !v.Terms.ArchivedAt.IsZero() }

// SoldOut reports whether no segment holds anything. An archived SKU is not sold out: its sale has ended.
func (v View) SoldOut() bool { return Sum(v.Segments) == 0 && !v.Archived() }

// Age returns when the SKU was seen.
func (v View) Age() Age { return Age{Layout: v.Layout, Version: Sum(v.Versions)} }

// Pruning asks to fold old deductions of an archived SKU into a sum, so that tables stop growing. A deduction is old if it is
// no longer reserved, and all its instants lie before a given one: its creation, the end of its reservation, its commit, its
// cancel or last return, and its amendments. Pruned order ids sell nothing again: a SKU stays archived, and an order of
// several SKUs leaves its row.
type Pruning struct {
	SKU      string
	OrderIDs []string  // keys, as [Store.DeductionPage] returns them; other deductions stay
	Before   time.Time // the instant
	DryRun   bool      // nothing is folded, only counted
}

// Pruned is what a [Pruning] folded, or would fold.
type Pruned struct {
	Deductions int64
	Units      int64 // what these deductions hold
	Busy       bool  // another transaction has the SKU's rows: nothing was done
}
