package load

import (
	"errors"
	"fmt"
	"strings"

	"inventory/loadtest/internal/history"
)

// Wrong is what must not be, in one line: promises that were broken, and requests that came to one of some outcomes.
func Wrong(broken []history.Violation, results []*Result, bad ...Outcome) error {
	var errs []string
	if len(broken) > 0 {
		errs = append(errs, fmt.Sprintf("the audit failed: %d problems, first: %s: %s", len(broken), broken[0].Name, broken[0].What))
	}
	if failed := CountAll(results); failed.Of(bad...) > 0 {
		var first error
		for _, r := range results {
			if first == nil {
				first = r.FirstError(bad...)
			}
		}
		errs = append(errs, fmt.Sprintf("%d requests failed or got no answer, first: %v", failed.Of(bad...), first))
	}
	if len(errs) == 0 {
		return nil
	}
	return errors.New(strings.Join(errs, "; and "))
}
