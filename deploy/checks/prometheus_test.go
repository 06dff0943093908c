package checks_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/busytest"
)

// rule is an alert.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	text, err := os.ReadFile("prometheus/alerts.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil || len(file.Groups) != 1 || len(file.Groups[0].Rules) < 10 {
		t.Fatalf("%v: %+v", err, file)
	}
	return file.Groups[0].Rules
}

// panel is a part of a board of Grafana.
type panel struct {
	Title, Type string
	Targets     []struct{ Expr string }
}

func panels(t *testing.T) []panel {
	t.Helper()
	var board struct{ Panels []panel }
	text, err := os.ReadFile("grafana/inventory.json")
	if err == nil {
		err = json.Unmarshal(text, &board)
	}
	if err != nil || len(board.Panels) < 30 {
		t.Fatalf("%v: %d panels", err, len(board.Panels))
	}
	return board.Panels
}

// metrics are the metric families that a service exposes, by name.
type metrics map[string]*dto.MetricFamily

// familyOf returns the family of a name, which may be a part of a histogram.
func (m metrics) familyOf(name string) *dto.MetricFamily {
	if family := m[name]; family != nil && family.GetType() != dto.MetricType_HISTOGRAM {
		return family
	}
	for _, part := range []string{"_bucket", "_count", "_sum"} {
		if family := m[strings.TrimSuffix(name, part)]; strings.HasSuffix(name, part) && family.GetType() == dto.MetricType_HISTOGRAM {
			return family
		}
	}
	return nil
}

// check demands that an expression parses, and that the service has every metric in it, with each label's value.
func (m metrics) check(t *testing.T, where, expression string) {
	t.Helper()
	parsed, err := parser.ParseExpr(strings.ReplaceAll(expression, "$__rate_interval", "1m"))
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		s, ok := node.(*parser.VectorSelector)
		if !ok || s.Name == "up" {
			return nil
		}
		family := m.familyOf(s.Name)
		if family == nil {
			t.Errorf("%s: the service exposes no %s", where, s.Name)
			return nil
		}
		for _, matcher := range s.LabelMatchers {
			if !slices.Contains([]string{model.MetricNameLabel, "job", "instance"}, matcher.Name) && !has(family, matcher) {
				t.Errorf("%s: %s has no series with %s", where, s.Name, matcher)
			}
		}
		return nil
	})
}

// has reports whether a series of a family has the label of a matcher, with a value that matches.
func has(family *dto.MetricFamily, matcher *labels.Matcher) bool {
	for _, metric := range family.GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == matcher.Name && matcher.Matches(label.GetValue()) {
				return true
			}
		}
	}
	return false
}

// TestBoardAndAlertsAskForWhatThereIs sells, and demands that the service has each metric of each expression.
func TestBoardAndAlertsAskForWhatThereIs(t *testing.T) {
	t.Parallel()
	m := afterASale(t)
	for _, r := range alerts(t) {
		m.check(t, r.Alert, r.Expr)
	}
	for _, p := range panels(t) {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			m.check(t, p.Title, target.Expr)
		}
	}
}

// TestBoardShowsAnyJob: the board asks for the jobs and the processes that its variables name, and for no other.
func TestBoardShowsAnyJob(t *testing.T) {
	t.Parallel()
	var board struct {
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	text, err := os.ReadFile("grafana/inventory.json")
	if err == nil {
		err = json.Unmarshal(text, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	queries := make(map[string]string)
	for _, v := range board.Templating.List {
		queries[v.Name] = v.Definition
	}
	if want := map[string]string{
		"datasource": "", "job": "label_values(inventory_build_info, job)", "instance": `label_values(inventory_build_info{job=~"$job"}, instance)`,
	}; !maps.Equal(queries, want) {
		t.Errorf("the variables are %q, want %q", queries, want)
	}
	for _, p := range panels(t) {
		for _, target := range p.Targets {
			for _, selector := range regexp.MustCompile(`\{[^}]*\}`).FindAllString(target.Expr, -1) {
				if !strings.HasPrefix(selector, `{job=~"$job",instance=~"$instance"`) {
					t.Errorf("%s: %s", p.Title, selector)
				}
			}
		}
	}
}

// afterASale returns the metrics of a service that has sold out one SKU.
func afterASale(t *testing.T) metrics {
	t.Helper()
	a, err := app.Start(t.Context(), app.Config{
		DatabaseURL: "sqlite:" + filepath.Join(t.TempDir(), "inventory.db"), AnswerWithin: busytest.Patience, DrainTimeout: busytest.Patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	service, err := client.NewService(a.URL(), 4, busytest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	if created, err := service.CreateSKU(t.Context(), "hot", client.NewSKU{Stock: 20}); err != nil || !created.OK() {
		t.Fatal(err, created.Err())
	}
	for i := range 25 {
		if _, err := service.Deduct(t.Context(), "hot", client.NewDeduction{OrderID: string(rune('a' + i)), Quantity: 1}); err != nil {
			t.Fatal(err)
		}
	}
	response, err := http.Get(a.AdminURL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text := expfmt.NewTextParser(model.UTF8Validation)
	families, err := text.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

// TestAlertsLeadToTheHandbook: each has a runbook, and the chapter is there.
func TestAlertsLeadToTheHandbook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	chapters := make(map[string]bool)
	for _, found := range heading.FindAllStringSubmatch(string(text), -1) {
		chapters[strings.ReplaceAll(strings.ToLower(found[1]), " ", "-")] = true
	}
	for _, r := range alerts(t) {
		chapter, found := strings.CutPrefix(r.Annotations["runbook_url"], "docs/OPERATIONS.md#")
		if !found || !chapters[chapter] {
			t.Errorf("%s leads to %q", r.Alert, r.Annotations["runbook_url"])
		}
	}
}
