package locking

import (
	"errors"
	"slices"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/policy"
)

var errDown = errors.New("down")

// An answer is what a node answers, and after how long.
type answer struct {
	after time.Duration
	err   error
}

// askNodes asks nodes in virtual time. It returns their answers, how long that took, and the answers that came too late.
func askNodes(t *testing.T, need int, limit time.Duration, nodes ...answer) (replies []reply, took time.Duration, late []int) {
	t.Helper()
	busytest.Virtual(t, func(*testing.T) {
		start, granted := time.Now(), make(chan *singleHold, len(nodes))
		locks, holds := make([]*Locks, len(nodes)), make([]*singleHold, len(nodes))
		for i := range nodes {
			locks[i], holds[i] = &Locks{}, &singleHold{}
		}
		replies = askAll(locks, need, limit, func(i int) (*singleHold, error) {
			time.Sleep(nodes[i].after) // virtual time
			return holds[i], nodes[i].err
		}, func(h *singleHold) { granted <- h }).replies
		took = time.Since(start)
		time.Sleep(time.Hour)
		for len(granted) > 0 {
			late = append(late, slices.Index(holds, <-granted))
		}
	})
	return replies, took, late
}

func TestQuorum(t *testing.T) {
	for n, want := range map[int]int{1: 1, 3: 2, 4: 3, 5: 3} {
		r := &Red{nodes: make([]*Mutex, n)}
		if r.quorum() != want {
			t.Errorf("%d of %d are a quorum, want %d", r.quorum(), n, want)
		}
	}
}

// All answers that come soon are included, and the poll does not wait for a silent node once it is decided.
func TestPollEndsWhenItIsDecided(t *testing.T) {
	const ms, silent, limit = time.Millisecond, time.Minute, 200 * time.Millisecond
	for name, c := range map[string]struct {
		nodes    []answer
		took     time.Duration
		answered []int
		late     []int
	}{
		"all agree":             {[]answer{{ms, nil}, {ms, nil}, {2 * ms, nil}}, 2 * ms, []int{0, 1, 2}, nil},
		"a quorum agrees":       {[]answer{{ms, nil}, {ms, nil}, {silent, nil}}, ms + policy.Straggle, []int{0, 1}, []int{2}},
		"one agrees, one not":   {[]answer{{ms, nil}, {ms, ErrBusy}, {silent, nil}}, ms + policy.Straggle, []int{0}, []int{2}},
		"no quorum can agree":   {[]answer{{ms, ErrBusy}, {ms, ErrBusy}, {silent, nil}}, ms + policy.Straggle, nil, []int{2}},
		"busy, down, busy late": {[]answer{{ms, ErrBusy}, {ms, errDown}, {30 * ms, ErrBusy}}, 30 * ms, nil, nil},
		"busy, down, silent":    {[]answer{{ms, ErrBusy}, {ms, errDown}, {silent, nil}}, limit, nil, []int{2}},
		"too few say anything":  {[]answer{{ms, nil}, {silent, nil}, {silent, nil}}, limit, []int{0}, []int{1, 2}},
		"slow nodes get longer": {[]answer{{50 * ms, nil}, {50 * ms, nil}, {140 * ms, nil}}, 140 * ms, []int{0, 1, 2}, nil},
	} {
		replies, took, late := askNodes(t, 2, limit, c.nodes...)
		var answered []int
		for i, r := range replies {
			if r.err == nil {
				answered = append(answered, i)
			} else if c.nodes[i].after == silent && !errors.Is(r.err, ErrNoAnswer) {
				t.Errorf("%s: node %d says %v", name, i, r.err)
			}
		}
		slices.Sort(late)
		if took != c.took || !slices.Equal(answered, c.answered) || !slices.Equal(late, c.late) {
			t.Errorf("%s: %v after %s, late %v; want %v after %s, late %v", name, answered, took, late, c.answered, c.took, c.late)
		}
	}
}

// A node that is closed is not asked.
func TestClosedNodeIsNotAsked(t *testing.T) {
	replies := askAll([]*Locks{{closed: true}}, 1, time.Second, func(int) (*singleHold, error) {
		t.Error("it was asked")
		return nil, nil
	}, nil).replies
	if !errors.Is(replies[0].err, ErrClosed) {
		t.Errorf("it says %v", replies[0].err)
	}
}
