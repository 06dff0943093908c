package explain

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
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
func usual() design { return newDesign([]int{1, 10}, []int{1, 3}) }

// either returns one of two factors, by the level.
func either(level int, first, second float64) float64 { return []float64{first, second}[level] }

// rows are the table of findings, and its plot.
func rows(r experiment.Result) (text string, dots report.Plot) {
	section := effects(usual().find(r), "")[0]
	for _, row := range section.Table.Rows {
		text += strings.Join(row, "; ") + "\n"
	}
	return text, section.Plots[0]
}

// TestOtherFiguresAreOtherAdvice has other factors win.
func TestOtherFiguresAreOtherAdvice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sells func(cell levels) float64
		want  []string
	}{
		"batches win, and a lock pays between processes": {
			func(l levels) float64 {
				lock := either(l[byProcesses], 0.8, 1.8)
				return 1000 * either(l[byBatching], 1, 8) * either(l[bySegments], 1, 2) * either(l[byLock], 1, lock)
			},
			[]string{
				"^batches, not order by order; × (8|7.9.|8.0.); × 7.9. to × 8.*; leave them on$", "^10 segments, not 1; × .*; split a SKU",
				"^3 processes, not 1; × 1.5; × 0.9.* to × 2.*; add processes for speed", "^locks, not none; × 1.2; × 0.(79.|80.|8) to × 1.8.*; leave them on$",
			},
		},
		"segments win, and locks cost": {
			func(l levels) float64 {
				return 1000 * either(l[bySegments], 1, 5) * either(l[byBatching], 1, 1.5) * either(l[byLock], 1, 0.7)
			},
			[]string{"^10 segments, not 1; × ", "^batches, .* leave them on$", "^3 processes, .* not for speed$", "^locks, .* turn them off"},
		},
		"nothing wins": {func(levels) float64 { return 1000 }, []string{"they cost nothing", "not for speed", "leave a SKU as it is", "as you like"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, dots := rows(played(c.sells))
			for _, want := range c.want {
				if !regexp.MustCompile("(?m)" + want).MatchString(got) {
					t.Errorf("no row %q in\n%s", want, got)
				}
			}
			if s := dots.Series[0]; len(dots.Categories) != 4 || len(s.Y) != 4 || !dots.Y.Log || dots.Marks[0].X != 1 || s.Low[0] > s.Y[0] || s.High[0] < s.Y[0] {
				t.Errorf("got the plot %+v", dots)
			}
		})
	}
}

// TestFewRoundsSaySo: what is not known is not told as if neither were better.
func TestFewRoundsSaySo(t *testing.T) {
	t.Parallel()
	r := played(func(l levels) float64 { return 1000 * either(l[byBatching], 1, 40) })
	r.Rounds = r.Rounds[:1]
	d := report.Document{Sections: []report.Section{{}}, Environment: report.Environment{{Name: "processors", Value: "2 for all"}}}
	usual().tell(&d, r, 512)
	if got := d.Sections[0].Table.Rows; got[0][3] != "too few rounds" || got[3][3] != "too few rounds" {
		t.Errorf("got %q", got)
	}
	if got := strings.Join(d.Warnings, "\n"); !strings.HasPrefix(got, "1 round: too few rounds") {
		t.Errorf("got the warning %q", got)
	}
	absolute := regexp.MustCompile("^from [0-9,]+ orders a second with 1 segment, no lock, 1 process, order by order " +
		"to [0-9,]+ orders a second with 10 segments, a lock, 3 processes, in batches; PostgreSQL, Redis, the service and 512 callers share 2 processors$")
	if got := d.Sections[0].Notes; len(got) != 1 || !absolute.MatchString(got[0]) {
		t.Errorf("got the notes %q", got)
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
}

// TestAnEffectIsThatOfItsFactorAlone compares pairs that differ in one factor.
func TestAnEffectIsThatOfItsFactorAlone(t *testing.T) {
	t.Parallel()
	if all := usual().cells(everywhere()); len(all) != 16 {
		t.Fatalf("%d cells", len(all))
	}
	seen := map[string]bool{}
	for f := range factorCount {
		pairs := usual().pairs(f, 1, everywhere())
		for _, pair := range pairs {
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
		if len(pairs) != 8 || len(usual().combinations(f)) != 8 {
			t.Errorf("%s: %d pairs", usual()[f].name, len(pairs))
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
	if got := effects(d.find(r), "")[0].Table.Rows[0]; strings.Join(got, "; ") != "32 segments, not 2; × 4; × 4 to × 4; split a SKU for which orders queue" {
		t.Errorf("got %q", got)
	}
}
