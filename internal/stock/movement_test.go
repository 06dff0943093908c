package stock

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAChangeOfTermsAgainIsAReplay, whatever time zone its instants are in: the ledger keeps instants.
func TestAChangeOfTermsAgainIsAReplay(t *testing.T) {
	for name, at := range map[string]time.Time{
		"of a clock":       time.Now(),
		"of another place": time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 90*60)),
		"none":             {},
	} {
		m := Movement{SKU: "a", Ref: "r", Kind: Retermed, Terms: TermsChange{SaleEndsAt: To(at)}}
		kept, err := json.Marshal(m.Terms)
		if err != nil {
			t.Fatal(err)
		}
		there := Movement{SKU: "a", Ref: "r", Kind: Retermed, At: time.Unix(1, 0)}
		if err := json.Unmarshal(kept, &there.Terms); err != nil {
			t.Fatal(err)
		}
		if err := m.CheckReplay(there); err != nil {
			t.Errorf("an instant %s: %v", name, err)
		}
		m.Terms.SaleEndsAt.To = at.Add(time.Second)
		if err := m.CheckReplay(there); CodeOf(err) != CodeRefReused {
			t.Errorf("another instant %s: %v", name, err)
		}
	}
}

// TestAdjustmentTakesNoMoreThanThereIs: the rest is spread evenly, and no segment holds less than nothing.
func TestAdjustmentTakesNoMoreThanThereIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SliceOfN(rapid.Int64Range(0, 9), 1, 8).Draw(t, "segments")
		units := rapid.Int64Range(1, 40).Draw(t, "units")
		plan, err := PlanMovement(Movement{Kind: Adjusted, Quantity: -units}, Column(levels, func(n int64) Segment { return Segment{Available: n} }), 0)
		if (err == nil) != (units <= Sum(levels)) {
			t.Fatalf("%d of %v: %v", units, levels, err)
		}
		if err != nil {
			return
		}
		left := slices.Clone(levels)
		for i, change := range plan.Changes {
			left[i] += change
		}
		if Sum(plan.Changes) != -units || slices.Min(left) < 0 || slices.Max(left)-slices.Min(left) > 1 {
			t.Fatalf("%d of %v: %v", units, levels, plan.Changes)
		}
	})
}
