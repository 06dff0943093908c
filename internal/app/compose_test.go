package app_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var exactImage = regexp.MustCompile(`^[a-z/]+:[^@]+@sha256:[0-9a-f]{64}$`)

// TestComposeGivesAwayLittle: every service has a read-only file system, no capabilities and no way to new ones. Images
// are named by digest, nothing is published beyond loopback, and there is no default password.
func TestComposeGivesAwayLittle(t *testing.T) {
	t.Parallel()
	var file struct {
		Services map[string]struct {
			Image       string
			Build       string
			Environment map[string]string
			Ports       []string
			Networks    []string
			CapDrop     []string `yaml:"cap_drop"`
			CapAdd      []string `yaml:"cap_add"`
			SecurityOpt []string `yaml:"security_opt"`
			ReadOnly    bool     `yaml:"read_only"`
			Privileged  bool
		}
	}
	read(t, "../../docker-compose.yml", func(text []byte) error { return yaml.Unmarshal(text, &file) })
	if len(file.Services) < 3 {
		t.Fatalf("there are %d services", len(file.Services))
	}
	for name, s := range file.Services {
		if !s.ReadOnly || s.Privileged || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 ||
			!slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s may do more than it needs: %+v", name, s)
		}
		if s.Build == "" && !exactImage.MatchString(defaultOf(s.Image)) {
			t.Errorf("%s: the image %s may be another tomorrow", name, s.Image)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: port %s is published beyond loopback", name, port)
			}
		}
		for variable, value := range s.Environment {
			if strings.Contains(value, "PASSWORD") && !strings.Contains(value, "${POSTGRES_PASSWORD:?") {
				t.Errorf("%s: %s has a default password: %s", name, variable, value)
			}
		}
	}
	read(t, "../../Dockerfile", func(text []byte) error {
		images := regexp.MustCompile(`(?m)^ARG \w+_IMAGE=(.+)$`).FindAllStringSubmatch(string(text), -1)
		if len(images) != 2 {
			t.Errorf("the Dockerfile has the images %q", images)
		}
		for _, image := range images {
			if !exactImage.MatchString(image[1]) {
				t.Errorf("the image %s may be another tomorrow", image[1])
			}
		}
		return nil
	})
}

// defaultOf is what ${NAME:-default} is without NAME.
func defaultOf(text string) string {
	_, after, found := strings.Cut(text, ":-")
	if !found {
		return text
	}
	return strings.TrimSuffix(after, "}")
}
