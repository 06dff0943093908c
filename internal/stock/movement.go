package stock

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// MovementKind says what a movement does.
type MovementKind string

// The kinds of movements.
const (
	Restocked   MovementKind = "restock"   // units were added
	Adjusted    MovementKind = "adjust"    // units were added or taken away, to correct the count
	Resegmented MovementKind = "resegment" // the units were spread over another number of segments
	Retermed    MovementKind = "terms"     // the SKU got another name or other terms
	WrittenOff  MovementKind = "write_off" // units of a deduction came back, and are not sold again
)

// Movement is a row of a SKU's ledger: a change of its stock, or of its terms, that is no deduction. Ref makes it idempotent within its
// SKU.
type Movement struct {
	SKU      string       `json:"-"`
	Ref      string       `json:"ref,omitempty"`
	Kind     MovementKind `json:"kind"`
	Quantity int64        `json:"quantity"`           // units added, below zero: taken away; 0 for Resegmented and Retermed
	Segments int          `json:"segments,omitempty"` // how many there are afterwards, for Resegmented; else 0
	IfStock  *int64       `json:"-"`                  // for Adjusted: only if all that was ever put in adds up to this; nil: always
	Terms    TermsChange  `json:"terms,omitzero"`     // for Retermed
	Reason   string       `json:"reason,omitempty"`
	// At is when it happened. The times of a SKU's movements grow in the order in which they were committed: a reader
	// that has read up to one has missed none before it. A store moves a time forward that would be too early.
	At time.Time `json:"at"`
}

// refSeparator stands in the ref of a write-off, between the order key and the ref of the return: a control character, which no
// caller's ref contains.
const refSeparator = "\x1e"

// WriteOffs returns the first ref that a write-off of an order may have, and the first behind them.
func WriteOffs(key string) (first, behind string) {
	return key + refSeparator, key + string(refSeparator[0]+1)
}

func writeOffRef(key, ref string) string { return key + refSeparator + ref }

// Returned returns the order key of a write-off, and the ref of the return; for other kinds an empty key, and the movement's ref.
func (m Movement) Returned() (key, ref string) {
	if key, ref, found := strings.Cut(m.Ref, refSeparator); found {
		return key, refOf(ref)
	}
	return "", m.Ref
}

// CheckReplay returns [RefReused] if there, the movement that has the ref already, asked for something else.
func (m Movement) CheckReplay(there Movement) error {
	m.Terms, there.Terms = m.Terms.kept(), there.Terms.kept()
	m.IfStock, there.IfStock = nil, nil // it was so when the movement was made
	if m.At = there.At; m != there {
		return RefReused(m.Ref)
	}
	return nil
}

const maxReasonBytes = 500

// Check refuses a movement that its kind does not allow.
func (m Movement) Check() error {
	return cmp.Or(
		CheckSKU(m.SKU), checkText("ref", m.Ref, maxIDBytes), checkOptional("reason", m.Reason, maxReasonBytes), m.checkKind(),
	)
}

// checkKind holds a movement to what its kind needs.
func (m Movement) checkKind() error {
	switch m.Kind {
	case Restocked:
		return checkQuantity(m.Quantity)
	case Adjusted:
		if m.Quantity == 0 || m.Quantity < -MaxQuantity || m.Quantity > MaxQuantity {
			return Invalid("quantity", "must be -%d to %d, and not 0", MaxQuantity, MaxQuantity)
		}
		return nil
	case Resegmented:
		return checkRange("segments", m.Segments, 1, MaxSegments)
	case Retermed:
		return m.Terms.check()
	default:
		return Invalid("kind", "must be %s, %s, %s or %s", Restocked, Adjusted, Resegmented, Retermed)
	}
}

// NeedsExpired reports whether the units of expired reservations have to come back first: if units are taken away or
// spread.
func (m Movement) NeedsExpired() bool { return m.Quantity < 0 || m.Kind == Resegmented }

// NewLayout reports whether a movement gives the SKU a new layout.
func (m Movement) NewLayout() bool { return m.Kind == Resegmented || m.Kind == Retermed }

// MovementPlan says how a movement is carried out: a change of units for each segment, or new rows in place of all.
type MovementPlan struct {
	Changes []int64
	// Rows are those of the new layout. A row that is there keeps its fence, which belongs to its lock. A new row starts
	// with the highest fencing token of all: a lock with its name may have been held before. Versions are above all
	// earlier ones.
	Rows []Segment
}

// PlanMovement decides a movement from the rows of all segments, and the stock: all that was ever put in.
func PlanMovement(m Movement, segments []Segment, stock int64) (plan MovementPlan, err error) {
	switch {
	case len(segments) == 0:
		return plan, UnknownSKU(m.SKU)
	case m.IfStock != nil && *m.IfStock != stock:
		changed := refusal(CodeStockChanged, m.SKU, "the stock of SKU %q is %d, and not %d", m.SKU, stock, *m.IfStock)
		changed.Stock = stock
		return plan, changed
	case segments[0].Layout == ArchivedLayout:
		return plan, SKUArchived(m.SKU)
	case m.NewLayout():
		plan.Rows = layOut(segments, cmp.Or(m.Segments, len(segments)))
	case m.Quantity > 0:
		if plan.Changes = spreadOverFree(m.Quantity, segments); plan.Changes == nil {
			return plan, ErrHeld
		}
	default: // what is left is spread anew
		available := Sum(levelsOf(segments))
		if available+m.Quantity < 0 {
			return plan, TooFew(m.SKU, available)
		}
		for i, units := range Spread(available+m.Quantity, len(segments)) {
			plan.Changes = append(plan.Changes, units-segments[i].Available)
		}
	}
	return plan, nil
}

// spreadOverFree divides units over the segments that are not held; nil: all are.
func spreadOverFree(units int64, segments []Segment) []int64 {
	free := FreeOf(segments)
	if len(free) == 0 {
		return nil
	}
	changes := make([]int64, len(segments))
	for i, some := range Spread(units, len(free)) {
		changes[free[i]] = some
	}
	return changes
}

// FreeOf returns the indexes of the segments that no other transaction holds.
func FreeOf(segments []Segment) (free []int) {
	for i, row := range segments {
		if !row.Held {
			free = append(free, i)
		}
	}
	return free
}

// layOut spreads what segments hold over n rows of the layout that follows theirs. The first one counts all reserved units.
func layOut(segments []Segment, n int) []Segment {
	next, reserved := Segment{Layout: segments[0].Layout + 1}, int64(0)
	for _, row := range segments {
		next.Version = max(next.Version, row.Version+1)
		next.Fence.Token = max(next.Fence.Token, row.Fence.Token)
		reserved += row.Reserved
	}
	rows := slices.Repeat([]Segment{next}, n)
	for i, units := range Spread(Sum(levelsOf(segments)), n) {
		rows[i].Available = units
	}
	rows[0].Reserved = reserved
	return rows
}

// Position is a position in a SKU's ledger: that of the movement with that time and ref.
type Position struct {
	At  time.Time
	Ref string
}
