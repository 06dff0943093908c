package target

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"inventory/internal/cli"
)

const asService = "service"

// TestMain makes the test program the service that it starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asService {
		if err := Serve(context.Background(), os.Stdin, cli.Streams{Out: os.Stdout, Err: os.Stderr}); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestTheServiceCollectsGarbageAsTheProductDoes, which the lab compares with others.
func TestTheServiceCollectsGarbageAsTheProductDoes(t *testing.T) {
	t.Setenv("GOGC", "") // which the product obeys
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	service, err := Open(t.Context(), Config{Process: Process{Command: []string{program, asService}, Logs: io.Discard}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(service.AdminURLs[0] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(text), "\ngo_gc_gogc_percent 400\n") {
		t.Errorf("%v in\n%s", err, text)
	}
	if err := errors.Join(answer.Body.Close(), service.Close()); err != nil {
		t.Error(err)
	}
}
