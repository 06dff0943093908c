package stock

import (
	"encoding/json"
	"time"
)

// TermsChange says how a SKU's name and terms change: each that is set changes, the rest stays. The ledger keeps and shows
// it as JSON: null takes a term away.
type TermsChange struct {
	Name          NewTerm[string]    `json:"name,omitzero"`
	SaleStartsAt  NewTerm[time.Time] `json:"sale_starts_at,omitzero"`
	SaleEndsAt    NewTerm[time.Time] `json:"sale_ends_at,omitzero"`
	PerBuyerLimit NewTerm[int64]     `json:"per_buyer_limit,omitzero"`
	MaxQuantity   NewTerm[int64]     `json:"max_quantity,omitzero"`
	MaxReserveFor NewTerm[Period]    `json:"max_reserve_for,omitzero"`
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
	if c.Name.To != "" {
		if err := checkText("name", c.Name.To, maxNameBytes); err != nil {
			return err
		}
	}
	return c.Of(Terms{}).check()
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
	return t
}

// Profile is the name of a SKU and the terms on which it is sold.
type Profile struct {
	Name string
	Terms
}

// BuyerCount says what happens to the counts of buyers when terms change.
type BuyerCount uint8

// What happens to the counts of buyers.
const (
	KeepCounts BuyerCount = iota
	CountAll              // there is a limit now, and there was none: count what each buyer holds
	DropCounts            // there is no limit any more
)

// On returns a SKU's profile as the change leaves it. What is sold already stays valid, whatever the terms are now.
func (c TermsChange) On(there Profile) (after Profile, counts BuyerCount, err error) {
	after = Profile{Name: c.Name.on(there.Name), Terms: c.Of(there.Terms)}
	switch {
	case there.PerBuyerLimit == 0 && after.PerBuyerLimit > 0:
		counts = CountAll
	case there.PerBuyerLimit > 0 && after.PerBuyerLimit == 0:
		counts = DropCounts
	}
	return after, counts, after.Terms.check()
}
