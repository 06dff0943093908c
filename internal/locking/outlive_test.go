package locking

import (
	"context"
	"errors"
	"testing"
	"time"

	"inventory/internal/busytest"
)

// A reader continues when its owner's writer is unlocked, however its context was derived from the writer's.
func TestReaderOutlivesTheWriterUnderAnyOfItsContexts(t *testing.T) {
	type key struct{}
	each(t, func(w *world) {
		ctx := w.ctx()
		l := w.locks()
		m := l.RWMutex(w.name)
		other := l.Mutex(w.name)
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		for what, write := range map[string]func() (under context.Context, unlock func()){
			"its own": func() (context.Context, func()) {
				h := w.must(m.Writer().Lock(ctx))
				return h.Context(), func() { w.ok(h.Unlock(ctx)) }
			},
			"a value's": func() (context.Context, func()) {
				h := w.must(m.Writer().Lock(ctx))
				return context.WithValue(h.Context(), key{}, 1), func() { w.ok(h.Unlock(ctx)) }
			},
			"a time-out's": func() (context.Context, func()) {
				h := w.must(m.Writer().Lock(ctx))
				long, cancel := context.WithTimeout(h.Context(), time.Hour)
				w.t.Cleanup(cancel)
				return long, func() { w.ok(h.Unlock(ctx)) }
			},
			"a re-entered one's": func() (context.Context, func()) {
				h := w.must(m.Writer().Lock(ctx))
				inner := w.must(m.Writer().Lock(h.Context()))
				return context.WithValue(inner.Context(), key{}, 1), func() {
					w.ok(inner.Unlock(ctx))
					w.ok(h.Unlock(ctx))
				}
			},
			"a MultiLock's": func() (context.Context, func()) {
				h := w.must(MultiLock(other, m.Writer()).Lock(ctx))
				return h.Context(), func() { w.ok(h.Unlock(ctx)) }
			},
			"one under another lock": func() (context.Context, func()) {
				h := w.must(m.Writer().Lock(derived))
				return h.Context(), func() { w.ok(h.Unlock(ctx)) }
			},
		} {
			under, unlock := write()
			read := w.must(m.Reader().Lock(under))
			unlock()
			time.Sleep(10 * time.Millisecond) // not for synchronisation: nothing may happen
			if err := read.Context().Err(); err != nil {
				w.t.Errorf("under %s context: %v", what, context.Cause(read.Context()))
			}
			if what == "one under another lock" {
				cancel()
				w.soon("it ends with what the writer began with", func() bool { return read.Context().Err() != nil })
			}
			w.ok(read.Unlock(ctx))
			if !errors.Is(context.Cause(read.Context()), context.Canceled) {
				w.t.Errorf("under %s context: the cause is %v", what, context.Cause(read.Context()))
			}
		}
	})
}

// A reader survives the end of the writer under whose context it was taken, and of nothing else: a hold of another lock
// further up ends it.
func TestDowngradeOutlivesItsWriterAlone(t *testing.T) {
	each(t, func(w *world) {
		l := w.locks()
		rw := l.RWMutex(w.name)
		outer := w.must(l.Mutex(w.name + " outer").Lock(w.ctx()))
		writer := w.must(rw.Writer().Lock(outer.Context()))
		reader := w.must(rw.Reader().Lock(writer.Context()))
		w.ok(writer.Unlock(w.ctx()))
		w.ok(reader.Context().Err())
		w.ok(outer.Unlock(w.ctx()))
		<-reader.Context().Done() // at the latest when the test's time is up
		if cause := context.Cause(reader.Context()); !errors.Is(cause, context.Canceled) {
			w.t.Errorf("the reader ended with %v", cause)
		}
		w.ok(reader.Unlock(w.ctx()))
	})
}

// Other ends of the context under which a reader was taken end the reader, before and after its owner's writer is
// unlocked. A lost writer does not end a reader that was taken under its context.
func TestDowngradeOutlivesALostWriter(t *testing.T) {
	each(t, func(w *world) {
		l := w.locks()
		rw := l.RWMutex(w.name)
		base, cancel := context.WithCancelCause(w.ctx())
		writer := w.must(rw.Writer().Lock(base))
		reader := w.must(rw.Reader().Lock(writer.Context()))
		w.ok(w.client().Del(w.ctx(), rw.writer.stateKey).Err())
		l.renewDue(busytest.Patience)
		if cause := context.Cause(writer.Context()); !errors.Is(cause, ErrLost) {
			w.t.Errorf("the writer ended with %v", cause)
		}
		over := errors.New("over")
		cancel(over)
		<-reader.Context().Done()
		if cause := context.Cause(reader.Context()); !errors.Is(cause, over) {
			w.t.Errorf("the reader ended with %v", cause)
		}
		w.ok(reader.Unlock(w.ctx()))
	})
}

func TestDowngradeEndsWithItsContext(t *testing.T) {
	virtual(t, func(w *world) {
		ctx := w.ctx()
		m := w.locks().RWMutex(w.name)
		write := w.must(m.Writer().Lock(ctx))
		short, cancel := context.WithCancel(write.Context())
		read := w.must(m.Reader().Lock(short))
		cancel()
		w.soon("it ends", func() bool { return read.Context().Err() != nil })
		w.ok(read.Unlock(ctx))
		timed, cancel := context.WithTimeout(write.Context(), 200*time.Millisecond)
		defer cancel()
		read = w.must(m.Reader().Lock(timed))
		w.ok(write.Unlock(ctx))
		w.ok(read.Context().Err())
		<-read.Context().Done()
		if !errors.Is(read.Context().Err(), context.DeadlineExceeded) {
			w.t.Errorf("it ended with %v", read.Context().Err())
		}
		w.ok(read.Unlock(ctx))
	})
}
