//go:build !unix

package chaos

import (
	"context"
	"errors"
)

// Run needs processes that can be stopped, and so a unix.
func Run(_ context.Context, c Config) (*Result, error) {
	return newResult(c), errors.New("chaos needs processes that can be stopped: run it on Linux or macOS")
}
