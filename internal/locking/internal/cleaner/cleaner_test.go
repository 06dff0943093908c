package cleaner_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/internal/locking/internal/cleaner"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"inventory/internal/servertest"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client logs every fault that we make
	goleak.VerifyTestMain(m)
}

// A bench is a cleaner on a Redis of the test's own.
type bench struct {
	t       *testing.T
	own     *servertest.Redis
	client  *redis.Client
	cleaner *cleaner.Cleaner
	stop    func() // and wait until it has ended
}

func start(t *testing.T) *bench {
	t.Helper()
	own, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := redis.NewClient(&redis.Options{Addr: own.Addr(), DisableIdentity: true, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1})
	s := server.New(client)
	b := &bench{t: t, own: own, client: client, cleaner: cleaner.New(s)}
	stop, ended := make(chan struct{}), make(chan struct{})
	b.stop = sync.OnceFunc(func() {
		close(stop)
		<-ended
		s.Wait()
		_ = client.Close()
	})
	t.Cleanup(b.stop)
	go func() {
		defer close(ended)
		b.cleaner.Run(stop)
	}()
	return b
}

// A lock is work that frees a lock, and counts its tries.
type lock struct {
	name  string
	tries atomic.Int32
}

func (l *lock) Key() string { return l.name }

func (l *lock) Call() scripts.Call {
	l.tries.Add(1)
	return scripts.Force.NewCall(2, 3).With(l.name, l.name+" queue", 1000, int64(math.MaxInt64), "P:a")
}

// held returns a lock that is held.
func (b *bench) held(name string) *lock {
	b.t.Helper()
	if err := b.client.HSet(b.t.Context(), name, "P:a", 1, "seq", 1, "token", 1).Err(); err != nil {
		b.t.Fatal(err)
	}
	return &lock{name: name}
}

// within waits for something.
func within[T any](t *testing.T, what string, signal <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-signal:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain: %s", what)
	}
	return got
}

// Tasks are carried out once, and callers that wait for one learn of its try and of its answer.
func TestTasks(t *testing.T) {
	t.Parallel()
	b := start(t)
	const many = 2*server.Batch + 1
	var tried atomic.Int32
	var locks []*lock
	var answers []chan *redis.Cmd
	var done []<-chan struct{}
	for i := range many {
		locks, answers = append(locks, b.held(fmt.Sprint("lock ", i))), append(answers, make(chan *redis.Cmd, 1))
	}
	for i := range many {
		done = append(done, b.cleaner.Add(cleaner.Task{
			Work: locks[i], Until: time.Now().Add(time.Minute), Tried: func() { tried.Add(1) }, Answer: answers[i],
		}))
	}
	for i := range many {
		within(t, "a try", done[i])
		if freed, err := within(t, "an answer", answers[i]).Int(); freed != 1 || err != nil {
			t.Fatalf("freed %d, %v", freed, err)
		}
	}
	b.stop()
	for _, l := range locks {
		if l.tries.Load() != 1 {
			t.Fatalf("%d tries", l.tries.Load())
		}
	}
	if tried.Load() != many {
		t.Errorf("told of %d tries", tried.Load())
	}
}

// While the server is down, a task is repeated until its time is over. Callers that wait learn only of the first try.
func TestServerIsGone(t *testing.T) {
	t.Parallel()
	b := start(t)
	short, long, once := b.held("short"), b.held("long"), b.held("once")
	if err := b.own.Kill(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var tried atomic.Int32
	answer := make(chan *redis.Cmd, 1)
	for _, done := range []<-chan struct{}{
		b.cleaner.Add(cleaner.Task{Work: once}),
		b.cleaner.Add(cleaner.Task{Work: short, Until: begin.Add(300 * time.Millisecond)}),
		b.cleaner.Add(cleaner.Task{Work: long, Until: begin.Add(time.Minute), Tried: func() { tried.Add(1) }, Answer: answer}),
	} {
		within(t, "the first try", done)
	}
	for time.Since(begin) < 2*time.Second { // the time of the short one passes, and a try after it
		time.Sleep(50 * time.Millisecond)
	}
	shortTries := short.tries.Load()
	if err := b.own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := within(t, "an answer", answer).Int(); err != nil {
		t.Error(err)
	}
	b.stop()
	if n := once.tries.Load(); n != 1 {
		t.Errorf("what is tried once was tried %d times", n)
	}
	if n := short.tries.Load(); n < 2 || n != shortTries {
		t.Errorf("%d tries, and %d after its time", shortTries, n-shortTries)
	}
	if n := long.tries.Load(); n <= shortTries || tried.Load() != 1 {
		t.Errorf("%d tries, of which it told %d times", n, tried.Load())
	}
}

// Tasks that were handed over before the end are tried before it ends.
func TestStop(t *testing.T) {
	t.Parallel()
	b := start(t)
	l := b.held("a")
	done := b.cleaner.Add(cleaner.Task{Work: l})
	b.stop()
	within(t, "the try", done)
	if l.tries.Load() != 1 {
		t.Errorf("%d tries", l.tries.Load())
	}
}
