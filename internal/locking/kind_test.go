package locking

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
	roles := []string{roleMutex, roleMutexQueue, roleTombstone}
	for _, kind := range []string{roleFair, roleReadWrite} {
		roles = append(roles, kind)
		for _, part := range []string{partReaders, partTokens, partWriting, partReading, partHeartbeats, partPulse} {
			roles = append(roles, kind+part)
		}
	}
	f.Fuzz(func(t *testing.T, a, b, group string) {
		if strings.Join(roles, ":") != strings.ReplaceAll(strings.Join(roles, ":"), "}", "") {
			t.Fatal("a role with a brace")
		}
		at := func(group, name string) address { return addressOf(name, []MutexOption{Group(group)}) }
		where := at(group, a)
		seen := map[string]string{where.clock(): "the clock"}
		for i, role := range roles {
			for _, to := range [][2]string{{"", a}, {"", b}, {group, a}, {group, b}, {a, b}, {b, a}, {a, group}, {group + a, b}} {
				key := where.bucket + role + at(to[0], to[1]).tail
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
		if group != "" && where.bucket != at(group, b).bucket {
			t.Error("a group has two slots")
		}
	})
}
