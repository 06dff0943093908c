package access

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// keyFile makes a key of each scope, and the file with them.
func keyFile(t *testing.T) (file, buyer, admin string) {
	t.Helper()
	buyer, buyerLine, err1 := NewKey("shop", ScopeBuyer)
	admin, adminLine, err2 := NewKey("ops.1", ScopeAdmin)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return write(t, "# the shop\n\n"+buyerLine+"\r\n  "+adminLine), buyer, admin
}

func write(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func guard(t *testing.T, c Config) *Guard {
	t.Helper()
	g, err := NewGuard(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestKeys(t *testing.T) {
	t.Parallel()
	file, buyer, admin := keyFile(t)
	g := guard(t, Config{KeysFile: file})
	for _, c := range []struct {
		header string
		scope  Scope
		err    error
	}{
		{"Bearer " + buyer, ScopeBuyer, nil},
		{"bearer " + admin, ScopeAdmin, nil},
		{"", "", ErrMissing},
		{"Bearer ", "", errScheme},
		{"Bearer", "", errScheme},
		{"Basic " + buyer, "", errScheme},
		{buyer, "", errScheme},
		{"Bearer  " + buyer, "", errNoTokens},
		{"Bearer x.y.z", "", errNoTokens},
		{"Bearer " + buyer + "x", "", errUnknownKey},
		{"Bearer " + buyer + " ", "", errUnknownKey},
		{"Bearer " + buyer[:len(buyer)-1], "", errUnknownKey},
		{"Bearer " + strings.ToLower(buyer), "", errUnknownKey},
		{"Bearer inv_", "", errUnknownKey},
		{"Bearer inv__", "", errUnknownKey},
		{"Bearer inv_x_" + buyer, "", errUnknownKey},
		// The id of one with the secret of the other.
		{"Bearer " + buyer[:strings.LastIndexByte(buyer, '_')] + admin[strings.LastIndexByte(admin, '_'):], "", errUnknownKey},
		{"Bearer inv_nobody" + buyer[strings.LastIndexByte(buyer, '_'):], "", errUnknownKey},
	} {
		caller, err := g.Authenticate(c.header)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || caller.Scope != c.scope || caller.Buyer != "" {
			t.Errorf("%q: %+v, %v; want %v, %v", c.header, caller, err, c.scope, c.err)
		}
	}
}

func TestKeysAreDifferentAndTheirLinesHoldNoSecret(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 100 {
		apiKey, line, err := NewKey("shop", ScopeBuyer)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(apiKey, "_")
		if len(parts) != 3 || parts[0] != "inv" || len(parts[2]) < 26 || seen[parts[1]] || seen[parts[2]] {
			t.Fatalf("got the key %s", apiKey)
		}
		seen[parts[1]], seen[parts[2]] = true, true
		if strings.Contains(line, parts[2]) {
			t.Fatalf("the line %q holds the secret", line)
		}
	}
	for _, name := range []string{"", "a b", "a#\n", "ä", strings.Repeat("x", 65)} {
		if _, _, err := NewKey(name, ScopeBuyer); err == nil {
			t.Errorf("made a key of the name %q", name)
		}
	}
}

func TestKeyFileErrors(t *testing.T) {
	t.Parallel()
	apiKey, line, err := NewKey("shop", ScopeBuyer)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(line)
	name, scope, id, sum := words[0], words[1], words[2], words[3]
	for _, c := range []struct{ text, says string }{
		{"", "has no key"},
		{"# nothing\n\n", "has no key"},
		{"\n" + name + " " + scope + " " + id, "line 2: must be name, scope, id and hash"},
		{line + " more", "line 1: must be name, scope, id and hash"},
		{name + " seller " + id + " " + sum, "line 1: must be name, scope, id and hash"},
		{name + " none " + id + " " + sum, "line 1: must be name, scope, id and hash"},
		{"a/b " + scope + " " + id + " " + sum, "line 1: must be name, scope, id and hash"},
		{name + " " + scope + " a_b " + sum, "line 1: must be name, scope, id and hash"},
		{line + "\n" + line, "line 2: the id is there twice"},
		{name + " " + scope + " " + id + " " + apiKey, "line 1: must be name, scope, id and hash"},
		{name + " " + scope + " " + id + " " + sum[:len(sum)-2], "line 1: must be name, scope, id and hash"},
		{name + " " + scope + " " + id + " " + sum[len("sha256:"):], "line 1: must be name, scope, id and hash"},
		{name + " " + scope + " " + id + " sha256:" + strings.Repeat("x", 64), "line 1: must be name, scope, id and hash"},
	} {
		text, says := c.text, c.says
		file := write(t, text)
		_, err := NewGuard(Config{KeysFile: file})
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v; want %s", text, err, says)
			continue
		}
		if strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), apiKey) || strings.Contains(err.Error(), sum) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := NewGuard(Config{KeysFile: t.TempDir() + "/none"}); err == nil || !strings.Contains(err.Error(), "/none") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	file, buyer, _ := keyFile(t)
	g := guard(t, Config{KeysFile: file})
	rewrite := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite("nonsense")
	if err := g.Reload(); err == nil {
		t.Error("nonsense was read")
	}
	if _, err := g.Authenticate("Bearer " + buyer); err != nil {
		t.Errorf("after a reload that failed: %v", err)
	}
	other, line, err := NewKey("other", ScopeBuyer)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(line)
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Authenticate("Bearer " + other); err != nil {
		t.Errorf("the new key: %v", err)
	}
	if _, err := g.Authenticate("Bearer " + buyer); !errors.Is(err, errUnknownKey) {
		t.Errorf("the key that was taken out: %v", err)
	}
}

// TestFilesAreReadByManyAtOnce: readings at the same time let in whom each of them lets in.
func TestFilesAreReadByManyAtOnce(t *testing.T) {
	t.Parallel()
	file, buyer, _ := keyFile(t)
	g := guard(t, Config{KeysFile: file})
	var reading sync.WaitGroup
	for range 200 {
		reading.Go(func() {
			if err := g.Reload(); err != nil {
				t.Error(err)
			}
		})
	}
	reading.Wait()
	if _, err := g.Authenticate("Bearer " + buyer); err != nil {
		t.Error(err)
	}
}

// TestAFileWithAMistakeKeepsNoOtherFromBeingRead: a key that was taken out is out, whatever is wrong with the tokens' key.
func TestAFileWithAMistakeKeepsNoOtherFromBeingRead(t *testing.T) {
	t.Parallel()
	file, buyer, _ := keyFile(t)
	first, next := pairs(t)[0], pairs(t)[0]
	g := guard(t, Config{KeysFile: file, Tokens: TokenConfig{Algorithm: first.algorithm, KeyFile: first.file, Audience: "inventory"}})
	letsIn := func(name, credential string, want bool) {
		t.Helper()
		if _, err := g.Authenticate("Bearer " + credential); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	rewrite := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other, line, err := NewKey("other", ScopeBuyer)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(file, line)
	rewrite(first.file, "nonsense")
	if err := g.Reload(); err == nil || !strings.Contains(err.Error(), first.file) {
		t.Errorf("nonsense was read: %v", err)
	}
	letsIn("the new key", other, true)
	letsIn("the key that was taken out", buyer, false)
	letsIn("a token", sign(t, first.algorithm, first.private, claims()), true)

	text, err := os.ReadFile(next.file)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(file, "nonsense")
	rewrite(first.file, string(text))
	if err := g.Reload(); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("nonsense was read: %v", err)
	}
	letsIn("the new key, after a mistake", other, true)
	letsIn("a token of the next issuer", sign(t, next.algorithm, next.private, claims()), true)
	letsIn("a token of the first issuer", sign(t, first.algorithm, first.private, claims()), false)
}

// Every request of the hot path pays for the check of a key.
func TestKeysCostNoAllocation(t *testing.T) {
	file, buyer, _ := keyFile(t)
	g := guard(t, Config{KeysFile: file})
	header := "Bearer " + buyer
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := g.Authenticate(header); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A test cannot reliably measure how long a comparison takes. It can check that the right function compares secrets.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "key.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constant := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "subtle" && n.Sel.Name == "ConstantTimeCompare" {
				constant = true
			}
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "bytes" {
				t.Errorf("bytes.%s in key.go", n.Sel.Name)
			}
		case *ast.BinaryExpr:
			for _, side := range []ast.Expr{n.X, n.Y} {
				if x, ok := side.(*ast.Ident); ok && (n.Op == token.EQL || n.Op == token.NEQ) && (x.Name == "given" || x.Name == "found") {
					t.Errorf("%s %s … in key.go", x.Name, n.Op)
				}
			}
		}
		return true
	})
	if !constant {
		t.Error("key.go does not use subtle.ConstantTimeCompare")
	}
}

func BenchmarkKey(b *testing.B) {
	apiKey, line, err := NewKey("shop", ScopeBuyer)
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		b.Fatal(err)
	}
	g, err := NewGuard(Config{KeysFile: file})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := g.Authenticate("Bearer " + apiKey); err != nil {
			b.Fatal(err)
		}
	}
}
