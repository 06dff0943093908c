-- level gives the holder of a mutex a token of another server, unless it has that or a higher one.
--
-- KEYS  1 clock of the bucket, 2 state
-- ARGV  1 id of the holder, 2 the token
-- Returns the token that the holder has now, or 0 when the lock is not the holder's.
--
-- Running it twice changes things once: the second run finds a token that is high enough.
local held = redis.call('HMGET', KEYS[2], ARGV[1], 'token')
if not held[1] then return 0 end
local last = redis.call('GET', KEYS[1])
if not last or tonumber(last) < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], ARGV[2], 'EX', '2592000')
end
if tonumber(held[2]) >= tonumber(ARGV[2]) then return held[2] end
redis.call('HSET', KEYS[2], 'token', ARGV[2])
return ARGV[2]
