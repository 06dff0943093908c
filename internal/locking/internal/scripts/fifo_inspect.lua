-- fifo_inspect reads both sides of a lock.
--
-- KEYS  see fifo.lua; there is no tombstone
-- Returns {how many wait, 1 if one of them may enter now, token, 0, ms of the server's clock}, and for each holder:
-- side, id, count, ms until it is over.

local waiter_life -- nobody is dropped

-- include fifo.lua

local token = call('HGET', state, 'token') or call('HGET', counts, 'token') or '0'
local result = {call('ZCARD', writing) + call('ZCARD', reading), #entitled() > 0 and 1 or 0, token, 0, now}
local function add(side, id, count, left)
  for _, item in ipairs({side, id, count, left}) do result[#result + 1] = item end
end

local held = call('HGETALL', state)
for i = 1, #held, 2 do
  if string.find(held[i], ':', 1, true) then add('write', held[i], held[i + 1], call('PTTL', state)) end
end
local records = call('ZRANGEBYSCORE', readers, '(' .. now, '+inf', 'WITHSCORES')
for i = 1, #records, 2 do
  local count = string.match(call('HGET', counts, records[i]), '^(%d+)')
  add('read', records[i], count, tonumber(records[i + 1]) - now)
end
return result
