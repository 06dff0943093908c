package locking

import (
	"time"

	"inventory/internal/locking/internal/scripts"
)

// A kind of lock is what its scripts say. The registry, the watchdog and the cleaner know no more of it.
type kind interface {
	// is is what an Observer is told.
	is() Kind

	// newAsker asks for locks that are in order, of one bucket and of equal kinds, each named once.
	newAsker(acq *acquisition, run []*part) asker

	// renewal puts the expiry of a grant off.
	renewal(g *grant, lease time.Duration) scripts.Call

	// settling tells the server what is in a settlement.
	settling(s *settlement) scripts.Call

	// raising asks for a token above n.
	raising(g *grant, n int64) scripts.Call

	// inspecting reads the state of a lock.
	inspecting(a *lock) scripts.Call

	// forcing takes a lock from whoever holds it.
	forcing(a *lock) scripts.Call
}
