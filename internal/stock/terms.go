package stock

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// Terms say who may buy how much of a SKU, and when. A change of terms raises the layout, so the rows refuse a write that
// knows older terms. The zero Terms allow everything.
type Terms struct {
	SaleStartsAt  time.Time     `json:"sale_starts_at,omitzero"`   // the first instant at which it is sold; zero: from its creation on
	SaleEndsAt    time.Time     `json:"sale_ends_at,omitzero"`     // the first instant at which it no longer is; zero: never
	PerBuyerLimit int64         `json:"per_buyer_limit,omitempty"` // units that one buyer may hold, live reservations included; 0: any number
	MaxQuantity   int64         `json:"max_quantity,omitempty"`    // units of one order; 0: the package's MaxQuantity
	MaxReserveFor time.Duration `json:"-"`                         // of a reservation; 0: the service's
	ArchivedAt    time.Time     `json:"archived_at,omitzero"`      // since when it sells nothing for good; zero: it is not archived
	// LimitGroup is a group of SKUs over which PerBuyerLimit counts; "": it counts the SKU alone.
	LimitGroup string `json:"limit_group,omitempty"`
}

// groupMark begins the count of a group's buyers. It is below all characters of SKUs: counts of groups come first, in ascending order.
const groupMark = "#"

// CountedAt names the count of the buyers of a SKU that sells on these terms: the SKU's own, or that of its group; "": there is no limit.
func (t Terms) CountedAt(sku string) string {
	if t.PerBuyerLimit == 0 {
		return ""
	}
	return CountOf(sku, t.LimitGroup)
}

// CountOf names the count of a group, or if that is "", of a SKU.
func CountOf(sku, group string) string {
	if group != "" {
		return groupMark + group
	}
	return sku
}

// Groups returns counts below and above those of all groups.
func Groups() (first, last string) { return groupMark, groupMark + "~" }

// IsGroup reports whether a count is that of a group.
func IsGroup(count string) bool { return strings.HasPrefix(count, groupMark) }

// checkGroup refuses a group that has no limit, or not the form of a SKU.
func (t Terms) checkGroup() error {
	switch {
	case t.LimitGroup == "":
		return nil
	case len(t.LimitGroup) > maxSKUBytes || strings.Trim(t.LimitGroup, skuCharacters) != "":
		return Invalid("limit_group", "must be 1 to %d characters of A-Z a-z 0-9 . _ -", maxSKUBytes)
	case t.PerBuyerLimit == 0:
		return Invalid("limit_group", "needs a per_buyer_limit")
	default:
		return nil
	}
}

// SaleWindow is when a SKU is sold.
type SaleWindow struct {
	StartsAt time.Time // the first instant; zero: from its creation on
	EndsAt   time.Time // the first instant at which it no longer is; zero: never
}

// SaleWindow returns when the SKU is sold.
func (t Terms) SaleWindow() SaleWindow {
	return SaleWindow{StartsAt: t.SaleStartsAt, EndsAt: t.SaleEndsAt}
}

// Refusal returns the error of an order for a SKU that is not sold at an instant, nil when it is.
func (w SaleWindow) Refusal(sku string, at time.Time) error {
	switch {
	case at.Before(w.StartsAt):
		return refusal(CodeSaleClosed, sku, "the sale of SKU %q begins at %s", sku, w.StartsAt.UTC().Format(time.RFC3339Nano))
	case !w.EndsAt.IsZero() && !at.Before(w.EndsAt):
		return refusal(CodeSaleClosed, sku, "the sale of SKU %q ended at %s", sku, w.EndsAt.UTC().Format(time.RFC3339Nano))
	default:
		return nil
	}
}

func (t Terms) check() error {
	return cmp.Or(
		checkRange("per_buyer_limit", cmp.Or(t.PerBuyerLimit, 1), 1, MaxStock), // 0 is none
		checkRange("max_quantity", cmp.Or(t.MaxQuantity, 1), 1, MaxQuantity),
		checkReserve("max_reserve_for", t.MaxReserveFor),
		checkYear("sale_starts_at", t.SaleStartsAt), checkYear("sale_ends_at", t.SaleEndsAt), t.SaleWindow().check(),
	)
}

// check refuses a sale that ends before it begins.
func (w SaleWindow) check() error {
	if !w.EndsAt.IsZero() && !w.StartsAt.Before(w.EndsAt) {
		return Invalid("sale_ends_at", "must be later than sale_starts_at")
	}
	return nil
}

// Refusal returns the error of an order that the terms do not allow at an instant, nil if they do. Where the SKU does not say, a reservation
// may last for maxReserve, and the order has as many units as its caller may have. It may have been accepted before, on earlier terms or by
// a process with other bounds.
func (t Terms) Refusal(sku string, o Order, at time.Time, maxReserve time.Duration) error {
	most, longest := cmp.Or(t.MaxQuantity, o.CallerMax, MaxQuantity), cmp.Or(t.MaxReserveFor, maxReserve)
	closed := t.SaleWindow().Refusal(sku, at)
	switch {
	case !t.ArchivedAt.IsZero():
		return SKUArchived(sku)
	case o.Quantity > most:
		return Invalid("quantity", "must be 1 to %d for SKU %q", most, sku)
	case o.ReserveFor > longest:
		return reservedTooLong(sku, longest)
	case t.PerBuyerLimit > 0 && o.BuyerID == "":
		return Invalid("buyer_id", "must be given: SKU %q has a buyer limit", sku)
	case closed != nil:
		return closed
	case t.PerBuyerLimit > 0 && o.Quantity > t.PerBuyerLimit:
		return BuyerLimited(sku, t.LimitGroup, o.BuyerID, t.PerBuyerLimit)
	default:
		return nil
	}
}

func reservedTooLong(sku string, most time.Duration) error {
	return Invalid("reserve_for", "must be %s to %s for SKU %q", MinReserve, most, sku)
}

// Both stores keep these years to the microsecond.
const firstYear, lastYear = 1970, 2999

func checkYear(field string, at time.Time) error {
	if !at.IsZero() && (at.Year() < firstYear || at.Year() > lastYear) {
		return Invalid(field, "must be in the years %d to %d", firstYear, lastYear)
	}
	return nil
}

// TermsChange says how a SKU's name and terms change: each that is set changes, the rest stays. The ledger keeps and shows
// it as JSON: null takes a term away.
type TermsChange struct {
	Name          NewTerm[string]    `json:"name,omitzero"`
	SaleStartsAt  NewTerm[time.Time] `json:"sale_starts_at,omitzero"`
	SaleEndsAt    NewTerm[time.Time] `json:"sale_ends_at,omitzero"`
	PerBuyerLimit NewTerm[int64]     `json:"per_buyer_limit,omitzero"`
	MaxQuantity   NewTerm[int64]     `json:"max_quantity,omitzero"`
	MaxReserveFor NewTerm[Period]    `json:"max_reserve_for,omitzero"`
	LimitGroup    NewTerm[string]    `json:"limit_group,omitzero"`
}

// NewTerm is what one term becomes, if Set. The zero To takes the term away.
type NewTerm[T comparable] struct {
	Set bool
	To  T
}

// To sets a term.
func To[T comparable](to T) NewTerm[T] { return NewTerm[T]{true, to} }

// on returns what a term becomes.
func (c NewTerm[T]) on(there T) T {
	if c.Set {
		return c.To
	}
	return there
}

// MarshalJSON implements [json.Marshaler].
func (c NewTerm[T]) MarshalJSON() ([]byte, error) {
	if c.To == *new(T) {
		return []byte("null"), nil
	}
	return json.Marshal(c.To)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *NewTerm[T]) UnmarshalJSON(text []byte) error {
	c.Set = true
	return json.Unmarshal(text, &c.To)
}

// Period is a duration whose text is for people: "15m0s".
type Period time.Duration

// MarshalText implements [encoding.TextMarshaler].
func (p Period) MarshalText() ([]byte, error) { return []byte(time.Duration(p).String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Period) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*p = Period(d)
	return err
}

// check checks what can be checked without the SKU: a window of which the SKU has the other end is open there.
func (c TermsChange) check() error {
	if c == (TermsChange{}) {
		return Invalid("body", "must change something")
	}
	alone := Terms{LimitGroup: c.LimitGroup.To, PerBuyerLimit: 1}
	return cmp.Or(checkOptional("name", c.Name.To, maxNameBytes), c.Of(Terms{}).check(), alone.checkGroup())
}

// kept returns the change with its instants as both stores keep them, so that changes can be compared.
func (c TermsChange) kept() TermsChange {
	for _, at := range []*time.Time{&c.SaleStartsAt.To, &c.SaleEndsAt.To} {
		*at = at.UTC().Truncate(time.Microsecond)
	}
	return c
}

// Of returns terms as the change leaves them.
func (c TermsChange) Of(t Terms) Terms {
	t.SaleStartsAt, t.SaleEndsAt = c.SaleStartsAt.on(t.SaleStartsAt), c.SaleEndsAt.on(t.SaleEndsAt)
	t.PerBuyerLimit, t.MaxQuantity = c.PerBuyerLimit.on(t.PerBuyerLimit), c.MaxQuantity.on(t.MaxQuantity)
	t.MaxReserveFor = time.Duration(c.MaxReserveFor.on(Period(t.MaxReserveFor)))
	t.LimitGroup = c.LimitGroup.on(t.LimitGroup)
	return t
}

// Profile is the name of a SKU and the terms on which it is sold.
type Profile struct {
	Name string
	Terms
}

// On returns a SKU's profile as the change leaves it. Only the sale's ends, or the group and the limit, may not fit together: one of them
// may be the SKU's. Accepted orders stay valid, whatever the terms are now.
func (c TermsChange) On(there Profile) (after Profile, err error) {
	after = Profile{Name: c.Name.on(there.Name), Terms: c.Of(there.Terms)}
	return after, cmp.Or(after.SaleWindow().check(), after.checkGroup())
}
