package checks_test

import (
	"os"
	"strings"
	"testing"
)

// TestSystemdUnit: wrong settings do not restart it, and it has few rights.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("systemd/inventory.service")
	if err != nil {
		t.Fatal(err)
	}
	// Credentials are copied when the service starts: SIGHUP would read the same copy again, and a key that was taken out would be
	// let in on.
	if strings.Contains(string(unit), "\nLoadCredential") {
		t.Error("a reload does not see a new file of keys")
	}
	for _, want := range []string{"RestartPreventExitStatus=2", "TimeoutStopSec=30s", "NoNewPrivileges=yes", "ProtectSystem=strict"} {
		if !strings.Contains(string(unit), "\n"+want+"\n") {
			t.Errorf("the unit has no %s", want)
		}
	}
}
