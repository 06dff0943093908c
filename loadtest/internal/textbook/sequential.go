package textbook

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// SequentialName is what ZooKeeper's recipe for a lock is called.
const SequentialName = "ZooKeeper sequential nodes"

// Sequential is ZooKeeper's recipe: whoever wants the lock makes an ephemeral node with the next number under the lock's
// node; who has the lowest number has the lock, and each of the others watches the one before it. So it is fair, and a
// release wakes one waiter.
//
// Its flaw: the node is the session's. When the holder stands still for longer than its session lasts, the node goes and
// the next one has the lock; the holder hears of that only after it has gone on. The numbers grow and would do as a fencing
// token, but the recipe does not speak of one. And a session that lives keeps the node of a release that got lost.
type Sequential struct {
	ZooKeeper *zk.Conn
	Name      string
}

// node is that of the lock.
func (l Sequential) node() string { return "/" + url.PathEscape(l.Name) }

// Lock implements [Lock].
func (l Sequential) Lock(ctx context.Context) (Hold, error) {
	mine, err := l.enqueue()
	if err != nil {
		return nil, err
	}
	if err := l.await(ctx, mine); err != nil {
		return nil, l.leave(mine, err)
	}
	return l.give(mine), nil
}

// TryLock implements [Lock].
func (l Sequential) TryLock(context.Context) (Hold, error) {
	mine, err := l.enqueue()
	if err != nil {
		return nil, err
	}
	before, err := l.before(mine)
	if err == nil && before != "" {
		err = ErrBusy
	}
	if err != nil {
		return nil, l.leave(mine, err)
	}
	return l.give(mine), nil
}

// enqueue makes the caller's node.
func (l Sequential) enqueue() (node string, err error) {
	everybody := zk.WorldACL(zk.PermAll)
	for {
		node, err = l.ZooKeeper.CreateProtectedEphemeralSequential(l.node()+"/n-", nil, everybody)
		if !errors.Is(err, zk.ErrNoNode) {
			break
		}
		if _, err := l.ZooKeeper.Create(l.node(), nil, 0, everybody); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return "", fmt.Errorf("make the node of the lock %s: %w", l.Name, err)
		}
	}
	if err != nil {
		return "", fmt.Errorf("queue for the lock %s: %w", l.Name, err)
	}
	return node, nil
}

// await returns when nobody is before the caller any more.
func (l Sequential) await(ctx context.Context, mine string) error {
	for {
		before, err := l.before(mine)
		if err != nil || before == "" {
			return err
		}
		there, _, gone, err := l.ZooKeeper.ExistsW(before)
		if err != nil {
			return fmt.Errorf("watch who is before us at the lock %s: %w", l.Name, err)
		}
		if !there {
			continue // and the watch never tells
		}
		select {
		case event := <-gone:
			if event.Err != nil {
				return fmt.Errorf("wait for the lock %s: %w", l.Name, event.Err)
			}
		case <-ctx.Done():
			return errors.Join(ErrBusy, ctx.Err())
		}
	}
}

// before returns the node before the caller's; "" if the caller is the first, and an error if it is not in the queue.
func (l Sequential) before(mine string) (string, error) {
	queue, _, err := l.ZooKeeper.Children(l.node())
	if err != nil {
		return "", fmt.Errorf("look who wants the lock %s: %w", l.Name, err)
	}
	slices.SortFunc(queue, func(a, b string) int { return strings.Compare(number(a), number(b)) })
	place := slices.Index(queue, strings.TrimPrefix(mine, l.node()+"/"))
	switch place {
	case -1:
		return "", fmt.Errorf("wait for the lock %s: %w", l.Name, zk.ErrSessionExpired)
	case 0:
		return "", nil
	}
	return l.node() + "/" + queue[place-1], nil
}

// number is the end of a node's name: ten digits that grow.
func number(node string) string { return node[strings.LastIndex(node, "-")+1:] }

// leave takes the caller out of the queue, for a reason. One that cannot be reached goes with the session.
func (l Sequential) leave(mine string, why error) error {
	if err := l.ZooKeeper.Delete(mine, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return errors.Join(why, fmt.Errorf("leave the queue of the lock %s: %w", l.Name, err))
	}
	return why
}

// give gives the lock back.
func (l Sequential) give(mine string) unlock {
	return func(context.Context) error {
		err := l.ZooKeeper.Delete(mine, -1)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return ErrNotHeld
		case err != nil:
			return fmt.Errorf("give the lock %s back: %w", l.Name, err)
		}
		return nil
	}
}
