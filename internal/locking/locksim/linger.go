package locksim

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// linger makes every command of a client wait for a moment that depends on what it says. Without it, two
// that begin at one moment would find the connections of the pool in an order that no seed decides.
type linger struct {
	client *Client
	server *server
}

// DialHook changes nothing.
func (l linger) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook lets a command wait.
func (l linger) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		l.wait(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook lets a pipeline wait.
func (l linger) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		l.wait(cmds...)
		return next(ctx, cmds)
	}
}

func (l linger) wait(cmds ...redis.Cmder) {
	about := make([][]byte, 0, len(cmds))
	for _, cmd := range cmds {
		var said []byte
		for _, arg := range cmd.Args() {
			switch arg := arg.(type) {
			case string:
				said = append(said, arg...)
			case int, int64:
				said = fmt.Append(said, arg)
			}
			said = append(said, 0)
		}
		about = append(about, said)
	}
	time.Sleep(time.Duration(1 + l.client.world.draw(l.client.path(l.server), about).IntN(10_000)))
}
