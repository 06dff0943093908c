package target

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"inventory/loadtest/internal/worker"
)

// TestMain makes the test program the service that it starts.
func TestMain(m *testing.M) {
	worker.Main(map[string]worker.Work{Worker: Serve})
	os.Exit(m.Run())
}

// TestTheServiceCollectsGarbageAsTheProductDoes, which the lab compares with others.
func TestTheServiceCollectsGarbageAsTheProductDoes(t *testing.T) {
	t.Setenv("GOGC", "") // which the product obeys
	service, err := Open(t.Context(), Config{})
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
