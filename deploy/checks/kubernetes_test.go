package checks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kustomization has the fields of Kustomize that we use.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`
	Resources       []string `json:"resources"`
	Labels          []struct {
		Pairs            map[string]string `json:"pairs"`
		IncludeSelectors bool              `json:"includeSelectors"`
	} `json:"labels"`
	Images []struct {
		Name   string `json:"name"`
		NewTag string `json:"newTag"`
	} `json:"images"`
}

// podMonitor has the fields that we use of the Prometheus operator's type, whose module has a hundred dependencies.
type podMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		JobLabel  string               `json:"jobLabel"`
		Endpoints []struct {
			Port          string          `json:"port"`
			Interval      metav1.Duration `json:"interval"`
			ScrapeTimeout metav1.Duration `json:"scrapeTimeout"`
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

// decode reads a file of deploy/kubernetes, and refuses unknown fields.
func decode[T any](t *testing.T, name string) (object T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("kubernetes", name))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &object)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}

// TestKubernetesFilesAreWhatTheySay: each resource decodes strictly, and Kustomize names all files.
func TestKubernetesFilesAreWhatTheySay(t *testing.T) {
	t.Parallel()
	k := decode[kustomization](t, "kustomization.yaml")
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(files) != len(k.Resources)+2 {
		t.Errorf("files %q, resources %q, %v", files, k.Resources, err)
	}
	for _, object := range []metav1.TypeMeta{
		decode[corev1.ServiceAccount](t, "serviceaccount.yaml").TypeMeta, decode[appsv1.Deployment](t, "deployment.yaml").TypeMeta,
		decode[corev1.Service](t, "service.yaml").TypeMeta, decode[policyv1.PodDisruptionBudget](t, "poddisruptionbudget.yaml").TypeMeta,
		decode[autoscalingv2.HorizontalPodAutoscaler](t, "horizontalpodautoscaler.yaml").TypeMeta,
		decode[podMonitor](t, "podmonitor.yaml").TypeMeta, decode[networkingv1.NetworkPolicy](t, "networkpolicy.yaml").TypeMeta,
		decode[batchv1.Job](t, "migrate.yaml").TypeMeta,
	} {
		if object.Kind == "" || object.APIVersion == "" {
			t.Errorf("%+v has no kind", object)
		}
	}
}

// TestKubernetesMigratesApart: no probe ends a migration that waits for a table, and it may do no more than the service.
func TestKubernetesMigratesApart(t *testing.T) {
	t.Parallel()
	pod := decode[batchv1.Job](t, "migrate.yaml").Spec.Template.Spec
	c := pod.Containers[0]
	if c.LivenessProbe != nil || c.StartupProbe != nil || strings.Join(c.Args, " ") != "migrate up" {
		t.Errorf("%+v", c)
	}
	if !*pod.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("it may do more than it needs: %+v", c.SecurityContext)
	}
}

// TestKubernetesRunsTheServiceAsTheHandbookSays: the service stops in time, and has few rights.
func TestKubernetesRunsTheServiceAsTheHandbookSays(t *testing.T) {
	t.Parallel()
	pod := decode[appsv1.Deployment](t, "deployment.yaml").Spec.Template.Spec
	c := pod.Containers[0]
	if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		t.Error("variables of other services would be taken for settings")
	}
	if patience := pod.TerminationGracePeriodSeconds; patience == nil || *patience < 5+10+5 {
		t.Errorf("killed after %v, before it has stopped", patience)
	}
	if !*pod.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation ||
		len(c.SecurityContext.Capabilities.Drop) != 1 || c.SecurityContext.Capabilities.Drop[0] != "ALL" {
		t.Errorf("it may do more than it needs: %+v", c.SecurityContext)
	}
	ports := make(map[string]bool)
	for _, port := range c.Ports {
		ports[port.Name] = true
	}
	for name, probe := range map[string]*corev1.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe.HTTPGet.Path != name || !ports[probe.HTTPGet.Port.StrVal] {
			t.Errorf("%s: %+v", name, probe.HTTPGet)
		}
	}
	for _, port := range decode[corev1.Service](t, "service.yaml").Spec.Ports {
		if port.TargetPort.StrVal != "http" { // the other one asks for no key
			t.Errorf("the service publishes the port %s", port.TargetPort.StrVal)
		}
	}
	if scaled := decode[autoscalingv2.HorizontalPodAutoscaler](t, "horizontalpodautoscaler.yaml").Spec.ScaleTargetRef; scaled.Name != "inventory" || scaled.Kind != "Deployment" {
		t.Errorf("%+v is scaled", scaled)
	}
	for _, variable := range c.Env { // the program's tests know which settings there are
		if !strings.HasPrefix(variable.Name, "INVENTORY_") {
			t.Errorf("%s is no setting", variable.Name)
		}
	}
}
