package servers

import (
	"errors"
	"slices"
)

// Closers undo what was done, the last first.
type Closers []func() error

// OnClose adds what undoes something.
func (c *Closers) OnClose(undo func() error) { *c = append(*c, undo) }

// Close undoes all of it, once.
func (c *Closers) Close() error {
	var errs []error
	for _, undo := range slices.Backward(*c) {
		errs = append(errs, undo())
	}
	*c = nil
	return errors.Join(errs...)
}
