-- check tells which commands are refused to this user, of those that the other scripts call.
--
-- KEYS  1 to 3 keys of one slot that nothing else uses
-- ARGV  1 channel
-- Returns their names.
local refused = {}

local function try(name, ...)
  local answer = redis.pcall(name, ...)
  local why = type(answer) == 'table' and answer.err
  if not why then return end
  for _, words in ipairs({'NOPERM', 'The user executing the script', 'nknown'}) do -- the last where it is renamed
    if string.find(why, words, 1, true) then
      refused[#refused + 1] = name
      return
    end
  end
end

local text, hash, sorted = KEYS[1], KEYS[2], KEYS[3]
try('TIME')
try('SET', text, '1', 'PX', '1000', 'GET')
try('GET', text)
try('HSET', hash, 'a', '1')
for _, name in ipairs({'HGET', 'HEXISTS', 'HMGET', 'HDEL'}) do try(name, hash, 'a') end
try('HGETALL', hash)
try('ZADD', sorted, '1', 'a')
for _, name in ipairs({'ZRANGE', 'ZREVRANGE', 'ZRANGEBYSCORE'}) do try(name, sorted, '0', '0') end
for _, name in ipairs({'ZSCORE', 'ZREM'}) do try(name, sorted, 'a') end
for _, name in ipairs({'ZCARD', 'ZPOPMIN', 'EXISTS', 'PTTL'}) do try(name, sorted) end
try('PEXPIRE', hash, '1000')
try('UNLINK', hash)
try('DEL', text, hash, sorted)
try('PUBLISH', ARGV[1], '')
return refused
