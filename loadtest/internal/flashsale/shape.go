package flashsale

import (
	"time"

	"inventory/loadtest/internal/load"
)

// The phases that have a meaning by their names.
const (
	Trickle  = "trickle"   // before the sale opens
	Spike    = "spike"     // new orders, as in every phase of another name
	Storm    = "storm"     // retries alone
	CoolDown = "cool-down" // half new orders, half retries
)

// opening is when the sale opens: when the first phase begins that is no trickle.
func opening(phases []load.Phase) time.Duration {
	var at time.Duration
	for _, p := range phases {
		if p.Name != Trickle {
			break
		}
		at += p.Length
	}
	return at
}

// retries is the share of retries of a phase.
func retries(phase string) float64 {
	switch phase {
	case Storm:
		return 1
	case CoolDown:
		return 0.5
	}
	return 0
}

// span is the time of a phase in a round. Neighbours of one name are one span.
type span struct {
	name     string
	from, to time.Duration
}

func spans(phases []load.Phase) (all []span) {
	var at time.Duration
	for _, p := range phases {
		if n := len(all); n > 0 && all[n-1].name == p.Name {
			all[n-1].to += p.Length
		} else {
			all = append(all, span{p.Name, at, at + p.Length})
		}
		at += p.Length
	}
	return all
}

// nameAt is the phase of a time.
func nameAt(all []span, at time.Duration) string {
	for _, s := range all {
		if at < s.to {
			return s.name
		}
	}
	return ""
}
