package app

import (
	"strconv"

	"inventory/internal/events"
)

// eventsChannel is the channel of Redis that processes tell each other events through; the number of the Redis database
// is added, for channels are of all databases of a server. So processes share their events with those they share locks with.
const eventsChannel = "inventory:events:"

// openEvents starts the hub of live events. Without a Redis that other processes have too, events are of this process
// alone; of several servers the first one carries them.
func (a *App) openEvents(servers redisServers) {
	config := events.Config{Logger: a.config.Logger}
	if len(servers) > 0 && servers[0].embedded == nil {
		client := servers[0].client
		config.Redis, config.Channel = client, eventsChannel+strconv.Itoa(client.Options().DB)
	}
	a.events = events.NewHub(config)
	a.onClose(a.events.Close)
}

// Events is the hub of live events: for those inside the process who publish, or listen, without HTTP. It is closed by Close.
func (a *App) Events() *events.Hub { return a.events }
