//go:build unix && !linux && !darwin

package servertest

// releaseMemory does nothing: here a killed server's System V segment stays
// until the next restart of its cluster or of the machine.
func (p *Postgres) releaseMemory() error { return nil }
