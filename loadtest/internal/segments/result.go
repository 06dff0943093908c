package segments

import (
	"errors"
	"fmt"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/report"
)

// Result is what a run measured. A case that was not wanted is nil.
type Result struct {
	Segments []Entry
	Stopped  *Stopped
	Overload *Overload
	SKUs     int      // that were audited
	Wrong    []string // what does not add up
	Settings
	Started     time.Time // zero: nothing could be measured
	Elapsed     time.Duration
	Interrupted bool
	Unfinished  string // the case that was stopped before its last round; "": none
	Environment report.Environment
}

// Settings are what the figures depend on beside the segments and the processes.
type Settings struct {
	Rounds        int     `json:"rounds"`
	WindowSeconds float64 `json:"window_seconds"`
	Callers       int     `json:"callers"`
	Lock          string  `json:"lock"` // its kind
}

// settings are those of a run.
func (c Config) settings() Settings {
	lock := c.Lock
	if lock == "" {
		lock = app.LockReentrant
	}
	return Settings{Rounds: c.Scale.Rounds, WindowSeconds: c.Scale.Window.Seconds(), Callers: c.Scale.Callers, Lock: lock}
}

// String is how figures came about.
func (s Settings) String() string {
	return fmt.Sprintf("rounds: %d of %.3g s, %d callers in all, lock %s", s.Rounds, s.WindowSeconds, s.Callers, s.Lock)
}

// Targets are what the service has to reach.
func (r Result) Targets() []report.Target {
	targets := []report.Target{}
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
