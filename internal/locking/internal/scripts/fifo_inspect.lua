-- fifo_inspect reads both sides of a lock.
--
-- KEYS  see fifo.lua; there is no tombstone
-- Returns {how many wait, 1 if one of them may enter now, token, 0, ms of the server's clock}, and for each holder:
-- side, id, ms until it is over.

local waiter_life -- nobody is dropped

-- include fifo.lua

local token = call('HGET', state, 'token') or call('HGET', tokens, 'token') or '0'
local result = {call('ZCARD', writing) + call('ZCARD', reading), #entitled() > 0 and 1 or 0, token, 0, now}
local function add(side, id, left)
  for _, item in ipairs({side, id, left}) do result[#result + 1] = item end
end

local held = call('HGETALL', state)
for i = 1, #held, 2 do
  if string.find(held[i], ':', 1, true) then add('write', held[i], call('PTTL', state)) end
end
local reads = call('ZRANGEBYSCORE', readers, '(' .. now, '+inf', 'WITHSCORES')
for i = 1, #reads, 2 do add('read', reads[i], tonumber(reads[i + 1]) - now) end
return result
