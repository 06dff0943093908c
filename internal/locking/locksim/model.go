package locksim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kind is what an operation on a lock was.
type Kind int

// The operations of the model.
const (
	OpLock   Kind = iota // granted, with a token
	OpUnlock             // confirmed
	OpEnd                // one hold ends at some time, or has ended: its lease runs out, or nobody knows when it was given back
	OpBusy               // refused, because somebody else has it

	OpRead       // granted to a reader, with the token of the phase
	OpReadUnlock // confirmed
	OpReadEnd    // as OpEnd

	OpForce     // freed, whoever had it, or had the writing side
	OpReadForce // the reading side was
	OpRaise     // the holder, or the writer, has got a higher token
	OpReadRaise // a reader has, and the phase
)

// An Op is one operation of an owner on a lock, as a client saw it.
type Op struct {
	Kind  Kind
	Owner string
	Token int64

	// Crowded says of OpBusy and OpRead that others were waiting, or had uncertain attempts under way: the lock may have
	// been reserved for them, or theirs for a moment, and a phase of readers theirs alone.
	Crowded bool

	// Before are the lower tokens that the grant may have come with, lowest first: another call of the owner raised its
	// token before this one had returned.
	Before []int64

	// Shared says that other calls of the same owner were under way: what they held of the lock, or asked of it, may
	// have kept the grant when no hold was left.
	Shared bool
}

// mutexState is a fenced reentrant mutex.
type mutexState struct {
	owner  string
	token  int64 // of owner's grant, in the beginning
	raised int64 // of owner's grant, now
	count  int   // of owner's holds; 0: free
	top    int64 // the highest token there was
}

// MutexModel is a mutex with owners, counts and tokens that grow, on which a hold that nobody gives back
// ends at some time. A failed attempt leaves no operation: whether it took place or not, it gave nobody
// anything, and whoever it kept out for a moment was crowded.
func MutexModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return mutexState{} },
		Step: func(state, input, _ any) (bool, any) {
			return granted(input.(Op), func(o Op) (bool, any) { return state.(mutexState).step(o) })
		},
		DescribeOperation: func(input, _ any) string { return input.(Op).String() },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

// granted tries the step of an operation with each token that its grant may have come with, the lowest first.
func granted[S any](o Op, step func(Op) (bool, S)) (bool, S) {
	for _, token := range o.Before {
		before := o
		before.Token = token
		if possible, next := step(before); possible {
			return true, next
		}
	}
	return step(o)
}

// step tells whether an operation is possible in a state, and what the state is afterwards.
func (s mutexState) step(o Op) (bool, mutexState) {
	last := s.owner == o.Owner && s.token <= o.Token && o.Token <= s.raised // of the last grant
	mine := last && s.count > 0
	switch o.Kind {
	case OpLock:
		if mine {
			s.count++
			return true, s
		}
		if o.Shared && last { // it was kept
			s.count = 1
			return true, s
		}
		return s.count == 0 && o.Token > s.top, mutexState{owner: o.Owner, token: o.Token, raised: o.Token, count: 1, top: o.Token}
	case OpUnlock:
		s.count--
		return mine, s
	case OpEnd:
		if mine {
			s.count--
		}
		return true, s
	case OpBusy:
		return o.Crowded || s.count > 0 && s.owner != o.Owner, s
	case OpForce:
		return true, mutexState{top: s.top}
	case OpRaise:
		s.raised, s.top = max(s.raised, o.Token), max(s.top, o.Token)
		return true, s
	default:
		return false, s
	}
}

// String tells it.
func (o Op) String() string {
	kinds := [...]string{
		"lock", "unlock", "end", "busy", "read", "unlock read", "end read", "force", "force read", "raise", "raise read",
	}
	return fmt.Sprintf("%s %s %d", o.Owner, kinds[o.Kind], o.Token)
}

// open is the return of an operation that may take effect at any time from its call on.
const open = math.MaxInt64

// A History is what happened to one mutex.
type History struct {
	ops []porcupine.Operation
	ids map[string]int
}

// Add adds an operation that took place between two moments; end is zero where it may still do so.
func (h *History) Add(o Op, begin, end time.Time) {
	if h.ids == nil {
		h.ids = make(map[string]int)
	}
	if _, known := h.ids[o.Owner]; !known {
		h.ids[o.Owner] = len(h.ids)
	}
	op := porcupine.Operation{ClientId: h.ids[o.Owner], Input: o, Call: begin.UnixNano(), Return: open}
	if !end.IsZero() {
		op.Return = end.UnixNano()
	}
	h.ops = append(h.ops, op)
}

// Check tells whether some order of the operations explains the history. If not, it says what can be
// explained, and what is left over then.
func (h *History) Check(model porcupine.Model, limit time.Duration) (porcupine.CheckResult, string) {
	result, info := porcupine.CheckOperationsVerbose(model, slices.Clone(h.ops), limit)
	if result == porcupine.Ok {
		return result, ""
	}
	var longest []int
	for _, some := range info.PartialLinearizations() {
		for _, order := range some {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	var b strings.Builder
	for _, i := range longest {
		fmt.Fprintf(&b, "  explained: %s\n", h.describe(i))
	}
	for i := range h.ops {
		if !slices.Contains(longest, i) {
			fmt.Fprintf(&b, "  left over: %s\n", h.describe(i))
		}
	}
	return result, b.String()
}

// describe tells an operation and its moments, from the beginning of the history.
func (h *History) describe(i int) string {
	op, begin := h.ops[i], h.ops[0].Call
	until := "?"
	if op.Return != open {
		until = time.Duration(op.Return - begin).String()
	}
	return fmt.Sprintf("%s from %s to %s", op.Input, time.Duration(op.Call-begin), until)
}
