package contenders

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"inventory/internal/stock"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/load"
)

//go:embed luastream.lua
var luaStreamSource string

const (
	luaName          = "Redis Lua DECR + XADD"
	redisConnections = 64
)

// luaStream keeps all of it in Redis, and nothing of it durable. The client sends the commands of all callers
// together.
func luaStream() design {
	return design{name: luaName, open: func(ctx context.Context, m *market, _ int) (shop, error) {
		client, err := kinds.OpenRedis(ctx, m.world.URLs.RedisURL, kinds.Setting{Connections: redisConnections})
		if err != nil {
			return shop{}, err
		}
		m.world.OnClose(client.Close)
		pipeline, err := client.AutoPipeline()
		if err != nil {
			return shop{}, fmt.Errorf("open a pipeline: %w", err)
		}
		l := &luaShop{client: client, pipeline: pipeline}
		if l.script, err = client.ScriptLoad(ctx, luaStreamSource).Result(); err != nil {
			return shop{}, fmt.Errorf("load the script: %w", err)
		}
		m.world.audits = append(m.world.audits, l.audit)
		return shop{prepare: l.prepare, sell: l.sell, after: l.close}, nil
	}}
}

type luaShop struct {
	client   *redis.Client
	pipeline *redis.AutoPipeliner
	script   string
	balances []stock.Balance // of SKUs that are over
}

func luaKeys(sku string) []string { return []string{"{" + sku + "}:units", "{" + sku + "}:orders"} }

func (l *luaShop) prepare(ctx context.Context, sku string) error {
	return l.client.Set(ctx, luaKeys(sku)[0], stock.MaxStock, lease).Err()
}

func (l *luaShop) sell(ctx context.Context, o load.Order) (load.Outcome, error) {
	took, err := l.pipeline.EvalSha(ctx, l.script, luaKeys(o.SKU), o.ID).Int()
	if err != nil || took == 0 {
		return load.Refused, err
	}
	return load.Accepted, nil
}

// close counts a SKU's orders, and removes them: they take memory.
func (l *luaShop) close(ctx context.Context, sku string) error {
	keys := luaKeys(sku)
	left, err := l.client.Get(ctx, keys[0]).Int64()
	orders, err2 := l.client.XLen(ctx, keys[1]).Result()
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("count the orders: %w", err)
	}
	l.balances = append(l.balances, stock.Balance{SKU: sku, Initial: stock.MaxStock, Available: left, Committed: orders})
	return l.client.Unlink(ctx, keys...).Err()
}

func (l *luaShop) audit(context.Context) (stock.Audit, error) {
	return stock.Audit{SKUs: slices.Clone(l.balances)}, nil
}
