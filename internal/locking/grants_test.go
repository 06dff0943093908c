package locking

import "testing"

func TestGrants(t *testing.T) {
	var gs grantSet
	var all []*grant
	for n := range 3 * fewGrants {
		next := &grant{owner: &owner{}}
		gs.add(next)
		all = append(all, next)
		if gs.len() != n+1 {
			t.Fatalf("%d of %d", gs.len(), n+1)
		}
		for _, each := range all {
			if gs.of(each.owner) != each {
				t.Fatalf("one of %d is not found", n+1)
			}
		}
	}
	gs.remove(&grant{owner: all[0].owner}) // another one of the same owner
	for n, each := range all {
		seen := 0
		for range gs.all() {
			seen++
		}
		if seen != len(all)-n {
			t.Fatalf("%d of %d", seen, len(all)-n)
		}
		gs.remove(each)
		if gs.of(each.owner) != nil {
			t.Fatal("one that is gone is found")
		}
	}
}
