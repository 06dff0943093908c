package turns_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/turns"
)

func TestMain(m *testing.M) { busytest.Main(m) }

// A crowd requests turns, one after the other, and records which caller had one.
type crowd struct {
	t     *testing.T
	turns *turns.Turns
	wg    sync.WaitGroup
	mu    sync.Mutex
	had   []string
}

func (c *crowd) ask(caller string, weight int, lasts time.Duration) {
	c.wg.Go(func() {
		leave, err := c.turns.Enter(c.t.Context(), caller, weight)
		if err != nil {
			c.t.Errorf("%s: %v", caller, err)
			return
		}
		c.mu.Lock()
		c.had = append(c.had, caller)
		c.mu.Unlock()
		time.Sleep(lasts)
		leave()
	})
	synctest.Wait()
}

func newCrowd(t *testing.T, config turns.Config) *crowd {
	config.Places, config.Waiting, config.Patience = 1, 100, time.Hour
	return &crowd{t: t, turns: turns.New(config)}
}

// In a bubble of synctest a sleep costs no time.
func TestTheHeavyWaitBehindTheLight(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		c := newCrowd(t, turns.Config{})
		for range 3 {
			c.ask("heavy", 10, time.Second)
		}
		for range 12 {
			c.ask("light", 1, time.Second)
		}
		c.wg.Wait()
		// The first one found no other. The second comes once the light caller has had as much.
		want := "heavy " + strings.Repeat("light ", 9) + "heavy " + strings.Repeat("light ", 3) + "heavy"
		if got := strings.Join(c.had, " "); got != want {
			t.Errorf("turns: %s\nwant:  %s", got, want)
		}
	})
}

func TestEqualsTakeTurns(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		c := newCrowd(t, turns.Config{})
		for _, caller := range strings.Fields("a a a a b b c") {
			c.ask(caller, 1, time.Second)
		}
		c.wg.Wait()
		if got := strings.Join(c.had, " "); got != "a a b c a b a" {
			t.Errorf("turns: %s", got)
		}
	})
}

// A caller that comes again for each turn has no better position than one that stays.
func TestNewCallersDoNotOvertakeForEver(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		c := newCrowd(t, turns.Config{})
		c.ask("first", 1, time.Second)
		c.ask("stays", 10, time.Second)
		time.Sleep(time.Second / 2) // no caller comes at the very instant at which a turn ends
		for i := range 30 {
			c.ask(fmt.Sprint("new", i), 1, time.Second)
			time.Sleep(time.Second)
		}
		c.wg.Wait()
		if at := slices.Index(c.had, "stays"); at < 1 || at > 12 {
			t.Errorf("who stayed had turn %d: %v", at, c.had)
		}
	})
}

func TestOneCallerLeavesRoomForOthers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	places := turns.New(turns.Config{Places: 1, Waiting: 64, Patience: time.Hour})
	leave, err := places.Enter(ctx, "greedy", 1)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	results := make(chan error)
	ask := func(caller string) {
		wg.Go(func() {
			_, err := places.Enter(ctx, caller, 1)
			select {
			case results <- err:
			case <-ctx.Done():
			}
		})
	}
	for range 100 {
		ask("greedy")
	}
	for range 100 - 32 {
		if err := <-results; !errors.Is(err, turns.ErrFull) {
			t.Fatalf("got %v", err)
		}
	}
	for range 20 {
		ask("modest")
	}
	for range 20 - 16 {
		if err := <-results; !errors.Is(err, turns.ErrFull) {
			t.Fatalf("got %v", err)
		}
	}
	cancel()
	wg.Wait()
	leave()
	again, err := places.Enter(t.Context(), "late", 1)
	if err != nil {
		t.Fatalf("those who left hold a place: %v", err)
	}
	again()
}

func TestATurnComesInTimeOrNotAtAll(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		places := turns.New(turns.Config{Places: 1, Waiting: 9, Patience: time.Second})
		leave, err := places.Enter(t.Context(), "a", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := places.Enter(t.Context(), "b", 1); !errors.Is(err, turns.ErrLate) {
			t.Errorf("got %v, want ErrLate", err)
		}
		why := errors.New("gone")
		gone, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(why) })
		if _, err := places.Enter(gone, "b", 1); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
		leave()
		if leave, err = places.Enter(t.Context(), "b", 1); err != nil {
			t.Fatal(err)
		}
		leave()
	})
}

func TestAPlaceRests(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		c := newCrowd(t, turns.Config{Rest: func(weight int, took time.Duration) time.Duration {
			return time.Duration(weight) * took
		}})
		start := time.Now()
		c.ask("a", 3, time.Second)
		c.ask("b", 1, time.Second)
		c.wg.Wait()
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("two turns of a second, with three seconds of rest between them, took %s", took)
		}
		time.Sleep(time.Second) // until the timer of the last rest has run
	})
}

// If turns are weighed, a place is one unit of weight. No caller overtakes one that waits for more places than are
// free.
func TestWeighedTurnsTakePlaces(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		c := &crowd{t: t, turns: turns.New(turns.Config{Places: 10, Waiting: 100, Patience: time.Hour, Weighed: true})}
		c.ask("a", 6, 2*time.Second)
		c.ask("b", 4, time.Second) // at the same time
		c.ask("c", 5, time.Second) // has room after two seconds
		c.ask("d", 3, time.Second) // after one: it requested less
		start := time.Now()
		c.wg.Wait()
		if got := strings.Join(c.had, " "); got != "a b d c" {
			t.Errorf("turns: %s", got)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// A caller that requests many places does not lose its turn to callers that request few and fit.
func TestWeighedTurnsStarveNobody(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		c := &crowd{t: t, turns: turns.New(turns.Config{Places: 10, Waiting: 100, Patience: time.Hour, Weighed: true})}
		c.ask("first", 1, time.Second)
		c.ask("large", 10, time.Second)
		time.Sleep(time.Second / 2)
		for i := range 40 {
			c.ask(fmt.Sprint("new", i), 1, time.Second)
			time.Sleep(time.Second / 4)
		}
		c.wg.Wait()
		if at := slices.Index(c.had, "large"); at < 1 || at > 20 {
			t.Errorf("who asked for much had turn %d: %v", at, c.had)
		}
	})
}

// The bound for waiting requests counts their weight, and one that leaves lets the next one in.
func TestWeighedTurnsAreBounded(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		places := turns.New(turns.Config{Places: 10, Waiting: 20, Patience: time.Hour, Weighed: true})
		leave, err := places.Enter(t.Context(), "a", 6)
		if err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := places.Enter(gone, "b", 10); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		if _, err := places.Enter(t.Context(), "b", 1); !errors.Is(err, turns.ErrFull) {
			t.Errorf("one caller fills the line: %v", err)
		}
		wg.Go(func() {
			leave, err := places.Enter(t.Context(), "c", 4) // fits, and does not overtake
			if err != nil {
				t.Error(err)
				return
			}
			leave()
		})
		synctest.Wait()
		cancel()
		wg.Wait()
		leave()
		all, err := places.Enter(t.Context(), "d", 10)
		if err != nil {
			t.Fatal(err)
		}
		all()
	})
}

// An abandoned request does not count as a turn of its caller.
func TestAbandonedRequestsAreNotCounted(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		c := newCrowd(t, turns.Config{})
		c.ask("first", 1, 2*time.Second)
		gone, cancel := context.WithCancel(t.Context())
		c.wg.Go(func() {
			if _, err := c.turns.Enter(gone, "patient", 10); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		c.ask("patient", 1, time.Second)
		for range 5 {
			c.ask("other", 1, time.Second)
		}
		cancel()
		c.wg.Wait()
		if got := strings.Join(c.had, " "); got != "first other patient other other other other" {
			t.Errorf("turns: %s", got)
		}
	})
}
