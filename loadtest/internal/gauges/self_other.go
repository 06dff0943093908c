//go:build !unix

package gauges

import (
	"context"
	"errors"
)

// self is this process, which sends the load.
type self struct{}

func (self) name() string { return "the generator's process" }

func (self) read(context.Context, *Reading) error {
	return errors.New("the processor time is measured on Unix alone")
}

func (self) close(context.Context) error { return nil }
