package segments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"inventory/internal/app"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/servers"
)

// Result is what a run measured. A case that was not wanted is nil.
type Result struct {
	Segments    []Entry
	Stopped     *Stopped
	Overload    *Overload
	SKUs        int      // that were audited
	Wrong       []string // what does not add up
	Environment Environment
}

// Environment is what the figures depend on beside the segments and the processes.
type Environment struct {
	servers.Environment
	Rounds        int     `json:"rounds"`
	WindowSeconds float64 `json:"window_seconds"`
	Callers       int     `json:"callers"`
	Lock          string  `json:"lock"` // its kind; "" is the service's default
}

// String is the environment in a line.
func (e Environment) String() string {
	lock := e.Lock
	if lock == "" {
		lock = app.LockReentrant
	}
	return fmt.Sprintf("Rounds: %d of %.3g s, %d callers in all, lock %s. %v.", e.Rounds, e.WindowSeconds, e.Callers, lock, e.Environment)
}

// Targets are what the service has to reach.
func (r Result) Targets() []compare.Target {
	targets := []compare.Target{}
	if r.Stopped != nil {
		targets = append(targets, r.Stopped.targets...)
	}
	if r.Overload != nil {
		targets = append(targets, r.Overload.targets...)
	}
	return targets
}

// AuditOK tells whether the rows add up, and agree with what callers were told.
func (r Result) AuditOK() bool { return len(r.Wrong) == 0 }

// Err tells in one line what must not be: rows that do not add up. A target that was missed is a result.
func (r Result) Err() error {
	var errs []error
	for _, wrong := range r.Wrong {
		errs = append(errs, fmt.Errorf("audit: %s", wrong))
	}
	return errors.Join(errs...)
}

// PrintJSON prints one object.
func (r Result) PrintJSON(to io.Writer) error {
	out := struct {
		Segments    []Entry          `json:"segments"`
		Stopped     *Stopped         `json:"stopped"`
		Overload    *Overload        `json:"overload"`
		Targets     []compare.Target `json:"targets"`
		SKUs        int              `json:"skus_audited"`
		AuditOK     bool             `json:"audit_ok"`
		Wrong       []string         `json:"wrong"`
		Environment Environment      `json:"environment"`
	}{r.Segments, r.Stopped, r.Overload, r.Targets(), r.SKUs, r.AuditOK(), r.Wrong, r.Environment}
	if out.Segments == nil {
		out.Segments = []Entry{}
	}
	if out.Wrong == nil {
		out.Wrong = []string{}
	}
	return json.NewEncoder(to).Encode(out)
}
