//go:build !race

package locksim_test

import (
	"strings"
	"testing"

	"inventory/internal/locking/locksim"
)

// TestSameSeedSameHistory makes a seed worth reporting. If two goroutines of one process are ready at the very same
// moment, Go chooses between them at random, so a few seeds have more than one history. The race detector shuffles all
// ready goroutines, so most seeds do: this test is not built there.
func TestSameSeedSameHistory(t *testing.T) {
	seeds := 15
	if testing.Short() {
		seeds = 4
	}
	same := 0
	differ := ""
	for seed := range uint64(seeds) {
		first, again := play(t, locksim.Random, seed+1), play(t, locksim.Random, seed+1)
		if first == again {
			same++
		} else {
			differ = difference(first, again)
		}
	}
	t.Logf("%d of %d seeds give the same history again", same, seeds)
	if same < seeds/2 {
		t.Errorf("%d of %d seeds give the same history again; one differs from here:\n%s", same, seeds, differ)
	}
}

// difference returns the first lines in which two texts differ.
func difference(a, b string) string {
	first, second := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(first), len(second)) {
		if first[i] != second[i] {
			return first[i] + "\n" + second[i]
		}
	}
	return "one is longer"
}
