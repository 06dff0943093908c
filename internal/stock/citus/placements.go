package citus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/singleflight"

	"inventory/internal/stock/postgres"
)

// node is a server that has shards.
type node struct {
	address  string // HOST:PORT, as Citus calls it
	store    *postgres.Store
	state    error // why it did not take writes at the last Ready; under the store's lock
	watchErr error // why its notifications are not received; under the store's lock
}

// shard is a range of hashes, and the tables of the SKUs and orders in it.
type shard struct {
	placed
	node  *node
	store *postgres.Store
}

// placements are where the shards are, as they were read at an instant.
type placements struct {
	read   time.Time
	shards []*shard // by their lowest hash
	nodes  []*node
}

// of returns the shard of a SKU or an order id.
func (p *placements) of(key string) *shard {
	i, found := slices.BinarySearchFunc(p.shards, hash(key), func(s *shard, h int32) int { return cmp.Compare(s.low, h) })
	if !found {
		i--
	}
	return p.shards[i]
}

func (s *Store) placements() *placements {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.now
}

// everyNode returns all nodes that there have ever been.
func (s *Store) everyNode() (nodes []*node) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, n := range s.nodes {
		nodes = append(nodes, n)
	}
	return nodes
}

// How often placements are loaded because a node does not answer, and how long that may take.
const (
	loadPause = time.Second
	loadLimit = 5 * time.Second
)

// loadSoon loads placements in the background, unless they are new.
func (s *Store) loadSoon(old *placements) {
	if time.Since(old.read) > loadPause {
		s.begin(old) // if it fails, the next caller that finds the node dead loads again
	}
}

// load loads placements, unless another caller has loaded newer ones than old. Callers at the same time share one query.
func (s *Store) load(ctx context.Context, old *placements) error {
	select {
	case loaded := <-s.begin(old):
		return loaded.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) begin(old *placements) <-chan singleflight.Result {
	return s.loading.DoChan("", func() (any, error) {
		if s.closing.Err() != nil || s.placements() != old {
			return nil, s.closing.Err()
		}
		ctx, cancel := context.WithTimeout(s.closing, loadLimit) // not a caller's context: all callers share it
		defer cancel()
		rows, err := s.readPlacements(ctx)
		if err == nil {
			err = s.set(rows)
		}
		if err != nil {
			return nil, fmt.Errorf("read where the shards are: %w", err)
		}
		return nil, nil
	})
}

// readPlacements queries the coordinator, or if that fails the nodes: Citus keeps the placements on all of them.
func (s *Store) readPlacements(ctx context.Context) (rows []placed, err error) {
	for _, o := range append([]*node{s.coordinator}, s.everyNode()...) {
		if rows, err = readPlacements(ctx, o.store); err == nil {
			break
		}
	}
	if err == nil && len(rows) == 0 {
		err = errors.New("there are none")
	}
	return rows, err
}

// set builds placements from what was read, and uses them from now on.
func (s *Store) set(rows []placed) error {
	next := &placements{read: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range rows {
		n, err := s.nodeLocked(net.JoinHostPort(row.host, strconv.Itoa(row.port)))
		if err != nil {
			return err
		}
		if !slices.Contains(next.nodes, n) {
			next.nodes = append(next.nodes, n)
		}
		next.shards = append(next.shards, s.shardLocked(row, n))
	}
	s.now = next
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// nodeLocked returns the node at an address.
func (s *Store) nodeLocked(address string) (*node, error) {
	if n := s.nodes[address]; n != nil {
		return n, nil
	}
	at, err := url.Parse(s.url)
	if err != nil {
		return nil, errors.New("read the URL of the coordinator: it is not valid")
	}
	at.Host = address
	store, err := s.open(s.closing, at.String())
	if err != nil {
		return nil, err
	}
	n := &node{address: address, store: store}
	s.nodes[address] = n
	return n, nil
}

// shardLocked returns a shard at a node. It reuses the earlier value if the shard has been there before.
func (s *Store) shardLocked(row placed, n *node) *shard {
	for _, there := range s.shards {
		if there.node == n && there.id == row.id && there.low == row.low {
			return there
		}
	}
	made := &shard{placed: row, node: n, store: n.store.With(row.access(s.onShard))}
	s.shards = append(s.shards, made)
	return made
}
