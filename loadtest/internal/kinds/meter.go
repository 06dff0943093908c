package kinds

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// Meter counts what clients send: commands to Redis and MongoDB, statements of PostgreSQL, packets to ZooKeeper.
type Meter struct {
	Commands atomic.Int64
}

// DialHook implements [redis.Hook].
func (*Meter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (m *Meter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		m.Commands.Add(1)
		return next(ctx, command)
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (m *Meter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		m.Commands.Add(int64(len(commands)))
		return next(ctx, commands)
	}
}

// TraceQueryStart implements [pgx.QueryTracer].
func (m *Meter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	m.Commands.Add(1)
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (*Meter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// packets is a connection to ZooKeeper, whose client writes each packet by itself.
type packets struct {
	net.Conn
	meter *Meter // nil: nothing is counted
}

// Write implements [net.Conn].
func (c packets) Write(p []byte) (int, error) {
	if c.meter != nil {
		c.meter.Commands.Add(1)
	}
	return c.Conn.Write(p)
}
