package server

import (
	"sync"
	"time"
)

// A Chore is work in the background that is done in rounds: renewals, heartbeats, and what is to be cleaned up. Each node has a
// loop of its own while there is something to do for it, so one that is silent holds up no other. Set all that is exported, and call Run.
type Chore[T any] struct {
	Server *Server
	Stop   <-chan struct{}                                 // closed: the loops end
	Period time.Duration                                   // within which something new is found
	Due    func() []T                                      // what there is to do, for all nodes
	Key    func(T) string                                  // a key of it, which determines the node
	Round  func(line *Line, due []T) (pause time.Duration) // does it for one node; the pause counts from its beginning

	mu      sync.Mutex
	loops   map[Node]chan struct{} // with room for one: the loop of the node is to go on at once
	running sync.WaitGroup
}

// Run sees to it that each node with something to do has a loop. When hurry says so all of them go on at once. When Stop is closed it
// waits until they have ended.
func (c *Chore[T]) Run(hurry <-chan struct{}) {
	c.loops = make(map[Node]chan struct{})
	ticker := time.NewTicker(c.Period)
	defer ticker.Stop()
	defer c.running.Wait()
	for {
		select {
		case <-ticker.C:
			c.look(false)
		case <-hurry:
			c.look(true)
		case <-c.Stop:
			return
		}
	}
}

func (c *Chore[T]) look(hurry bool) {
	for node := range ByNode(c.Server, c.Due(), c.Key) {
		c.mu.Lock()
		goOn := c.loops[node]
		if goOn == nil {
			goOn = make(chan struct{}, 1)
			c.loops[node] = goOn
			c.running.Go(func() { c.loop(node, goOn) })
		} else if hurry {
			select {
			case goOn <- struct{}{}:
			default: // it knows
			}
		}
		c.mu.Unlock()
	}
}

// loop does the rounds of a node, until Stop or until it finds nothing to do twice.
func (c *Chore[T]) loop(node Node, goOn chan struct{}) {
	line := c.Server.Line(node).Until(c.Stop)
	defer line.Close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for idle := false; !c.isStopped(); {
		start, pause := time.Now(), c.Period
		due := ByNode(c.Server, c.Due(), c.Key)[node]
		if len(due) > 0 {
			pause = c.Round(line, due)
		} else if idle && c.ends(node, goOn) {
			return
		}
		idle = len(due) == 0
		timer.Reset(max(pause-time.Since(start), time.Millisecond))
		select {
		case <-timer.C:
		case <-goOn:
		case <-c.Stop:
		}
	}
}

// isStopped reports whether Stop is closed. A loop asks before each round: where there is also something new to do, a select would
// choose either, and Close would wait for one more time-out.
func (c *Chore[T]) isStopped() bool {
	select {
	case <-c.Stop:
		return true
	default:
		return false
	}
}

// ends takes the loop of a node from the list, unless it has been told to go on.
func (c *Chore[T]) ends(node Node, goOn chan struct{}) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(goOn) > 0 {
		return false
	}
	delete(c.loops, node)
	return true
}
