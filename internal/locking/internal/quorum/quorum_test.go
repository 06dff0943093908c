package quorum

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errBusy = errors.New("busy")
	errDown = errors.New("down")
)

// An answer is what a node answers, and after how long.
type answer struct {
	after time.Duration
	err   error
}

// poll asks nodes in virtual time. It returns their answers, how long that took, and the answers that came too late.
func poll(t *testing.T, need int, limit time.Duration, nodes ...answer) (replies []Reply[int], took time.Duration, late []int) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		start, granted := time.Now(), make(chan int, len(nodes))
		replies = Poll[int]{
			Nodes: len(nodes), Need: need, Limit: limit, Busy: errBusy,
			Enter: func(int) (func(), error) { return func() {}, nil },
			Ask: func(i int, _ <-chan struct{}) (int, error) {
				time.Sleep(nodes[i].after) // virtual time
				return i, nodes[i].err
			},
			Late: func(i int) { granted <- i },
		}.Run()
		took = time.Since(start)
		time.Sleep(time.Hour)
		for len(granted) > 0 {
			late = append(late, <-granted)
		}
	})
	return replies, took, late
}

func TestQuorum(t *testing.T) {
	for n, want := range map[int]int{1: 1, 3: 2, 4: 3, 5: 3} {
		if Of(n) != want {
			t.Errorf("%d of %d are a quorum, want %d", Of(n), n, want)
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
		"one agrees, one not":   {[]answer{{ms, nil}, {ms, errBusy}, {silent, nil}}, ms + policy.Straggle, []int{0}, []int{2}},
		"no quorum can agree":   {[]answer{{ms, errBusy}, {ms, errBusy}, {silent, nil}}, ms + policy.Straggle, nil, []int{2}},
		"busy, down, busy late": {[]answer{{ms, errBusy}, {ms, errDown}, {30 * ms, errBusy}}, 30 * ms, nil, nil},
		"busy, down, silent":    {[]answer{{ms, errBusy}, {ms, errDown}, {silent, nil}}, limit, nil, []int{2}},
		"too few say anything":  {[]answer{{ms, nil}, {silent, nil}, {silent, nil}}, limit, []int{0}, []int{1, 2}},
		"slow nodes get longer": {[]answer{{50 * ms, nil}, {50 * ms, nil}, {140 * ms, nil}}, 140 * ms, []int{0, 1, 2}, nil},
	} {
		replies, took, late := poll(t, 2, limit, c.nodes...)
		var answered []int
		for i, r := range replies {
			if r.Err == nil {
				answered = append(answered, r.Value)
			} else if c.nodes[i].after == silent && !errors.Is(r.Err, scripts.ErrNoAnswer) {
				t.Errorf("%s: node %d says %v", name, i, r.Err)
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
	errClosed := errors.New("closed")
	replies := Poll[int]{
		Nodes: 1, Need: 1, Limit: time.Second, Busy: errBusy,
		Enter: func(int) (func(), error) { return nil, errClosed },
		Ask:   func(int, <-chan struct{}) (int, error) { t.Error("it was asked"); return 0, nil },
	}.Run()
	if !errors.Is(replies[0].Err, errClosed) {
		t.Errorf("it says %v", replies[0].Err)
	}
}
