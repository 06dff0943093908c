package servers

import (
	"strings"
	"testing"
)

func TestTheMachineTellsWhatItIs(t *testing.T) {
	t.Parallel()
	e := Machine(t.Context())
	if !strings.Contains(e.Of("system"), "/") || !strings.HasPrefix(e.Of("Go"), "go1") || strings.ContainsAny(e.String(), "\n\t:") {
		t.Errorf("%+v", e)
	}
}
