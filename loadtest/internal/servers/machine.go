package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/load"

	"inventory/loadtest/internal/report"
)

// Machine is the machine and the source of this program.
func Machine(ctx context.Context) report.Environment {
	return report.Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPU: processor(ctx), Go: runtime.Version(),
		Revision: revision(ctx),
	}
}

// processor is the model of the first processor, "" if it is not known.
func processor(ctx context.Context) string {
	all, err := cpu.InfoWithContext(ctx)
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[0].ModelName
}

const (
	look       = time.Second // at the machine
	quietBelow = 10          // percent of all processors
)

// lookAround returns how busy the machine is before a measurement, and whether it is quiet.
func lookAround(ctx context.Context) (line string, quiet bool, err error) {
	busy, err := cpu.PercentWithContext(ctx, look, false)
	if err != nil {
		return "", false, fmt.Errorf("look how busy the machine is: %w", err)
	}
	average, err := load.AvgWithContext(ctx)
	if err != nil {
		return "", false, fmt.Errorf("look how busy the machine is: %w", err)
	}
	quiet = busy[0] < quietBelow
	return fmt.Sprintf("the machine was %s before the start: %.0f%% of all processors busy for a second, load average %.2f",
		map[bool]string{true: "quiet", false: "NOT quiet"}[quiet], busy[0], average.Load1), quiet, nil
}

// inMemory reports whether a file system keeps nothing on a disk.
func inMemory(fileSystem string) bool { return slices.Contains([]string{"tmpfs", "ramfs"}, fileSystem) }

const (
	revisionDigits = 12
	gitTimeout     = 5 * time.Second
	dirty          = "-dirty"
)

// revision is the revision of this program's source: from the compiler, which notes none for `go run`, or else from the working
// copy in which it runs. "" where it is not known.
func revision(ctx context.Context) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if noted := settings["vcs.revision"]; noted != "" {
		return shortened(noted, settings["vcs.modified"] == "true")
	}
	return workingCopy(ctx, ".", info.Main.Path)
}

// sources are the files that make a program. Others, such as the report that is being written, do not change it.
func sources() []string { return []string{":/*.go", ":/*.sql", ":/*.lua", ":/go.mod", ":/go.sum"} }

// workingCopy asks git for the revision of a folder, if what is checked out there is the module.
func workingCopy(ctx context.Context, folder, module string) string {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	git := func(args ...string) (string, bool) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...).Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	root, ok := git("rev-parse", "--show-toplevel")
	if !ok {
		return "" // no git, or no working copy
	}
	definition, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if first, _, _ := strings.Cut(string(definition), "\n"); err != nil || strings.TrimSpace(first) != "module "+module {
		return "" // that of another program
	}
	head, ok := git("rev-parse", "HEAD")
	if !ok {
		return ""
	}
	changes, ok := git(append([]string{"status", "--porcelain", "--"}, sources()...)...)
	return shortened(head, !ok || changes != "")
}

func shortened(revision string, modified bool) string {
	revision = revision[:min(len(revision), revisionDigits)]
	if modified {
		return revision + dirty
	}
	return revision
}
