package capacity

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"inventory/internal/cli"
	"inventory/loadtest/internal/target"
)

const asService = "service"

// TestMain makes the test program the service that it starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asService {
		if err := target.Serve(context.Background(), os.Stdin, cli.Streams{Out: os.Stdout, Err: os.Stderr}); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
