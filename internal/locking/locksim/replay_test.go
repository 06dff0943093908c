//go:build !race

package locksim_test

import (
	"strings"
	"testing"

	"inventory/internal/locking/locksim"
)

// replays is how often a seed is played again, at most, until it gives the same history.
const replays = 5

// TestSameSeedSameHistory makes a seed worth reporting: to play it again a few times mostly shows its history again. If two
// goroutines of one process are ready at the very same moment, or two timers of it end then, Go chooses between them at random, so some
// seeds have more than one history. The race detector shuffles all ready goroutines, so most seeds do: this test is not built there.
func TestSameSeedSameHistory(t *testing.T) {
	seeds := 15
	if testing.Short() {
		seeds = 4
	}
	atOnce, later := 0, 0
	differ := ""
	for seed := range uint64(seeds) {
		first := play(t, locksim.Random, seed+1)
		for n := range replays {
			again := play(t, locksim.Random, seed+1)
			if first == again && n == 0 {
				atOnce++
			}
			if first == again {
				later++
				break
			}
			differ = difference(first, again)
		}
	}
	t.Logf("%d of %d seeds give the same history again, %d of them at once", later, seeds, atOnce)
	if later < seeds/2 {
		t.Errorf("%d of %d seeds give the same history again within %d plays; one differs from here:\n%s", later, seeds, replays, differ)
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
