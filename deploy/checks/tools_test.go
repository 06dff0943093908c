//go:build deploytools

package checks_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestDeployKustomizeBuilds: kubectl makes objects of the files, and all have the service's label.
func TestDeployKustomizeBuilds(t *testing.T) {
	t.Parallel()
	built, err := exec.CommandContext(t.Context(), "kubectl", "kustomize", "kubernetes").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, built)
	}
	for part := range strings.SplitSeq(string(built), "\n---\n") {
		text, err := yaml.YAMLToJSON([]byte(part))
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			Kind     string
			Metadata metav1.ObjectMeta
			Spec     struct{ Selector json.RawMessage }
		}
		if err := json.Unmarshal(text, &object); err != nil || object.Metadata.Labels["app.kubernetes.io/name"] != "inventory" {
			t.Errorf("%v: %s", err, part)
		}
		if object.Kind == "Service" || object.Kind == "PodMonitor" {
			if !strings.Contains(string(object.Spec.Selector), `"inventory"`) {
				t.Errorf("%s selects %s", object.Kind, object.Spec.Selector)
			}
		}
	}
}

// TestDeploySystemdReadsTheUnit: systemd reports nothing about the unit.
func TestDeploySystemdReadsTheUnit(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("systemd/inventory.service")
	if err != nil {
		t.Fatal(err)
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
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) { // its status is also about units of this machine
		t.Fatal(err)
	}
}
