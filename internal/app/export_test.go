package app

// How long a service waits for Redis.
const (
	RedisDial   = redisDial
	RedisAnswer = redisAnswer
)
