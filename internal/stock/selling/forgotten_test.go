package selling

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// forgetful is a store that knows who is forgotten.
type forgetful struct {
	idle
	buyers atomic.Pointer[[]stock.ForgottenBuyer]
	takes  atomic.Int64 // how long a read takes
	fails  atomic.Bool
}

func (r *forgetful) Forgotten(context.Context) ([]stock.ForgottenBuyer, error) {
	if r.fails.Load() {
		return nil, errors.New("the database does not answer")
	}
	read := *r.buyers.Load()
	time.Sleep(time.Duration(r.takes.Load()))
	return read, nil
}

func (r *forgetful) forgets(buyers ...stock.ForgottenBuyer) { r.buyers.Store(&buyers) }

func (*forgetful) Expired(context.Context, time.Time, int) ([]stock.Due, error) { return nil, nil }

func (*forgetful) BeingCounted(context.Context, int) ([]string, error) { return nil, nil }

func (*forgetful) Now() time.Time { return time.Now() }

// learning returns a service that has read who is forgotten.
func learning(t *testing.T, c Config) *Service {
	t.Helper()
	s := NewService(c)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := s.LearnForgotten(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestForgottenBuyersHaveAnotherName: each process learns of them soon. While a buyer is being forgotten, neither name is right.
func TestForgottenBuyersHaveAnotherName(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		key := []byte("a secret of the shop")
		name := stock.Pseudonym(key, "ann")
		store := &forgetful{}
		store.forgets()
		s := learning(t, Config{Store: store, ForgetKey: key})
		is := func(want string, code stock.Code) {
			t.Helper()
			if got, err := s.KeptName("ann"); got != want || stock.CodeOf(err) != code {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
			if got, err := s.KeptName("bob"); got != "bob" || err != nil {
				t.Errorf("another one: %q, %v", got, err)
			}
		}
		is("ann", "")
		mark := stock.ForgottenBuyer{Name: stock.Pseudonym(key, ""), Done: true}
		store.forgets(mark, stock.ForgottenBuyer{Name: name})
		time.Sleep(LearnEvery + time.Second)
		is("", stock.CodeUnavailable)
		store.forgets(mark, stock.ForgottenBuyer{Name: name, Done: true})
		time.Sleep(LearnEvery)
		is(name, "")
		store.forgets(stock.ForgottenBuyer{Name: "that of another key", Done: true}, stock.ForgottenBuyer{Name: name, Done: true})
		if err := s.LearnForgotten(t.Context()); !errors.Is(err, ErrForgetKey) {
			t.Errorf("another key: %v", err)
		}
		is(name, "") // it keeps what it knows
	})
}

// TestOldNamesAreNotUsed: a process that cannot read who is forgotten, or stands still while it reads, uses no buyer's id with which it could
// write when rows of the buyer have changed.
func TestOldNamesAreNotUsed(t *testing.T) {
	t.Parallel()
	for _, within := range []time.Duration{2 * time.Second, 15 * time.Second} { // what serve allows at most
		for name, takes := range map[string]time.Duration{"at once": 0, "slowly": 20 * time.Second} {
			t.Run(name+", and answers within "+within.String(), func(t *testing.T) {
				t.Parallel()
				busytest.Virtual(t, func(t *testing.T) { neverUsesAnOldName(t, within, takes) })
			})
		}
	}
}

// neverUsesAnOldName reads the last time now, which takes a while, in virtual time. Later a buyer may be forgotten.
func neverUsesAnOldName(t *testing.T, within, takes time.Duration) {
	store := &forgetful{}
	store.forgets()
	s := NewService(Config{Store: store, ForgetKey: []byte("a secret of the shop"), AnswerWithin: within})
	defer s.Close(context.Background()) //nolint:errcheck // it waits for nothing
	if _, err := s.KeptName("ann"); stock.CodeOf(err) != stock.CodeUnavailable {
		t.Errorf("before it has read anything: %v", err)
	}
	store.takes.Store(int64(takes))
	changes := time.Now().Add(ForgetNotice)
	time.AfterFunc(time.Second, func() { store.fails.Store(true) })
	if err := s.LearnForgotten(t.Context()); err != nil {
		t.Fatal(err)
	}
	for used := 0; time.Now().Before(changes.Add(time.Minute)); time.Sleep(time.Second) {
		name, err := s.KeptName("ann")
		switch last := time.Now().Add(within); {
		case err == nil && last.After(changes):
			t.Fatalf("%s is used %s after rows may have changed", name, last.Sub(changes))
		case err == nil:
			used++
		case stock.CodeOf(err) != stock.CodeUnavailable || !errors.Is(err, stock.ErrUnwritten):
			t.Fatal(err)
		case used == 0 && takes == 0:
			t.Fatal("it is not used at all")
		}
	}
	store.fails.Store(false)
	store.takes.Store(0)
	time.Sleep(LearnEvery + time.Second)
	if name, err := s.KeptName("ann"); name != "ann" || err != nil {
		t.Errorf("when it can read again: %q, %v", name, err)
	}
}
