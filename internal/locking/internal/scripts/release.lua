-- release tells the server how often a holder has locks of one slot from now on: once less after an unlock, not at all
-- after the last one, and as often as before if an attempt has failed or must be cancelled. A lock that becomes free is
-- passed on.
--
-- KEYS  for each lock: state, queue; then, if an attempt must be cancelled, its tombstone
-- ARGV  1 attempt (grows with every attempt of the process),
--       2 for how long a free lock is reserved for the process that is woken, in ms, then for each lock:
--         id of the holder, which begins with the process and a colon,
--         count to hold afterwards, longest lease of the holds that are left, in ms,
--         queue action ('n' leave the queue alone, 'c' give up a reservation, 'l' give it up and leave the queue);
--       then, with a tombstone, its life in ms.
-- Returns for each lock: 1 done   0 the lock is not the holder's   2 outdated by a later attempt
--
-- Running it twice changes things once: the second run is not later than the first.
local call = redis.call

-- include enqueue.lua
-- include wake.lua

local result = {}
for i = 0, math.floor(#KEYS / 2) - 1 do
  local state, queue, id = KEYS[1 + 2 * i], KEYS[2 + 2 * i], ARGV[3 + 4 * i]
  local count, action = ARGV[4 + 4 * i], ARGV[6 + 4 * i]
  local held = call('HMGET', state, id, 'seq')
  local passes = false

  if not held[1] then
    result[1 + i] = 0
  elseif tonumber(ARGV[1]) <= tonumber(held[2]) then
    result[1 + i] = 2
  elseif count == '0' then
    result[1 + i] = 1
    call('DEL', state)
    passes = true
  else
    result[1 + i] = 1
    -- First, because a script that has written is given memory. Never further away, never below what a renewal gave.
    call('PEXPIRE', state, ARGV[5 + 4 * i], 'LT')
    call('HSET', state, id, count, 'seq', ARGV[1])
  end

  if action ~= 'n' then
    local process = process_of(id)
    if action == 'l' then call('ZREM', queue, process) end
    if call('HGET', state, 'claim') == process then
      call('DEL', state)
      passes = true
    end
  end
  if passes then wake(state, queue, ARGV[2]) end
end

-- Last, so that a server without memory, which refuses it, has done the rest.
if #KEYS % 2 == 1 then call('SET', KEYS[#KEYS], '1', 'PX', ARGV[#ARGV]) end
return result
