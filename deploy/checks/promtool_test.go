package checks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The input of promtool test rules, as far as we use it.
type (
	ruleTests struct {
		RuleFiles          []string   `yaml:"rule_files"`
		EvaluationInterval string     `yaml:"evaluation_interval"`
		Tests              []ruleTest `yaml:"tests"`
	}
	ruleTest struct {
		Interval       string      `yaml:"interval"`
		InputSeries    []series    `yaml:"input_series"`
		AlertRuleTests []alertTest `yaml:"alert_rule_test"`
	}
	series struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	}
	alertTest struct {
		EvalTime  string          `yaml:"eval_time"`
		AlertName string          `yaml:"alertname"`
		ExpAlerts []expectedAlert `yaml:"exp_alerts"`
	}
	expectedAlert struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	}
)

// alertCase has series that make an alert fire, and series that do not. Values are a minute apart, for half an hour.
type alertCase struct {
	fires, quiet []series
	labels       map[string]string // of the alert that fires, in addition to those of its rule
}

func alertCases() map[string]alertCase {
	one := func(name, values string) []series { return []series{{name, values}} }
	two := func(a, aValues, b, bValues string) []series { return []series{{a, aValues}, {b, bValues}} }
	const steady, idle = "0+60x30", "0x30"
	const deductions = `inventory_http_request_seconds_bucket{route="/v1/skus/:sku/deductions",`
	request := func(code string) string { return `inventory_http_requests_total{job="inventory",code="` + code + `"}` }
	order := func(outcome string) string { return `inventory_http_order_seconds_bucket{outcome="` + outcome + `",` }
	return map[string]alertCase{
		"InventoryGuardFired": {fires: one("inventory_guard_fired_total", "0x25 1x5"), quiet: one("inventory_guard_fired_total", idle)},
		"InventoryDown": {
			fires: one(`up{job="inventory",instance="a"}`, "1x20 0x10"), quiet: one(`up{job="inventory",instance="a"}`, "1x30"),
			labels: map[string]string{"job": "inventory", "instance": "a"},
		},
		"InventoryProcessMissing": { // discovery drops one of two
			fires: two(`up{job="inventory",instance="a"}`, "1x30", `up{job="inventory",instance="b"}`, "1x10 stale"),
			quiet: two(`up{job="inventory",instance="a"}`, "1x30", `up{job="inventory",instance="b"}`, "1x30"),
		},
		"InventoryUnavailable": {fires: two(request(""), steady, request("unavailable"), "0+2x30"), quiet: two(request(""), steady, request("client_gone"), steady)},
		"InventoryStalled": {
			fires: two("inventory_queue_orders", "5x30", "inventory_queue_seconds_count", "7x30"),
			quiet: two("inventory_queue_orders", "5x30", "inventory_queue_seconds_count", steady),
		},
		"InventoryOverloaded":  {fires: two(request(""), steady, request("overloaded"), "0+6x30"), quiet: two(request(""), steady, request("overloaded"), "0+1x30")},
		"InventorySlowAnswers": {fires: buckets(deductions, "0+1x30"), quiet: buckets(deductions, "0+100x30")},
		"InventorySlowOrders": { // in the first, refusals are many and fast
			fires: append(buckets(order("accepted"), "0+1x30"), fast(order("refused"))...),
			quiet: append(buckets(order("refused"), "0+1x30"), fast(order("accepted"))...),
		},
		"InventorySlowBatches": {
			fires:  buckets(`inventory_batch_seconds_bucket{instance="a",`, "0+1x30"),
			quiet:  buckets(`inventory_batch_seconds_bucket{instance="a",`, "0+100x30"),
			labels: map[string]string{"instance": "a"},
		},
		"InventoryLocksFail":   {fires: one("inventory_locks_failing", "1x30"), quiet: one("inventory_locks_failing", idle)},
		"InventoryNoticesFail": {fires: one("inventory_notices_failing", "1x30"), quiet: one("inventory_notices_failing", idle)},
		"InventoryFencedOut":   {fires: one("inventory_fenced_out_total", "0+2x30"), quiet: one("inventory_fenced_out_total", "0x25 1x5")},
		"InventoryLocksLost": {
			fires: one(`locking_hold_seconds_count{lost="true"}`, "0x20 20x10"), quiet: one(`locking_hold_seconds_count{lost="false"}`, steady),
			labels: map[string]string{"lost": "true"},
		},
		"InventoryRenewalsUnanswered": {
			fires: one(`locking_renewal_seconds_count{answered="false"}`, "0+1x30"), quiet: one(`locking_renewal_seconds_count{answered="true"}`, steady),
			labels: map[string]string{"answered": "false"},
		},
		"InventoryLockErrors": {
			fires: one(`locking_failures_total{reason="error"}`, "0+120x30"), quiet: one(`locking_failures_total{reason="error"}`, "0+1x30"),
			labels: map[string]string{"reason": "error"},
		},
		"InventoryNobodyWoken": {fires: one("locking_polling", "1x30"), quiet: one("locking_polling", "0x20 1x3 0x7")},
		"InventoryFewFilesLeft": {
			fires:  two(`process_open_fds{job="inventory"}`, "90x30", `process_max_fds{job="inventory"}`, "100x30"),
			quiet:  two(`process_open_fds{job="inventory"}`, "10x30", `process_max_fds{job="inventory"}`, "100x30"),
			labels: map[string]string{"job": "inventory"},
		},
	}
}

// buckets returns the series of a histogram: some observations are below 0.4 s and the others below 1.6 s.
func buckets(begin, soon string) []series {
	return []series{{begin + `le="0.4"}`, soon}, {begin + `le="1.6"}`, "0+100x30"}, {begin + `le="+Inf"}`, "0+100x30"}}
}

// fast returns the series of a histogram with many observations below 0.4 s and none above.
func fast(begin string) []series {
	return []series{{begin + `le="0.4"}`, "0+100000x30"}, {begin + `le="1.6"}`, "0+100000x30"}, {begin + `le="+Inf"}`, "0+100000x30"}}
}

// TestAlertsFireAndDoNot plays each rule with promtool, twice.
func TestAlertsFireAndDoNot(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	tests := ruleTests{RuleFiles: []string{file}, EvaluationInterval: "1m"}
	cases := alertCases()
	for _, r := range alerts(t) {
		c, known := cases[r.Alert]
		if !known {
			t.Errorf("nothing makes %s fire here", r.Alert)
		}
		tests.Tests = append(tests.Tests, r.plays(c.fires, r.fired(c.labels)), r.plays(c.quiet))
	}
	tests.Tests = append(tests.Tests, disappears(alerts(t)))
	input, err := yaml.Marshal(tests)
	if err != nil {
		t.Fatal(err)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing: scripts/install-servers finds or installs it")
	}
	name := filepath.Join(t.TempDir(), "tests.yml")
	if err := os.WriteFile(name, input, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"check", "rules", file}, {"test", "rules", name}} {
		if out, err := exec.CommandContext(t.Context(), promtool, arguments...).CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v: %s", arguments, err, out)
		}
	}
}

func (r rule) plays(input []series, fired ...expectedAlert) ruleTest {
	return ruleTest{Interval: "1m", InputSeries: input, AlertRuleTests: []alertTest{{"29m", r.Alert, fired}}}
}

func (r rule) fired(with map[string]string) expectedAlert {
	all := make(map[string]string)
	for name, value := range r.Labels {
		all[name] = value
	}
	for name, value := range with {
		all[name] = value
	}
	return expectedAlert{all, r.Annotations}
}

// disappears returns a test with a target that Prometheus no longer knows: its series end.
func disappears(rules []rule) ruleTest {
	for _, r := range rules {
		if r.Alert == "InventoryDown" {
			return r.plays([]series{{`up{job="inventory",instance="a"}`, "1x10 stale"}}, r.fired(map[string]string{"job": "inventory"}))
		}
	}
	return ruleTest{}
}
