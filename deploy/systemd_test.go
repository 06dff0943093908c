package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSystemdUnit: its settings are flags of serve, it is not started again after wrong use, and systemd reads it.
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
	for _, want := range []string{"RestartPreventExitStatus=2", "TimeoutStopSec=30s", "NoNewPrivileges=yes", "ProtectSystem=strict"} {
		if !strings.Contains(string(unit), "\n"+want+"\n") {
			t.Errorf("the unit has no %s", want)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze here: systemd has not read the unit")
	}
	file := filepath.Join(t.TempDir(), "inventory.service")
	text := strings.ReplaceAll(string(unit), "/usr/local/bin/inventory", "/bin/true")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", file).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "inventory.service") {
			t.Errorf("systemd: %s", line)
		}
	}
	if err != nil {
		t.Logf("systemd-analyze: %v", err) // about units of this machine, too
	}
}
