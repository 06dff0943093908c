package keys

import (
	"fmt"
	"strings"
	"testing"
)

func FuzzKeys(f *testing.F) {
	f.Add("a", "b", "")
	f.Add("}:m:x", "{", "group")
	f.Add("m:a", "a", "{b0001}")
	f.Add("\x00", "\xff:", "::")
	roles := []string{Mutex, MutexQueue, tombstone}
	for _, kind := range []string{Fair, ReadWrite} {
		roles = append(roles, kind)
		for _, part := range []string{Readers, Counts, Writing, Reading, Heartbeats, Pulse} {
			roles = append(roles, kind+part)
		}
	}
	f.Fuzz(func(t *testing.T, a, b, group string) {
		if strings.Join(roles, ":") != strings.ReplaceAll(strings.Join(roles, ":"), "}", "") {
			t.Fatal("a role with a brace")
		}
		where := BucketOf(group, a)
		seen := map[string]string{where.Clock(): "the clock"}
		for i, role := range roles {
			for _, to := range [][2]string{{"", a}, {"", b}, {group, a}, {group, b}, {a, b}, {b, a}, {a, group}, {group + a, b}} {
				key := where.Key(role, TailOf(to[0], to[1]))
				what := fmt.Sprintf("%d of %q", i, to)
				if had, ok := seen[key]; ok && had != what {
					t.Errorf("%q is %s and %s", key, had, what)
				}
				seen[key] = what
				if !strings.HasPrefix(key, "lk:{b") || key[9:11] != "}:" {
					t.Errorf("%q does not choose its slot by its bucket", key)
				}
			}
		}
		if group != "" && BucketOf(group, a) != BucketOf(group, b) {
			t.Error("a group has two slots")
		}
		key := where.Key(Mutex, TailOf(group, a))
		if bucket, tail, ok := ParseMutex(key); !ok || bucket != where || tail != TailOf(group, a) {
			t.Errorf("%q read back as %q and %q", key, bucket, tail)
		}
	})
}
