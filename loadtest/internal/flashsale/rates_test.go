package flashsale

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/loadtest/internal/load"
)

func TestRates(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for text, want := range map[string][]load.Phase{
		"0,10\n5,10\n": {{Name: "sale", From: 10, To: 10, Length: 5 * s}},
		"seconds,rate,name\n# before\n0,100,trickle\n2,100\n2,5000,spike\n 4.5, 3000 \n6,0": {
			{Name: "trickle", From: 100, To: 100, Length: 2 * s},
			{Name: "spike", From: 5000, To: 3000, Length: 2500 * time.Millisecond},
			{Name: "spike", From: 3000, To: 0, Length: 1500 * time.Millisecond},
		},
		"0,1,a\n0,2\n1,3,storm\n2,0\n": {{Name: "a", From: 2, To: 3, Length: s}, {Name: "storm", From: 3, To: 0, Length: s}},
	} {
		got, err := ReadRates(strings.NewReader(text))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"":                                  "two lines of different seconds",
		"0,10\n":                            "two lines of different seconds",
		"0,10\n0,20\n":                      "two lines of different seconds",
		"1,10\n2,10\n":                      "line 1: the first line must be of second 0",
		"0,10\n5,10\n4,10\n":                "line 3: second 4 comes after second 5",
		"0,10\nx,10\n":                      `line 2: seconds "x"`,
		"0,10\n-1,10\n":                     `line 2: seconds "-1"`,
		"0,10\nNaN,10\n":                    `line 2: seconds "NaN"`,
		"0,10\n1e9,10\n":                    `line 2: seconds "1e9"`,
		"0,NaN\n1,1\n":                      `line 1: rate "NaN"`,
		"0,1\n1,100001\n":                   `line 2: rate "100001"`,
		"0\n":                               "line 1: has 1 fields",
		"0,1,a,b\n":                         "line 1: has 4 fields",
		"0,1,\x07\n":                        "line 1: name",
		"0,1," + strings.Repeat("n", 41):    "line 1: name",
		"0,\"1\n":                           "parse error",
		"seconds,rate\n# nothing\n\n0,10\n": "two lines of different seconds",
	} {
		if got, err := ReadRates(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v; want an error with %q", text, got, err, says)
		}
	}
}

func TestTheSaleOpensWhenTheTrickleIsOver(t *testing.T) {
	t.Parallel()
	const s = time.Second
	phases := []load.Phase{
		{Name: Trickle, Length: s}, {Name: Trickle, Length: s}, {Name: Spike, Length: s}, {Name: Trickle, Length: s}, {Name: Storm, Length: s},
	}
	if at := opening(phases); at != 2*s {
		t.Errorf("it opens at %v", at)
	}
	all := spans(phases)
	want := []span{{Trickle, 0, 2 * s}, {Spike, 2 * s, 3 * s}, {Trickle, 3 * s, 4 * s}, {Storm, 4 * s, 5 * s}}
	if !slices.Equal(all, want) {
		t.Errorf("spans %v", all)
	}
	for at, name := range map[time.Duration]string{0: Trickle, 2*s - 1: Trickle, 2 * s: Spike, 4 * s: Storm, 5 * s: ""} {
		if got := nameAt(all, at); got != name {
			t.Errorf("at %v it is %q", at, got)
		}
	}
}

// FuzzRates demands that whatever is read can be played.
func FuzzRates(f *testing.F) {
	f.Add("seconds,rate,name\n0,100,trickle\n2,100\n2,5000,spike\n4,0\n")
	f.Add("0,1e5\n1e-9,0\n")
	f.Fuzz(func(t *testing.T, text string) {
		phases, err := ReadRates(strings.NewReader(text))
		if err != nil {
			return
		}
		if expected := load.Expected(phases); math.IsNaN(expected) || expected < 0 || opening(phases) > load.Length(phases) {
			t.Fatalf("%v requests, opening at %v", expected, opening(phases))
		}
		for _, p := range phases {
			if p.Length <= 0 || p.Name == "" || p.From > MostRate || p.To > MostRate {
				t.Fatalf("phase %+v", p)
			}
		}
		if load.Expected(phases) < 1e4 {
			if at := load.Times(1, load.Even, phases); !slices.IsSorted(at) {
				t.Fatal("requests are not in order")
			}
		}
	})
}

// TestTheExampleOfTheDocument reads the rates that docs/LAB.md shows.
func TestTheExampleOfTheDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/LAB.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```csv\n")
	example, _, _ = strings.Cut(example, "```")
	phases, err := ReadRates(strings.NewReader(example))
	if err != nil || opening(phases) != 10*time.Second || load.Length(phases) != 25*time.Second || len(phases) != 4 {
		t.Errorf("%+v, %v", phases, err)
	}
}
