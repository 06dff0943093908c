package explain

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"inventory/loadtest/internal/experiment"
)

// played is a case as it would have come out where cells sell so much, more or less, on a machine that has good and bad
// rounds.
func played(sells func(cell levels) float64) experiment.Result {
	random := rand.New(rand.NewPCG(1, 2))
	r := experiment.Result{Case: (&shop{design: usual()}).question(), Rules: experiment.Rules{Seed: 3}}
	for range 12 {
		round, machine := experiment.Round{}, math.Exp(0.2*random.NormFloat64())
		for _, cell := range usual().cells(everywhere()) {
			round[usual().words(cell)] = experiment.Sample{throughput: sells(cell) * machine * math.Exp(0.01*random.NormFloat64())}
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

// usual is the design that is played by default.
func usual() design { return Config{}.design() }

// either returns one of two factors, by the level.
func either(level int, first, second float64) float64 { return []float64{first, second}[level] }

// TestOtherFiguresAreOtherSentences has other factors win.
func TestOtherFiguresAreOtherSentences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sells func(cell levels) float64
		want  []string
	}{
		"batches win, and a lock pays between processes": {
			func(l levels) float64 {
				lock := either(l[byProcesses], 0.8, 1.5)
				return 1000 * either(l[byBatching], 1, 8) * either(l[bySegments], 1, 2) * either(l[byLock], 1, lock)
			},
			[]string{
				"Writing orders in batches buys most: 8", "Splitting the SKU into 10 segments instead of 1 buys 2", "Selling by 3 processes instead of 1 buys 1.3",
				"Locking the segments buys 1.1 times",
				"a lock costs more than it brings in 4, most with ", "1 process, ", "; it brings more than it costs in 4, most with ", "; undecided are 0.",
			},
		},
		"segments win, and locks cost": {
			func(l levels) float64 {
				return 1000 * either(l[bySegments], 1, 5) * either(l[byBatching], 1, 1.5) * either(l[byLock], 1, 0.7)
			},
			[]string{
				"Splitting the SKU into 10 segments instead of 1 buys most: ", "Writing orders in batches buys 1.", "Whether selling by 3 processes instead of 1 buys anything is undecided: ",
				"Locking the segments costs more than it brings: 0.7",
				"Of 8 combinations of the others, a lock costs more than it brings in 8, most with ", "; it brings more than it costs in none",
			},
		},
		"nothing wins": {
			func(levels) float64 { return 1000 },
			[]string{"Whether ", "Whether ", "Whether ", "Whether ", "in none; it brings more than it costs in none; undecided are 8."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := usual().sentences(played(c.sells))
			if len(got) != 5 {
				t.Fatalf("%d sentences: %q", len(got), got)
			}
			for i, want := range c.want {
				if at := min(i, 4); !strings.Contains(got[at], want) || at < 4 && !strings.HasPrefix(got[at], want) {
					t.Errorf("%q, without %q", got[at], want)
				}
			}
		})
	}
}

// TestAFindingNamesItsExtremes has batches buy most where there is one segment and no lock.
func TestAFindingNamesItsExtremes(t *testing.T) {
	t.Parallel()
	r := played(func(l levels) float64 {
		if l[byBatching] == 1 && l[bySegments] == 0 && l[byLock] == 0 && l[byProcesses] == 0 {
			return 9000
		}
		return 1000 * either(l[byBatching], 1, 3) * either(l[byProcesses], 1, either(l[byBatching], 1, 0.8))
	})
	first := usual().find(r)[0]
	if most := first.Cases[len(first.Cases)-1]; first.Factor != "batching" || most.With != "1 segment, no lock, 1 process" || math.Abs(most.Ratio.Value-9) > 0.2 {
		t.Errorf("%+v", first)
	}
	if got := first.sentence(true); !strings.Contains(got, "with 1 segment, no lock, 1 process.") {
		t.Error(got)
	}
}

// TestAnEffectIsThatOfItsFactorAlone compares pairs that differ in one factor.
func TestAnEffectIsThatOfItsFactorAlone(t *testing.T) {
	t.Parallel()
	if all := usual().cells(everywhere()); len(all) != 16 {
		t.Fatalf("%d cells", len(all))
	}
	seen := map[string]bool{}
	for f := range factorCount {
		c := usual().effect(f, 1, everywhere())
		for _, pair := range c.Pairs {
			seen[pair[0]], seen[pair[1]] = true, true
			with, without := strings.Split(pair[0], ", "), strings.Split(pair[1], ", ")
			for i := range with {
				if (with[i] == without[i]) == (i == f) {
					t.Errorf("%s: %q", usual()[f].name, pair)
				}
			}
			if with[f] != usual()[f].levels[1].words {
				t.Errorf("%s: %q the wrong way round", usual()[f].name, pair)
			}
		}
		if len(c.Pairs) != 8 || len(usual().combinations(everywhere(), f)) != 8 {
			t.Errorf("%s: %d pairs", usual()[f].name, len(c.Pairs))
		}
	}
	if len(seen) != 16 {
		t.Errorf("%d cells are compared", len(seen))
	}
}

// TestMoreLevelsAreComparedWithTheFirst has three numbers of segments, and one of processes, which is no factor then.
func TestMoreLevelsAreComparedWithTheFirst(t *testing.T) {
	t.Parallel()
	d := newDesign([]int{2, 8, 32}, []int{3})
	if n := len(d.cells(everywhere())); n != 12 {
		t.Errorf("%d cells, want 12", n)
	}
	r := experiment.Result{Case: (&shop{design: d}).question()}
	for range 6 {
		round := experiment.Round{}
		for _, cell := range d.cells(everywhere()) {
			round[d.words(cell)] = experiment.Sample{throughput: []float64{100, 200, 400}[cell[bySegments]]}
		}
		r.Rounds = append(r.Rounds, round)
	}
	var got []string
	for _, f := range d.find(r) {
		got = append(got, f.Factor+" "+f.Ratio.String())
	}
	if want := "segments, 32 4 (4 to 4); segments, 8 2 (2 to 2); lock 1 (1 to 1); batching 1 (1 to 1)"; strings.Join(got, "; ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
	if got := d.sentences(r)[0]; !strings.HasPrefix(got, "Splitting the SKU into 32 segments instead of 2 buys most: 4 times") {
		t.Error(got)
	}
}
