//go:build citus

package citus_test

import "testing"

// splitOne splits the widest shard in the middle of its hashes, as the handbook does. Both halves stay on its node.
const splitOne = `SELECT citus_split_shard_by_split_points(shardid, ARRAY[((shardminvalue::bigint + shardmaxvalue::bigint) / 2)::text],
	ARRAY[nodeid, nodeid], 'block_writes')
FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
WHERE logicalrelid = 'skus'::regclass ORDER BY shardmaxvalue::bigint - shardminvalue::bigint DESC LIMIT 1`

// TestAShardIsSplitWhileSelling: the processes find the halves, and the outbox has everything that is sold in them.
func TestAShardIsSplitWhileSelling(t *testing.T) {
	url := distributed(t, cluster(t, 2))
	s := startSale(t, url)
	s.must(s.stores[0].Outbox().On(t.Context()))
	s.sellsAll()
	before := s.orders() // some of these came before the outbox
	s.must(exec(t.Context(), url, splitOne))
	s.sellsAll()
	s.end()
	told := s.told()
	for order, skus := range s.taken {
		if !before[order] && len(skus) == 1 && !told[order] {
			t.Fatalf("the outbox does not tell of %s", order)
		}
	}
}

// orders returns the orders that were acknowledged so far.
func (s *sale) orders() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]bool, len(s.taken))
	for order := range s.taken {
		all[order] = true
	}
	return all
}

// told returns the orders of one SKU that are in the outbox.
func (s *sale) told() map[string]bool {
	s.t.Helper()
	all, after := make(map[string]bool), ""
	for {
		changes, err := s.stores[0].Outbox().Read(s.t.Context(), after, 10_000)
		s.must(err)
		if len(changes) == 0 {
			return all
		}
		for _, c := range changes {
			after, all[c.OrderID+"@"+c.SKU] = c.Cursor, true
		}
	}
}
