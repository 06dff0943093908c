//go:build unix

package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// oldestPostgres is the oldest major version that the project supports.
const oldestPostgres = 15

// postgresPrograms returns the folder with the programs of the newest suitable
// PostgreSQL: the one on PATH if that is new enough, otherwise one in the
// folders that packages use.
func postgresPrograms() (string, error) {
	var folders []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
		"/usr/pgsql-*/bin",                   // Red Hat
		"/usr/libexec/postgresql*",           // Alpine
		"/opt/homebrew/opt/postgresql@*/bin", // macOS on ARM
		"/usr/local/opt/postgresql@*/bin",    // macOS on Intel
		"/Library/PostgreSQL/*/bin",          // macOS, EDB's installer
		"/usr/local/pgsql/bin",               // built from source
	} {
		found, _ := filepath.Glob(pattern) // it is well formed
		folders = append(folders, found...)
	}
	slices.SortStableFunc(folders, func(a, b string) int { return majorVersion(b) - majorVersion(a) })
	if path, err := exec.LookPath("postgres"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target // in that folder is pg_basebackup too
		}
		folders = slices.Insert(folders, 0, filepath.Dir(path))
	}
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, "initdb")); err != nil {
			continue // a package with the server program only
		}
		output, err := exec.Command(filepath.Join(folder, "postgres"), "--version").Output()
		if err == nil && majorVersion(string(output)) >= oldestPostgres {
			return folder, nil
		}
	}
	return "", errMissing(fmt.Sprintf("PostgreSQL %d or newer (initdb, postgres)", oldestPostgres))
}

// majorVersion returns the first number in text, or 0: 15 for
// "/usr/lib/postgresql/15/bin" and for "postgres (PostgreSQL) 15.18 (Debian 15.18-0)".
func majorVersion(text string) int {
	version, err := strconv.Atoi(regexp.MustCompile("[0-9]+").FindString(text))
	if err != nil {
		return 0
	}
	return version
}

// account is the user that PostgreSQL, poolers and proxies run as if the caller is
// root, whom some of them refuse. It is nil if they run as the caller.
type account struct{ uid, gid uint32 }

// postgresAccount finds the account.
func postgresAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return &account{uid: uint32(uid), gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}

// prepare has a command run as the account, and without the settings for other servers in the caller's environment.
func (a *account) prepare(command *exec.Cmd) {
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(command.Env, "LC_ALL=C") // messages in English, because start searches for one
	if a != nil {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.gid}}
	}
}

// own hands a folder or a file to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	if err := os.Chown(path, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("handing %s to PostgreSQL: %w", path, err)
	}
	return nil
}
