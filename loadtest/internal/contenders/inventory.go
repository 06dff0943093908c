package contenders

import (
	"context"

	"inventory/internal/app"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/crowd"
)

const inventoryName = "inventory"

// inventory is this repository's service on PostgreSQL and Redis.
func inventory() design {
	return design{name: inventoryName, ours: true, open: func(_ context.Context, m *market, _ int) (shop, error) {
		return m.serviceShop(m.service), nil
	}}
}

// inventoryNoLocks is the service under the guard alone.
func inventoryNoLocks() design {
	return inventoryOn("inventory no locks", func(m *market) (app.Config, error) {
		return app.Config{DatabaseURL: m.databaseURL, Lock: app.LockNone}, nil
	})
}

// inventoryEmbedded is the service on a SQLite file with synchronous=FULL, and with a Redis inside the process.
func inventoryEmbedded() design {
	return inventoryOn("inventory embedded", func(m *market) (app.Config, error) {
		databaseURL, err := m.world.sqlite()
		return app.Config{DatabaseURL: databaseURL, RedisURL: app.Embedded}, err
	})
}

func inventoryOn(name string, config func(m *market) (app.Config, error)) design {
	return design{name: name, ours: true, open: func(ctx context.Context, m *market, _ int) (shop, error) {
		c, err := config(m)
		if err != nil {
			return shop{}, err
		}
		service, err := m.start(ctx, c)
		if err != nil {
			return shop{}, err
		}
		return m.serviceShop(service), nil
	}}
}

func (m *market) serviceShop(service *selling.Service) shop {
	return shop{
		prepare: func(ctx context.Context, sku string) error {
			_, _, err := service.CreateSKU(ctx, hot(sku, m.world.scale.Segments))
			return err
		},
		sell: crowd.Through(service),
	}
}
