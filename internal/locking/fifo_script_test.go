package locking

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A desk calls the scripts of first-come locks directly, like many processes.
type desk struct {
	*world
	rdb      *redis.Client
	keys     map[string]string // by role
	attempts int64
	life     time.Duration // of a waiter without a sign
}

// desk returns one on keys of its own. On a real server its waiters live on, however long a busy machine takes.
func (w *world) desk() *desk {
	d := &desk{world: w, rdb: w.client(), keys: make(map[string]string), life: policy.WaiterLife}
	if !w.virtual {
		d.life = time.Hour
	}
	for _, role := range []string{"tombstone", "state", "readers", "tokens", "writing", "reading", "beats", "pulse", "clock"} {
		d.keys[role] = "lk:{" + w.name + "}:" + role
	}
	return d
}

func (d *desk) run(script *scripts.Script, args ...any) []int64 {
	d.t.Helper()
	switch script { // the arguments of the policy come last
	case scripts.FifoAcquire:
		args = append(args, d.life.Milliseconds(), policy.PollMS)
	case scripts.FifoRelease:
		args = append(args, d.life.Milliseconds())
	}
	answer, err := d.rdb.Eval(d.ctx(), script.Source.(string), d.list(), args...).Result()
	d.ok(err)
	switch answer := answer.(type) {
	case int64:
		return []int64{answer}
	case string:
		var tokens []int64
		for text := range strings.FieldsSeq(answer) {
			token, err := scripts.ReadToken(text)
			d.ok(err)
			tokens = append(tokens, token)
		}
		return tokens
	}
	numbers, err := scripts.ReadIntegers(answer, 1)
	d.ok(err)
	return numbers
}

// list returns the keys in the order of fifo.lua.
func (d *desk) list() []string {
	var keys []string
	for _, role := range []string{"tombstone", "state", "readers", "tokens", "writing", "reading", "beats", "pulse", "clock"} {
		keys = append(keys, d.keys[role])
	}
	return keys
}

// acquireArgs are the arguments of a caller for fifo_acquire.lua.
type acquireArgs struct {
	side, who string
	lease     time.Duration
	queue     bool
	attempt   int64
}

func (d *desk) acquire(w acquireArgs) (code, pause, token int64) {
	d.t.Helper()
	if w.attempt == 0 {
		d.attempts++
		w.attempt = d.attempts
	}
	if w.lease == 0 {
		w.lease = time.Minute
	}
	place := "n"
	if w.queue {
		place = "q"
	}
	n := d.run(scripts.FifoAcquire, "P", w.attempt, w.side, "P:"+w.who, w.lease.Milliseconds(), w.who, place, "P:"+w.who)
	if len(n) == 1 {
		return scripts.Taken, 0, n[0]
	}
	return n[0], n[1], 0
}

// taken is an acquire that must succeed, and queued is one that must queue.
func (d *desk) taken(side, who string) int64 {
	d.t.Helper()
	code, _, token := d.acquire(acquireArgs{side: side, who: who})
	if code != scripts.Taken {
		d.t.Fatalf("%s gets code %d to %s", who, code, side)
	}
	return token
}

func (d *desk) queued(side, who string) int64 {
	d.t.Helper()
	code, pause, _ := d.acquire(acquireArgs{side: side, who: who, queue: true})
	if code != scripts.Busy {
		d.t.Fatalf("%s gets code %d to %s", who, code, side)
	}
	return pause
}

func (d *desk) busy(side, who string) int64 {
	d.t.Helper()
	code, pause, _ := d.acquire(acquireArgs{side: side, who: who})
	if code != scripts.Busy {
		d.t.Fatalf("%s gets code %d to %s", who, code, side)
	}
	return pause
}

func (d *desk) release(side, who string) int64 {
	d.t.Helper()
	d.attempts++
	return d.run(scripts.FifoRelease, "P", d.attempts, side, "P:"+who, "", 0)[0]
}

func (d *desk) force(side string, who ...string) int64 {
	d.t.Helper()
	args := []any{side, d.life.Milliseconds(), int64(math.MaxInt64)}
	for _, each := range who {
		args = append(args, "P:"+each)
	}
	return d.run(scripts.FifoForce, args...)[0]
}

func (d *desk) renew(side, who string, ms int64) int64 {
	d.t.Helper()
	script, keys := scripts.Renew, []string{d.keys["state"]}
	if side == scripts.Read {
		script, keys = scripts.FifoRenew, []string{d.keys["readers"], d.keys["tokens"]}
	}
	answer, err := d.rdb.Eval(d.ctx(), script.Source.(string), keys, "P:"+who, ms).Int64()
	d.ok(err)
	return answer
}

// beat sends the heartbeats of waiters, and returns which of them should ask.
func (d *desk) beat(who ...any) []string {
	d.t.Helper()
	answer, err := d.rdb.Eval(d.ctx(), scripts.FifoHeartbeat.Source.(string), d.list(), append([]any{"P", d.life.Milliseconds(), policy.PollMS, policy.SoonMS}, who...)...).StringSlice()
	d.ok(err)
	return answer[1:]
}

func (d *desk) leave(who string) {
	d.t.Helper()
	d.run(scripts.FifoRelease, "P", 0, "write", "", who, 0)
}

// wakes returns the waiters that a step wakes, in order.
func (d *desk) wakes(step func()) []string {
	d.t.Helper()
	sub := d.rdb.Subscribe(d.ctx(), "lk:wake:P")
	defer func() { _ = sub.Close() }()
	_, err := sub.Receive(d.ctx())
	d.ok(err)
	step()
	end := "end " + d.name
	d.ok(d.rdb.Publish(d.ctx(), "lk:wake:P", end).Err())
	var woken []string
	for {
		message, err := sub.ReceiveMessage(d.ctx())
		d.ok(err)
		if message.Payload == end {
			return woken
		}
		who, state, _ := strings.Cut(message.Payload, " ")
		if state == d.keys["state"] { // other tests have the same process
			woken = append(woken, who)
		}
	}
}

func (d *desk) expectWoken(want string, step func()) {
	d.t.Helper()
	if got := fmt.Sprint(d.wakes(step)); got != "["+want+"]" {
		d.t.Errorf("woken: %s, want [%s]", got, want)
	}
}

// silence makes the waiters dead: their deadlines have passed, and the server ran meanwhile.
func (d *desk) silence(who ...string) {
	d.t.Helper()
	d.late(time.Minute, who...)
	d.pulse(0, 0)
}

// late lets waiters have missed their deadlines by so much.
func (d *desk) late(by time.Duration, who ...string) {
	d.t.Helper()
	past := float64(time.Now().Add(-by).UnixMilli())
	for _, each := range who {
		d.ok(d.rdb.ZAddXX(d.ctx(), d.keys["beats"], redis.Z{Score: past, Member: "P:" + each}).Err())
	}
}

// pulse sets when the lock was last used, and from when on dead waiters may be dropped.
func (d *desk) pulse(ago, from time.Duration) {
	d.t.Helper()
	now := time.Now()
	d.ok(d.rdb.Set(d.ctx(), d.keys["pulse"], fmt.Sprint(now.Add(-ago).UnixMilli(), now.Add(from).UnixMilli()), time.Minute).Err())
}

// nothing fails the test if any key but the clock is left.
func (d *desk) nothing() {
	d.t.Helper()
	for role, key := range d.keys {
		if role != "clock" && d.exists(d.rdb, key) != 0 {
			d.t.Errorf("%s is left", role)
		}
	}
}

// Only the next in turn asks when a short lease ends.
func TestFifoScriptOnlyTheNextAsksWhenAShortLeaseEnds(t *testing.T) {
	virtual(t, func(w *world) {
		d := w.desk()
		d.acquire(acquireArgs{side: "write", who: "a", lease: policy.Poll - 100*time.Millisecond})
		for i, who := range []string{"1", "2", "3"} {
			if pause := d.queued("write", who); (pause < policy.PollMS) != (i == 0) {
				w.t.Errorf("%s looks again in %d ms", who, pause)
			}
		}
	})
}

// A writer keeps out readers and other writers, and readers keep out writers.
func TestFifoScriptExcludes(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		for _, beside := range []struct {
			holder, other string
			code          int64
		}{
			{"write", "write", scripts.Busy},
			{"write", "read", scripts.Busy},
			{"read", "write", scripts.Busy},
			{"read", "read", scripts.Taken},
		} {
			d.taken(beside.holder, "a")
			if code, _, _ := d.acquire(acquireArgs{side: beside.other, who: "b"}); code != beside.code {
				w.t.Errorf("to %s beside one that may %s: code %d", beside.other, beside.holder, code)
			}
			d.release(beside.holder, "a")
			d.release(beside.other, "b")
		}
	})
}

func TestFifoScriptLetsInWhoCameFirst(t *testing.T) {
	each(t, func(w *world) {
		d, begin := w.desk(), time.Now()
		d.taken("write", "a")
		for _, who := range []string{"1", "2", "3"} { // they look again when its lease is over
			d.leaves(time.Duration(d.queued("write", who))*time.Millisecond, time.Minute, begin)
		}
		d.queued("write", "1") // polls change no order
		d.expectWoken("1", func() { d.release("write", "a") })
		d.busy("write", "a") // a caller that comes back does not overtake
		d.queued("write", "3")
		d.queued("write", "2")
		d.taken("write", "1")
		d.expectWoken("", func() { d.leave("3") })
		d.expectWoken("2", func() { d.release("write", "1") })
		d.taken("write", "2")
		d.expectWoken("", func() { d.release("write", "2") })
		d.nothing()
	})
}

func TestFifoScriptScoresNeverFallAfterAClockStep(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		d.taken("write", "a")
		d.queued("write", "1")
		ahead := float64(time.Now().Add(time.Hour).UnixMicro()) // the clock was set back since
		d.ok(d.rdb.ZAddXX(d.ctx(), d.keys["writing"], redis.Z{Score: ahead, Member: "P:1"}).Err())
		d.queued("read", "2")
		d.queued("write", "3")
		d.queued("read", "4")
		for i, of := range []struct{ role, who string }{{"reading", "P:2"}, {"writing", "P:3"}, {"reading", "P:4"}} {
			score := d.rdb.ZScore(d.ctx(), d.keys[of.role], of.who).Val()
			if score != ahead+float64(i)+1 {
				w.t.Errorf("the score of %s is %.0f, want %.0f", of.who, score, ahead+float64(i)+1)
			}
		}
		far := float64(time.Now().Add(2 * time.Hour).UnixMilli()) // its deadline too
		d.ok(d.rdb.ZAddXX(d.ctx(), d.keys["beats"], redis.Z{Score: far, Member: "P:1"}).Err())
		d.beat("3")
		if beat := d.rdb.ZScore(d.ctx(), d.keys["beats"], "P:1").Val(); beat > float64(time.Now().Add(d.life+time.Second).UnixMilli()) {
			w.t.Errorf("a deadline is %.0f ms away", beat-float64(time.Now().UnixMilli()))
		}
	})
}

func TestFifoScriptDropsTheDead(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		d.taken("write", "a")
		for _, who := range []string{"1", "2", "3", "4"} {
			d.queued("write", who)
		}
		d.silence("1", "2")
		d.expectWoken("3", func() { d.release("write", "a") })
		d.silence("3")
		d.taken("write", "4") // its own script drops the dead waiters before it
		d.release("write", "4")
		d.nothing()
	})
}

// The script that drops a dead waiter wakes those behind it.
func TestFifoScriptEveryDequeueWakesTheNext(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		d.taken("read", "a")
		d.queued("write", "w1")
		d.queued("read", "r1")
		d.queued("read", "r2")
		d.queued("write", "w2")
		d.silence("w1")
		d.expectWoken("r2", func() { d.taken("read", "r1") })
		d.taken("read", "r2")
		d.expectWoken("", func() { d.release("read", "a"); d.release("read", "r2") })
		d.queued("write", "w3")
		d.queued("read", "r3")
		d.expectWoken("w2", func() { d.release("read", "r1") })
		d.expectWoken("w3", func() { d.leave("w2") })
		d.expectWoken("r3", func() { d.leave("w3") })
		d.taken("read", "r3")
		d.release("read", "r3")
		d.nothing()
	})
}

// After a pause of the server all deadlines have passed, and nobody is dead.
func TestFifoScriptPauseKillsNobody(t *testing.T) {
	virtual(t, func(w *world) {
		d := w.desk()
		d.taken("write", "a")
		d.queued("write", "1")
		d.queued("write", "2")
		d.late(time.Second, "1", "2")
		d.pulse(2500*time.Millisecond, -time.Hour) // no script has used the lock since
		d.expectWoken("1", func() { d.release("write", "a") })
		pause := d.queued("write", "2")
		if pause < 1000 || pause > 3000 {
			w.t.Errorf("looks again in %d ms", pause)
		}
		d.taken("write", "1")
		d.pulse(-time.Hour, time.Hour) // the clock is set back: the pause must not last that long
		d.beat("2")
		_, from, _ := strings.Cut(d.rdb.Get(d.ctx(), d.keys["pulse"]).Val(), " ")
		if from > fmt.Sprint(time.Now().Add(4*time.Second).UnixMilli()) {
			w.t.Errorf("the dead are safe until %s", from)
		}
	})
}

// A waiter that was late before a pause of the server has had time to show that it lives.
func TestFifoScriptPauseDoesNotSaveTheDead(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		d.life = policy.WaiterLife
		d.taken("write", "a")
		for _, who := range []string{"1", "2", "3"} {
			d.queued("write", who)
		}
		d.late(3*time.Second, "1")
		d.late(time.Second, "2")
		d.pulse(2500*time.Millisecond, -time.Hour)
		d.expectWoken("2", func() { d.release("write", "a") })
	})
}

// Heartbeats keep living waiters, drop dead ones, and return whose turn it is.
func TestFifoScriptHeartbeatKeepsTheLivingAndDropsTheDead(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		d.taken("read", "a")
		for _, who := range []string{"w1", "w2"} {
			d.queued("write", who)
		}
		d.queued("read", "r1")
		d.queued("read", "r2")
		queues := []string{"writing", "reading", "beats"}
		for _, role := range queues {
			d.ok(d.rdb.PExpire(d.ctx(), d.keys[role], 20*time.Second).Err()) // they have waited for a while
		}
		begin := time.Now()
		if look := d.beat("w1", "w2", "r1", "r2", "gone"); fmt.Sprint(look) != "[gone]" {
			w.t.Errorf("to look: %v", look)
		}
		for _, role := range queues {
			d.lives(d.rdb, d.keys[role], time.Minute, begin)
		}
		d.silence("w1", "w2", "r1", "r2")
		d.expectWoken("r2", func() {
			if look := d.beat("r2"); fmt.Sprint(look) != "[r2]" {
				w.t.Errorf("to look: %v", look)
			}
		})
		d.taken("read", "r2")
		d.release("read", "r2")
		d.release("read", "a")
		d.nothing()
	})
}

func TestFifoScriptReadersShareAPhase(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		w1 := d.taken("write", "w1")
		d.queued("read", "r1")
		d.queued("read", "r2")
		d.queued("write", "w2")
		d.queued("read", "r3")
		d.expectWoken("r1 r2", func() { d.release("write", "w1") })
		phase := d.taken("read", "r2")
		if phase <= w1 {
			w.t.Errorf("the phase is not above the writer: got %v, want more than %v", phase, w1)
		}
		d.busy("read", "r4") // an earlier writer waits
		d.busy("write", "w3")
		if d.taken("read", "r1") != phase {
			w.t.Error("another token in one phase")
		}
		d.release("read", "r2")
		d.busy("read", "r3")
		d.expectWoken("w2", func() { d.release("read", "r1") })
		w2 := d.taken("write", "w2")
		d.release("write", "w2")
		if next := d.taken("read", "r3"); w2 <= phase || next <= w2 {
			w.t.Errorf("tokens %d %d %d", phase, w2, next)
		}
		d.release("read", "r3")
		d.nothing()
	})
}

// A writer does not pass readers that came before it.
func TestFifoScriptWriterWaitsBehindEarlierReaders(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		d.taken("write", "a")
		d.queued("read", "r")
		d.queued("write", "w")
		d.release("write", "a")
		d.busy("write", "w")
		d.taken("read", "r")
	})
}

// More readers wait than are woken at once.
func TestFifoScriptLongRunOfReadersAllEnter(t *testing.T) {
	each(t, func(w *world) {
		const many = 130
		d := w.desk()
		d.life = time.Hour // all of them live, however long this takes
		d.taken("write", "a")
		for i := range many {
			d.queued("read", fmt.Sprint(i))
		}
		d.queued("write", "w")
		d.queued("read", "late")
		woken := d.wakes(func() { d.release("write", "a") })
		for i := 0; i < len(woken); i++ {
			woken = append(woken, d.wakes(func() { d.taken("read", woken[i]) })...)
			if woken[i] != fmt.Sprint(i) {
				w.t.Fatalf("woken: %v", woken)
			}
		}
		if len(woken) != many {
			w.t.Errorf("%d woken", len(woken))
		}
		d.busy("read", "late")
	})
}

func TestFifoScriptReadersExpireByThemselves(t *testing.T) {
	virtual(t, func(w *world) {
		d := w.desk()
		d.acquire(acquireArgs{side: "read", who: "long", lease: 10 * time.Second})
		d.acquire(acquireArgs{side: "read", who: "short", lease: 3 * time.Second})
		life := func() time.Duration { return d.rdb.PTTL(d.ctx(), d.keys["tokens"]).Val() }
		if life() < 9*time.Second || d.busy("write", "w") < 9000 {
			w.t.Errorf("readers live for %s", life())
		}
		d.release("read", "long")
		if life() > 3*time.Second || d.busy("write", "w") > 3000 {
			w.t.Errorf("a reader lives for %s longer than its lease, for another's", life())
		}
		d.acquire(acquireArgs{side: "read", who: "crashed", lease: 10 * time.Second})
		before := d.rdb.ZScore(d.ctx(), d.keys["readers"], "P:crashed").Val()
		if d.renew("read", "short", 30000) != scripts.Done || life() < 29*time.Second {
			w.t.Error("a reader is not renewed")
		}
		if d.rdb.ZScore(d.ctx(), d.keys["readers"], "P:crashed").Val() != before {
			w.t.Error("another reader's renewal has touched it")
		}
		past := float64(time.Now().Add(-time.Second).UnixMilli())
		d.ok(d.rdb.ZAdd(d.ctx(), d.keys["readers"], redis.Z{Score: past, Member: "P:crashed"}).Err())
		for who, want := range map[string]int64{"crashed": scripts.NotOurs, "short": scripts.Done} {
			if got := d.renew("read", who, 1000); got != want {
				w.t.Errorf("renewal of %s: %d", who, got)
			}
		}
		if d.release("read", "crashed") != 0 {
			w.t.Error("what has expired was released")
		}
		d.release("read", "short")
		d.nothing() // and no other one was lost from the others
		d.taken("read", "crashed")
		d.ok(d.rdb.ZAdd(d.ctx(), d.keys["readers"], redis.Z{Score: past, Member: "P:crashed"}).Err())
		d.taken("write", "w")
	})
}

func TestFifoScriptWriterBecomesAReader(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		write := d.taken("write", "a")
		read := d.taken("read", "a")
		if read <= write {
			w.t.Errorf("the token of the read phase is not above the writer's: got %v, want more than %v", read, write)
		}
		d.release("read", "a")
		d.busy("read", "b") // unlocking the inner read keeps the outer write
		d.queued("write", "early")
		if again := d.taken("read", "a"); again <= read {
			w.t.Errorf("the token of the second phase is not above the first: got %v, want more than %v", again, read)
		}
		d.leave("early") // it did not keep the writer from reading
		d.queued("read", "r1")
		d.queued("read", "r2")
		d.queued("write", "w")
		d.queued("read", "r3")
		d.expectWoken("r1 r2", func() { d.release("write", "a") })
		d.taken("read", "r1")
		d.taken("read", "r2")
		d.busy("write", "w")
		d.release("read", "r1")
		d.release("read", "r2")
		d.expectWoken("w", func() { d.release("read", "a") })
		d.taken("write", "w")
	})
}

func TestFifoScriptRefusesAReaderWhoWantsToWrite(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		d.taken("read", "a")
		for _, queue := range []bool{false, true} {
			if code, _, _ := d.acquire(acquireArgs{side: "write", who: "a", queue: queue}); code != scripts.Upgrade {
				w.t.Errorf("code %d", code)
			}
		}
		d.release("read", "a")
		d.nothing()
	})
}

// The same attempt gets the same answer, and a release knows what it did.
func TestFifoScriptReplayGetsTheSameAnswer(t *testing.T) {
	each(t, func(w *world) {
		for _, side := range []string{"write", "read"} {
			d := w.desk()
			first := acquireArgs{side: side, who: "a", attempt: 11}
			_, _, token := d.acquire(first)
			for range 2 {
				if code, _, got := d.acquire(first); code != scripts.Taken || got != token {
					w.t.Errorf("%s: code %d, token %d", side, code, got)
				}
			}
			if d.release(side, "a") != scripts.Done || d.release(side, "a") != scripts.NotOurs {
				w.t.Errorf("%s: a release does not know what it did", side)
			}
			d.run(scripts.FifoRelease, "P", 20, side, "P:a", "", 60000)
			if code, _, _ := d.acquire(acquireArgs{side: side, who: "a", queue: true}); code != scripts.Cancelled {
				w.t.Errorf("%s: code %d behind a tombstone", side, code)
			}
			d.ok(d.rdb.Del(d.ctx(), d.keys["tombstone"]).Err())
			d.nothing()
		}
	})
}

func TestFifoScriptForceTouchesItsOwnSide(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		for _, side := range []string{"write", "read"} {
			if d.force(side, "a") != 0 {
				w.t.Error("nothing was held")
			}
		}
		d.taken("write", "a")
		d.taken("read", "a")
		d.queued("read", "r")
		d.queued("write", "w")
		if d.force("read", "a") != 1 || d.renew("write", "a", 60000) != 1 {
			w.t.Error("the writer is gone")
		}
		d.taken("read", "a")
		d.expectWoken("r", func() { d.force("write", "a") })
		if d.renew("read", "a", 60000) != 1 || d.release("write", "a") != 0 {
			w.t.Error("the reader is gone, or the writer is not")
		}
		d.expectWoken("r", func() { d.force("read", "a") })
		d.taken("read", "r")
	})
}

func TestFifoScriptTokensGrow(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		ahead := time.Now().Add(time.Hour).UnixMicro()
		d.ok(d.rdb.Set(d.ctx(), d.keys["clock"], ahead, 0).Err())
		for i, side := range []string{"write", "read", "write", "write", "read"} {
			if token := d.taken(side, "a"); token != ahead+int64(i)+1 {
				w.t.Errorf("token %d, want %d", token, ahead+int64(i)+1)
			}
			d.release(side, "a")
		}
	})
}

func TestFifoScriptEveryKeyExpires(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		d.taken("write", "a")
		d.taken("read", "a")
		d.queued("read", "r")
		d.queued("write", "w")
		d.beat("r")
		d.run(scripts.FifoRelease, "P", 0, "write", "", "", 60000)
		for i, side := range []string{"write", "read"} {
			d.run(scripts.FifoToken, side, "P:a", time.Now().Add(time.Duration(1+i)*time.Hour).UnixMicro())
		}
		for role, key := range d.keys {
			if life := d.rdb.PTTL(d.ctx(), key).Val(); life <= 0 {
				w.t.Errorf("%s lives for %s", role, life)
			}
		}
	})
}

// Scripts about a holder change that holder and its hold only; renewals only extend the expiry.
func TestFifoScriptsNameTheirHolder(t *testing.T) {
	each(t, func(w *world) {
		const lease = time.Hour
		for _, side := range []string{"write", "read"} {
			d, begin := w.desk(), time.Now()
			_, _, token := d.acquire(acquireArgs{side: side, who: "a", lease: lease})
			left := func() int64 { // ms for which a holds it
				d.t.Helper()
				if side == "write" {
					return d.rdb.PTTL(d.ctx(), d.keys["state"]).Val().Milliseconds()
				}
				for _, key := range []string{"readers", "tokens"} {
					if ttl := d.rdb.PTTL(d.ctx(), d.keys[key]).Val(); ttl < lease/2 {
						w.t.Errorf("the %s live for %s", key, ttl)
					}
				}
				return int64(d.rdb.ZScore(d.ctx(), d.keys["readers"], "P:a").Val()) - time.Now().UnixMilli()
			}
			for _, step := range []struct {
				what string
				do   func() int64
				want int64
			}{
				{"a stranger renews", func() int64 { return d.renew(side, "b", 60000) }, scripts.NotOurs},
				{"a renewal is shorter", func() int64 { return d.renew(side, "a", 1000) }, scripts.Done},
				{"a stranger releases", func() int64 { return d.release(side, "b") }, scripts.NotOurs},
				{"a stranger raises the token", func() int64 { return d.run(scripts.FifoToken, side, "P:b", token)[0] }, 0},
			} {
				if got := step.do(); got != step.want {
					w.t.Errorf("%s: %s: %d", side, step.what, got)
				}
				d.leaves(time.Duration(left())*time.Millisecond, lease, begin)
			}
			d.release(side, "a")
			d.nothing()
		}
	})
}

// A reader keeps the token that it came with when another reader's token is raised; later readers get the raised one.
func TestFifoScriptReadersKeepTheTokenThatTheyCameWith(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		first := d.taken("read", "a")
		d.taken("read", "b")
		raised := d.run(scripts.FifoToken, "read", "P:b", first)[0]
		if raised <= first {
			w.t.Errorf("token %d above %d", raised, first)
		}
		if token := d.run(scripts.FifoToken, "read", "P:a", 0)[0]; token != first {
			w.t.Errorf("a has %d, and came with %d", token, first)
		}
		if token := d.taken("read", "c"); token != raised {
			w.t.Errorf("c comes with %d, and not with %d", token, raised)
		}
	})
}

// A deadline that was set before the clock was set back delays no waiter.
func TestFifoScriptOldDeadlineDelaysNobodyAfterAClockStep(t *testing.T) {
	each(t, func(w *world) {
		d := w.desk()
		d.life = policy.WaiterLife
		d.taken("write", "a")
		d.queued("write", "1")
		far := float64(time.Now().Add(time.Hour).UnixMilli())
		d.ok(d.rdb.ZAddXX(d.ctx(), d.keys["beats"], redis.Z{Score: far, Member: "P:1"}).Err())
		d.release("write", "a")
		if pause := d.queued("write", "2"); pause > 6000 {
			w.t.Errorf("looks again in %d ms", pause)
		}
	})
}
