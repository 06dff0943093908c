package app_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.yaml.in/yaml/v3"

	"inventory/internal/api"
	"inventory/internal/locking/lockmetrics"
)

// catalogue is a registerer that only records what is registered: names of metrics, with their labels.
type catalogue map[string][]string

var described = regexp.MustCompile(`fqName: "([^"]+)".*constLabels: \{.*\}, variableLabels: \{([^}]*)\}`)

func (c catalogue) Register(collector prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		collector.Describe(descriptions)
		close(descriptions)
	}()
	for d := range descriptions {
		found := described.FindStringSubmatch(d.String())
		c[found[1]] = strings.Split(found[2], ",")
	}
	return nil
}

func (c catalogue) MustRegister(all ...prometheus.Collector) {
	for _, collector := range all {
		_ = c.Register(collector) // never fails
	}
}

func (catalogue) Unregister(prometheus.Collector) bool { return false }

// everyMetric returns the metrics that the service registers.
func everyMetric(t *testing.T) catalogue {
	t.Helper()
	c := catalogue{"up": {}, "inventory_build_info": {"version", "revision", "goversion"}} // the first is Prometheus's own
	c.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	api.NewMetrics(c)
	api.Watch(c, nil, nil, nil)
	if _, err := lockmetrics.New(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// labelsOf returns the labels of a metric. The name may be that of a part of a histogram.
func (c catalogue) labelsOf(name string) (labels []string, ok bool) {
	for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
		if labels, ok = c[strings.TrimSuffix(name, suffix)]; ok && strings.HasSuffix(name, suffix) {
			return labels, true
		}
	}
	return nil, false
}

var (
	// A metric in an expression, with its matchers.
	selector = regexp.MustCompile(`\b((?:inventory|locking|process|go)_[a-z_]+|up)\b(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!=|=|!~)\s*"`)
)

// TestAlertsKnowTheirMetrics: and the handbook knows every alert.
func TestAlertsKnowTheirMetrics(t *testing.T) {
	t.Parallel()
	metrics := everyMetric(t)
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	read(t, "../../deploy/prometheus/alerts.yml", func(text []byte) error { return yaml.Unmarshal(text, &file) })
	var handbook string
	read(t, "../../docs/OPERATIONS.md", func(text []byte) error { handbook = string(text); return nil })
	rules := file.Groups[0].Rules
	if len(rules) < 10 {
		t.Fatalf("there are %d rules", len(rules))
	}
	for _, rule := range rules {
		selectors := selector.FindAllStringSubmatch(rule.Expr, -1)
		if len(selectors) == 0 {
			t.Errorf("%s asks for no metric of ours: %s", rule.Alert, rule.Expr)
		}
		for _, s := range selectors {
			labels, ok := metrics.labelsOf(s[1])
			if !ok {
				t.Errorf("%s: there is no metric %s", rule.Alert, s[1])
			}
			for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
				if !slices.Contains(labels, m[1]) && m[1] != "job" && m[1] != "instance" {
					t.Errorf("%s: %s has labels %q and no %s", rule.Alert, s[1], labels, m[1])
				}
			}
		}
		if !strings.Contains(handbook, "`"+rule.Alert+"`") {
			t.Errorf("OPERATIONS.md does not tell what to do about %s", rule.Alert)
		}
		if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
			t.Errorf("%s has no severity or no summary", rule.Alert)
		}
	}
	for _, name := range regexp.MustCompile(`\b(?:inventory|locking)_[a-z]+_[a-z_]+`).FindAllString(handbook, -1) {
		if _, ok := metrics.labelsOf(name); !ok {
			t.Errorf("OPERATIONS.md names a metric %s that does not exist", name)
		}
	}
}

func read(t *testing.T, name string, into func([]byte) error) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = into(text)
	}
	if err != nil {
		t.Fatal(err)
	}
}
