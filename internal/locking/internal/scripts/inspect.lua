-- inspect reads the state of a mutex.
--
-- KEYS  1 state, 2 queue
-- Returns {how many processes queue, 1 if it is reserved for one of them, token, ms until the lock is free by itself,
-- ms of the server's clock}, and of the holder, if there is one: side, id, ms until it is over.
local left = math.max(redis.call('PTTL', KEYS[1]), 0)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local result = {redis.call('ZCARD', KEYS[2]), 0, '0', left, now}
local state = redis.call('HGETALL', KEYS[1])
for i = 1, #state, 2 do
  local field, value = state[i], state[i + 1]
  if field == 'claim' then result[2] = 1 end
  if field == 'token' then result[3] = value end
  if string.find(field, ':', 1, true) then -- only the names of holders have a colon
    for _, item in ipairs({'write', field, left}) do result[#result + 1] = item end
  end
end
return result
