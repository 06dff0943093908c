-- check tells which commands this server refuses to this user, of those that the other scripts call, each in the form in which they
-- call it.
--
-- KEYS  1 to 3 keys of one slot that nothing else uses
-- ARGV  1 channel
-- Returns their names, each with the options that the scripts use.
local refused = {}

-- A state that passes by itself refuses all commands, or none that matters here.
local passing = {
  'BUSY', 'READONLY', 'LOADING', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN', 'OOM', 'MISCONF', 'NOREPLICAS', 'non local key',
}

local function passes(why)
  for _, words in ipairs(passing) do
    if string.find(why, words, 1, true) then return true end
  end
  return false
end

-- try calls a command, and notes it under its name and options if it is refused.
local function try(options, name, ...)
  local answer = redis.pcall(name, ...)
  local why = type(answer) == 'table' and answer.err
  if why and not passes(why) then refused[#refused + 1] = name .. options end
end

local text, hash, sorted = KEYS[1], KEYS[2], KEYS[3]
try('', 'TIME')
try(' EX GET', 'SET', text, '1', 'EX', '1', 'GET')
try(' EX', 'SET', text, '1', 'EX', '1')
try(' PX', 'SET', text, '1', 'PX', '1000')
try('', 'GET', text)
try('', 'HSET', hash, 'a', '1', 'b', '2')
for _, name in ipairs({'HGET', 'HEXISTS', 'HMGET', 'HDEL'}) do try('', name, hash, 'a') end
try('', 'HGETALL', hash)
try('', 'ZADD', sorted, '1', 'a')
try(' NX', 'ZADD', sorted, 'NX', '1', 'a')
try('', 'ZRANGE', sorted, '0', '0')
try(' WITHSCORES', 'ZRANGE', sorted, '0', '0', 'WITHSCORES')
try(' WITHSCORES', 'ZREVRANGE', sorted, '0', '0', 'WITHSCORES')
try(' LIMIT', 'ZRANGEBYSCORE', sorted, '-inf', '(2', 'LIMIT', '0', '1')
try(' WITHSCORES', 'ZRANGEBYSCORE', sorted, '(0', '+inf', 'WITHSCORES')
for _, name in ipairs({'ZSCORE', 'ZREM'}) do try('', name, sorted, 'a') end
for _, name in ipairs({'ZCARD', 'ZPOPMIN', 'PTTL'}) do try('', name, sorted) end
try('', 'EXISTS', text, sorted)
try('', 'PEXPIRE', hash, '1000')
try('', 'UNLINK', hash, sorted)
try('', 'DEL', text)
try('', 'PUBLISH', ARGV[1], '')
return refused
