package report

import (
	"math"
	"time"
)

// sample is a document with every kind of plot, and with values that are hard to draw.
func sample() Document {
	d := Document{
		Scenario: "flash-sale", Started: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), Elapsed: 62.4, Seed: 42,
		Summary: []string{
			"10,000 units sold out 8.3 s after the sale began; the median buyer heard within 4 ms, one in a hundred waited longer than 61 ms.",
			"20,000 buyers came, and 31,000 times somebody who had been refused tried again.",
		},
		Warnings: []string{"The generator lagged: 1.2% of the requests were sent more than 10 ms after their time."},
		Flags: []Flag{
			{"stock", "10000"}, {"segments", "10"}, {"rate", "5000"}, {"quick", "false"}, {"private-servers", "true"}, {"arrivals", "my file.csv"},
		},
		Figures: []Figure{
			{"accepted", "1/s", 1204.8},
			{"p50 of accepted", "ms", 3.91},
			{"p99 of accepted", "ms", 61.2},
			{"fsyncs per accepted order", "", 0.031},
			{"sold out after", "s", 8.3},
		},
		Environment: Environment{
			{"system", "linux/amd64"},
			{"processor", "AMD EPYC 7B13"},
			{"revision", "3f129bedc0de"},
			{"synchronous_commit", "on"},
			{"measurement", "latency from the planned send, by a generator in this program, which was quiet before the start: 1% of all processors busy for a second"},
		},
	}
	d.Sections = []Section{sampleTime(), sampleTail(), sampleContenders()}
	return d
}

// sampleTime has lines on linear and logarithmic axes, with marks and gaps.
func sampleTime() Section {
	accepted, p99 := Series{Name: "accepted"}, Series{Name: "p99 of accepted"}
	refused, p50 := Series{Name: "sold out"}, Series{Name: "p50 of accepted"}
	for i := range 240 {
		at := float64(i) / 4
		sold := math.Min(1, math.Exp(-(at-8.3)/2))
		accepted.X, accepted.Y = append(accepted.X, at), append(accepted.Y, 1200*sold*(1+0.1*math.Sin(at*3)))
		refused.X, refused.Y = append(refused.X, at), append(refused.Y, 4000*(1-sold)*(1+0.05*math.Cos(at*5)))
		gapped := (4 + 50*math.Exp(-(at-8)*(at-8)/4))
		if at > 20 && at < 24 {
			gapped = math.NaN()
		}
		p99.X, p99.Y = append(p99.X, at), append(p99.Y, gapped*3)
		p50.X, p50.Y = append(p50.X, at), append(p50.Y, gapped)
	}
	marks := []Mark{{X: 0, Label: "sale begins"}, {X: 8.3, To: 9.5, Label: "sold out"}, {X: 10, Label: "retries begin"}, {X: math.NaN(), Label: "never"}}
	return Section{
		Name: "over time",
		Plots: []Plot{
			{
				Name: "rate", Title: "Answers by kind, across the sell-out", Kind: Lines, X: Axis{Label: "time since the sale began, s"},
				Y: Axis{Label: "answers per second"}, Series: []Series{accepted, refused}, Marks: marks,
			},
			{
				Name: "latency-over-time", Title: "Latency from the planned send", Kind: Lines, X: Axis{Label: "time since the sale began, s"},
				Y: Axis{Label: "latency, ms (logarithmic)", Log: true}, Series: []Series{p50, p99}, Marks: marks,
			},
			{Name: "nothing", Title: "Lock wait", Kind: Lines, X: Axis{Label: "time, s"}, Y: Axis{Label: "waits"}, Series: []Series{{Name: "none"}}},
		},
		Notes: []string{"Each point is a quarter of a second."},
	}
}

// sampleTail has a wide table.
func sampleTail() Section {
	return Section{
		Name: "latency",
		Table: &Table{
			Columns: []string{"", "answers", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "p99.99 ms", "max ms"},
			Rows: [][]string{
				{"accepted", "10,000", "1.48", "3.67", "13.5", "49.4", "181", "412"},
				{"sold out", "41,000", "2.96", "7.34", "26.9", "98.8", "362", "640"},
			},
		},
		Targets: []Target{
			AtMost("p99 of accepted, ms", 61.2, 100),
			Target{What: "p50 of accepted, ms", Value: 3.9, Sign: LessThan, Bound: 4}.Within(3.7, 4.2),
			Target{What: "accepted per second", Value: 1204.8, Sign: MoreThan, Bound: 20000}.judged(),
		},
	}
}

// sampleContenders has dots with long names, whiskers and gaps, and a table with verdicts and words.
func sampleContenders() Section {
	nobody := math.NaN()
	return Section{
		Name: "who waited",
		Table: &Table{
			Columns: []string{"", "dies", "stands still", "so"},
			Rows: [][]string{
				{"one Redis lock, bsm/redislock", "✓ free after 1,012 ms", "✗ both wrote", "a late holder is not told, and nobody stops its writes"},
				{"inventory", "✓ free after 998 ms", "? not known", "nothing"},
			},
		},
		Plots: []Plot{
			{
				Name: "contenders", Title: "Accepted orders per second", Kind: Dots, Y: Axis{Label: "orders per second", Log: true},
				Categories: []string{"one row, no lock", "one Redis lock, bsm/redislock, by three processes", "inventory", "none"},
				Series: []Series{{
					Name: "512 callers", Y: []float64{2623, 3016, 80548, math.Inf(1)},
					Low: []float64{2400, nobody, 70000, 0}, High: []float64{2900, nobody, 91000, 0},
				}},
			},
			{
				Name: "segments", Title: "Orders per second by segments", Kind: Dots, X: Axis{Label: "segments"}, Y: Axis{Label: "orders per second"},
				Categories: []string{"1", "2", "16"}, Series: []Series{{Y: []float64{9800, 15400, 31000}}}, Marks: []Mark{{X: 12000}},
			},
			{Name: "no-dots", Title: "Nobody", Kind: Dots, Categories: []string{"nobody"}, Series: []Series{{Y: []float64{nobody}}}},
		},
	}
}
