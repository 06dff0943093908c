package servers

import (
	"errors"
	"fmt"
	"os"
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

// Folder makes a temporary folder, which Close removes.
func (c *Closers) Folder() (string, error) {
	folder, err := os.MkdirTemp("", "inventory-loadtest-")
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	c.OnClose(func() error { return os.RemoveAll(folder) })
	return folder, nil
}
