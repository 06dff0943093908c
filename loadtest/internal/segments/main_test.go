package segments

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/loadtest/internal/crowd"
)

// asWorker makes the test program the worker that it starts.
const asWorker = "crowd-worker"

func TestMain(m *testing.M) {
	logging.Disable()
	if len(os.Args) == 2 && os.Args[1] == asWorker {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := crowd.Work(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
