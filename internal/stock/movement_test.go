package stock

import (
	"encoding/json"
	"testing"
	"time"
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
