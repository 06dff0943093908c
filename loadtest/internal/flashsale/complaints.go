package flashsale

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"inventory/loadtest/internal/openloop"
)

// wrong is what must not be, in one line.
func (s *sale) wrong() error {
	var errs []string
	if all := s.complaints(); len(all) > 0 {
		errs = append(errs, fmt.Sprintf("the audit failed: %d problems, first: %s", len(all), all[0]))
	}
	var failed int64
	var first error
	for _, r := range s.rounds {
		c := r.account.counts
		failed += c[openloop.Refused] + c[openloop.Failed] + c[openloop.Unreached] + c[openloop.Unknown]
		if first == nil {
			first = cmp.Or(r.result.FirstError, r.result.FirstRefusal)
		}
	}
	if failed > 0 {
		errs = append(errs, fmt.Sprintf("%d requests failed, were refused for no reason of a sale, or got no answer, first: %v", failed, first))
	}
	if len(errs) == 0 {
		return nil
	}
	return errors.New(strings.Join(errs, "; and "))
}

// complaints are those of all rounds.
func (s *sale) complaints() (lines []string) {
	if s.unaudited != nil {
		return []string{"the rows could not be read: " + s.unaudited.Error()}
	}
	for _, r := range s.rounds {
		for _, line := range r.account.complaints.Tell() {
			lines = append(lines, fmt.Sprintf("SKU %s: %s", r.sku, line))
		}
	}
	return lines
}
