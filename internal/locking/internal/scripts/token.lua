-- token gives the holder of a mutex a token above a given number.
--
-- KEYS  1 clock of the bucket, 2 state
-- ARGV  1 id of the holder, 2 the number
-- Returns the token, or 0 when the lock is not the holder's.
--
-- Running it twice changes things once: the second run finds a token that is high enough.
local call = redis.call

-- include mint.lua

local held = call('HMGET', KEYS[2], ARGV[1], 'token')
if not held[1] then return 0 end
if tonumber(held[2]) > tonumber(ARGV[2]) then return held[2] end
local token = mint(KEYS[1], '0')
if tonumber(token) <= tonumber(ARGV[2]) then
  token = string.format('%.0f', tonumber(ARGV[2]) + 1)
  call('SET', KEYS[1], token, 'EX', '2592000')
end
call('HSET', KEYS[2], 'token', token)
return token
