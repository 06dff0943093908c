package checks_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"inventory/deploy/compose"
)

// variants are the files that docker-compose gets, in the root of the repository.
var variants = map[string][]string{
	"one Redis": {"docker-compose.yml"},
	"Sentinel":  {"docker-compose.yml", "deploy/compose/sentinel.yml"},
	"cluster":   {"docker-compose.yml", "deploy/compose/cluster.yml"},
	"Citus":     {"docker-compose.yml", "deploy/compose/citus.yml"},
}

// load reads files as docker-compose does: it refuses fields that the specification does not have.
func load(t *testing.T, files []string, with ...cli.ProjectOptionsFn) (*types.Project, error) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, file := range files {
		paths = append(paths, filepath.Join(root, file))
	}
	options, err := cli.NewProjectOptions(paths, append(with, cli.WithWorkingDirectory(root), cli.WithName("inventory"))...)
	if err != nil {
		return nil, err
	}
	return options.LoadProject(t.Context())
}

// citusImage is the variable that the first command of citus.yml sets: the file itself names no image.
const citusImage = "CITUS_IMAGE=citusdata/citus:13.2.0-alpine@sha256:0000000000000000000000000000000000000000000000000000000000000000"

var exactImage = regexp.MustCompile(`^[a-z/]+:[^@]+@sha256:[0-9a-f]{64}$`)

// TestComposeGivesAwayLittle: every service has a read-only file system, no capabilities and no way to get new ones.
// Images are named by digest, nothing is published beyond loopback, and there is no default password.
func TestComposeGivesAwayLittle(t *testing.T) {
	t.Parallel()
	for name, files := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := load(t, files, cli.WithEnv([]string{citusImage})); err == nil || !strings.Contains(err.Error(), "POSTGRES_PASSWORD") {
				t.Errorf("without a password: %v", err)
			}
			project, err := load(t, files, cli.WithInterpolation(false))
			if err != nil {
				t.Fatal(err)
			}
			if len(project.Services) < 3 {
				t.Fatalf("there are %d services", len(project.Services))
			}
			for name, s := range project.Services {
				givesAwayLittle(t, name, s)
			}
		})
	}
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	images := regexp.MustCompile(`(?m)^ARG \w+_IMAGE=(.+)$`).FindAllStringSubmatch(string(dockerfile), -1)
	if len(images) != 2 {
		t.Errorf("the Dockerfile has the images %q", images)
	}
	for _, image := range images {
		if !exactImage.MatchString(image[1]) {
			t.Errorf("the image %s may be another tomorrow", image[1])
		}
	}
}

func givesAwayLittle(t *testing.T, name string, s types.ServiceConfig) {
	t.Helper()
	if !s.ReadOnly || s.Privileged || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 ||
		!slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
		t.Errorf("%s may do more than it needs: %+v", name, s)
	}
	if s.Build == nil && !exactImage.MatchString(defaultOf(s.Image)) && !strings.HasPrefix(s.Image, "${CITUS_IMAGE:?") {
		t.Errorf("%s: the image %s may be another tomorrow", name, s.Image)
	}
	for _, port := range s.Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("%s: port %s is published beyond loopback", name, port.Published)
		}
	}
	for variable, value := range s.Environment {
		if value != nil && strings.Contains(*value, "PASSWORD") && !strings.Contains(*value, "${POSTGRES_PASSWORD:?") {
			t.Errorf("%s: %s has a default password: %s", name, variable, *value)
		}
	}
}

// defaultOf returns the value of ${NAME:-default} without NAME.
func defaultOf(text string) string {
	_, after, found := strings.Cut(text, ":-")
	if !found {
		return text
	}
	return strings.TrimSuffix(after, "}")
}

// TestSettingsOfRedis: the servers read the files with which tests start servers, this test lists all other settings, and
// all servers have the addresses of all others.
func TestSettingsOfRedis(t *testing.T) {
	t.Parallel()
	const first, server, node = "10.213.0.11", "redis-server /etc/redis/redis.conf", "redis-server /etc/redis/redis.conf --include /etc/redis/cluster.conf"
	if compose.FirstMaster != first+" 6379" || !strings.Contains(compose.Sentinel, " "+compose.FirstMaster+" ") {
		t.Errorf("the first master is %s, and for Sentinels it is in:\n%s", compose.FirstMaster, compose.Sentinel)
	}
	for name, c := range map[string]struct {
		commands  map[string]string // by service
		addresses string            // of the servers by which the service finds its locks
		url       string
	}{
		"Sentinel": {
			map[string]string{
				"redis": server, "redis-2": server + " --replicaof " + compose.FirstMaster, "redis-3": server + " --replicaof " + compose.FirstMaster,
				"sentinel-1": sentinel, "sentinel-2": sentinel, "sentinel-3": sentinel,
			},
			"10.213.0.11 10.213.0.12 10.213.0.13 10.213.0.21 10.213.0.22 10.213.0.23",
			"redis+sentinel://10.213.0.21:26379,10.213.0.22:26379,10.213.0.23:26379/inventory",
		},
		"cluster": {
			map[string]string{
				"redis": node, "redis-2": node, "redis-3": node, "redis-4": node, "redis-5": node, "redis-6": node,
				"cluster": "sh /usr/local/bin/form-cluster.sh 10.213.0.11:6379 10.213.0.12:6379 10.213.0.13:6379 10.213.0.14:6379 10.213.0.15:6379 10.213.0.16:6379",
			},
			"10.213.0.11 10.213.0.12 10.213.0.13 10.213.0.14 10.213.0.15 10.213.0.16",
			"redis+cluster://10.213.0.11:6379,10.213.0.12:6379,10.213.0.13:6379",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project, err := load(t, variants[name], cli.WithEnv([]string{"POSTGRES_PASSWORD=checked"}))
			if err != nil {
				t.Fatal(err)
			}
			if url := project.Services["inventory"].Environment["INVENTORY_REDIS_URL"]; url == nil || *url != c.url {
				t.Errorf("the service is given %v", url)
			}
			var addresses []string
			for _, name := range slices.Sorted(maps.Keys(c.commands)) {
				s := project.Services[name]
				if got := strings.Join(s.Command, " "); got != c.commands[name] {
					t.Errorf("%s runs %s", name, got)
				}
				if at := s.Networks["servers"]; at != nil {
					addresses = append(addresses, at.Ipv4Address)
				}
				readsOurs(t, name, s)
			}
			if got := strings.Join(addresses, " "); got != c.addresses {
				t.Errorf("they are at %s", got)
			}
		})
	}
}

// TestSettingsOfCitus: the nodes read the file with which tests start nodes, the cluster consists of them, and the service
// gets the coordinator's URL.
func TestSettingsOfCitus(t *testing.T) {
	t.Parallel()
	project, err := load(t, variants["Citus"], cli.WithEnv([]string{"POSTGRES_PASSWORD=checked", citusImage}))
	if err != nil {
		t.Fatal(err)
	}
	const node = "postgres -c listen_addresses=* -c hba_file=/var/lib/postgresql/data/pg_hba.conf -c config_file=/etc/postgresql/citus.conf"
	for name, command := range map[string]string{
		"postgres": node, "worker-1": node, "worker-2": node,
		"cluster": "sh /usr/local/bin/form-citus.sh postgres worker-1 worker-2",
		"migrate": "migrate up", "distribute": "migrate distribute",
	} {
		s := project.Services[name]
		if got := strings.Join(s.Command, " "); got != command {
			t.Errorf("%s runs %s", name, got)
		}
		readsOurs(t, name, s)
	}
	for _, name := range []string{"inventory", "migrate", "distribute"} {
		url := project.Services[name].Environment["INVENTORY_DATABASE_URL"]
		if url == nil || *url != "citus://inventory:checked@postgres:5432/inventory?sslmode=disable" {
			t.Errorf("%s is given %v", name, url)
		}
		if name != "inventory" && len(project.Services[name].Ports) > 0 {
			t.Errorf("%s is published", name)
		}
	}
}

// sentinel keeps its own copy of its settings.
const sentinel = "sh -c [ -e /data/sentinel.conf ] || cp /etc/redis/sentinel.conf /data; exec redis-sentinel /data/sentinel.conf"

// readsOurs demands that each file that a command names is in this folder, and mounted read-only.
func readsOurs(t *testing.T, name string, s types.ServiceConfig) {
	t.Helper()
	for _, path := range regexp.MustCompile(`/(etc/redis|etc/postgresql|usr/local/bin)/\S+`).FindAllString(strings.Join(s.Command, " "), -1) {
		mounted := slices.IndexFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == path && v.ReadOnly })
		if mounted < 0 {
			t.Errorf("%s has no %s", name, path)
			continue
		}
		here, err := filepath.Abs(filepath.Join("compose", filepath.Base(path)))
		if err != nil || s.Volumes[mounted].Source != here {
			t.Errorf("%s has %s as %s (%v)", name, s.Volumes[mounted].Source, path, err)
		}
	}
}
