package checks_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestImageListensWherePortsArePublished: the image listens on all addresses, at the ports that it exposes.
func TestImageListensWherePortsArePublished(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, exposed, _ := strings.Cut(string(dockerfile), "\nEXPOSE ")
	ports := strings.Fields(strings.SplitN(exposed, "\n", 2)[0])
	listens := regexp.MustCompile(`(INVENTORY_\w*LISTEN)=0\.0\.0\.0:(\d+)`).FindAllStringSubmatch(string(dockerfile), -1)
	if len(ports) != 2 || len(listens) != len(ports) {
		t.Fatalf("it exposes %q, and listens by %q", ports, listens)
	}
	for i, listen := range listens {
		if listen[2] != ports[i] {
			t.Errorf("%s is at port %s, and port %s is exposed", listen[1], listen[2], ports[i])
		}
	}
}
