// Package crowd has several processes sell one SKU ([Shop], [Work]). Each runs the service as the product does, with callers inside.
package crowd

import (
	"context"
	"errors"
	"fmt"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/reconcile"
	"inventory/loadtest/internal/servers"
)

// Shop is a database of its own on servers that sync their commits, and a service of this process that makes SKUs.
type Shop struct {
	*servers.Servers
	Service *selling.Service

	expected reconcile.Expected
}

// OpenShop opens a shop on some servers. The prefix begins the name of the database, and config is that of the service. The caller
// closes the shop.
func OpenShop(ctx context.Context, urls servers.URLs, prefix string, config app.Config) (*Shop, error) {
	on, err := servers.Prepare(ctx, urls, servers.Needs{Durable: true, Database: prefix, Generator: "callers inside the processes that sell"})
	if err != nil {
		return nil, err
	}
	config.DatabaseURL, config.RedisURL = on.DatabaseURL, on.RedisURL
	app.SpendMemory(nil) // as `inventory serve` does
	service, err := app.Start(ctx, config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the service: %w", err), on.Close())
	}
	on.OnClose(func() error { return service.Close(context.WithoutCancel(ctx)) })
	return &Shop{Servers: on, Service: service.Service(), expected: reconcile.Expected{}}, nil
}

// Create puts a fresh SKU up for sale that will not be sold out.
func (s *Shop) Create(ctx context.Context, segments int) (sku string, err error) {
	sku = servers.NewName("hot-")
	s.expected.Add(sku, 0, 0)
	if _, _, err := s.Service.CreateSKU(ctx, stock.NewSKU{SKU: sku, Stock: stock.MaxStock, Segments: segments}); err != nil {
		return "", fmt.Errorf("put a SKU up for sale: %w", err)
	}
	return sku, nil
}

// Sell sells a fresh SKU by some processes that share the callers.
func (s *Shop) Sell(ctx context.Context, segments, processes int, like Job) (sku string, sales []load.Sale, err error) {
	if sku, err = s.Create(ctx, segments); err != nil {
		return "", nil, err
	}
	like.DatabaseURL, like.RedisURL, like.SKU = s.DatabaseURL, s.RedisURL, sku
	sales, err = like.Share(ctx, processes)
	s.WriteDown(sku, sales, err)
	return sku, sales, err
}

// WriteDown adds the answers of a sale by several processes. If that failed, any number of orders may have rows.
func (s *Shop) WriteDown(sku string, sales []load.Sale, err error) {
	if err != nil {
		s.expected.Add(sku, 0, stock.MaxStock)
		return
	}
	all := load.Together(sales)
	s.expected.Add(sku, all.Counts[load.Accepted], all.Unanswered)
}

// Audit compares the rows with one another and with the answers, also when ctx has ended.
func (s *Shop) Audit(ctx context.Context) (audit stock.Audit, wrong []string) {
	ctx, cancel := reconcile.Patience(ctx)
	defer cancel()
	audit, err := reconcile.Audit(ctx, s.DatabaseURL)
	if err != nil {
		return stock.Audit{}, []string{fmt.Sprintf("no audit could be made: %v", err)}
	}
	return audit, s.expected.Against(audit)
}
