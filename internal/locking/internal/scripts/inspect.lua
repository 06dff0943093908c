-- inspect reads the state of a mutex.
--
-- KEYS  1 state, 2 queue
-- Returns {ms until the lock is free by itself, how many processes queue, field, value, field, value ...}.
local result = {redis.call('PTTL', KEYS[1]), redis.call('ZCARD', KEYS[2])}
for i, item in ipairs(redis.call('HGETALL', KEYS[1])) do
  result[2 + i] = item
end
return result
