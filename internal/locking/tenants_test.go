package locking

import "testing"

func TestTenants(t *testing.T) {
	var ts tenants
	var all []*tenant
	for n := range 3 * fewTenants {
		next := &tenant{who: &owner{}}
		ts.add(next)
		all = append(all, next)
		if ts.len() != n+1 {
			t.Fatalf("%d of %d", ts.len(), n+1)
		}
		for _, each := range all {
			if ts.of(each.who) != each {
				t.Fatalf("one of %d is not found", n+1)
			}
		}
	}
	ts.remove(&tenant{who: all[0].who}) // somebody else's, with the same owner
	for n, each := range all {
		seen := 0
		for range ts.all() {
			seen++
		}
		if seen != len(all)-n {
			t.Fatalf("%d of %d", seen, len(all)-n)
		}
		ts.remove(each)
		if ts.of(each.who) != nil {
			t.Fatal("one that is gone is found")
		}
	}
}
