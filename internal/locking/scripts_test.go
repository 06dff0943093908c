package locking

import (
	"strconv"
	"strings"
	"testing"
	"time"
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
			token, err := rdb.Eval(ctx, levelScript.source.(string), []string{m.bucket.Clock(), m.stateKey}, step.who, step.token).Int64()
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

// FuzzAnswers reads answers that no script of ours gives, as a proxy or another version might: never a panic, and
// never a grant of something else than tokens for what was asked.
func FuzzAnswers(f *testing.F) {
	f.Add("s1763698512345678", 1)
	f.Add("l i0 i0 s1763698512345678 s1763698512345679", 2)
	f.Add("l i1 i30000", 1)
	f.Add("l i0 i0", 1)
	f.Add("l i1 i-2 s17 n", 3)
	f.Add("i5", 1)
	f.Add("n", 2)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = min(max(n, 1), 100)
		answer := answerOf(text)
		a, err := readAcquire(answer, n)
		if err == nil {
			if len(a.tokens) > n || (a.code == codeTaken) != (len(a.tokens) == n) || a.busy < 0 || a.busy > pollInterval {
				t.Errorf("%q for %d locks is read as %+v", text, n, a)
			}
			for _, token := range a.tokens {
				if number, err := tokenOf(token); err == nil && (number <= 0 || strconv.FormatInt(number, 10) != strings.TrimLeft(token, "+0")) {
					t.Errorf("the token %q is read as %d", token, number)
				}
			}
		}
		if numbers, err := integers(answer, n); err == nil && len(numbers) < n {
			t.Errorf("%q is read as %v", text, numbers)
		}
	})
}

// answerOf makes an answer of words: i is a number, s a text, n nothing; l before them makes a list.
func answerOf(text string) any {
	words := strings.Fields(text)
	list := len(words) > 0 && words[0] == "l"
	if list {
		words = words[1:]
	}
	items := []any{}
	for _, word := range words {
		switch word[0] {
		case 'i':
			number, _ := strconv.ParseInt(word[1:], 10, 64)
			items = append(items, number)
		case 's':
			items = append(items, word[1:])
		default:
			items = append(items, nil)
		}
	}
	if list {
		return items
	}
	if len(items) > 0 {
		return items[0]
	}
	return nil
}
