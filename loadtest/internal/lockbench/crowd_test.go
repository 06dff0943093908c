package lockbench

import (
	"testing"

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
		if err := on.Stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := on.AddForLocks(t.Context()); err != nil {
		t.Fatal(err)
	}
	const clients, callers, times = 2, 4, 3
	b := &bench{servers: on.URLs}
	for _, k := range b.crowdKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			f, err := openFleet(t.Context(), k, on.URLs, clients, callers)
			if err != nil {
				t.Fatal(err)
			}
			tally := drive(t.Context(), load{times: times}, f.handles("met", callers))
			if err := f.close(); err != nil {
				t.Error(err)
			}
			if tally.violations != 0 || tally.err != nil || tally.all != callers*times || f.commands() < tally.all {
				t.Errorf("%+v, after %d commands", tally, f.commands())
			}
		})
	}
}
