//go:build !unix

package lockbench

import (
	"errors"
	"time"
)

// cpuTime is not known here.
func cpuTime() (time.Duration, error) {
	return 0, errors.New("the processor time is measured on Unix alone")
}
