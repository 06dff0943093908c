package soak

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
)

// complaints are what does not add up.
func (s *soak) complaints() []string {
	if s.unaudited != nil {
		return []string{"the rows could not be read: " + s.unaudited.Error()}
	}
	return s.account.complaints.Tell()
}

// wrong is what must not be, in one line.
func (s *soak) wrong() error {
	var errs []string
	if all := s.complaints(); len(all) > 0 {
		errs = append(errs, fmt.Sprintf("the audit failed: %d problems, first: %s", len(all), all[0]))
	}
	c := s.result.All()
	if failed := c[openloop.Failed] + c[openloop.Unreached] + c[openloop.Unknown]; failed > 0 {
		errs = append(errs, fmt.Sprintf("%d requests failed or got no answer, first: %v", failed, s.result.FirstError))
	}
	if len(errs) == 0 {
		return nil
	}
	return errors.New(strings.Join(errs, "; and "))
}

// Above these the generator is said not to have kept up.
const (
	mostLag    = 50. // ms, p99 of all that was sent
	mostOwnLag = 10. // ms, p99 of what a free connection waited for
)

// warnings tell why figures may not be what they seem.
func (s *soak) warnings() (lines []string) {
	all, own := s.result.Lags()
	late, ownLate := compare.Milliseconds(all.Quantile(99)), compare.Milliseconds(own.Quantile(99))
	switch {
	case ownLate > mostOwnLag:
		lines = append(lines, fmt.Sprintf("the generator did not keep up: 1%% of its sends were %s ms late or more although a connection was free; "+
			"latencies have that in them, and more than the service's slowness", report.Number(ownLate)))
	case late > mostLag:
		lines = append(lines, fmt.Sprintf("1%% of the sends were %s ms late or more because all %d connections were busy; "+
			"latencies have that in them; --connections raises how much can be under way", report.Number(late), s.Connections))
	}
	c := s.result.All()
	if c[openloop.Dropped] > 0 {
		lines = append(lines, fmt.Sprintf("%s requests were dropped: no connection was free within %v of their time, so less was sent than planned",
			humanize.Comma(c[openloop.Dropped]), openloop.DefaultMaxLag))
	}
	if c[openloop.Overloaded] > 0 {
		lines = append(lines, fmt.Sprintf("%s requests were refused as overloaded: the rate is more than the service can do", humanize.Comma(c[openloop.Overloaded])))
	}
	return lines
}

// own are the members of the report that only this scenario has.
type own struct {
	Stream   string                      `json:"stream_sha256"`
	Accepted int64                       `json:"orders_accepted"`
	Rows     int64                       `json:"deductions_in_rows"`
	Requests map[string]map[string]int64 `json:"requests"` // by kind and by outcome
	Codes    map[string]int64            `json:"codes"`    // of refusals and failures
}

func (s *soak) own() own {
	o := own{Stream: s.sum, Accepted: s.accepted(), Rows: s.account.rows, Requests: map[string]map[string]int64{}, Codes: s.result.Codes}
	for k, t := range s.tallies() {
		by := map[string]int64{}
		for _, outcome := range append(openloop.Outcomes(), openloop.NotSent) {
			by[outcome.String()] = t.counts[outcome]
		}
		o.Requests[kind(k).String()] = by
	}
	return o
}
