package stock

import (
	"cmp"
	"slices"
	"time"
)

// History is a deduction with the instants at which it changed.
type History struct {
	Deduction
	TakenAt     time.Time
	CommittedAt time.Time // zero: when it was taken, or never, or by an older version
	EndedAt     time.Time // when it was cancelled or returned; zero: it was not, or by an older version
	Amendments  []Amendment
}

// EntryKind says what happened to a deduction.
type EntryKind string

// The kinds of entries.
const (
	EntryReserved   EntryKind = "reserved"
	EntryExtended   EntryKind = "extended"
	EntryCommitted  EntryKind = "committed"
	EntryCancelled  EntryKind = "cancelled"
	EntryExpired    EntryKind = "expired"
	EntryRetaken    EntryKind = "retaken" // committed after it had expired
	EntryReturned   EntryKind = "returned"
	EntryWrittenOff EntryKind = "written_off"
)

// Entry is something that happened to a deduction.
type Entry struct {
	Kind     EntryKind
	Quantity int64 // units that it concerns; 0 for an extension
	At       time.Time
	Until    time.Time // of a reservation or an extension: the end that it set
	Ref      string
	Reason   string
}

// Entries returns what happened to the deduction, the first first. It leaves out what an older version did not date.
func (h History) Entries() []Entry {
	var all []Entry
	committed := cmp.Or(h.Committed, h.Quantity) // if it was
	retaken := !h.ExpiresAt.IsZero() && !h.CommittedAt.Before(h.ExpiresAt)
	if h.ReserveFor > 0 {
		all = append(all, Entry{Kind: EntryReserved, Quantity: h.Order.Quantity, At: h.TakenAt, Until: h.TakenAt.Add(h.ReserveFor)})
	} else {
		all = append(all, Entry{Kind: EntryCommitted, Quantity: h.Order.Quantity, At: h.TakenAt})
	}
	for _, a := range h.Amendments {
		all = append(all, h.amended(a))
	}
	switch {
	case retaken:
		all = append(all, Entry{Kind: EntryExpired, Quantity: committed, At: h.ExpiresAt}, Entry{Kind: EntryRetaken, Quantity: committed, At: h.CommittedAt})
	case !h.CommittedAt.IsZero():
		all = append(all, Entry{Kind: EntryCommitted, Quantity: committed, At: h.CommittedAt})
	case h.Status == StatusExpired:
		all = append(all, Entry{Kind: EntryExpired, Quantity: h.Quantity, At: h.ExpiresAt})
	}
	last := len(h.Amendments) - 1
	inPart := last >= 0 && h.Amendments[last].Units > 0 && h.Amendments[last].At.Equal(h.EndedAt) // the last part was cancelled
	if h.Status == StatusCancelled && !h.EndedAt.IsZero() && !inPart {
		all = append(all, Entry{Kind: EntryCancelled, Quantity: h.Quantity, At: h.EndedAt})
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	return all
}

// amended returns an amendment as an entry.
func (h History) amended(a Amendment) Entry {
	c := Entry{Kind: EntryReturned, Quantity: a.Units, At: a.At, Ref: a.Ref, Reason: a.Reason}
	switch {
	case a.Extended > 0:
		c.Kind, c.Until = EntryExtended, a.At.Add(a.Extended)
	case a.Kind == AmendWriteOff:
		c.Kind = EntryWrittenOff
	case a.Kind == AmendCancel, a.Kind == "" && h.Committed == 0:
		c.Kind = EntryCancelled
	}
	return c
}
