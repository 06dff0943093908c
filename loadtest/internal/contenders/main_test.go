package contenders

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/internal/cli"
	"inventory/loadtest/internal/target"
)

// These make the test program the processes that it starts.
const (
	asWorker  = "contenders-worker"
	asService = "contenders-service"
)

func TestMain(m *testing.M) {
	logging.Disable()
	if len(os.Args) == 2 && (os.Args[1] == asWorker || os.Args[1] == asService) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		err := error(nil)
		if os.Args[1] == asWorker {
			err = Work(ctx, os.Stdin, os.Stdout)
		} else {
			err = target.Serve(ctx, os.Stdin, cli.Streams{Out: os.Stdout, Err: os.Stderr})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
