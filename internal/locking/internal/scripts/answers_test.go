package scripts

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// FuzzAnswers reads answers that no script of ours gives, but a proxy or another version might: never a panic, and
// never a grant other than tokens for the request.
func FuzzAnswers(f *testing.F) {
	f.Add("s1763698512345678", 1)
	f.Add("l i0 i0 s1763698512345678 s1763698512345679", 2)
	f.Add("l i1 i30000", 1)
	f.Add("l i0 i0", 1)
	f.Add("l i1 i-2 s17 n", 3)
	f.Add("i5", 1)
	f.Add("n", 2)
	const longest = time.Second
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = min(max(n, 1), 100)
		answer := answerOf(text)
		a, err := ReadAcquire(answer, n, longest)
		if err == nil {
			if len(a.Tokens) > n || (a.Code == Taken) != (len(a.Tokens) == n) || a.Busy < 0 || a.Busy > longest {
				t.Errorf("%q for %d locks is read as %+v", text, n, a)
			}
			for _, tokens := range a.Tokens {
				if tokens.First <= 0 || tokens.Reserved < 0 || !strings.Contains(text, strconv.FormatInt(tokens.First, 10)) {
					t.Errorf("the tokens of %q are read as %+v", text, tokens)
				}
			}
		}
		if numbers, err := ReadIntegers(answer, n); err == nil && len(numbers) < n {
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

// An attempt is printed as it is sent.
func TestAttemptIsPrinted(t *testing.T) {
	t.Parallel()
	if text := redis.NewCmd(t.Context(), "evalsha", &Attempt{Number: 7}).String(); !strings.HasPrefix(text, "evalsha 7") {
		t.Error(text)
	}
}
