package locking

import (
	"strconv"
	"testing"
	"time"

	"inventory/internal/locking/internal/scripts"
)

// A holder is given a token of another server, and keeps one that is higher. The clock of its own falls never behind.
func TestLevelScript(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name, Group(w.name))
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
			w.ok(rdb.HSet(ctx, m.stateKey, "P:a", 1, "seq", 1, "token", 160).Err())
			w.ok(rdb.Set(ctx, m.bucket.Clock(), step.clock, time.Minute).Err())
			token, err := rdb.Eval(ctx, scripts.Level.Source.(string), []string{m.bucket.Clock(), m.stateKey}, step.who, step.token).Int64()
			w.ok(err)
			if token != step.want {
				t.Errorf("%+v: token %d", step, token)
			}
			if held := rdb.HGet(ctx, m.stateKey, "token").Val(); token != 0 && held != strconv.FormatInt(token, 10) || token == 0 && held != "160" {
				t.Errorf("%+v: the state has %s", step, held)
			}
			if clock := rdb.Get(ctx, m.bucket.Clock()).Val(); clock != strconv.FormatInt(step.clockIs, 10) {
				t.Errorf("%+v: the clock is %s", step, clock)
			}
		}
	})
}
