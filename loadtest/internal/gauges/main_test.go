package gauges

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/internal/cli"
	"inventory/loadtest/internal/target"
)

// What the test program does as a process of its own.
const (
	serves = "serve"                // is the service
	burns  = "burn-processor-time"  // uses it, and reports that
	begets = "let-a-child-burn"     // has a child that does, and that has ended by the time of the report
	burnt  = 500 * time.Millisecond // of processor time
)

func TestMain(m *testing.M) {
	logging.Disable()
	if len(os.Args) == 2 && os.Args[1] == serves {
		if err := target.Serve(context.Background(), os.Stdin, cli.Streams{Out: os.Stdout, Err: os.Stderr}); err != nil {
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 2 && (os.Args[1] == burns || os.Args[1] == begets) {
		if err := work(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// go-redis tries to dial a server that has ended for a moment after its client was closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// work waits for a line, works, reports that, and stays until its input is closed.
func work(what string) error {
	lines := bufio.NewScanner(os.Stdin)
	if !lines.Scan() {
		return errors.New("nobody said go")
	}
	if what == begets {
		child := exec.Command(os.Args[0], burns)
		stdin, err := child.StdinPipe()
		if err != nil {
			return err
		}
		if err := child.Start(); err != nil {
			return err
		}
		_, err = fmt.Fprintln(stdin)
		if err := errors.Join(err, stdin.Close(), child.Wait()); err != nil {
			return err
		}
	} else if err := burn(burnt.Seconds()); err != nil {
		return err
	}
	fmt.Println("done")
	for lines.Scan() {
	}
	return lines.Err()
}

// burn uses as much processor time as that, in seconds.
func burn(much float64) error {
	used := alone(os.Getpid())
	first, err := used(context.Background())
	for now := first; err == nil && now-first <= much; {
		now, err = used(context.Background())
	}
	return err
}
