//go:build !unix

package chaos

import (
	"context"
	"errors"

	"inventory/loadtest/internal/report"
)

// Run needs processes that can be stopped, and so a unix.
func Run(context.Context, Config) (report.Document, error) {
	return report.Document{}, errors.New("chaos needs processes that can be stopped: run it on Linux or macOS")
}
