package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// With an unknown or an empty setting nothing starts: the setting may have been meant as a key.
func TestSettingsThatNobodyMeant(t *testing.T) { // not parallel: it sets variables
	for name, c := range map[string]struct {
		variable, value string
		args            []string
		says            []string
	}{
		"misspelt":              {"INVENTORY_API_KYES", "keys", []string{"serve"}, []string{"INVENTORY_API_KYES", "there is no such setting"}},
		"misspelt, of a secret": {"INVENTORY_DATABSE_URL", "postgres://" + canary, []string{"serve"}, []string{"there is no such setting"}},
		"in lower case":         {"inventory_listen", "127.0.0.1:0", []string{"serve"}, []string{"there is no such setting"}},
		"of an older program":   {"INVENTORY_TLS_CERT_FILE", "cert", []string{"serve"}, []string{"there is no such setting"}},
		"migrate":               {"INVENTORY_DB_URL", canary, []string{"migrate", "up"}, []string{"INVENTORY_DB_URL"}},
		"audit":                 {"INVENTORY_DB_URL", canary, []string{"audit"}, []string{"INVENTORY_DB_URL"}},
		"outbox":                {"INVENTORY_DB_URL", canary, []string{"outbox", "on"}, []string{"INVENTORY_DB_URL"}},
		"key":                   {"INVENTORY_FIEL", "keys", []string{"key", "new", "--name", "a", "--scope", "buyer"}, []string{"INVENTORY_FIEL"}},
		"demo":                  {"INVENTORY_BUYRES", "5", []string{"demo"}, []string{"INVENTORY_BUYRES"}},
		"empty keys":            {"INVENTORY_API_KEYS", "", []string{"serve"}, []string{"INVENTORY_API_KEYS is empty"}},
		"blank keys":            {"INVENTORY_API_KEYS", " ", []string{"serve"}, []string{"INVENTORY_API_KEYS is empty"}},
		"empty keys, old name":  {"INVENTORY_API_KEYS_FILE", "", []string{"serve"}, []string{"INVENTORY_API_KEYS_FILE is empty"}},
		"empty database":        {"INVENTORY_DATABASE_URL", "", []string{"migrate", "up"}, []string{"INVENTORY_DATABASE_URL is empty"}},
		"empty anonymous":       {"INVENTORY_ALLOW_ANONYMOUS", "", []string{"serve"}, []string{"INVENTORY_ALLOW_ANONYMOUS"}},
		"empty limit":           {"INVENTORY_RATE_LIMIT", "", []string{"serve"}, []string{"INVENTORY_RATE_LIMIT"}},
		"a key as its file":     {"INVENTORY_API_KEYS", "inv_A_" + canary, []string{"serve"}, []string{"this is a key itself"}},
		"empty flag":            {"", "", []string{"serve", "--api-keys", ""}, []string{"--api-keys is empty"}},
		"empty flag of tokens":  {"", "", []string{"serve", "--jwt-issuer="}, []string{"--jwt-issuer is empty"}},
		"empty flag of TLS":     {"", "", []string{"serve", "--tls-cert=", "--tls-key="}, []string{"--tls-cert is empty"}},
		"empty URL":             {"", "", []string{"demo", "--url", ""}, []string{"--url is empty"}},
		"empty file of keys":    {"", "", []string{"key", "new", "--name", "a", "--scope", "buyer", "--file", ""}, []string{"--file is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			t.Chdir(t.TempDir())
			ended, cancel := context.WithCancel(t.Context())
			cancel() // if a service starts anyway, it ends at once
			wrongUse(t, invokeIn(ended, t, c.args...), c.says...)
			if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
				t.Errorf("left behind %v, %v", left, err)
			}
		})
	}
}

// A variable is named like its flag, and its former name is read for one release. The program ignores variables that
// Kubernetes sets for services with the program's name.
func TestNamesOfBefore(t *testing.T) { // not parallel: it sets variables
	file := filepath.Join(t.TempDir(), "keys")
	newKey(t, file, "shop", "buyer")
	for _, name := range []string{
		"INVENTORY_SERVICE_HOST", "INVENTORY_SERVICE_PORT", "INVENTORY_SERVICE_PORT_HTTP", "INVENTORY_PORT", "INVENTORY_PORT_8080_TCP",
		"INVENTORY_PORT_8080_TCP_ADDR", "INVENTORY_ADMIN_SERVICE_HOST", "INVENTORY_ADMIN_PORT",
	} {
		t.Setenv(name, "tcp://10.0.0.1:8080")
	}
	t.Setenv("INVENTORY_LISTEN", "127.0.0.1:0")
	t.Setenv("INVENTORY_ADMIN_LISTEN", "127.0.0.1:0")
	t.Setenv("INVENTORY_DATABASE_URL", sqliteFile(t))
	for _, name := range []string{"INVENTORY_API_KEYS_FILE", "INVENTORY_API_KEYS"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, file)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if r := invokeIn(ended, t, "serve"); strings.Contains(r.err, "nobody is asked for a key") || r.code == statusUsage {
				t.Errorf("exit status %d: %s", r.code, r.err)
			}
		})
	}
}

// TestSettingsOfDeploymentsAreFlags: each variable in the files of deploy/, and of the image, is one of a flag of serve.
func TestSettingsOfDeploymentsAreFlags(t *testing.T) {
	t.Parallel()
	help, known := invoke(t, "serve", "--help").out, make(map[string]bool)
	for _, flag := range regexp.MustCompile(`\$(INVENTORY_\w+)`).FindAllStringSubmatch(help, -1) {
		known[flag[1]] = true
	}
	setting := regexp.MustCompile(`\bINVENTORY_\w+`)
	for pattern, least := range map[string]int{
		"Dockerfile": 2, "docker-compose.yml": 5, "deploy/compose/*": 3, "deploy/kubernetes/*": 6, "deploy/systemd/*": 5,
	} {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		used := 0
		for _, file := range files {
			for _, name := range setting.FindAllString(document(t, file), -1) {
				if used++; !known[name] {
					t.Errorf("%s has %s, which is no setting", file, name)
				}
			}
		}
		if used < least {
			t.Errorf("%s: %d settings, want %d and more", pattern, used, least)
		}
	}
}

// An empty cursor reads from the beginning, so a script's first call is like the others.
func TestAnEmptyCursorIsTheBeginning(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	for _, args := range [][]string{{"migrate", "up"}, {"outbox", "on"}, {"outbox", "read", "--after", ""}} {
		if r := invoke(t, append(args, "--database-url", file)...); r.code != 0 {
			t.Errorf("%q: exit status %d: %s", args, r.code, r.err)
		}
	}
}
