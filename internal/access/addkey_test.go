//go:build unix

package access

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// add makes a key, and adds it to a file.
func add(t *testing.T, file, name string) (apiKey string) {
	t.Helper()
	apiKey, line, err := NewKey(name, ScopeBuyer)
	if err == nil {
		err = AddKey(file, line)
	}
	if err != nil {
		t.Fatal(err)
	}
	return apiKey
}

func letsIn(t *testing.T, file string, apiKeys ...string) {
	t.Helper()
	g := guard(t, Config{KeysFile: file})
	for _, apiKey := range apiKeys {
		if _, err := g.Authenticate("Bearer " + apiKey); err != nil {
			t.Errorf("%s: %v", apiKey[:8], err)
		}
	}
}

func TestAddingToAFileWithoutALastNewline(t *testing.T) {
	t.Parallel()
	file, buyer, admin := keyFile(t) // whose last line has no newline
	letsIn(t, file, buyer, admin, add(t, file, "third"), add(t, file, "fourth"))
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "# the shop\n\n") || !strings.HasSuffix(string(text), "\n") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAddingAtOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	apiKeys := make([]string, 20)
	var adding sync.WaitGroup
	for i := range apiKeys {
		adding.Go(func() { apiKeys[i] = add(t, file, fmt.Sprint("k", i)) })
	}
	adding.Wait()
	letsIn(t, file, apiKeys...)
}

func TestAddingKeepsModeOwnerAndLink(t *testing.T) {
	t.Parallel()
	file, buyer, _ := keyFile(t)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // only root can give a file away
		if err := os.Chown(file, 1234, 4321); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	letsIn(t, file, buyer, add(t, link, "other"))
	after, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if after.Mode() != before.Mode() || is.Uid != was.Uid || is.Gid != was.Gid {
		t.Errorf("was %v of %d:%d, is %v of %d:%d", before.Mode(), was.Uid, was.Gid, after.Mode(), is.Uid, is.Gid)
	}
	if is.Ino != was.Ino {
		t.Error("it is another file: who has mounted the first one does not get the key")
	}
}

// An invalid file is not made worse.
func TestAddingToAFileThatIsNotGood(t *testing.T) {
	t.Parallel()
	const text = "shop buyer A"
	file := write(t, text)
	_, line, err := NewKey("other", ScopeBuyer)
	if err != nil {
		t.Fatal(err)
	}
	if err := AddKey(file, line); err == nil || !strings.Contains(err.Error(), "line 1") || !strings.Contains(err.Error(), "stays as it was") {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
}
