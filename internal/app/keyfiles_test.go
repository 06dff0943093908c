package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inventory/internal/access"
)

// TestKeyFilesThatOthersMayWrite: each is warned of once, until its mode is mended.
func TestKeyFilesThatOthersMayWrite(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, config := range map[string]Config{
		"API keys": {Access: access.Config{KeysFile: name}}, "tokens": {Access: access.Config{Tokens: access.TokenConfig{KeyFile: name}}},
		"certificate": {TLSCert: name}, "its key": {TLSKey: name},
	} {
		var log bytes.Buffer
		a := &App{config: config, warnings: newWarnings(slog.New(slog.NewTextHandler(&log, nil)))}
		for _, step := range []struct {
			mode  os.FileMode
			warns bool
		}{{0o600, false}, {0o644, false}, {0o646, true}, {0o666, true}, {0o620, true}, {0o640, false}} {
			if err := os.Chmod(name, step.mode); err != nil {
				t.Fatal(err)
			}
			a.checkKeyFiles()
			if _, warns := a.warnings.list()[writableCode]; warns != step.warns {
				t.Errorf("%s of mode %o: warned %t, want %t", what, step.mode, warns, step.warns)
			}
		}
		if lines := strings.Count(log.String(), "level=WARN"); lines != 1 || !strings.Contains(log.String(), name) {
			t.Errorf("%s: %d warnings, want 1 that names %s: %s", what, lines, name, log.String())
		}
	}
}
