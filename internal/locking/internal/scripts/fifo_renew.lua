-- fifo_renew puts off the expiry of one reader that is still there, and never brings it nearer; or it begins the reader's fixed
-- lease. Other readers have their own. A writer is renewed by renew.
--
-- KEYS  1 readers, 2 tokens, see fifo.lua: no others, because while a slot moves a key that does not exist has the
--       script refused
-- ARGV  as renew
-- Returns as renew.
local call = redis.call
local readers, tokens, id, lease, purpose = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]), ARGV[3]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local expiry = tonumber(call('ZSCORE', readers, id) or 0)
if expiry <= now then return 0 end
local mark = id .. ' begun'
local begun = purpose and call('HEXISTS', tokens, mark) == 1
if begun and purpose == 'wait' then return 2 end
-- First, because a script that has written is given memory. Also when the moment of the expiry needs no change because
-- the clock has stepped back: a server that keeps durations, as miniredis does, lets the keys age all the same.
for _, key in ipairs(KEYS) do
  if call('PTTL', key) < lease then call('PEXPIRE', key, lease) end
end
local shorter = purpose == 'begin' and not begun
if shorter or expiry < now + lease then call('ZADD', readers, string.format('%.0f', now + lease), id) end
if not begun and (purpose == 'begin' or purpose == 'join') then
  call('HSET', tokens, mark, '1')
  local life = call('PTTL', readers)
  if call('PTTL', tokens) < 0 then call('PEXPIRE', tokens, life) end -- they had vanished
end
if shorter then
  local last = tonumber(call('ZREVRANGE', readers, 0, 0, 'WITHSCORES')[2])
  for _, key in ipairs(KEYS) do call('PEXPIRE', key, last - now) end
end
return 1
