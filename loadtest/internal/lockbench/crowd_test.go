package lockbench

import (
	"testing"

	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/servers"
)

// TestEverybodyKeepsOthersOut lets a few callers of two clients meet at a lock of each kind.
func TestEverybodyKeepsOthersOut(t *testing.T) {
	t.Parallel()
	on, err := servers.Open(t.Context(), servers.URLs{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := on.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := on.AddForLocks(t.Context()); err != nil {
		t.Fatal(err)
	}
	const clients, callers, times = 2, 4, 3
	if err := on.MakeDatabase(t.Context(), "locks_"); err != nil {
		t.Fatal(err)
	}
	if err := kinds.Prepare(t.Context(), on.URLs); err != nil {
		t.Fatal(err)
	}
	for _, k := range everybody(on.URLs) {
		t.Run(k.title(), func(t *testing.T) {
			t.Parallel()
			f, err := openFleet(t.Context(), k, on.URLs, clients, callers)
			if err != nil {
				t.Fatal(err)
			}
			tally := f.drive(t.Context(), load{Times: times}, f.locks("met", callers))
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if tally.Violations != 0 || tally.err != nil || tally.All != callers*times || tally.Commands < tally.All {
				t.Errorf("%+v, after %d commands", tally, tally.Commands)
			}
		})
	}
}
