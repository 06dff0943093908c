package locking

import (
	"strconv"
	"testing"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A holder gets the token of another server, and keeps its own if that is higher. The server's clock never falls
// behind.
func TestLevelRaisesATokenAndNeverLowersIt(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name, Group(w.name))
		clock := w.name + " clock" // other tests may have the bucket too
		for _, step := range []struct {
			who           string
			token, clock  int64 // of the other server, and the last one of this
			want, clockIs int64
		}{
			{"P:b", 200, 100, 0, 100},
			{"P:a", 200, 100, 200, 200},
			{"P:a", 150, 100, 160, 150},
			{"P:a", 200, 300, 200, 300},
		} {
			w.ok(rdb.HSet(ctx, m.stateKey, "P:a", 1, "token", 160).Err())
			w.ok(rdb.Set(ctx, clock, step.clock, time.Minute).Err())
			token, err := rdb.Eval(ctx, scripts.Level.Source.(string), []string{clock, m.stateKey}, step.who, step.token).Int64()
			w.ok(err)
			if token != step.want {
				w.t.Errorf("%+v: token %d", step, token)
			}
			if held := rdb.HGet(ctx, m.stateKey, "token").Val(); token != 0 && held != strconv.FormatInt(token, 10) || token == 0 && held != "160" {
				w.t.Errorf("%+v: the state has %s", step, held)
			}
			if clock := rdb.Get(ctx, clock).Val(); clock != strconv.FormatInt(step.clockIs, 10) {
				w.t.Errorf("%+v: the clock is %s", step, clock)
			}
		}
	})
}

// Without memory, scripts that end or shorten something work anyway, also with a tombstone, and heartbeats and renewals
// of readers arrive.
func TestScriptsThatEndOrShortenWorkWithoutMemory(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	rdb, ctx, m, d := w.client(), w.ctx(), w.locks().Mutex(w.name), w.desk()
	w.ok(rdb.HSet(ctx, m.stateKey, "P:a", 1, "token", 1).Err())
	for _, side := range []string{"write", "read"} {
		d.taken(side, "a")
	}
	d.queued("write", "1")
	beat := func() float64 { return rdb.ZScore(ctx, d.keys["beats"], "P:1").Val() }
	before := beat()
	w.soon("time passes", func() bool { return float64(rdb.Time(ctx).Val().Add(d.life).UnixMilli()) > before })
	w.ok(rdb.ConfigSet(ctx, "maxmemory", "1").Err())

	if d.beat("1"); beat() <= before {
		t.Errorf("the heartbeat does not arrive: got %v, want more than %v", beat(), before)
	}
	d.renew("read", "a", 120000)
	if code := d.release("read", "a"); code != scripts.Done {
		t.Errorf("the reader's release: code %d", code)
	}
	d.run(scripts.FifoRelease, "P", 100, "write", "P:a", "", 60000)
	keys := []string{m.stateKey, m.queueKey, m.tombstone(1)}
	answer, err := rdb.Eval(ctx, scripts.Release.Source.(string), keys, 3, policy.ReservationMS, "P:a", scripts.QueueStay, 60000).Int64Slice()
	if err != nil || answer[0] != scripts.Done {
		t.Errorf("the release: %v (%v)", answer, err)
	}
	if w.exists(rdb, d.keys["state"], m.stateKey) != 0 {
		t.Error("what was released is held")
	}
}
