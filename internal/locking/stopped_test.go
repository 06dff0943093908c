package locking

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// holderVariable makes the test binary a process that holds locks: its value is a name and servers.
const holderVariable = "LOCKING_HOLDER"

// holderLease is the lease of that process.
const holderLease = 2 * time.Second

// stoppable returns a lock of each kind, for a holder and for its rival.
func stoppable(name string, locks []*Locks) (mine, rivals []Locker) {
	l := locks[0]
	both := []Locker{
		l.Mutex(name), l.FairMutex(name), l.RWMutex(name).Writer(),
		MultiLock(l.Mutex(name+"1"), l.FairMutex(name+"2"), l.RWMutex(name+"3").Writer()),
		RedLock(name+"red", locks...),
	}
	rw := l.RWMutex(name + "r")
	return append(slices.Clip(both), rw.Reader()), append(slices.Clip(both), rw.Writer())
}

// lowest returns the token of a hold, or the lowest of its parts.
func lowest(h *Hold) int64 {
	token := h.Token()
	if token == 0 {
		token = math.MaxInt64
		for _, part := range h.Parts() {
			token = min(token, part.Token())
		}
	}
	return token
}

// highest returns the token of a hold, or the highest of its parts.
func highest(h *Hold) int64 {
	token := h.Token()
	for _, part := range h.Parts() {
		token = max(token, part.Token())
	}
	return token
}

// holdUntilLost takes each lock twice, prints the tokens, and uses all until they are lost.
func holdUntilLost() int {
	err := func() error {
		words := strings.Fields(os.Getenv(holderVariable))
		var locks []*Locks
		for _, addr := range words[1:] {
			rdb := redis.NewClient(&redis.Options{Addr: addr, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
			defer func() { _ = rdb.Close() }()
			l, err := New(rdb, WatchdogLease(holderLease))
			if err != nil {
				return err
			}
			defer func() { _ = l.Close() }()
			locks = append(locks, l)
		}
		mine, _ := stoppable(words[0], locks)
		failed := make(chan error, len(mine))
		for _, lock := range mine {
			outer, inner, err := twice(lock)
			if err != nil {
				return err
			}
			fmt.Println(highest(outer))
			go func() { failed <- useUntilLost(lock, outer, inner) }()
		}
		fmt.Println("all")
		for range mine {
			if err := <-failed; err != nil {
				return err
			}
		}
		fmt.Println("lost")
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// twice takes a lock twice. On a busy machine a node of a RedLock may answer too late, or the first hold may be lost before the
// second one comes: then it tries again.
func twice(lock Locker) (outer, inner *Hold, err error) {
	for {
		if outer, err = lock.Lock(context.Background()); err == nil {
			if inner, err = lock.Lock(outer.Context()); err == nil {
				return outer, inner, nil
			}
			_ = outer.Unlock(context.Background())
		}
		if !errors.Is(err, ErrNoAnswer) && !errors.Is(err, ErrLost) {
			return nil, nil, err
		}
	}
}

// useUntilLost takes the lock once more, again and again, so that calls are under way when the process is stopped. None that
// begins after the loss succeeds.
func useUntilLost(lock Locker, outer, inner *Hold) error {
	for {
		lost := inner.Remaining() == 0
		more, err := lock.TryLock(outer.Context())
		if err != nil {
			break
		}
		if lost {
			return fmt.Errorf("%s was taken again after its loss", lock.Name())
		}
		if err := more.Unlock(context.Background()); err != nil {
			break
		}
	}
	<-outer.Context().Done()
	if _, err := outer.TokenAbove(context.Background(), outer.Token()); !errors.Is(err, ErrLost) && !errors.Is(err, ErrInvalid) {
		return fmt.Errorf("raise the token of %s: %w", lock.Name(), err) // a MultiLock has none
	}
	for _, h := range []*Hold{inner, outer} {
		if err := h.Unlock(context.Background()); !errors.Is(err, ErrLost) {
			return fmt.Errorf("unlock %s: %w", lock.Name(), err)
		}
	}
	return nil
}

// A process is stopped for longer than its leases, and then believes that it still has its locks. None of its calls
// succeeds, nor takes anything from those who have them since, whose tokens are higher.
func TestStoppedHolderTakesNothingBack(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	ctx := w.ctx()
	addrs := []string{w.addr, three[1].Addr(), three[2].Addr()}
	program, err := os.Executable()
	w.ok(err)
	child := exec.CommandContext(ctx, program)
	name := rand.Text()
	child.Env = append(os.Environ(), holderVariable+"="+name+" "+strings.Join(addrs, " "))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	w.ok(err)
	w.ok(child.Start())
	lines := bufio.NewScanner(out)
	says := func() string {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the child says nothing: %v", lines.Err())
		}
		return lines.Text()
	}
	var theirs []int64
	for line := says(); line != "all"; line = says() {
		token, err := strconv.ParseInt(line, 10, 64)
		w.ok(err)
		theirs = append(theirs, token)
	}
	var locks []*Locks
	for _, addr := range addrs {
		there := &world{t: t, addr: addr}
		locks = append(locks, there.locks())
	}
	_, rivals := stoppable(name, locks)
	w.ok(child.Process.Signal(syscall.SIGSTOP))
	var held []*Hold
	for i, lock := range rivals {
		h, err := lock.Lock(ctx)
		for errors.Is(err, ErrNoAnswer) && ctx.Err() == nil { // a node of the RedLock is late on a busy machine
			h, err = lock.Lock(ctx)
		}
		w.ok(err)
		if token := lowest(h); token <= theirs[i] {
			t.Errorf("token %d of %s after %d", token, lock.Name(), theirs[i])
		}
		held = append(held, h)
	}
	w.ok(child.Process.Signal(syscall.SIGCONT))
	if last := says(); last != "lost" {
		t.Errorf("the child: %s", last)
	}
	w.ok(child.Wait())
	for _, h := range held {
		w.ok(h.Context().Err()) // it has not released what is the rival's
		w.ok(h.Unlock(ctx))
	}
}
