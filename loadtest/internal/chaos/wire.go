//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"inventory/internal/servertest"
)

// wire is the network between a process and a server. Toxiproxy cuts it, slows it and leaves it half open; behind it stands a
// proxy that can deliver late what it has held back.
type wire struct {
	toxic *toxiproxy.Proxy
	late  *servertest.Proxy
}

func newWire(ctx context.Context, name, server string) (*wire, error) {
	late, err := servertest.StartProxy(ctx, server)
	if err != nil {
		return nil, err
	}
	proxies := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w := &wire{toxiproxy.NewProxy(proxies, name, "127.0.0.1:0", late.Addr()), late}
	if err := w.toxic.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start toxiproxy: %w", err), late.Close())
	}
	return w, nil
}

func (w *wire) address() string { return w.toxic.Listen }

// poison puts toxics of a kind into both directions.
func (w *wire) poison(kind, attributes string) error {
	for _, stream := range []string{"upstream", "downstream"} {
		text := fmt.Sprintf(`{"name":%q,"type":%q,"stream":%q,"attributes":%s}`, stream, kind, stream, attributes)
		if _, err := w.toxic.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
			return fmt.Errorf("put a toxic into the network: %w", err)
		}
	}
	return nil
}

func (w *wire) heal(ctx context.Context) error {
	w.toxic.Toxics.ResetToxics(ctx)
	return nil
}

func (w *wire) close() error {
	w.toxic.Stop()
	return w.late.Close()
}
