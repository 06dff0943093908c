package breaks

import (
	"strings"
	"testing"

	"inventory/loadtest/internal/kinds"
)

func TestFaultsOfOurLocksAreReported(t *testing.T) {
	t.Parallel()
	tried := func(name, lock string, ours, broken bool, outcome string) *trial {
		return &trial{fault: fault{name: name}, kind: kinds.Kind{Name: lock, Ours: ours}, broken: broken, outcome: outcome}
	}
	right := []*trial{
		tried(dies, kinds.Mutex, true, false, "x"), tried(standsStill, kinds.SetNX, false, true, "x"), tried(dies, kinds.SetNX, false, true, "x"),
	}
	if wrong := (&result{trials: right}).wrong(); len(wrong) > 0 {
		t.Errorf("wrong: %q, want nothing", wrong)
	}
	for _, one := range []*trial{
		tried(dies, kinds.Mutex, true, true, "two inside"), tried(standsStill, kinds.Redsync, false, false, "it was quick"),
	} {
		r := result{trials: append(right, one)}
		if wrong := strings.Join(r.wrong(), "; "); !strings.Contains(wrong, one.kind.Name) || !strings.Contains(wrong, one.outcome) {
			t.Errorf("wrong: %q, want %s with %q", wrong, one.kind.Name, one.outcome)
		}
	}
}
