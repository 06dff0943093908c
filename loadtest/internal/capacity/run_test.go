package capacity

import (
	"bytes"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/target"
)

// TestCapacityIsMeasuredAndTold runs hardly anything of all of it.
func TestCapacityIsMeasuredAndTold(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), Config{
		Buyers: 1e6, ProcessCores: 2, NodeCores: 8, Connections: 500, Seed: 1, Scale: Tiny(),
		Process: target.Process{Command: []string{program, asService}, Logs: io.Discard},
	})
	if err != nil || result.Err() != nil {
		t.Fatalf("%v, %v", err, result.Err())
	}
	var inProcess, inDatabase float64 // of all works: of one a clock may have no tick
	for _, c := range result.costs {
		inProcess, inDatabase = inProcess+c.of(process), inDatabase+c.of(database)
	}
	if inProcess <= 0 || inDatabase <= 0 {
		t.Errorf("%+v", result.costs)
	}
	d, err := result.Document()
	if err != nil || !d.AuditOK || len(d.Sections) != 6 || len(d.Targets()) != 4 {
		t.Fatalf("%v: %+v", err, d)
	}
	var text bytes.Buffer
	if err := d.Print(&text); err != nil || strings.Contains(text.String(), "NaN") || strings.Contains(text.String(), "Inf") {
		t.Errorf("%v:\n%s", err, &text)
	}
}

// window is what a work came to.
func window(orders, each, us float64) experiment.Sample {
	s := experiment.Sample{rate: orders, batch: each, others: 0.1}
	for _, p := range parts() {
		s[p.metric()] = us
	}
	return s
}

// measuredResult has rounds with equal windows, except for what a test changes.
func measuredResult(rounds int, change func(w work, callers int, s experiment.Sample)) *Result {
	r := &Result{config: Config{Buyers: 1e6, ProcessCores: 2, NodeCores: 8, Connections: 500, Seed: 1, Scale: Full()}}
	one := experiment.Result{Name: "measured", Case: (&shop{}).question(Full())}
	for range rounds {
		round := experiment.Round{}
		for _, w := range works() {
			for i, callers := range Full().Callers {
				s := []experiment.Sample{window(500, 1, 300), window(10_000, 30, 30), window(14_000, 150, 28)}[i]
				change(w, callers, s)
				round[at(w, callers)] = s
			}
		}
		one.Rounds = append(one.Rounds, round)
	}
	r.Results = []experiment.Result{one}
	return r
}

func TestMissingDataFails(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(experiment.Sample){
		"not measured": func(s experiment.Sample) { delete(s, database.metric()) },
		"not known":    func(s experiment.Sample) { s[database.metric()] = math.NaN() },
		"no orders":    func(s experiment.Sample) { s[database.metric()] = math.Inf(1) },
	} {
		r := measuredResult(2, func(w work, callers int, s experiment.Sample) {
			if w.name == manyName && callers == 64 {
				spoil(s)
			}
		})
		if err := r.conclude(); err == nil || !strings.Contains(err.Error(), manyName) || !strings.Contains(err.Error(), database.metric()) {
			t.Errorf("%s: %v", name, err)
		}
		if r.costs != nil {
			t.Errorf("%s: there are costs", name)
		}
		if d, err := r.Document(); err != nil || len(d.Sections) != 1 {
			t.Errorf("%s: %v, %d sections", name, err, len(d.Sections))
		}
	}
}

// TestAWorkWithoutCostsStopsNowhere: no clock of a processor has ticked during it, and the report has only the others.
func TestAWorkWithoutCostsStopsNowhere(t *testing.T) {
	t.Parallel()
	r := measuredResult(2, func(w work, _ int, s experiment.Sample) {
		if w.name == goneName {
			for _, p := range parts() {
				s[p.metric()] = 0
			}
		}
	})
	if err := r.conclude(); err != nil {
		t.Fatal(err)
	}
	d, err := r.Document()
	if err != nil || strings.Contains(strings.Join(d.Summary, "\n"), goneName) || !strings.Contains(d.Summary[0], hotName) {
		t.Errorf("%v: %q", err, d.Summary)
	}
}

// TestPredictionsAreHeldAgainstMeasurements of the same rounds, with a verdict on each side.
func TestPredictionsAreHeldAgainstMeasurements(t *testing.T) {
	t.Parallel()
	r := measuredResult(6, func(w work, callers int, s experiment.Sample) {
		if w.name == manyName && callers == 512 {
			s[rate] *= 100 // which no model could predict
		}
	})
	if err := r.conclude(); err != nil {
		t.Fatal(err)
	}
	for _, target := range r.Targets() {
		missed := strings.HasPrefix(target.What, manyName) && strings.HasSuffix(target.What, "no less")
		if strings.HasPrefix(target.What, manyName) && (target.Met == missed || target.Undecided) {
			t.Errorf("%+v", target)
		}
	}
}
