package app

import (
	"strconv"

	"inventory/internal/events"
)

// eventsChannel is the Redis channel for events between processes, followed by the number of the Redis database, because
// a channel spans all databases of a server. So processes that share locks share events.
const eventsChannel = "inventory:events:"

// mostListeners bounds the listeners of a process, in addition to half of its connections: the others are for buyers.
const mostListeners = 256

// openEvents starts the hub of live events. Without a Redis that other processes use too, listeners get the events of
// this process only. Of several servers the first one carries events.
func (a *App) openEvents(servers redisServers) {
	config := events.Config{Logger: a.config.Logger, Listeners: min(mostListeners, max(1, a.config.MaxConnections/2))}
	if len(servers) > 0 && servers[0].embedded == nil {
		config.Redis, config.Channel = servers[0].client, eventsChannel+strconv.Itoa(servers[0].address.db())
	}
	a.events = events.NewHub(config)
	a.onClose(a.events.Close)
}

// Events returns the hub of live events, for publishers and listeners inside the process. Close closes it.
func (a *App) Events() *events.Hub { return a.events }
