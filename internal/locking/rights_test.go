package locking

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
)

// handbookUser returns the words of the user in docs/LOCKS.md, from its name on.
func handbookUser(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/LOCKS.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ACL SETUSER (.*)$`).FindSubmatch(page)
	if line == nil {
		t.Fatal("docs/LOCKS.md has no user")
	}
	return strings.Fields(strings.Replace(string(line[1]), ">PASSWORD", "nopass", 1))
}

// barred starts a Redis with a user of these rights, and returns a world whose locks are that user's, and an administrator.
func barred(t *testing.T, user []string, arguments ...string) (as func(opts ...Option) *Locks, w *world, admin *redis.Client) {
	t.Helper()
	server, err := servertest.StartRedis(t.Context(), arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w = &world{t: t, addr: server.Addr(), name: t.Name()}
	admin = w.client()
	words := []any{"acl", "setuser"}
	for _, word := range user {
		words = append(words, word)
	}
	w.ok(admin.Do(t.Context(), words...).Err())
	return func(opts ...Option) *Locks {
		return w.locksOn(w.client(func(o *redis.Options) { o.Username, o.Password = user[0], "any" }), opts...)
	}, w, admin
}

// everything does with locks of all kinds whatever can be done with them, in several processes.
func (w *world) everything(locks func(opts ...Option) *Locks) {
	ctx := w.ctx()
	a, b := locks(), locks()
	for _, l := range []*Locks{a, b} {
		l.subscription.Silence = 20 * time.Millisecond // then it sends a ping
	}
	for kind, lock := range everyKind(w.name) {
		if onServers(kind) {
			continue
		}
		one, other := lock([]*Locks{a}), lock([]*Locks{b})
		h := w.must(one.Lock(ctx))
		inner := w.must(one.Lock(h.Context()))
		if kind != "read" {
			if _, err := other.TryLock(ctx); !errors.Is(err, ErrBusy) {
				w.t.Errorf("%s: %v, want ErrBusy", kind, err)
			}
		}
		next := make(chan error)
		go func() {
			h, err := other.Lock(ctx)
			if err == nil {
				err = h.Unlock(ctx)
			}
			next <- err
		}()
		for _, part := range append(h.Parts(), h) {
			if _, several := part.is().(*multiHold); several {
				continue
			}
			if _, err := part.TokenAbove(ctx, part.Token()); err != nil {
				w.t.Errorf("%s: TokenAbove: %v", kind, err)
			}
		}
		a.renewDue(busytest.Patience)
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		_, _ = other.Lock(short) // gives up its position
		cancel()
		w.ok(inner.Unlock(ctx))
		w.ok(h.Unlock(ctx))
		if err := <-next; err != nil {
			w.t.Errorf("%s: a waiter: %v", kind, err)
		}
		if o, ok := one.(offered); ok {
			h = w.must(one.Lock(ctx))
			state, err := o.Inspect(ctx)
			w.ok(err)
			freed, err := o.ForceUnlock(ctx)
			if err != nil || !freed || !state.Held() {
				w.t.Errorf("%s: %+v, forced %t, %v", kind, state, freed, err)
			}
			_ = h.Unlock(ctx)
		}
	}
	one := w.must(RedLock(w.name+"red", a).Lock(ctx))
	w.ok(one.Unlock(ctx))
	w.enterAll([]fullLock{{a.Mutex(w.name), a}, {a.Mutex(w.name), a}, {a.Mutex(w.name), a}, {b.Mutex(w.name), b}}, 50)
	w.ok(a.CheckServer(ctx))
}

// onServers reports whether a kind needs several servers.
func onServers(kind string) bool {
	return slices.Contains([]string{"several on servers", "on a quorum", "of all"}, kind)
}

// The user of the handbook may do what locks need, and each of its rights is needed.
func TestRightsOfTheHandbookAreNeededAndEnough(t *testing.T) {
	t.Parallel()
	user := handbookUser(t)
	locks, w, admin := barred(t, user)
	ctx := w.ctx()
	w.ok(admin.ConfigResetStat(ctx).Err())
	w.everything(locks)
	if log, err := admin.ACLLog(ctx, 10).Result(); err != nil || len(log) > 0 {
		t.Errorf("Redis has denied %v to the user of docs/LOCKS.md, %v", log, err)
	}
	used := ""
	w.soon("a subscription sends a ping", func() bool {
		used = admin.Info(ctx, "commandstats").Val()
		return strings.Contains(used, "cmdstat_ping:")
	})
	for _, right := range user {
		if name, granted := strings.CutPrefix(right, "+"); granted && !strings.Contains(used, "cmdstat_"+name+":") {
			t.Errorf("docs/LOCKS.md grants %q, which nothing needs", name)
		}
	}
}

// CheckServer names what a user may not do, whatever that is, and names nothing else.
func TestCheckServerNamesMissingRights(t *testing.T) {
	t.Parallel()
	user := handbookUser(t)
	locks, w, admin := barred(t, user)
	ctx := w.ctx()
	for _, right := range user {
		name, granted := strings.CutPrefix(right, "+")
		if !granted || slices.Contains([]string{"evalsha", "subscribe", "ping", "info", "wait"}, name) {
			continue // locks work without EVALSHA, PUBLISH counts by itself, and INFO is told in its own way
		}
		w.ok(admin.Do(ctx, "acl", "setuser", user[0], "-"+name).Err())
		if err := locks().CheckServer(ctx); !errors.Is(err, ErrRights) || !strings.Contains(strings.ToLower(err.Error()), name) {
			t.Errorf("without the right to %s: %v, want ErrRights", name, err)
		}
		w.ok(admin.Do(ctx, "acl", "setuser", user[0], "+"+name).Err())
	}
}

// A server inside the process bars nothing.
func TestNoRightIsMissingInMemory(t *testing.T) {
	virtual(t, func(w *world) {
		if err := w.locks().CheckServer(w.ctx()); errors.Is(err, ErrRights) {
			t.Error(err)
		}
	})
}

// A user without the right to publish locks and unlocks without an error. Waiters are not woken, and poll.
func TestUnlockWorksWithoutTheRightToPublish(t *testing.T) {
	t.Parallel()
	user := append(handbookUser(t), "-publish")
	locks, w, admin := barred(t, user)
	ctx := w.ctx()
	a, b := locks(), locks()
	for kind, lock := range everyKind(w.name) {
		if onServers(kind) {
			continue
		}
		h := w.must(lock([]*Locks{a}).Lock(ctx))
		next := make(chan error)
		go func() {
			h, err := lock([]*Locks{b}).Lock(ctx, Lease(time.Minute))
			if err == nil {
				err = h.Unlock(ctx)
			}
			next <- err
		}()
		if m, ok := lock([]*Locks{a}).(*Mutex); ok {
			w.soon("it is in the queue", func() bool { return w.queued(admin, m) == 1 })
		}
		w.ok(h.Unlock(ctx))
		if err := <-next; err != nil {
			t.Errorf("%s: the waiter: %v", kind, err)
		}
	}
}

// Managed servers bar commands. Locks need none of these.
func TestLocksWorkWhereCommandsAreRenamed(t *testing.T) {
	t.Parallel()
	var arguments []string
	for _, name := range []string{"EVALSHA", "SCRIPT", "CONFIG", "CLIENT", "WAIT", "DEBUG", "MONITOR"} {
		arguments = append(arguments, "--rename-command", name, "")
	}
	locks, w, _ := barred(t, []string{"default", "on", "nopass"}, arguments...)
	w.everything(func(opts ...Option) *Locks {
		l := locks(opts...)
		l.server.Client = w.client() // no password
		return l
	})
	if err := locks(WaitReplicas(1, time.Second)).CheckServer(w.ctx()); !errors.Is(err, ErrRights) || !strings.Contains(err.Error(), "WAIT") {
		t.Errorf("without WAIT: %v, want ErrRights", err)
	}
}

// Without EVAL there is no way: CheckServer says so.
func TestLocksWorkWhereEvalIsRenamed(t *testing.T) {
	t.Parallel()
	locks, w, _ := barred(t, []string{"default", "on", "nopass"}, "--rename-command", "EVAL", "")
	if err := locks().CheckServer(w.ctx()); !errors.Is(err, ErrRights) {
		t.Errorf("without EVAL: %v, want ErrRights", err)
	}
}

// A server that lacks an option of a command which the scripts use is reported like one that refuses the command.
func TestCheckServerNamesAnOptionThatIsMissing(t *testing.T) {
	virtual(t, func(w *world) {
		w.memory.rewrite = strings.NewReplacer("'ZADD', sorted, 'NX'", "'ZADD', sorted, 'NY'")
		if err := w.locks().CheckServer(w.ctx()); !errors.Is(err, ErrRights) || !strings.Contains(err.Error(), "[ZADD NX]") {
			t.Errorf("CheckServer says %v, want ErrRights with the option", err)
		}
		w.memory.rewrite = strings.NewReplacer("redis.pcall(name, ...)", "{err='OOM no memory'}  ")
		if err := w.locks().CheckServer(w.ctx()); errors.Is(err, ErrRights) {
			t.Errorf("CheckServer of a server without memory says %v", err)
		}
	})
}

// A service whose slots move by themselves ends scripts in the middle. Nobody who waits gets an error.
func TestWaitersOutlastBrokenScripts(t *testing.T) {
	t.Parallel()
	for kind, lock := range exclusiveKinds() {
		t.Run(kind, func(t *testing.T) {
			virtual(t, func(w *world) {
				w.outlast(kind, lock, func() {
					w.memory.SetError("ERR Script attempted to access a non local key in a cluster node script: 1, on @user_script:1.")
					time.Sleep(4 * time.Second)
					w.memory.SetError("")
				})
			})
		})
	}
}
