-- Deletes a key that still has the value of its holder, and leaves one signal for a waiter, for a second.
-- KEYS: the key, the list of signals. ARGV: the value. Returns whether the key had it.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call("DEL", KEYS[1], KEYS[2])
redis.call("LPUSH", KEYS[2], 1)
redis.call("PEXPIRE", KEYS[2], 1000)
return 1
