package tail

import (
	"context"
	"fmt"
	"strings"

	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// lookAround is what figures depend on beside what is measured. Of several Redis servers the first is asked.
func lookAround(ctx context.Context, c Config, databaseURL, redisURLs string) (report.Environment, error) {
	first, _, _ := strings.Cut(redisURLs, ",")
	e, err := servers.URLs{DatabaseURL: databaseURL, RedisURL: first}.Durable(ctx)
	if err != nil {
		return report.Environment{}, err
	}
	e.Target = fmt.Sprintf("%d processes of the service, over HTTP", sellers)
	e.Generator = fmt.Sprintf("this program, open loop, %d connections to each process", connections)
	e.Measurement = append(e.Measurement,
		"latency from the planned send", fmt.Sprintf("%s arrivals", openloop.Poisson), fmt.Sprintf("%d rounds of each kind", c.Rounds))
	return e, nil
}
