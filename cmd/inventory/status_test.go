package main

import (
	"encoding/json"
	"net"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"inventory/internal/app"
)

// TestFatalErrorsAreJSONWhereTheLogIs: errors of the configuration, and of servers.
func TestFatalErrorsAreJSONWhereTheLogIs(t *testing.T) { // not parallel: it sets variables
	file := sqliteFile(t)
	for name, c := range map[string]struct {
		args        []string
		environment string
		status      int
	}{
		"a configuration":            {[]string{"serve", "--log-format", "json", "--database-url", "mysql://h/x"}, "", statusUsage},
		"a server that is not there": {[]string{"serve", "--log-format", "json", "--database-url", file, "--redis-url", "redis://127.0.0.1:1"}, "", statusFailed},
		"by the environment":         {[]string{"serve", "--database-url", file, "--redis-url", "redis://127.0.0.1:1"}, "json", statusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			if c.environment != "" {
				t.Setenv("INVENTORY_LOG_FORMAT", c.environment)
			}
			r := invoke(t, c.args...)
			for line := range strings.Lines(r.err) {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
			var last struct {
				Level, Error string
				Status       int `json:"exit_status"`
			}
			lines := strings.Split(strings.TrimSpace(r.err), "\n")
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Error == "" || last.Level != "ERROR" {
				t.Errorf("%v: %s", err, r.err)
			}
			if r.code != c.status || last.Status != c.status {
				t.Errorf("exit status %d, %s", r.code, r.err)
			}
		})
	}
}

// TestAVariableOfTracesThatNeverWorks ends the process for good, as all other variables do.
func TestAVariableOfTracesThatNeverWorks(t *testing.T) { // not parallel: it sets variables
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "a,b")
	if r := invoke(t, "serve", "--database-url", sqliteFile(t), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"); r.code != statusUsage {
		t.Errorf("exit status %d, %s", r.code, r.err)
	}
}

// TestAPortForTheBrowserThatIsInUse may be free another time.
func TestAPortForTheBrowserThatIsInUse(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	r := invoke(t, "demo", "--watch", "--watch-listen", taken.Addr().String())
	if r.code != statusFailed || !strings.Contains(r.err, taken.Addr().String()) {
		t.Errorf("exit status %d, %s", r.code, r.err)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if r := spawn(t, "--version"); r.code != 0 || !regexp.MustCompile(`^`+regexp.QuoteMeta(app.Release)+` \(revision \S+, go1\S*, \w+/\w+\)\n$`).MatchString(r.out) {
		t.Errorf("exit status %d, %s%s", r.code, r.out, r.err)
	}
}

// TestHelpIsInGroupsWithExamples: each flag of serve stands under a heading for its purpose.
func TestHelpIsInGroupsWithExamples(t *testing.T) {
	t.Parallel()
	help := invoke(t, "serve", "--help").out
	for _, heading := range []string{"Servers", "Listeners", "Keys and TLS", "Tokens of buyers", "Limits", "Time-outs and stopping", "Logs", "Examples:"} {
		if !strings.Contains(help, "\n"+heading+"\n") {
			t.Errorf("serve --help has no %q", heading)
		}
	}
	_, flags, _ := strings.Cut(help, "\nFlags:\n")
	flags, _, _ = strings.Cut(flags, "\n\n")
	if n := strings.Count(flags, "\n"); n > 1 {
		t.Errorf("flags without a heading: %s", flags)
	}
	for _, command := range []string{"demo", "migrate", "audit", "outbox", "key new", "completion"} {
		if r := invoke(t, append(strings.Fields(command), "--help")...); !strings.Contains(r.out, "inventory "+command) || !strings.Contains(r.out, "Examples:") {
			t.Errorf("%s --help has no example: %s", command, r.out)
		}
	}
	for line := range strings.Lines(help) {
		if width := len([]rune(strings.TrimSuffix(line, "\n"))); width > 80 && !strings.Contains(line, "    inventory") && !strings.Contains(line, "INVENTORY_DATABASE_URL=") {
			t.Errorf("a line of %d: %s", width, line)
		}
	}
}

// TestCompletionInBash reads what a real bash would offer.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	script := invoke(t, "completion", "bash").out
	for line, want := range map[string][]string{
		"inventory s":                          {"serve"},
		"inventory migrate ":                   {"up", "down", "status"},
		"inventory serve --lo":                 {"--lock", "--log-format", "--log-level"},
		"inventory serve --lock re":            {"reentrant", "redlock"},
		"inventory serve --lock none --drain":  {"--drain-timeout"},
		"inventory completion ":                {"bash", "zsh", "fish"},
		"inventory serve --listen ":            nil,
		"inventory key new --name me --scope ": {"buyer", "admin"},
		"inventory serve --api-keys main_te":   {"main_test.go"},
	} {
		words := strings.Split(line, " ")
		ask := script + "\nCOMP_WORDS=(" + quoted(words) + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_inventory\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
		out, err := exec.CommandContext(t.Context(), "bash", "-euc", ask).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		got := strings.Fields(string(out))
		for _, word := range want {
			if !slices.Contains(got, word) {
				t.Errorf("%q offers %q, without %s", line, got, word)
			}
		}
		if len(got) > max(len(want), 20) || want == nil && len(got) > 0 {
			t.Errorf("%q offers %q", line, got)
		}
	}
}

// TestCompletionKnowsEveryFlag: in each shell's script.
func TestCompletionKnowsEveryFlag(t *testing.T) {
	t.Parallel()
	flags := regexp.MustCompile(`(?m)^ +--([a-z-]+)`).FindAllStringSubmatch(invoke(t, "serve", "--help").out, -1)
	if len(flags) < 20 {
		t.Fatalf("serve has %d flags", len(flags))
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		r := invoke(t, "completion", shell)
		for _, flag := range flags {
			if !strings.Contains(r.out, "-"+flag[1]) && !strings.Contains(r.out, "-l "+flag[1]) {
				t.Errorf("%s does not know --%s", shell, flag[1])
			}
		}
		program, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s here: its script is not parsed", shell)
			continue
		}
		check := exec.CommandContext(t.Context(), program, "-n")
		check.Stdin = strings.NewReader(r.out)
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
	wrongUse(t, invoke(t, "completion", "tcsh"), "bash")
}

func quoted(words []string) string {
	var all strings.Builder
	for _, word := range words {
		all.WriteString("'" + word + "' ")
	}
	return all.String()
}
