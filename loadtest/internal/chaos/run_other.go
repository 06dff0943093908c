//go:build !unix

package chaos

import (
	"context"
	"errors"
)

// Run needs processes that can be stopped, and so a unix.
func Run(context.Context, Config) (*Result, error) {
	return &Result{}, errors.New("chaos needs processes that can be stopped: run it on Linux or macOS")
}
