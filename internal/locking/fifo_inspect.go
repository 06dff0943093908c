package locking

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/scripts"
)

// Inspect asks the server who holds the lock and how many wait: of both sides, where it has two.
func (f *fifo) Inspect(ctx context.Context) (State, error) {
	answer, err := f.ask(ctx, "inspect", f.newCall(scripts.FifoInspect, 0, 0))
	if err != nil {
		return State{}, err
	}
	list, ok := answer.([]any)
	if !ok || len(list) < 3 || len(list)%4 != 3 {
		return State{}, failed("inspect", f.name, scripts.Strange(answer))
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	state, err := readState(texts)
	if err != nil {
		return State{}, failed("inspect", f.name, err)
	}
	return state, nil
}

// readState reads the answer of fifo_inspect.lua.
func readState(texts []string) (State, error) {
	waiting, err := strconv.Atoi(texts[0])
	if err != nil {
		return State{}, err
	}
	s := State{Waiting: waiting}
	for rest := texts[3:]; len(rest) > 0; rest = rest[4:] {
		count, err := strconv.Atoi(rest[2])
		if err != nil {
			return State{}, err
		}
		left, err := strconv.ParseInt(rest[3], 10, 64)
		if err != nil {
			return State{}, err
		}
		h := Holder{Owner: keys.OwnerOf(rest[1]), Count: count, Read: rest[0] == scripts.Read, Remaining: time.Duration(left) * time.Millisecond}
		s.Holders = append(s.Holders, h)
		s.Remaining = max(s.Remaining, h.Remaining)
	}
	if s.Held() {
		s.Token, err = scripts.ReadToken(texts[2])
	} else {
		s.Reserved = texts[1] == "1"
	}
	return s, err
}

// ForceUnlock takes this side of the lock from whoever holds it, and tells whether anybody did; of an RWMutex
// all readers, or the writer. The holders learn of the loss at their next renewal, or when they unlock; until
// then their work and the next holder's can overlap, and only the fencing token tells them apart.
func (f *fifo) ForceUnlock(ctx context.Context) (bool, error) {
	return f.force(ctx, f.newCall(scripts.FifoForce, 0, 1).With(f.side))
}
