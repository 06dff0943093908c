package policy

import (
	"testing"
	"time"
)

// A waiter asks for a lock when it will be free, if that is soon, but never at once. Otherwise a poll makes up for a lost wake-up.
func TestAfterBusy(t *testing.T) {
	for _, c := range []struct {
		busy      time.Duration
		heartbeat bool
		want      time.Duration
	}{
		{0, false, Sooner},
		{time.Millisecond, true, Sooner},
		{2 * Sooner, false, 2 * Sooner},
		{2 * Sooner, true, 2 * Sooner},
		{Poll, false, Poll},
		{time.Hour, false, Poll},
		{time.Hour, true, Look},
	} {
		if got := AfterBusy(c.busy, c.heartbeat); got != c.want {
			t.Errorf("busy for %s, heartbeat %t: ask after %s, want %s", c.busy, c.heartbeat, got, c.want)
		}
	}
}

// A lease survives renewals that fail, and a failed one is repeated at once, but not continuously.
func TestAfterRenewal(t *testing.T) {
	for _, lease := range []time.Duration{10 * time.Millisecond, time.Second, time.Minute, time.Hour} {
		well, failed := AfterRenewal(lease, true), AfterRenewal(lease, false)
		if 2*well > lease || failed >= well || failed <= 0 || failed > time.Second {
			t.Errorf("a lease of %s is renewed after %s, and after %s where that failed", lease, well, failed)
		}
	}
}

// A waiter is not dropped while one heartbeat, or its answer, is lost.
func TestAWaiterOutlivesALostHeartbeat(t *testing.T) {
	if 2*Poll >= WaiterLife || Poll+Heartbeat >= WaiterLife {
		t.Errorf("heartbeats every %s with answers in %s, and a waiter lives for %s", Poll, Heartbeat, WaiterLife)
	}
}

func TestJitter(t *testing.T) {
	for range 1000 {
		if p := Jitter(time.Second); p < time.Second/2 || p >= time.Second {
			t.Fatalf("%s of a second", p)
		}
	}
}
