package checks_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSystemdUnit: its settings are flags of serve, wrong settings do not restart it, and it has few rights.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("systemd/inventory.service")
	if err != nil {
		t.Fatal(err)
	}
	environment, err := os.ReadFile("systemd/inventory.env")
	if err != nil {
		t.Fatal(err)
	}
	variables := regexp.MustCompile(`INVENTORY_[A-Z_]+`).FindAllString(string(unit)+string(environment), -1)
	if len(variables) < 5 {
		t.Errorf("settings %q", variables)
	}
	areSettings(t, variables)
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
